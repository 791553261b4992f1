"""What several releases of the same records guarantee together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

from puffer_frames.certificates.about import APART
from puffer_frames.certificates.record import Certificate
from puffer_frames.certificates.text import headline
from puffer_frames.errors import ArgumentError, ArgumentTypeError, CalibrationError, short_traceback
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.roles import Roles
from puffer_frames.frames.table import is_frame, open_table
from puffer_frames.noise.gaussian import Gaussian
from puffer_frames.numbers.arguments import Target
from puffer_frames.numbers.presentation import Printed, Rows, at_most, odds_text, plain, shown, shown_names
from puffer_frames.numbers.rounding import as_written, sum_as_written, up, up_as_written
from puffer_frames.papers.catalogue import BOUNDED, MIXTURES, PUBLISHED_FOR
from puffer_frames.priors.pairs import Pairs, by_column, check_pairs, pairs_within
from puffer_frames.priors.summary import JointCounts
from puffer_frames.scales.joint.coupled import EMPIRICAL, MOST_COLUMNS, measured
from puffer_frames.verbs.attached import certificate_of


def without_refined(certificates: Sequence[Certificate], /) -> list[Certificate]:
    """The releases that none of the others refines; one that is there twice is there once.

    Raises CalibrationError for two refinements of one release: nothing is known of two draws given the same noise.
    """
    refined = {link["fingerprint"] for one in certificates for link in one.refines}
    left, seen = list[Certificate](), dict[str, Certificate]()
    for one in certificates:
        if one.fingerprint and one.fingerprint in refined:
            continue
        before = [seen[link["fingerprint"]] for link in one.refines if link["fingerprint"] in seen]
        # a draw that was interrupted has no fingerprint: nobody knows that it is the same as another one
        if any(not one.fingerprint or other.fingerprint != one.fingerprint for other in before):
            hint = "Refine the latest release of a chain; withdraw a refinement that was given to nobody."
            raise _refused("two refinements of one release", hint=hint)
        seen |= {link["fingerprint"]: one for link in one.refines}
        if not before:
            left.append(one)
    return left


def rounding_cost(certificate: Certificate, name: str, /) -> Fraction:
    """What rounding the values of a column to the grid of the first release costs of epsilon, at most."""
    if not certificate.scales.get(name):
        return Fraction(PUBLISHED_FOR.rounding[0])  # more than a label costs
    first = certificate.refines[0]["scales"] if certificate.refines else certificate.scales
    return Fraction(PUBLISHED_FOR.rounding[0]) * Fraction(first[name]) / Fraction(certificate.scales[name])


_OF_CAPS = 1 + Fraction(1, 2**48)
"""More than the rounding of 1 / cap adds to a ratio."""
_ROUNDING = 1 + 1e-6
"""What rounding may change of a loss."""
_IN_STRATA = " in each stratum"
"""Noise for ranges there is for the range of a stratum."""
_DIGITS = 6
"""Digits of a bound in its title, which is rounded up."""
_CHAIN = "each release was refined by the next one: together they guarantee what the last one does"
Release: TypeAlias = Certificate | NativeFrame
"""A certificate, or a released frame with one."""
_Column: TypeAlias = tuple[str, str]
"""Name of a column, and what its values are."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Composition(Printed):
    """What several releases guarantee together."""

    epsilon: float
    """Privacy parameter epsilon of all releases together."""
    delta: float
    """Privacy parameter delta."""
    rule: str
    """Why, in a sentence."""
    releases: int
    """How many there are."""
    unit: str | None = None
    """Name of the column whose rows of one value are protected together, where there is one."""
    given: tuple[str, ...] = ()
    """Names of columns on which the guarantee conditions."""
    beliefs: tuple[str, ...] = ()
    """Names of the beliefs that the guarantee of all together is under; empty where it is under any law within the
    ranges of the columns."""
    subjects: tuple[str, ...] = ()
    """What the releases protect, in the words of their certificates; several where batches differ."""

    def _shown(self) -> tuple[str, Rows]:
        epsilon, delta = (at_most(bound, digits=_DIGITS)[0] for bound in (self.epsilon, self.delta))
        pure = "pure" if not delta else f"delta = {plain(delta)}"
        title = f"{self.releases} releases together: epsilon = {plain(epsilon)}, {pure}"
        whose = f"all rows of one {shown(self.unit)}" if self.unit else "one record"
        meaning = odds_text(f"all released values of {whose} together", epsilon=epsilon, delta=delta)
        if self.given:
            meaning += f", beyond what {shown_names(self.given)} tells"
        under = ", ".join(self.beliefs) or "any law within the ranges of the columns" + _IN_STRATA * bool(self.given)
        protects = [("protects", "; ".join(self.subjects))] * bool(self.subjects)
        return title, [*protects, ("meaning", meaning), ("beliefs", under), ("rule", self.rule)]


