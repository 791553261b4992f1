"""The scales of the columns of a request, from counts of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from puffer_frames.errors import ArgumentError, CalibrationError
from puffer_frames.frames.cells import least_width, most_filled, width_for
from puffer_frames.frames.table import Table
from puffer_frames.mechanisms.noise.rows_seen import RowsSeen
from puffer_frames.mechanisms.request import Request, is_coupled, is_joint
from puffer_frames.noise.gaussian import Gaussian
from puffer_frames.noise.stable import Stable
from puffer_frames.numbers.target import Target
from puffer_frames.papers.catalogue import BOUNDED
from puffer_frames.priors.pairs import Pairs
from puffer_frames.priors.prior import Secret
from puffer_frames.priors.summary import Counts, Summary
from puffer_frames.scales.choice import Choice
from puffer_frames.scales.columns import check_several, choose_column, choose_columns
from puffer_frames.scales.joint.columns import bounded_labels, choose_jointly
from puffer_frames.scales.repeats import times


def with_labels(request: Request, table: Table, /) -> Request:
    """The request, which knows its columns of labels.

    Raises ArgumentError for what is not found together with labels.
    """
    names = table.names
    labels = tuple(name for name in request.public if name in names and table.kind_of(name) == "labels")
    if len(request.public) == 1 or not labels:
        return request
    refused: dict[str, tuple[bool, str]] = {
        "theorem": (
            not is_joint(request) and request.theorem != BOUNDED.name,
            '"bounded" where labels are among several columns, for other than Laplace noise and calibration="exact"',
        ),
        "remap": (request.mechanism == "remap", "False where labels are among several columns"),
        "nulls": (request.nulls == "level", '"raise" or "drop" for several columns'),
        "domain": (bool(request.declared), "(low, high) of columns of numbers"),
    }
    for argument, (wrong, rule) in refused.items():
        if wrong:
            hint = "Release the column of labels by itself; two releases of the same rows are not covered together."
            raise ArgumentError(argument, rule=rule, got="something else", hint=hint)
    return replace(request, labels=labels)


_MOST_RECOUNTS = 4
"""Of a column in cells that are wide against the noise: the scale falls with their width."""
_FEWEST, _FEWEST_OF_SMOOTH = 16, 128
"""A scale of fewer cells is found anew: their means cost up to some 2 % of epsilon, of Gaussian and stable noise
0.04 %."""
_FEW_ROWS, _MANY_ROWS = 1 << 18, 8
"""Under Gaussian noise so few rows are counted value by value, which is no slower; and more where delta is the share of
so many rows of a secret, which makes the noise about as narrow as the gaps between values."""


def choices_of(
    request: Request, rows: RowsSeen, /, *, pairs: Pairs, named: list[Secret], near: Mapping[str, Choice] | None = None
) -> dict[str, Choice]:
    """The scale and why, per column, for the secrets that the pairs name; near those of a table like this one.

    For several rows of a unit, or several releases, what was measured is of one row, or of all rows where their loss is
    computed together, and of all noisy copies of their values.
    """
    repeats, noise = request.repeats, request.noise
    factor = repeats.factor(noise)
    asked = repeats.asked(request.target, noise=noise, columns=len(request.public))
    try:
        found = _of_one_value(request, rows, asked, pairs=pairs, named=named, near=near)
    except CalibrationError as error:
        if asked == request.target:
            raise
        raise type(error)(
            error.what, rule=error.rule, got=f"{error.got} (for one of several rows or releases)", hint=error.hint
        ) from None
    if repeats.assumed == "any":  # what one row needs says nothing of a unit
        found = {name: replace(choice, none_needed=not choice.scale) for name, choice in found.items()}
    return found if factor == 1 else {name: larger(choice, factor) for name, choice in found.items()}


def larger(choice: Choice, factor: float, /) -> Choice:
    """A choice for one noisy copy, with the scale that each of several copies has."""
    published = choice.published_scale
    return replace(
        choice,
        scale=times(choice.scale, factor),
        published_scale=None if published is None else times(published, factor),
        scale_per_belief={name: times(scale, factor) for name, scale in choice.scale_per_belief.items()},
    )


def _of_one_value(
    request: Request,
    rows: RowsSeen,
    target: Target,
    *,
    pairs: Pairs,
    named: list[Secret],
    near: Mapping[str, Choice] | None,
) -> dict[str, Choice]:
    """For one noisy copy of the values of one row."""
    if request.labels and request.theorem == BOUNDED.name:
        return _for_ranges(request, rows, target, pairs=pairs, named=named)
    if rows.joint is not None:
        return choose_jointly(
            rows.joint,
            target,
            coupled=is_coupled(request),
            named=named,
            beliefs=request.beliefs,
            weights=request.weights,
            noise=request.noise,
            pairs=pairs,
            domain=request.domain,
            allow_zero_noise=request.allow_zero_noise,
            near=None if near is None else {name: choice.scale for name, choice in near.items()},
            rows=request.repeats.measured,
        )
    summaries = rows.summaries
    counts = {c: {label: summary.counts[label] for label in named} for c, summary in summaries.items()}
    if len(request.public) > 1:
        check_several(theorem=request.theorem, components=request.components, beliefs=request.beliefs)
        return _by_ranges(request, counts, summaries, target, pairs=pairs, others=0)
    name = request.public[0]
    if isinstance(request.noise, Gaussian) and _is_better_exact(rows, target):
        rows = rows.in_widths({name: 0.0})
    choice = _of_one_column(request, rows.summaries[name], target, pairs=pairs, named=named)
    for _ in range(_MOST_RECOUNTS):
        summary = rows.summaries[name]
        width = width_for(
            choice.scale,
            2 * summary.radius,
            fewest=_FEWEST_OF_SMOOTH if isinstance(request.noise, (Gaussian, Stable)) else _FEWEST,
            filled=sum(values.size for values, _ in summary.counts.values()),
            most=most_filled(len(summary.counts)),
            least=least_width(*summary.extent),
        )
        finer = rows.in_widths({name: width})
        if finer.summaries[name] is summary:
            break
        rows = finer
        choice = _of_one_column(request, rows.summaries[name], target, pairs=pairs, named=named)
    return {name: choice}


def _is_better_exact(rows: RowsSeen, target: Target) -> bool:
    """Whether Gaussian noise is better found from each value than from cells."""
    each = rows.rows_per_secret.values()
    return sum(each) <= _FEW_ROWS or target.delta * min(each) >= _MANY_ROWS


def _of_one_column(request: Request, summary: Summary, target: Target, *, pairs: Pairs, named: list[Secret]) -> Choice:
    """For the only public column, of numbers."""
    name = request.public[0]
    return choose_column(
        {label: summary.counts[label] for label in named},
        target,
        noise=request.noise,
        pairs=pairs,
        theorem=request.theorem,
        components=request.components,
        beliefs=request.beliefs,
        domain=request.domain.get(name),
        extent=summary.extent,
        radius=summary.radius,
        calibration=request.calibration,
        allow_zero_noise=request.allow_zero_noise,
        rows=request.repeats.measured,
    )


def _for_ranges(
    request: Request, rows: RowsSeen, target: Target, *, pairs: Pairs, named: list[Secret]
) -> dict[str, Choice]:
    """Columns of numbers and labels, each with an equal share of what is asked for, whatever their joint law."""
    assert rows.joint is not None
    check_several(theorem=request.theorem, components=request.components, beliefs=request.beliefs)
    counts = {c: {label: summary.counts[label] for label in named} for c, summary in rows.summaries.items()}
    found: dict[str, Choice] = {}
    if counts:
        found = _by_ranges(request, counts, rows.summaries, target, pairs=pairs, others=len(request.labels))
    there = replace(rows.joint, counts={secret: rows.joint.counts[secret] for secret in named})
    found |= bounded_labels(there, target.share(len(request.public)))
    return {name: found[name] for name in request.public}


def _by_ranges(
    request: Request,
    counts: Mapping[str, Mapping[Secret, Counts]],
    summaries: Mapping[str, Summary],
    target: Target,
    *,
    pairs: Pairs,
    others: int,
) -> dict[str, Choice]:
    """Columns of numbers, beside so many others that have the same share of what is asked for."""
    return choose_columns(
        counts,
        target,
        others=others,
        domain=request.domain,
        extent={c: summary.extent for c, summary in summaries.items()},
        radius={c: summary.radius for c, summary in summaries.items()},
        noise=request.noise,
        pairs=pairs,
        allow_zero_noise=request.allow_zero_noise or others > 0,
    )
