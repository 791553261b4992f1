"""The scales of a release that conditions on columns: one choice per stratum."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from puffer_frames.errors import ArgumentError, CalibrationError
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.null_values import merged_frame, with_nulls
from puffer_frames.frames.summary import check_few_levels, least_width, most_filled, width_for
from puffer_frames.frames.table import Table, open_table
from puffer_frames.mechanisms.channel.problem import OTHER
from puffer_frames.mechanisms.noise.rows_seen import RowsSeen
from puffer_frames.mechanisms.request import Request, is_coupled, is_joint
from puffer_frames.noise.gaussian import Gaussian
from puffer_frames.noise.postprocessing import Bounds
from puffer_frames.noise.stable import Stable
from puffer_frames.numbers.arguments import Target
from puffer_frames.numbers.threads import one_blas_thread
from puffer_frames.papers.catalogue import BOUNDED
from puffer_frames.priors.pairs import Pairs, check_pairs
from puffer_frames.priors.prior import Secret
from puffer_frames.priors.summary import Counts, Summary
from puffer_frames.scales.cautions import warn_of_one_stratum
from puffer_frames.scales.choice import Choice, require_noise
from puffer_frames.scales.columns import ColumnRequest, check_several, choose_column, choose_columns
from puffer_frames.scales.drift import protected_here
from puffer_frames.scales.joint.columns import bounded_labels, choose_jointly
from puffer_frames.scales.repeats import times
from puffer_frames.scales.strata import StrataChoices, Stratum, largest


def with_labels(request: Request, table: Table, /) -> Request:
    """The request, which knows its columns of labels; raises ArgumentError for what does not go with labels."""
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
"""How often, at most, a column is counted again because its cells are wide against the noise."""
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
        with one_blas_thread():  # of small products: the same sums on every machine, and none waits
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
                alone=rows.summaries,
                near=None if near is None else {name: choice.scale for name, choice in near.items()},
                rows=request.repeats.measured,
            )
    summaries = rows.summaries
    counts = {c: {label: summary.counts[label] for label in named} for c, summary in summaries.items()}
    if len(request.public) > 1:
        check_several(theorem=request.theorem, components=request.components, beliefs=request.beliefs)
        return _by_ranges(request, counts, summaries, target, pairs=pairs, others=0)
    name = request.public[0]
    sizes = rows.rows_per_secret.values()
    is_better_exact = sum(sizes) <= _FEW_ROWS or target.delta * min(sizes) >= _MANY_ROWS  # than from cells
    if isinstance(request.noise, Gaussian) and is_better_exact:
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


def _of_one_column(request: Request, summary: Summary, target: Target, *, pairs: Pairs, named: list[Secret]) -> Choice:
    """For the only public column, of numbers."""
    column = ColumnRequest(
        noise=request.noise,
        pairs=pairs,
        beliefs=request.beliefs,
        domain=request.domain.get(request.public[0]),
        extent=summary.extent,
        radius=summary.radius,
        calibration=request.calibration,
        allow_zero_noise=request.allow_zero_noise,
        rows=request.repeats.measured,
    )
    counts = {label: summary.counts[label] for label in named}
    return choose_column(counts, target, column, theorem=request.theorem, components=request.components)


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


def with_merged(request: Request, frame: NativeFrame, table: Table, /) -> tuple[Request, NativeFrame, Table]:
    """The request and the frame with small strata under one label, where that was asked for.

    A stratum is small that has fewer rows than the minimum of a secret that is protected, also none. One that has the
    label in all its columns joins them. Where they are small together, too, the smallest of the others do.

    Raises ArgumentError for given columns of other than text.
    """
    if request.given is None or not request.given.merge:
        return request, frame, table
    for name in request.given_columns:
        if table.kind_of(name) != "labels":
            raise ArgumentError(
                "given",
                rule="columns of text or categories, to merge strata",
                got=repr(name),
                hint="Write the values as text first, or leave out merge=True.",
            )
    seen = RowsSeen.of(table.complete(request.roles(), nulls=request.nulls, layout=None), request)
    counts = seen.rows_of_secrets(len(request.secret), given=True)
    pairs = check_pairs(request.pairs, list(counts))
    named = list(counts) if pairs == "all" else list(dict.fromkeys(secret for pair in pairs for secret in pair))
    parts = seen.by_stratum(len(request.secret))
    rows = {z: [part.rows_per_secret.get(secret, 0) for secret in named] for z, part in parts.items()}
    merged = _merged(rows, minimum=request.given.minimum)
    if not merged:
        return request, frame, table
    if len(merged) == len(rows):
        warn_of_one_stratum(request.given_columns, strata=len(rows), minimum=request.given.minimum)
    changed = merged_frame(frame, request.given_columns, merged, label=OTHER)
    return replace(request, merged=merged), changed, open_table(changed)


def _merged(rows: Mapping[Stratum, Sequence[int]], *, minimum: int) -> tuple[Stratum, ...]:
    """The small strata, one that has their label already, and while these are too few together the smallest of the
    others; `rows` are per secret.
    """
    small = [z for z, found in rows.items() if min(found) < minimum]
    if not small:
        return ()
    small += [z for z in rows if set(z) == {OTHER} and z not in small]
    others = sorted((z for z in rows if z not in small), key=lambda z: sum(rows[z]), reverse=True)
    while others and (len(small) < 2 or min(map(sum, zip(*(rows[z] for z in small), strict=True))) < minimum):
        small.append(others.pop())
    return tuple(small)


def as_planned(request: Request, frame: NativeFrame, /) -> NativeFrame:
    """A frame with null for codes, and strata merged, as in a plan; without a column, which is an error later, it is
    left as it is.
    """
    frame = with_nulls(frame, request.null_values)
    names = open_table(frame).names
    if not request.merged or not set(request.given_columns) <= set(names):
        return frame
    return merged_frame(frame, request.given_columns, request.merged, label=OTHER)


MOST_STRATA = 2_000


def choose_in_strata(
    request: Request, seen: RowsSeen, /, *, pairs: Pairs, named: Sequence[Secret]
) -> tuple[dict[str, Choice], StrataChoices]:
    """A scale per stratum and column, from rows that were counted per secret and stratum; first what holds of all.

    Raises ArgumentError for more strata than 2,000, or levels of a given column than 256; CalibrationError as for a
    column alone.
    """
    assert request.given is not None
    _check_few(seen, request)
    parts = seen.by_stratum(len(request.secret))
    listed_counts = {z: sum(part.rows_per_secret.values()) for z, part in parts.items()}
    rows = RowsSeen.merged(list(parts.values())).protected(request)
    parts = {z: part.protected(request) for z, part in parts.items()}
    one_scale, minimum = request.given.scale == "one", request.given.minimum
    open_to_zero = _for_parts(request, rows)
    bounded = _bounded(open_to_zero, rows, pairs=pairs, named=named)
    found: dict[Stratum, Mapping[str, Choice]] = {}
    kinds = {
        z: kind_of_stratum(part.rows_per_secret, rows.rows_per_secret, pairs=pairs, minimum=0 if one_scale else minimum)
        for z, part in parts.items()
    }
    small, unbound, lacking = (
        tuple(z for z in parts if getattr(kinds[z], name)) for name in ("small", "unbound", "lacks")
    )
    near: Mapping[str, Choice] | None = None
    for z, part in sorted(parts.items(), key=lambda item: -listed_counts[item[0]]):
        if z in small:
            found[z] = _small(open_to_zero, part, bounded, kinds[z])
        elif z not in unbound:
            listed, named_here = kinds[z].pairs, list(kinds[z].secrets)
            found[z] = choices_of(open_to_zero, part, pairs=listed, named=named_here, near=near)
            if near is None and all(choice.scale for choice in found[z].values()):
                near = found[z]
    exact = {z: choices for z, choices in found.items() if z not in small}
    common = bounded
    if found:  # of small strata where there are no others
        common = {name: largest(choices[name] for choices in (exact or found).values()) for name in request.public}
    if not max(choice.scale for choice in common.values()):
        require_noise(
            0.0,
            list(common[request.public[0]].verified),
            request.target,
            allow_zero_noise=request.allow_zero_noise,
            where=" in every stratum with enough rows" if small and exact else "",
        )
    for z in parts:
        own = common if one_scale or z in unbound else found[z]
        found[z] = {name: choice if choice.scale else common[name] for name, choice in own.items()}
    strata = StrataChoices(
        given=request.given_columns,
        one_scale=one_scale,
        minimum=minimum,
        choices={z: found[z] for z in parts},
        small=small,
        unbound=unbound,
        lacking=len(lacking),
        rows=listed_counts,
        alone=_loss_of_strata(parts, rows, pairs=pairs, named=named),
    )
    return _of_all(request, strata, common, bounded), strata


@dataclass(frozen=True, slots=True, kw_only=True)
class StratumKind:
    """What the secrets of a stratum allow."""

    secrets: Sequence[Secret]
    """The protected ones that occur."""
    pairs: Pairs
    """The protected pairs of these."""
    lacks: bool
    """Whether a protected secret does not occur."""
    unbound: bool
    """Whether no two protected secrets occur."""
    small: bool
    """Whether two do, and one of them in fewer rows than the least number."""


def kind_of_stratum(
    rows: Mapping[Secret, int], known: Mapping[Secret, int], /, *, pairs: Pairs, minimum: int
) -> StratumKind:
    """The kind of a stratum with so many rows of each secret, of a table with these secrets."""
    present, listed, absent = protected_here(list(rows), known=known, pairs=pairs)
    unbound = len(present) < 2 or not listed
    small = not unbound and min(rows[secret] for secret in present) < minimum
    return StratumKind(secrets=present, pairs=listed, lacks=bool(absent), unbound=unbound, small=small)


def _for_parts(request: Request, rows: RowsSeen) -> Request:
    """The request of one stratum. A belief that clips values does so to the range of the table, not of the stratum."""
    found = replace(request, allow_zero_noise=True)
    if all(isinstance(belief, str) for belief in request.beliefs):
        return found
    ranges = {name: summary.extent for name, summary in rows.summaries.items()}
    return replace(found, domain=ranges | dict(request.domain))


def _check_few(seen: RowsSeen, request: Request) -> None:
    own = len(request.secret)
    strata = {key[own:] for key in seen.rows_per_secret if isinstance(key, tuple)}
    for k, name in enumerate(request.given_columns):
        check_few_levels(len({z[k] for z in strata}), name=name, role="given")
    if len(strata) > MOST_STRATA:
        raise ArgumentError(
            "given",
            rule=f"columns with at most {MOST_STRATA:,} different rows",
            got="more",
            hint="Merge rare values before the release, or name fewer columns.",
        )


def _bounded(request: Request, rows: RowsSeen, *, pairs: Pairs, named: Sequence[Secret]) -> dict[str, Choice]:
    """Noise for the whole range of each column, which holds in every stratum under every belief.

    With several columns the belief is any law within the ranges, whatever was asked for.
    """
    asked = replace(request, theorem=BOUNDED.name, calibration="theorem", components=None, mechanism="noise")
    if len(request.public) > 1:
        asked = replace(asked, beliefs=("fitted", "empirical"))
    counted = rows if request.labels else replace(rows, joint=None)
    found = choices_of(asked, counted, pairs=pairs, named=list(named))
    return {name: replace(choice, none_needed=not choice.scale) for name, choice in found.items()}


def _small(request: Request, part: RowsSeen, bounded: Mapping[str, Choice], kind: StratumKind) -> dict[str, Choice]:
    """The noise for the whole ranges in a stratum of few rows, with what is measured of these rows.

    A label that is the same in all of them needs no change for their own frequencies: it has that of the others.
    """
    ends = {
        name: choice.bounds if choice.clips and choice.bounds else _ends_of(choice)
        for name, choice in bounded.items()
        if name not in request.labels
    }
    own = _bounded(replace(request, domain=ends), part, pairs=kind.pairs, named=kind.secrets)
    return {name: _with_scale_of(choice, own[name]) for name, choice in bounded.items()}


def _ends_of(choice: Choice) -> Bounds:
    """The ends of a column, as its observed frequencies have them."""
    ends = [prior.ends for prior in choice.empirical.values()]
    return min(low for low, _ in ends), max(high for _, high in ends)


def _with_scale_of(whole: Choice, own: Choice) -> Choice:
    """The choice for the rows of a stratum, under the beliefs and with the scale of that for all rows."""
    scale = max(whole.scale, own.scale)  # which may be raised by rounding
    return replace(
        own,
        scale=scale,
        scale_per_belief=dict.fromkeys(whole.scale_per_belief, scale),
        none_needed=not scale,
        binding_belief=whole.binding_belief,
        beliefs=whole.beliefs,
        words=whole.words,
        bounds=whole.bounds,
        clips=whole.clips,
    )


def _of_all(
    request: Request, strata: StrataChoices, common: Mapping[str, Choice], bounded: Mapping[str, Choice]
) -> dict[str, Choice]:
    """The largest scale of each column, and the largest losses in any stratum.

    A coupling within strata says nothing of releases that condition on other columns: only noise for ranges adds up.
    """
    found = {}
    for_ranges = request.theorem == BOUNDED.name and (len(request.public) > 1 or request.calibration == "theorem")
    for name, choice in common.items():
        scale = max(choices[name].scale for choices in strata.choices.values())
        extent = bounded[name].bounds
        adds_up = choice.adds_up and for_ranges
        free = choice.none_needed and all(strata.choices[z][name].none_needed for z in strata.small)
        priors = bounded[name].empirical
        found[name] = replace(
            choice,
            scale=scale,
            bounds=extent,
            adds_up=adds_up,
            none_needed=free,
            priors=priors,
            empirical=priors,
            wider={},
        )
    return found


def _loss_of_strata(
    parts: Mapping[Stratum, RowsSeen], rows: RowsSeen, *, pairs: Pairs, named: Sequence[Secret]
) -> float:
    """What the strata tell by themselves: infinite where one lacks a protected secret."""
    totals = rows.rows_per_secret
    worst = 0.0
    for part in parts.values():
        counts = part.rows_per_secret
        shares = {secret: counts.get(secret, 0) / totals[secret] for secret in named}
        if pairs == "all":
            compared = [(max(shares.values()), min(shares.values()))]
        else:
            compared = [(max(shares[a], shares[b]), min(shares[a], shares[b])) for a, b in pairs]
        for most, least in compared:
            if most:
                worst = max(worst, math.log(most / least) if least else math.inf)
    return worst