@short_traceback
def compose(releases: Iterable[Release], /, *, frame: NativeFrame | None = None) -> Composition:
    r"""The guarantee of several releases of the same records, to a reader who has them all.

    Parameters
    ----------
    releases : iterable of Certificate or released frame
        Two or more, with the same secret and pairs.
    frame : pandas, Polars, PyArrow or Spark frame, or DuckDB relation, optional
        The table that they were made from; rows that lack a value in their columns are left out. With it Laplace noise
        on 1 to 4 columns of numbers is composed exactly, under the observed frequencies of whole rows.

    Returns
    -------
    Composition
        `epsilon`, `delta`, and the `rule` in words.

    Raises
    ------
    CalibrationError
        Where nothing is known of these releases together, and why.
    ArgumentError, ArgumentTypeError
        For fewer than two releases, or something else than releases.
    ColumnNotFoundError, PriorError
        As `puffer_frames.calibrate`, for the frame.

    Notes
    -----
    **Batches** of one data set of which `about` declares that no person is in two: the largest epsilon and delta of a
    batch count. **From certificates**: the epsilons and deltas add of releases by the bounded-column rule, of any
    columns; of
    releases of one and the same column whose certificates say that they add; and, under the observed frequencies, of
    any one release, or such a group, or what was planned with `releases=`, beside others by the bounded-column rule
    without delta. Planned releases have the guarantee under the beliefs that are the same ones in each: the observed
    frequencies and models fitted alike; side knowledge, other tables and wider beliefs of one name may differ. A
    release of several columns by theorem="kantorovich" holds a pairing of rows that bounds every other release of
    Laplace noise of some of these columns: with scales of the same proportions the epsilons add. Other releases are
    refused: their epsilons may be far too small. Epsilons and deltas are added in decimals, as they were asked for:
    three of 0.1 are 0.3. **From the table**: releases of a column with Laplace noise of scales b_r tell as much as one
    release of scale :math:`1 / \sum_r 1/b_r`, so that all are one release of the columns, whose loss is computed.

    References
    ----------
    docs/theory.md, sections 8, 9 and 17.

    Examples
    --------
    >>> import numpy as np, pandas as pd, puffer_frames
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"group": rng.choice(["a", "b"], 100), "score": rng.integers(0, 5, 100)})
    >>> first, second = (people.puffer.privatize(secret="group", public="score", epsilon=0.5) for _ in "12")
    >>> puffer_frames.compose([first, second], frame=people).epsilon <= 1.0
    True
    """
    if is_frame(releases) or isinstance(releases, Certificate) or not isinstance(releases, Iterable):
        raise ArgumentTypeError(
            "releases", rule="a list of certificates or released frames", got="something else", hint="Write [a, b]."
        )
    certificates = [each if isinstance(each, Certificate) else certificate_of(each) for each in releases]
    if len(certificates) < 2:
        raise ArgumentError("releases", rule="two or more", got=str(len(certificates)), hint="List all releases.")
    last = without_refined(certificates)
    batches = _in_batches(last)
    if len(batches) < 2 and (len(last) > 1 or frame is not None):
        _check_alike(last)
    if len(batches) > 1:
        found = _in_parallel(batches, frame)
    elif len(last) == 1 and frame is None:
        found = replace(together(last), rule=_CHAIN)
    else:
        found = _of_certificates(last) if frame is None else _of_table(last, frame)
        if len(last) < len(certificates):
            found = replace(found, rule=f"releases that refine one another count as the last of them; {found.rule}")
    found = replace(found, releases=len(certificates))
    given = tuple(dict.fromkeys(name for each in certificates for name in each.given))
    subjects = tuple(dict.fromkeys(each.subject for each in certificates))
    found = replace(found, unit=certificates[0].unit, given=given, subjects=subjects)
    kept = any(each.kept for each in certificates)
    return replace(found, rule=f"{found.rule}; not beside kept columns") if kept else found


