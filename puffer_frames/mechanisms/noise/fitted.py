"""Noise that was found for a request: from summaries of the table to a scale per column, without seeing a row."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self, TypeVar

import numpy as np

from puffer_frames.certificates.build import warn_of_weakness
from puffer_frames.errors import ArgumentError, CalibrationError
from puffer_frames.frames.summary import check_few_levels, least_width, most_filled, width_for
from puffer_frames.loss.outcome import Verification, excess_text
from puffer_frames.mechanisms.noise.rows_seen import RowsSeen, constants_of, label_shares, spread_of
from puffer_frames.mechanisms.request import Request, RowsRequest, is_coupled, lacking, lean_entry, lean_request
from puffer_frames.mechanisms.seam import ColumnError, Fitted, named_secrets
from puffer_frames.noise.channel import changed_share
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.noise.gaussian import Gaussian
from puffer_frames.noise.postprocessing import Bounds, postprocess
from puffer_frames.noise.stable import Stable
from puffer_frames.numbers.arguments import Target
from puffer_frames.numbers.threads import one_blas_thread
from puffer_frames.papers.catalogue import BOUNDED, JOINT, PUBLISHED_FOR
from puffer_frames.priors.pairs import Pairs, by_column, check_pairs, pairs_within
from puffer_frames.priors.prior import FloatArray, Secret
from puffer_frames.priors.summary import Level, Summary
from puffer_frames.scales.cautions import warn_of_few_rows, warn_of_marks, warn_of_texts, warn_of_values
from puffer_frames.scales.choice import Choice, require_noise
from puffer_frames.scales.columns import ColumnRequest, check_several, choose_column, choose_columns
from puffer_frames.scales.drift import protected_here
from puffer_frames.scales.joint.columns import bounded_labels, choose_jointly
from puffer_frames.scales.learned import Belief
from puffer_frames.scales.remap import Remap, together
from puffer_frames.scales.repeats import times
from puffer_frames.scales.strata import StrataChoices, Stratum, largest
from puffer_frames.scales.utility import NEARLY, Shift, Utility, public_noise, sampled, shift_of

_NEARLY = 0.95
"""Randomised response that changes so many of the labels that a constant changes leaves hardly anything of them: 0.02
of the normalised mutual information of a label with itself."""
_FEWEST_DRAWN, _MOST_DRAWN = 32, 1 << 13
"""Values of a stratum, and of a table, that stand for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseFit(Fitted[RowsSeen]):
    """What is to be released, with which noise, and why. It holds exact statistics of every secret."""

    request: Request
    pairs: Pairs
    choices: Mapping[str, Choice]
    """The scale and why, per column; of strata the largest ones."""
    strata: StrataChoices | None
    """The same per stratum, where the guarantee conditions on columns."""
    rows_per_secret: Mapping[Secret, int]
    rows: int
    levels: Mapping[str, tuple[Level, ...]]
    """The levels of columns of labels, where several columns are released together."""
    remaps: Mapping[str, Remap] = field()  # without it the property of the base class would be its default
    """What noisy values are replaced by, per column with noise; empty unless the request is for it."""

    @classmethod
    def of(cls, request: Request, rows: RowsSeen, /) -> Self:
        """The plan for a table of which this was seen; raises as `puffer_frames.calibrate`."""
        if rows.joint is None and len(request.public) > 1 and request.repeats.composed:  # each column has its share
            request = replace(request, repeats=replace(request.repeats, composed=False))
        counts = rows.rows_of_secrets(len(request.secret), given=request.given is not None)
        number = sum(counts.values())
        if request.apart:
            groups = by_column(counts, request.secret)
            counts = {group: sum(counts[secret] for secret in of) for group, of in groups.items()}
            pairs = pairs_within(groups)
        else:
            pairs = check_pairs(request.pairs, list(counts), nulls=request.nulls)
        named = named_secrets(pairs, counts)
        strata = None
        if request.given is None:
            choices = choices_of(request, rows.protected(request), pairs=pairs, named=named)
        else:
            choices, strata = choose_in_strata(request, rows, pairs=pairs, named=named)
        warn_of_weakness(request.target, rows=number)
        warn_of_few_rows({label: counts[label] for label in named})
        warn_of_marks(counts)
        joint = rows.joint
        levels = {} if joint is None else {joint.columns[k]: labels for k, labels in joint.labels.items()}
        for name, labels in levels.items():
            warn_of_texts(name, labels)
        for name, summary in rows.summaries.items():
            if name not in levels and name not in request.domain:
                warn_of_values(name, summary)
        plan = cls(
            request=request,
            pairs=pairs,
            choices=choices,
            strata=strata,
            rows_per_secret=counts,
            rows=number,
            levels=levels,
            remaps={},
        )
        return plan.remapped(rows) if request.mechanism == "remap" else plan

    def remapped(self, rows: RowsSeen, /) -> Self:
        """The same with the posterior median after the noise, for a table of which this was seen."""
        noises = {name: self.noise(scale) for name, scale in self.scales.items()}
        medians = {n: Remap.pooled(rows.summaries[n], noise) for n, noise in noises.items() if noise is not None}
        return replace(self, request=replace(self.request, mechanism="remap"), remaps=medians)

    @property
    def calibration(self) -> str:
        """How the scale was found; of several columns by the joint loss, or by the theorem of bounded columns."""
        if len(self.choices) == 1:
            return self.request.calibration
        return "exact" if any(choice.theorem.name == JOINT.name for choice in self.choices.values()) else "theorem"

    @property
    def is_joint(self) -> bool:
        """Whether the scales of several columns were found together, for whole rows."""
        return any(choice.theorem.whole_rows for choice in self.choices.values())

    @property
    def refuted_fits(self) -> tuple[str, ...]:
        """Columns whose scale, in some stratum, is that of a fitted model that the table refutes."""
        if self.strata is not None:
            return self.strata.refuted
        published = self.calibration == "theorem"
        return tuple(name for name, one in self.choices.items() if one.rests_on_refuted(published=published))

    @property
    def lists_some(self) -> bool:
        """Whether the pairs leave secrets out, whose rows the choices do not have."""
        return set(self.secrets) < set(self.rows_per_secret)

    @property
    def is_refinable(self) -> bool:
        """Whether its releases can be refined."""
        others = self.strata is not None or self.levels or self.remaps
        return self.request.noise == PUBLISHED_FOR and not others

    @property
    def scales(self) -> dict[str, float]:
        return {name: choice.scale for name, choice in self.choices.items() if name not in self.request.labels}

    @property
    def all_scales(self) -> dict[str, float]:
        """The same, and of columns of labels 1 / (log-ratio of the probabilities of two labels)."""
        return {name: choice.scale for name, choice in self.choices.items()}

    @property
    def changed(self) -> dict[str, float]:
        """The share of changed labels of each column of labels; of strata the largest."""
        return {name: self.changed_in_strata(name)[1] for name in self.levels}

    @property
    def changed_labels(self) -> dict[str, float]:
        return self.changed

    def changed_in_strata(self, name: str, /) -> tuple[float, float]:
        """The least and the largest share of changed labels of a column, in any stratum."""
        scales = [self.all_scales[name]]
        if self.strata is not None and not self.strata.one_scale:
            scales = [found[name] for found in self.strata.scales.values()]
        shares = [changed_share(len(self.levels[name]), scale) for scale in scales]
        return min(shares), max(shares)

    @property
    def observed(self) -> dict[str, Verification]:
        """What was measured under the observed frequencies, per column."""
        return {name: choice.observed for name, choice in self.choices.items() if choice.observed is not None}

    @property
    def exceeded(self) -> dict[str, str]:
        """Neither noise for ranges, nor a belief of the observed frequencies; once for whole rows."""
        request, open_ = self.request, self.observed
        if len(self.choices) > 1:
            open_ = dict(list(open_.items())[:1]) if self.is_joint else {}
        target = request.repeats.asked(request.target, noise=request.noise, columns=len(self.choices))
        return {
            name: excess_text(loss, target, rows=request.repeats.shares)
            for name, loss in open_.items()
            if "empirical" not in self.choices[name].verified and not loss.confirms(target)
        }

    @property
    def summaries(self) -> dict[str, Summary]:
        """How often each value of a column of numbers occurs with each of the named secrets."""
        return {name: _summary(self.choices[name].empirical) for name in self.scales}

    @property
    def clipped(self) -> dict[str, Bounds]:
        """Bounds to which the values of a column are clipped before the noise: public ones, or those of the table."""
        return {name: c.bounds for name, c in self.choices.items() if c.clips and c.bounds is not None}

    def noise(self, scale: float, /) -> NoiseFamily | None:
        """The noise of a scale; None for none."""
        return self.request.noise.at(scale) if scale else None

    def error_of(self, scale: float, /) -> float:
        """Mean absolute noise of a scale."""
        noise = self.noise(scale)
        return 0.0 if noise is None else noise.expected_absolute_error

    @property
    def expected_error(self) -> dict[str, float]:
        """Mean absolute error per released column, in its units: of the noise, or of what replaces the noisy values."""
        noise = {name: self._mean_error(name) for name in self.scales}
        return noise | {name: remap.expected_error for name, remap in self.remaps.items()}

    def column_errors(self) -> tuple[ColumnError, ...]:
        """The error of each column of numbers beside its spread and that of a constant."""
        found = {name: spread_of(self.choices[name].empirical, self.rows_per_secret) for name in self.scales}
        return tuple(
            ColumnError(name=name, error=self.expected_error[name], constant=constant, spread=spread)
            for name, (spread, constant) in found.items()
        )

    def constant_share(self, name: str, /) -> float:
        """The share of the labels of a column that its most frequent one in place of each changes."""
        return 1 - float(self._label_shares(name).max())

    def _label_shares(self, name: str) -> FloatArray:
        return label_shares(self.choices[name].empirical, self.rows_per_secret, levels=len(self.levels[name]))

    def shifted_labels(self) -> dict[str, Shift]:
        """Columns of labels, useless ones too, in which counts of a label are far from those of the table: each label
        that is changed becomes any other with the same probability.
        """
        found = {}
        for name in self.levels:
            changed, shares = self._mean_error(name), self._label_shares(name)
            if changed:
                found[name] = shift_of(shares, shares * (1 - changed) + (1 - shares) * changed / (shares.size - 1))
        return {name: off for name, off in found.items() if off.is_shifted}

    def _parts(self, name: str) -> list[tuple[tuple[FloatArray, FloatArray], float, int]]:
        """Values, rows of each, scale and rows: of the table, or of each stratum. For the values of a stratum in which
        nothing is hidden, and in a plan from a file, those of the table are taken.
        """
        table = together(self.summaries[name])
        if self.strata is None:
            return [(table, self.scales[name], self.rows)]
        found, table = [], sampled(*table, _MOST_DRAWN)  # once, in place of in each of many strata
        for z, choices in self.strata.choices.items():
            known = {} if z in self.strata.unbound else choices[name].empirical
            own = together(_summary(known)) if known else table
            found.append((own, choices[name].scale, self.strata.rows[z]))
        return found

    def utility(self, name: str, /, *, bounds: Bounds | None = None, to_integers: bool = False) -> Utility:
        """What a release makes of a column of numbers, after all that is done to its values: of some of the values of
        the table, and noise that is the same every time.
        """
        noise = public_noise(self.request.noise.at(1.0))
        parts = self._parts(name)
        rows, drawn, sides = sum(part[2] for part in parts), 0, list[tuple[FloatArray, ...]]()
        for values, scale, own in parts:
            raw, weights = sampled(*values, max(_FEWEST_DRAWN, noise.size * own // rows))
            away = scale * noise.take(np.arange(drawn, drawn + raw.size), mode="wrap")
            sides.append((raw, weights * (own / weights.sum()), away))
            drawn += raw.size
        raw, weights, away = (np.concatenate(side) for side in zip(*sides, strict=True))
        remap = self.remaps.get(name)
        with np.errstate(over="ignore"):
            noisy = np.concatenate([raw + away, raw - away])  # both signs: noise does not move the mean by chance
        noisy = noisy if remap is None else remap.step(noisy)
        released = postprocess(noisy, bounds=bounds, to_integers=to_integers)
        return Utility.of(np.tile(raw, 2), released, np.tile(weights, 2))

    def little_use(self) -> dict[str, dict[str, Utility]]:
        """Remapped columns of which a release keeps little, by the sentence that says so; of useless ones the mean."""
        found: dict[str, dict[str, Utility]] = {}
        useless = self.useless_columns()
        for name, own in {name: self.utility(name) for name in self.remaps}.items():
            for key in own.cautions:
                if name not in useless or key == "remap-means":
                    found.setdefault(key, {})[name] = own
        return found

    def worse_after(self, asked: RowsRequest, /) -> dict[str, dict[str, tuple[Utility, Utility]]]:
        """Columns of which rounding, or clipping after it, leaves clearly less, by the sentence that says so: what a
        release makes of them without, and with it, of a rounded column with both.
        """
        found: dict[str, dict[str, tuple[Utility, Utility]]] = {}
        for name in self.scales if asked.to_integers or asked.bounds else ():
            before, bounds = self.utility(name), asked.bounds.get(name)
            for key, ends in {"after-rounding": None, "after-bounds": bounds}.items():
                after = self.utility(name, bounds=ends, to_integers=asked.to_integers)
                if after.is_worse(before):
                    found.setdefault(key, {})[name] = before, after
                    before = after
        return found

    def useless_columns(self) -> list[str]:
        """Columns that a constant is nearer to than their noise; of strata, in each of them and over all rows."""
        figures = self.column_errors()
        # what replaces noisy values is never further off than a constant: a remap that is nearly one is of no use, too
        nearly = {each.name: NEARLY if each.name in self.remaps else 1.0 for each in figures}
        useless = [each.name for each in figures if each.error > nearly[each.name] * each.constant]
        changed = {name: self._mean_error(name) for name in self.levels}
        useless += [name for name, share in changed.items() if share and share >= _NEARLY * self.constant_share(name)]
        if self.strata is not None and self.strata.knows_constants:
            found, count = self._useless_strata(), len(self.strata.choices)
            useless = [name for name in useless if len(found[name]) == count]
        return [name for name in self.request.public if name in useless]

    def _mean_error(self, name: str) -> float:
        """The mean absolute noise of a column, or the share of its labels that are changed, over all rows."""
        if self.strata is None:
            return self._error_at(name, self.all_scales[name])
        errors = (self._error_at(name, scales[name]) * self.strata.rows[z] for z, scales in self.strata.scales.items())
        return sum(errors) / sum(self.strata.rows.values())

    def partly_useless(self, *, shares_too: bool = True) -> dict[str, str]:
        """Columns that a constant is nearer to in some strata: in how many, and in which share of the rows."""
        if self.strata is None or not self.strata.knows_constants:
            return {}
        count, useless, found = len(self.strata.choices), self.useless_columns(), self._useless_strata()
        shares = {name: 100 * sum(map(self.strata.rows.__getitem__, of)) / self.rows for name, of in found.items()}
        return {
            name: f"{len(of):,} of {count:,} strata" + f", with {shares[name]:.3g} % of the rows" * shares_too
            for name, of in found.items()
            if of and name not in useless
        }

    def _useless_strata(self) -> dict[str, list[Stratum]]:
        """The strata in which a constant is nearer, per column: of few rows that of the whole table."""
        assert self.strata is not None
        whole = {one.name: one.constant for one in self.column_errors()}
        whole |= {name: self.constant_share(name) for name in self.levels}
        return {
            name: [
                z
                for z, scales in self.strata.scales.items()
                if self._error_at(name, scales[name]) > self.strata.constants.get(z, whole)[name]
            ]
            for name in self.request.public
        }

    def _error_at(self, name: str, scale: float) -> float:
        return changed_share(len(self.levels[name]), scale) if name in self.levels else self.error_of(scale)


def _summary(empirical: Belief) -> Summary:
    counts = {secret: (prior.means, prior.levels[0]) for secret, prior in empirical.items()}
    return Summary(counts=counts, radius=max(prior.radius for prior in empirical.values()))


F = TypeVar("F", bound=NoiseFit)
LAWS = "the laws of its beliefs"
"""What every plan of noise from a file lacks."""


def lean(plan: F, /) -> tuple[F, tuple[str, ...]]:
    """The plan without laws of beliefs, and what it lacks, in words.

    It keeps the observed frequencies, with which those of later rows are compared, and per belief its name, its words
    and what was measured. Of strata it keeps the scales and what was measured.
    """
    choices = {name: _lean_choice(choice) for name, choice in plan.choices.items()}
    strata = None if plan.strata is None else _lean_strata(plan.strata)
    request = lean_request(plan.request, plan.pairs)
    return replace(plan, request=request, choices=choices, strata=strata), (LAWS, *lacking(plan.request))


def whole(plan: F, /) -> F:
    """A plan from a file, with the priors of theorems that assume the observed frequencies."""
    choices = {name: replace(choice, priors=choice.priors or choice.empirical) for name, choice in plan.choices.items()}
    return replace(plan, choices=choices)


def _lean_choice(choice: Choice) -> Choice:
    same = choice.priors is choice.empirical or choice.priors == choice.empirical
    return replace(
        choice,
        priors={} if same else choice.priors,
        beliefs={name: {} for name in choice.beliefs},
        learned=tuple(lean_entry(entry) for entry in choice.learned),
    )


def _lean_strata(strata: StrataChoices) -> StrataChoices:
    return replace(
        strata,
        choices={
            z: {name: replace(_lean_choice(choice), priors={}, empirical={}) for name, choice in choices.items()}
            for z, choices in strata.choices.items()
        },
    )


_MOST_RECOUNTS = 4
"""How often, at most, a column is counted again because its cells are wide against the noise."""
_FEWEST, _FEWEST_OF_SMOOTH = 16, 128
"""A scale of fewer cells is found anew: their means cost up to some 2 % of epsilon, of Gaussian and stable noise
0.04 %."""
_FEW_ROWS, _MANY_ROWS = 1 << 18, 8
"""Under Gaussian noise so few rows are counted value by value, which is no slower; and more where delta is the share of
so many rows of a secret, which makes the noise about as narrow as the gaps between values."""


def choices_of(
    request: Request,
    rows: RowsSeen,
    /,
    *,
    pairs: Pairs,
    named: list[Secret],
    near: Mapping[str, Choice] | None = None,
    known: Mapping[str, float] | None = None,
) -> dict[str, Choice]:
    """The scale and why, per column, for the secrets that the pairs name; near those of a table like this one.

    Of whole rows one noisy copy may have `known` scales, as `choose_jointly` takes them.

    For several rows of a unit, or several releases, what was measured is of one row, or of all rows where their loss is
    computed together, and of all noisy copies of their values.
    """
    repeats, noise = request.repeats, request.noise
    factor = repeats.factor(noise)
    asked = repeats.asked(request.target, noise=noise, columns=len(request.public))
    try:
        found = _of_one_value(request, rows, asked, pairs=pairs, named=named, near=near, known=known)
    except CalibrationError as error:
        if asked == request.target:
            raise
        raise type(error)(
            error.what, rule=error.rule, got=f"{error.got} (for one of several rows or releases)", hint=error.hint
        ) from None
    if repeats.assumed == "any":  # what one row needs says nothing of a unit
        found = {name: replace(choice, none_needed=not choice.scale) for name, choice in found.items()}
    return found if factor == 1 else {name: larger(one, factor_of(request, name)) for name, one in found.items()}


def factor_of(request: Request, name: str, /) -> float:
    """How much larger the scale of each noisy copy of a column is; the losses of changed labels add, whatever noise is
    beside them.
    """
    repeats = request.repeats
    return float(repeats.copies) if name in request.labels else repeats.factor(request.noise)


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
    known: Mapping[str, float] | None,
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
                known=known,
                rows=request.repeats.measured,
            )
    summaries = rows.summaries
    counts = {c: {label: summary.counts[label] for label in named} for c, summary in summaries.items()}
    if len(request.public) > 1:
        check_several(theorem=request.theorem, components=request.components, beliefs=request.beliefs)
        return choose_columns(counts, target, as_columns(request, summaries, pairs))
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
    (column,) = as_columns(request, {request.public[0]: summary}, pairs).values()
    counts = {label: summary.counts[label] for label in named}
    return choose_column(counts, target, column, theorem=request.theorem, components=request.components)


def as_columns(request: Request, summaries: Mapping[str, Summary], pairs: Pairs, /) -> dict[str, ColumnRequest]:
    """What is asked for of each column of numbers, and where its values lie."""
    return {
        name: ColumnRequest(
            noise=request.noise,
            pairs=pairs,
            beliefs=request.beliefs,
            domain=request.domain.get(name),
            extent=summary.extent,
            radius=summary.radius,
            calibration=request.calibration,
            allow_zero_noise=request.allow_zero_noise,
            rows=request.repeats.measured,
        )
        for name, summary in summaries.items()
    }


def _for_ranges(
    request: Request, rows: RowsSeen, target: Target, *, pairs: Pairs, named: list[Secret]
) -> dict[str, Choice]:
    """Columns of numbers and labels, each with an equal share of what is asked for, whatever their joint law."""
    assert rows.joint is not None
    check_several(theorem=request.theorem, components=request.components, beliefs=request.beliefs)
    counts = {c: {label: summary.counts[label] for label in named} for c, summary in rows.summaries.items()}
    found: dict[str, Choice] = {}
    if counts:
        columns = as_columns(request, rows.summaries, pairs)
        found = choose_columns(counts, target, columns, others=len(request.labels))
    there = replace(rows.joint, counts={secret: rows.joint.counts[secret] for secret in named})
    found |= bounded_labels(there, target.share(len(request.public)))
    return {name: found[name] for name in request.public}


MOST_STRATA = 2_000


def choose_in_strata(
    request: Request, seen: RowsSeen, /, *, pairs: Pairs, named: Sequence[Secret]
) -> tuple[dict[str, Choice], StrataChoices]:
    """A scale per stratum and column, from rows that were counted per secret and stratum; first what holds of all.

    Raises ArgumentError for more strata than 2,000, or levels of a given column than 512; CalibrationError as for a
    column alone.
    """
    assert request.given is not None
    _check_few(seen, request)
    parts = seen.by_stratum(len(request.secret))
    listed_counts = {z: sum(part.rows_per_secret.values()) for z, part in parts.items()}
    rows = RowsSeen.merged(list(parts.values())).protected(request)
    parts = {z: part.protected(request) for z, part in parts.items()}
    one_scale, minimum = request.given.scale == "one", request.given.minimum
    open_to_zero = for_parts(request, rows)
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
    constants = {z: constants_of(parts[z], kinds[z].secrets, request=request) for z in exact}
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
    published = request.calibration == "theorem"
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
        constants=constants,
        refuted=tuple(n for n in common if any(found[z][n].rests_on_refuted(published=published) for z in parts)),
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


def for_parts(request: Request, rows: RowsSeen, /) -> Request:
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
