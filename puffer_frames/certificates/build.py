"""What certificates have in common: the fields that follow from the scales and why, and sentences of every release."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from puffer_frames.certificates.sentences import say, warn_of
from puffer_frames.certificates.statement import Statement
from puffer_frames.certificates.version import __version__
from puffer_frames.errors import KeptColumnWarning, PufferWarning, RowOrderWarning, UnreadColumnWarning
from puffer_frames.noise.totals import AnswerNoise
from puffer_frames.numbers.arguments import Target
from puffer_frames.numbers.presentation import shown, shown_names
from puffer_frames.priors.pairs import ProtectedPairs
from puffer_frames.priors.prior import Secret
from puffer_frames.scales.cautions import FEWEST_ROWS, LARGE_EPSILON, few_rows
from puffer_frames.scales.choice import Choice


def of_table(labels: Collection[str], numbers: Collection[str], columns: Collection[str], /) -> dict[str, Any]:
    """Fields of a table of answers: its columns of labels and of numbers, and the columns that the frame had."""
    return {
        "answers": True,
        "public": ("answer",),
        "kept": tuple(name for name in (*labels, *numbers) if name != "answer"),
        "withheld": tuple(name for name in columns if name not in (*labels, *numbers)),
        "observed": {},
    }


def of_choices(
    choices: Mapping[str, Choice],
    target: Target,
    /,
    *,
    noises: Mapping[str, AnswerNoise | None],
    family: str,
    calibration: str,
    seeded: bool,
) -> dict[str, Any]:
    """Fields of a certificate by their names.

    Parameters
    ----------
    choices : mapping of column or statistic to Choice
    noises : mapping of the same to the noise, or None for none
    family : str
        The name of the noise in a sentence.
    calibration : str
        How the scales were found.
    seeded : bool
        Whether the noise can be drawn again.
    """
    return {
        "epsilon": target.epsilon,
        "delta": target.delta,
        "theorem": " and ".join(dict.fromkeys(choice.theorem.name for choice in choices.values())),
        "source": " and ".join(dict.fromkeys(choice.theorem.source for choice in choices.values())),
        "published_scales": {name: choice.published_scale for name, choice in choices.items()},
        "calibration": calibration,
        "noise": family,
        "scales": {name: choice.scale for name, choice in choices.items()},
        "expected_error": {
            name: 0.0 if noise is None else noise.expected_absolute_error for name, noise in noises.items()
        },
        "verified": {name: dict(choice.verified) for name, choice in choices.items()},
        "estimated": {},
        "adds_up": all(choice.adds_up for choice in choices.values()),
        "reproducible": seeded,
        "version": __version__,
    }


_MOST_NAMED = 6


def is_warned(warnings: Sequence[PufferWarning], kind: type[PufferWarning], /) -> bool:
    """Whether there is a warning of this kind."""
    return any(isinstance(warning, kind) for warning in warnings)


def _weaknesses(target: Target, rows: int) -> list[str]:
    """Keys of what is said of an epsilon above 10, and of a delta that is no smaller than one row's share."""
    holds = {"weak-epsilon": target.epsilon > LARGE_EPSILON, "weak-delta": target.delta * rows >= 1}
    return [key for key, is_so in holds.items() if is_so]


def warn_of_weakness(target: Target, /, *, rows: int, of: str = "rows") -> None:
    """Warn of an epsilon or a delta that promises next to nothing."""
    for key in _weaknesses(target, rows):
        warn_of(key, epsilon=target.epsilon, delta=target.delta, rows=rows, of=of, least=1 / max(1, rows))


def weak(
    target: Target, rows_per_secret: Mapping[Secret, int], /, *, rows: int, others: bool = False
) -> Iterator[Statement]:
    """Sentences that say when the guarantee is weak: a large epsilon or delta, or secrets in few rows of the table of
    the plan, where `others` are released: these may be one person's, whose secret would be told.
    """
    if few := few_rows(rows_per_secret):
        more = f" and {len(few) - _MOST_NAMED:,} more" if len(few) > _MOST_NAMED else ""
        secrets = ", ".join(shown(repr(secret)) for secret in few[:_MOST_NAMED]) + more
        yield say("few-rows", fewest=FEWEST_ROWS, table=" in the table of the plan" * others, secrets=secrets)
    yield from map(say, _weaknesses(target, rows))


def seen(warnings: Sequence[PufferWarning], /, *, others: bool) -> Iterator[Statement]:
    """What was seen of the order of the rows and of kept columns; without its figures for `others` than those of the
    plan, of which nothing is said that each secret moves.
    """
    unsaid = "by how much is not said of rows that are not those of the plan"
    for warning in warnings:
        if isinstance(warning, KeptColumnWarning):
            yield say(
                "kept-tells",
                kept=shown(warning.kept),
                are=f"{'are' if warning.several else 'is'} {warning.role}"
                + " as they are" * (warning.role == "released"),
                beside=f" together with the released {shown(warning.released)}," * bool(warning.released)
                + " together with the order of the rows," * warning.in_order,
                determines=shown(warning.determines),
                measured=unsaid if others else warning.measured,
            )
        elif isinstance(warning, UnreadColumnWarning):
            yield say("kept-unread", kept=shown(warning.kept))
        elif isinstance(warning, RowOrderWarning):
            yield say("order-tells", reasons=unsaid if others else shown(warning.found))


def left_out(
    pairs: ProtectedPairs, keep: Sequence[str], nulls: str, /, *, entry: str = "secret or public value"
) -> Iterator[Statement]:
    """Pairs, columns and rows beyond the guarantee."""
    if pairs == "each":
        yield say("secrets-each")
    elif pairs != "all":
        yield say("listed-pairs")
    if keep:
        yield say("kept", kept=shown_names(keep))
    if nulls == "drop":
        yield say("nulls", entry=entry)