def together(certificates: Sequence[Certificate], /, *, frame: NativeFrame | None = None) -> Composition:
    """As `compose`, also of one release."""
    if len(certificates) > 1:
        return compose(certificates, frame=frame)
    (one,) = certificates
    check_measured(certificates)
    if one.reproducible:
        hint = "Leave out rng=: such a release is not private."
        raise CalibrationError("the releases", rule="private ones", got="noise that came from a seed", hint=hint)
    return Composition(
        epsilon=one.epsilon,
        delta=one.delta,
        rule="one release: what its certificate says",
        releases=1,
        unit=one.unit,
        given=one.given,
        beliefs=one.beliefs,
        subjects=(one.subject,),
    )


def batch_of(certificate: Certificate, /) -> str | None:
    """The batch whose people are declared to be in no other one; None where nothing is declared.

    A table of answers is in none: series of one chain go on in the next batch.
    """
    declared = certificate.batches == APART and certificate.dataset and not certificate.answers
    return certificate.batch if declared else None


def _in_batches(certificates: Sequence[Certificate]) -> list[list[Certificate]]:
    """For each batch of other people the releases that tell of one of them: its own, and those of no such batch."""
    names = dict.fromkeys(name for name in map(batch_of, certificates) if name is not None)
    return [[one for one in certificates if batch_of(one) in (None, name)] for name in names]


def _in_parallel(batches: Sequence[Sequence[Certificate]], frame: NativeFrame | None) -> Composition:
    """A person is in one batch, and records are independent: what the others release has one law for all secrets."""
    listed = [one for batch in batches for one in batch]
    if frame is not None:
        raise _refused("batches of other people, which are several tables", hint="Leave the table out.")
    if len({one.dataset for one in listed}) > 1 or len({_units(one) for one in listed}) > 1:
        raise _refused("batches of different data sets, or of different units", hint="Compose alike releases.")
    found = [together(batch) for batch in batches]
    ranged = [all(map(_has_noise_for_ranges, batch)) for batch in batches]  # these hold under any law
    under = [each.beliefs for each, any_law in zip(found, ranged, strict=True) if not any_law]
    beliefs = tuple(name for name in under[0] if all(name in names for names in under)) if under else ()
    if under and not beliefs:
        raise _refused("batches without a belief that all name", hint='Name the belief "empirical" too.')
    each_own = "; each batch protects what is its own" * (len({one.subject for one in listed}) > 1)
    most = "as was declared: the batch that loses most counts"
    return Composition(
        epsilon=max(each.epsilon for each in found),
        delta=max(each.delta for each in found),
        rule=f"no person is in two of the {len(batches):,} batches, {most}{each_own}",
        releases=len(listed),
        beliefs=beliefs,
    )


def _refused(got: str, *, hint: str) -> CalibrationError:
    return CalibrationError("the releases", rule="ones of which a joint guarantee is known", got=got, hint=hint)


def check_measured(certificates: Sequence[Certificate], /) -> None:
    """Raise CalibrationError where the rows of a release were measured to lose more than it was asked for."""
    if any(headline(each).exceeds for each in certificates):
        raise _refused(
            "a release whose rows lose more than was asked for, by its certificate",
            hint="Calibrate these rows, and release them again; no limit can count such a release.",
        )


