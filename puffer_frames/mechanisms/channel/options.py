"""The options of a channel: what its guarantee withstands, and what counts as error."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, Literal, TypeAlias, cast

from puffer_frames.errors import ArgumentError, ArgumentTypeError, short_traceback
from puffer_frames.mechanisms.arguments import Options, check_merge
from puffer_frames.noise.channel import MOST_NUMBERS
from puffer_frames.numbers.arguments import as_float, check_flag, check_word, described, keep_own
from puffer_frames.numbers.records import ELSEWHERE
from puffer_frames.priors.prior import Secret

RadiusArgument: TypeAlias = Literal["auto"] | float | Mapping[Secret, float]
CostArgument: TypeAlias = (
    Literal["auto", "absolute", "change"] | Callable[[Any, Any], float] | Sequence[Sequence[float]] | Any
)
SeesWord: TypeAlias = Literal["value", "secret"]
ReaderCapArgument: TypeAlias = Literal["auto"] | float | None
WeightsWord: TypeAlias = Literal["rows", "secrets"]
PreserveWord: TypeAlias = Literal["mean", "marginal"]

LEAST_READER_CAP = 1e-3
"""Below this the lift that makes a channel exact is large."""


SEEING = "channel that sees the secret"
"""What a comparison calls one that does."""


@short_traceback
@dataclass(frozen=True, kw_only=True)
class Channel(Options):
    r"""A random output for each input, with the least expected error that the guarantee allows.

    Parameters
    ----------
    radius : "auto", float in [0, 1] or mapping of secret to float
        Contamination: the guarantee holds also where each row is replaced by anything with this probability, whatever
        its value. "auto" is min(1/2, 2 / sqrt(rows of the secret)), rounded up to six digits.
    cap : float or None
        The loss under any law at all is at most this; None for no bound. With `radius=0` and no cap the value itself
        is hardly protected: most values are released unchanged.
    cost : "auto", "absolute", "change", function of (input, output), or matrix
        What an output in place of an input costs. "absolute" is the distance, for numbers; "change" is 1 for another
        level. "auto" is "absolute" for numbers, and "change" for labels and for integers beyond 2**53. A matrix has a
        row for each level in the order of `plan.column.levels` (of the domain, where it names them) and a column for
        each.
    preserve : None, "mean" or "marginal"
        What the released values are to keep of the table on average: the mean (of numbers), or the share of each level.
        Of values in cells it is the mean of their medians, or the share of each cell.
    cells : int
        Columns of more than 256 different numbers are released as the medians of about so many cells of equal shares.
    outputs : int, optional
        At most so many levels are released; by default any of them may be.
    sees : "value" or "secret"
        Whether the random output depends on the value alone, or on the secret of the row too: this needs far less
        error, and lets a reader who knows the value learn something of the secret.
    reader_cap : "auto", float or None
        Of a channel that sees the secret: the log-odds of two secrets change by at most this for a reader who knows the
        value, and for any reader by at most this more than publishing the values could change them. "auto" is
        max(epsilon, 1); 0 is a channel that sees the value alone; None is no bound, and gives a warning.
    weights : "rows" or "secrets"
        Of a channel that sees the secret: what the expected error is a mean over: all rows, or the secrets, each with
        the same weight. With "rows" the errors fall on rare secrets.
    merge_rare : int, optional
        Labels of fewer rows than this, over all secrets, are merged into one, "other"; "other (merged)"
        where a label that is not rare has that name.
    publish_matrix : bool
        Whether the certificate holds the channel, so that sums of released levels can be corrected, if it has an
        inverse; else there is a warning. It holds statistics of every secret.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        For a value out of range.

    References
    ----------
    docs/theory.md, section 16.

    Examples
    --------
    >>> from puffer_frames import Channel
    >>> Channel(radius=0.01, cap=None).radius
    0.01
    """

    radius: RadiusArgument = "auto"
    cap: float | None = 8.0
    cost: CostArgument = "auto"
    preserve: PreserveWord | None = None
    cells: int = 32
    outputs: int | None = None
    publish_matrix: bool = False
    sees: SeesWord = "value"
    reader_cap: ReaderCapArgument = "auto"
    weights: WeightsWord = "rows"
    merge_rare: int | None = field(default=None, metadata=ELSEWHERE)
    """In a plan file it is part of the request."""

    def __post_init__(self) -> None:
        keep_own(self, "radius", "cost")
        if not (isinstance(self.radius, str) and self.radius == "auto") and not all(map(_is_share, self._shares())):
            raise ArgumentError(
                "radius",
                rule='"auto", a share from 0 to 1, or a mapping of secret to such shares',
                got=described(self.radius),
                hint='Leave it out for "auto".',
            )
        if self.cap is not None and not (isinstance(self.cap, (int, float)) and _is_number(self.cap) and self.cap > 0):
            raise ArgumentError(
                "cap", rule="a positive number, or None", got=described(self.cap), hint="Leave it out for 8."
            )
        if isinstance(self.cost, str) and self.cost not in ("auto", "absolute", "change"):
            raise ArgumentError(
                "cost",
                rule='"auto", "absolute", "change", a function or a matrix',
                got=repr(self.cost),
                hint='Leave it out for "auto".',
            )
        if self.preserve is not None and not (isinstance(self.preserve, str) and self.preserve in ("mean", "marginal")):
            raise ArgumentError(
                "preserve",
                rule='None, "mean" or "marginal"',
                got=described(self.preserve),
                hint="Leave it out for None.",
            )
        for name, least in (("cells", 2), ("outputs", 1)):
            value = getattr(self, name)
            if value is None and name == "outputs":
                continue
            if isinstance(value, bool) or not isinstance(value, int):
                raise ArgumentTypeError(
                    name, rule="a whole number", got=f"a {type(value).__name__}", hint="Leave it out."
                )
            if not least <= value <= MOST_NUMBERS:
                raise ArgumentError(name, rule=f"from {least} to {MOST_NUMBERS}", got=str(value), hint="Leave it out.")
        check_flag(self.publish_matrix, "publish_matrix")
        check_merge(self.merge_rare)
        self._check_seeing()

    def _check_seeing(self) -> None:
        """Raise ArgumentError for what does not go with what the channel sees."""
        check_word(self.sees, "sees", ("value", "secret"))
        check_word(self.weights, "weights", ("rows", "secrets"))
        cap, auto = self.reader_cap, isinstance(self.reader_cap, str) and self.reader_cap == "auto"
        number = isinstance(cap, (int, float)) and _is_number(cap) and (cap == 0 or cap >= LEAST_READER_CAP)
        if not (auto or cap is None or number):
            raise ArgumentError(
                "reader_cap",
                rule=f'"auto", None, 0, or a number of at least {LEAST_READER_CAP:g}',
                got=described(cap),
                hint='Leave it out for "auto": epsilon, and at least 1.',
            )
        if self.sees == "value" and not (auto and self.weights == "rows"):
            raise ArgumentError(
                "weights" if auto else "reader_cap",
                rule='given with sees="secret"',
                got=described(self.weights if auto else cap),
                hint='Write Channel(sees="secret", ...), or leave it out.',
            )
        if self.weights == "secrets" and cap is not None and not auto and cap == 0:
            raise ArgumentError(
                "weights",
                rule="left out beside reader_cap=0, for a channel that sees the value alone",
                got="'secrets'",
                hint=f"Leave it out, or take a reader_cap of at least {LEAST_READER_CAP:g}.",
            )
        if self.sees == "secret" and self.publish_matrix:
            raise ArgumentError(
                "publish_matrix",
                rule="left out for a channel that sees the secret",
                got="True",
                hint="Sums of released labels can be corrected for a channel that sees the value alone.",
            )

    def asked(self) -> Mapping[str, Any]:
        """A request says apart from the other options which labels are merged, as plan files do."""
        return {"mechanism": replace(self, merge_rare=None), "merge_rare": self.merge_rare}

    @property
    def title(self) -> str:
        return SEEING if self.sees_secret else "channel"

    @property
    def sees_secret(self) -> bool:
        """Whether the output depends on the secret: with a cap of 0 for readers who know the value it does not."""
        return self.sees == "secret" and self.reader_cap != 0

    def reader_cap_at(self, epsilon: float, /) -> float | None:
        """The bound for readers who know the value, at an epsilon; None for none."""
        return max(epsilon, 1.0) if isinstance(self.reader_cap, str) else self.reader_cap

    def reader_loss_at(self, epsilon: float, /) -> float | None:
        """The loss to a reader who knows the value: by the reader cap, or by the cap, which covers every reader."""
        return min((cap for cap in (self.reader_cap_at(epsilon), self.cap) if cap is not None), default=None)

    def radius_of(self, secret: Secret, rows: int, /) -> float:
        """The probability with which a row of a secret is replaced by anything."""
        if self.radius == "auto":
            return min(0.5, (math.isqrt(-(-4 * 10**12 // rows) - 1) + 1) / 10**6)
        if not isinstance(self.radius, Mapping):
            return float(self.radius)
        if secret not in self.radius:
            raise ArgumentError(
                "radius",
                rule="a mapping that names every secret",
                got=f"none for {secret!r}",
                hint='Leave it out for "auto".',
            )
        return float(self.radius[secret])

    def _shares(self) -> list[Any]:
        return list(self.radius.values()) if isinstance(self.radius, Mapping) else [self.radius]


def _is_share(value: object) -> bool:
    return _is_number(value) and 0 <= cast(float, value) <= 1


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(as_float(cast(float, value)))