def _check_alike(certificates: Sequence[Certificate]) -> None:
    """What every rule needs."""
    check_measured(certificates)
    first, ranged = certificates[0], all(map(_has_noise_for_ranges, certificates))
    alike = (
        *(("secret", "secrets"), ("pairs", "protected pairs")),
        # the pairs of a coarser secret bound nothing of a finer one
        *(("secret_count", "values of the secret"), ("secret_values", "values of the secret")),
    )
    for name, words in alike:
        if any(getattr(each, name) != getattr(first, name) for each in certificates):
            raise _refused(f"different {words}", hint="Compose releases that protect the same.")
    if len({_units(each) for each in certificates}) > 1:
        raise _refused("different units, or different assumptions about their rows", hint="Compose alike releases.")
    if any(each.facts.sampled for each in certificates) and not ranged:
        raise _refused(
            "a release that used some rows of each unit, which another one may not have used",
            hint='Draw these rows once, keep that table, and release it with Unit(..., over="raise") and releases=.',
        )
    if first.unit and not ranged and _planned(certificates) is None:
        raise _refused(
            "several releases of units whose rows were assumed to be of some kind",
            hint='Plan for them: releases=2, or say Unit(..., rows="any").',
        )
    if any(each.given for each in certificates) and not ranged:
        raise _refused(
            "a release that conditions on columns, whose scales differ from stratum to stratum",
            hint='Release with Noise(theorem="bounded"), or without given=.',
        )
    if len({each.dataset for each in certificates if each.dataset}) > 1:
        raise _refused("different data sets", hint="Compose releases of the same records.")
    if any(each.answers for each in certificates):
        raise _refused("a table of answers", hint="Its own certificate says what adds.")
    if any(each.table for each in certificates):
        raise _refused(
            "a table that was released column by column",
            hint="Release it once. What adds is what a reader who knows the rows learns: each certificate says it.",
        )
    if any(each.reproducible for each in certificates):
        raise _refused("noise that came from a seed", hint="Leave out rng=: such a release is not private.")
    _check_rows(certificates)


def _check_rows(certificates: Sequence[Certificate]) -> None:
    """Raise CalibrationError unless all are of the same rows, as far as certificates tell.

    Batches are different rows: noise for the range of each adds, whatever a person's values in them have in common.
    """
    batches, ranged = {each.batch for each in certificates}, all(map(_has_noise_for_ranges, certificates))
    if len(batches) > 1 and not ranged:
        raise _refused(
            "different batches, in which one person may be twice",
            hint='Say about={"batches": "no person is in two"} where that is so, or release with '
            'Noise(theorem="bounded").',
        )
    if len({(each.batch, each.rows) for each in certificates}) > len(batches):
        raise _refused("different numbers of rows", hint="Compose releases of the same records.")
    read = {(each.public, each.given) for each in certificates}
    if any(each.facts.recoded for each in certificates) and not ranged:  # equal figures may be those of other codes
        raise _refused(
            "codes that were read as missing values, beside releases with other codes or none",
            hint="Put nulls in place of the codes first, and release that table each time.",
        )
    dropped = any(each.facts.dropped for each in certificates)
    if dropped and len(read) > 1 and not ranged:
        raise _refused(
            "different columns, beside which different rows may have been left out for missing values",
            hint='Take these rows out of the table first, and release what is left with nulls="raise".',
        )


def _units(certificate: Certificate) -> tuple[object, ...]:
    """The unit whose rows are protected together, and what is assumed of them."""
    return (certificate.unit, certificate.unit_rows, certificate.facts.rows_of_unit)


def _of_certificates(certificates: Sequence[Certificate]) -> Composition:
    if any(each.facts.other_rows for each in certificates):
        raise _refused("a release by a plan of other rows", hint="Calibrate these rows, and release them again.")
    if len({each.batch for each in certificates}) == 1:  # scales say nothing of the ranges of other rows
        planned = _planned(certificates) or _beside_a_coupling(certificates)
        if planned is not None:
            return planned
    local = [each for each in certificates if _has_noise_for_ranges(each) and not each.delta]
    others = [each for each in certificates if not (_has_noise_for_ranges(each) and not each.delta)]
    there = _IN_STRATA * any(each.given for each in certificates)
    ranges = "noise for the range of their columns" + there
    ranged = all(map(_has_noise_for_ranges, others))
    if ranged:
        rule = f"each release has noise for the range of its columns{there}"
        rule += ": epsilons and deltas add, under any law within them"
    elif local and not all("empirical" in each.beliefs for each in others):  # others may be about values beyond a range
        raise _refused(
            "a release that does not cover the observed frequencies", hint='Name the belief "empirical" too.'
        )
    elif len(others) == 1:
        rule = f"all but one have {ranges}: epsilons and deltas add, under the observed frequencies"
    elif _are_coupled(others):
        rule = "each release of this column rests on a coupling within a distance"
        rule += f", the others have {ranges}" * bool(local)
        under = "the observed frequencies" if local else "the beliefs that all name"
        rule += f": epsilons and deltas add, under {under}"
    elif any(each.facts.clipped != others[0].facts.clipped for each in others):
        raise _refused(
            "values that were clipped in some of them, or to other ends",
            hint='Release with the same domain= each time, or with Noise(theorem="bounded").',
        )
    else:
        table = "" if _beyond_tables(certificates) else "Give the table: compose(releases, frame=table). Or release "
        hint = f'{table or "Release "}all columns in one release, or each with Noise(theorem="bounded").'
        raise _refused("scales that rest on the randomness of the values", hint=hint)
    return Composition(
        epsilon=sum_as_written([each.epsilon for each in certificates]),
        delta=sum_as_written([each.delta for each in certificates]),
        rule=rule,
        releases=len(certificates),
        beliefs=() if ranged else (EMPIRICAL,) if local else others[0].beliefs,
    )


def _planned(certificates: Sequence[Certificate]) -> Composition | None:
    """Releases of one plan for several: together no more than the plan has room for, others by noise for ranges."""
    if any(each.given for each in certificates):  # whose scales differ from stratum to stratum
        return None
    for base in certificates:
        if base.releases == 1 or base.noise not in (PUBLISHED_FOR.title, Gaussian().title):
            continue
        local = [one for one in certificates if one is not base and _has_noise_for_ranges(one) and not one.delta]
        for beside in ([], local if "empirical" in base.beliefs else []):
            planned = [one for one in certificates if not any(one is other for other in beside)]
            if _has_room(base, planned):
                beliefs = _certain(base, planned)
                if not beliefs:
                    raise _refused(
                        "planned releases whose beliefs may be different ones of one name",
                        hint='Name the belief "empirical" too.',
                    )
                return Composition(
                    epsilon=sum_as_written([base.epsilon, *(one.epsilon for one in beside)]),
                    delta=base.delta,
                    rule=f"one of them was planned for {base.releases:,} releases, and others add no more than that"
                    + "; the rest have noise for the range of their columns, and their epsilons add" * bool(beside),
                    releases=len(certificates),
                    beliefs=(EMPIRICAL,) if beside else beliefs,
                )
    return None


def _certain(base: Certificate, planned: Sequence[Certificate]) -> tuple[str, ...]:
    """The beliefs of a plan that are the same ones wherever they have this name."""
    if _has_noise_for_ranges(base):
        return base.beliefs
    alike = len({(one.public, one.theorem) for one in planned}) == 1
    return tuple(name for name in base.beliefs if name == EMPIRICAL or (alike and _is_of_table(name, base)))


def _is_of_table(belief: str, certificate: Certificate) -> bool:
    """Whether a belief follows from the table and the theorem; others may be different ones of one name.

    A fitted mixture depends on how many components were asked for.
    """
    return belief == EMPIRICAL or (belief == "fitted" and certificate.theorem not in {each.name for each in MIXTURES})


def _has_room(base: Certificate, planned: Sequence[Certificate]) -> bool:
    """Whether a plan for several releases covers these."""
    scales = _all_scales(base)
    if len(planned) > base.releases:
        return False
    if any(one.noise != base.noise or one.facts.clipped != base.facts.clipped for one in planned):
        return False
    if any(set(_all_scales(one)) - set(scales) for one in planned):
        return False
    adds = base.noise == PUBLISHED_FOR.title
    if not adds and any(base.releases * (channel["cap"] or 0.0) > base.epsilon for channel in base.channels.values()):
        return False  # of versions that took labels to tell less in several releases, as Gaussian noise does
    powers = {column: 1 if adds or column[1].endswith(" labels") else 2 for column in scales}
    return all(_used(planned, column, scale, powers[column]) <= base.releases for column, scale in scales.items())


def _used(certificates: Sequence[Certificate], column: _Column, scale: float, power: int) -> Fraction:
    """How many releases of this scale tell as much of a column; more than any plan has where one is without noise."""
    own = [scales[column] for scales in map(_all_scales, certificates) if column in scales]
    if not all(own):
        return Fraction(0) if not any(own) else Fraction(10**18)
    return sum(((Fraction(scale) / Fraction(one)) ** power for one in own), Fraction(0))


def _all_scales(certificate: Certificate) -> dict[_Column, float]:
    """The scales of columns of numbers, and of labels with randomised response 1 / (log-ratio of two labels).

    A column that is of numbers here and of dates or labels there, or of other levels, is two columns: the scale of one
    says nothing of the distance of two values of the other.
    """
    dates = certificate.facts.dates
    numbers = {(name, "dates" if name in dates else "numbers"): scale for name, scale in certificate.scales.items()}
    labels = {
        (name, f"{channel.get('count')} labels"): channel["cap"] for name, channel in certificate.channels.items()
    }
    return {**numbers, **{column: 1 / cap if cap else 0.0 for column, cap in labels.items()}}


def _beside_a_coupling(certificates: Sequence[Certificate]) -> Composition | None:
    """One release whose coupling of rows, each pair within epsilon, bounds all other releases of its columns too.

    Under the coupling two rows differ by at most epsilon x scale in a weighted sum, so that another release of some of
    these columns loses at most epsilon x the largest ratio of its scales, however these were found.
    """
    found = [_total(k, certificates) for k, base in enumerate(certificates) if _has_coupling(base)]
    known = [total for total in found if total is not None]
    if not known:
        return None
    return Composition(
        epsilon=up_as_written(min(known)),
        delta=0.0,
        rule="the rows of two secrets can be paired so that the loss of every pair from these releases together is "
        "at most this, under the observed frequencies",
        releases=len(certificates),
        beliefs=(EMPIRICAL,),
    )


def _has_coupling(certificate: Certificate) -> bool:
    """Whether a release of several columns rests on a coupling of the table's own rows."""
    facts = certificate.facts
    return facts.joint == "coupled" and set(certificate.beliefs) == {EMPIRICAL} and not facts.clipped


def _total(place: int, certificates: Sequence[Certificate]) -> Fraction | None:
    """The loss of all releases under the coupling of one of them; None where one has other columns, or other noise.

    One and the same certificate at two places is two releases.
    """
    base, title = certificates[place], PUBLISHED_FOR.title
    scales = _all_scales(base)
    total = asked = as_written(base.epsilon)
    for each in (*certificates[:place], *certificates[place + 1 :]):
        own = _all_scales(each)
        if each.noise == title and set(own) <= set(scales):
            moved = [(scales[column], scale) for column, scale in own.items() if scales[column]]
            if not all(scale for _, scale in moved):
                return None
            ratio = max((Fraction(mine) / Fraction(scale) for mine, scale in moved), default=Fraction(0))
            same = ratio == 1 and not (base.refines or each.refines)  # the same noise on the same grid
            costs = (rounding_cost(each, column[0]) for column in own if scales[column])
            total += asked if same else asked * ratio * _OF_CAPS + sum(costs, Fraction(0))
        elif _has_noise_for_ranges(each) and not each.delta:
            total += as_written(each.epsilon)
        else:
            return None
    return total


def _has_noise_for_ranges(certificate: Certificate) -> bool:
    """Whether a release is private for every law on the ranges of its columns; an exact scale is not."""
    return certificate.theorem == BOUNDED.name and certificate.calibration == "theorem"


def _are_coupled(certificates: Sequence[Certificate]) -> bool:
    """Whether all are of one column of the same rows, of the table's own laws, and say that they add."""
    # the laws of clipped values have the names of the laws of all values
    kinds = [
        (each.public, each.beliefs, each.theorem, each.rows, each.facts.clipped, each.facts.dates)
        for each in certificates
    ]
    public, beliefs, *_ = kinds[0]
    of_table = all(_is_of_table(name, certificates[0]) for name in beliefs)
    same = all(kind == kinds[0] for kind in kinds)
    return same and len(public) == 1 and of_table and all(each.adds_up for each in certificates)


def _check_table(certificate: Certificate, joint: JointCounts, pairs: Pairs) -> None:
    """Raise CalibrationError where a release has measured another loss than these rows have at its scales.

    The brackets of one loss meet. The brackets of another table with as many rows may meet, too. Rows that are not
    those of the plan have no loss to be known by.
    """
    for names in [certificate.public] if certificate.facts.whole_rows else [(name,) for name in certificate.public]:
        stored, places = certificate.observed.get(names[0]), [joint.columns.index(name) for name in names]
        if stored is None and certificate.facts.other_rows:
            raise _refused(
                "a release by a plan of other rows, whose certificate does not tell whether this is their table",
                hint="Calibrate these rows, all columns in one plan, and release them again.",
            )
        if stored is None:
            continue
        counts = {secret: (rows[:, places], often) for secret, (rows, often) in joint.counts.items()}
        part = JointCounts.merged([replace(joint, columns=names, counts=counts)])
        scales = [certificate.scales[name] / certificate.releases for name in names]  # its loss is that of all copies
        found = measured(part, scales, Target(epsilon=certificate.epsilon, delta=0.0), pairs=pairs, enough=0.0)[0]
        first, second = stored.pure_loss, found.pure_loss
        if max(first.lower, second.lower) > min(first.upper, second.upper) * _ROUNDING + _ROUNDING - 1:
            raise _refused(
                "a table with another loss than was measured for one of them",
                hint="Give the table that was released, as it was: columns that have changed need other names.",
            )


def _beyond_tables(certificates: Sequence[Certificate]) -> str:
    """What nothing is known of from the table, in words; else empty."""
    columns = dict.fromkeys(name for each in certificates for name in each.public)
    found = {
        f"noise other than {PUBLISHED_FOR.title} noise": any(
            each.noise != PUBLISHED_FOR.title or each.channels for each in certificates
        ),
        "units, or given columns, of which the table says nothing here": any(
            each.unit or each.given for each in certificates
        ),
        f"{len(columns)} columns, more than {MOST_COLUMNS}": len(columns) > MOST_COLUMNS,
        "values that were clipped before the noise": any(each.facts.clipped for each in certificates),
        "a column without noise": not all(scale for each in certificates for scale in each.scales.values()),
        "a column of dates in one release and numbers in another": len(
            {column for each in certificates for column in _all_scales(each)}
        )
        > len(columns),
    }
    return next((got for got, there in found.items() if there), "")


def _of_table(certificates: Sequence[Certificate], frame: NativeFrame) -> Composition:
    """Laplace noise of several scales on one value is one release of a smaller scale."""
    if got := _beyond_tables(certificates):
        hint = "Leave the table out."
        try:
            _of_certificates(certificates)
        except CalibrationError as error:  # nor is anything known without it
            hint = error.hint
        raise _refused(got, hint=hint)
    columns = list(dict.fromkeys(name for each in certificates for name in each.public))
    scaled = [(name, scale) for each in certificates for name, scale in each.scales.items()]
    rates = dict.fromkeys(columns, Fraction(0))
    for name, scale in scaled:
        rates[name] += 1 / Fraction(scale)
    roles = Roles(secret=certificates[0].secret, public=tuple(columns))
    joint = open_table(frame).complete(roles, nulls="drop", layout=None).joint_counts({}, {})
    if certificates[0].rows != sum(joint.rows_per_secret.values()):
        raise _refused("another number of rows than the table has", hint="Give the table that was released.")
    if certificates[0].pairs == "each":
        groups = by_column(joint.counts, certificates[0].secret)
        joint, pairs = joint.grouped(groups), pairs_within(groups)
    else:
        pairs = check_pairs(certificates[0].pairs, list(joint.counts))
    for each in certificates:
        _check_table(each, joint, pairs)
    lost = sum((rounding_cost(each, name) for each in certificates for name in each.scales), Fraction(0))
    most = sum(each.epsilon for each in certificates)
    scales = [float(1 / rates[name]) * (1 - 2.0**-50) for name in joint.columns]
    found, _ = measured(joint, scales, Target(epsilon=most, delta=0.0), pairs=pairs, enough=0.0)
    return Composition(
        epsilon=up(Fraction(found.pure_loss.upper) + lost),
        delta=0.0,
        rule="computed from the table: under the observed frequencies of whole rows the releases tell as much as one "
        "with scales 1 / (sum of 1 / scale)",
        releases=len(certificates),
        beliefs=(EMPIRICAL,),
    )
