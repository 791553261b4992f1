"""All checks of an audit, together at one level."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import scipy

from puffer_frames.certificates.record import Certificate
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.matching import unknown_names
from puffer_frames.frames.side_by_side import PlainColumn
from puffer_frames.frames.table import library_of
from puffer_frames.loss.engine import hockey_stick, pure_loss
from puffer_frames.loss.outcome import Verification
from puffer_frames.noise.adding import grid_of
from puffer_frames.noise.families import family_titled
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.numbers.presentation import lower_text, plain, shown, shown_names
from puffer_frames.priors.prior import FloatArray, IndexArray, Prior
from puffer_frames.verbs.auditing.columns import shared_codes
from puffer_frames.verbs.auditing.guesser import largest_ratio
from puffer_frames.verbs.auditing.guesses import claimed, guesses
from puffer_frames.verbs.auditing.noise_tests import (
    p_of_correlation,
    p_of_groups,
    p_of_law,
    p_of_neighbours,
    p_of_places,
    p_of_ranks,
    p_of_seeds,
    p_of_shared,
    p_of_shifts,
    p_of_sum,
    repeats,
    smallest,
    uniform_noise,
)
from puffer_frames.verbs.auditing.readers import NAMES, readers, sees_secret
from puffer_frames.verbs.auditing.report import AuditCheck, AuditReport, check_of, check_of_p, check_that, check_within
from puffer_frames.verbs.auditing.rows import AuditRows, View, rows_of, views_of

_FEWER = 0.5
"""Fewer than this share of the runs of a random order: the position tells the secret."""
_LEVELS = 8
"""A column with as many rows per level, at least, can be known again by its levels alone."""


def is_same(first: IndexArray, second: IndexArray, /) -> bool:
    """Whether two columns, as numbers of their levels, are equal but for the names of the levels.

    Columns of almost as many levels as rows are equal by that in any case, and never are here.
    """
    levels = int(np.unique(first).size)
    if first.size != second.size or levels < 2 or levels * _LEVELS > first.size:
        return False
    if int(np.unique(second).size) != levels:
        return False
    return int(np.unique(first.astype(np.int64) * (int(second.max()) + 1) + second).size) == levels


def is_same_order(first: FloatArray, second: FloatArray, /) -> bool:
    """Whether two columns of numbers are one increasing or decreasing function of each other, ties included."""
    if first.size != second.size or first.size < _LEVELS or np.unique(first).size < 3:
        return False
    ranks, others = scipy.stats.rankdata(first), scipy.stats.rankdata(second)
    return bool((ranks == others).all() or (ranks == first.size + 1 - others).all())


def runs_of(codes: IndexArray, /) -> tuple[int, float, float]:
    """Runs of equal secrets, how many a random order has on average, and the p-value of so few.

    In a random order of n rows with counts c the number of equal neighbours has mean sum c (c - 1) / n; its law is near
    a normal one.
    """
    counts = np.bincount(codes).astype(float)
    n = float(codes.size)
    found = 1 + int(np.count_nonzero(codes[1:] != codes[:-1]))
    if n < _LEVELS or np.count_nonzero(counts) < 2:
        return found, float(found), 1.0
    squares, cubes = float((counts**2).sum()), float((counts**3).sum())
    expected = (n * (n + 1) - squares) / n
    variance = (squares * (squares + n * (n + 1)) - 2 * n * cubes - n**3) / (n**2 * (n - 1))
    if variance <= 0:
        return found, expected, 1.0
    return found, expected, float(scipy.stats.norm.cdf((found + 0.5 - expected) / math.sqrt(variance)))


def is_clustered(found: int, expected: float, p: float, /, *, alpha: float) -> bool:
    """Whether the order tells the secret: clearly, and not by chance."""
    return found < _FEWER * expected and p < alpha


def unique_share(codes: list[IndexArray], /) -> float:
    """Share of rows that no other row is equal to in all of these columns."""
    rows = np.column_stack(codes)
    _, counts = np.unique(rows, axis=0, return_counts=True)
    return float(np.count_nonzero(counts == 1)) / len(rows)


_AWAY, _ERRORS = 0.05, 6.0
_NEAR = 1e-6
_GRID = 1e-8
"""Less than so much of an epsilon is spent on the grid."""
_MOST_POINTS, _MOST_PAIRS, _MOST_ATOMS = 150, 60, 4000


def check_certificate(certificate: Certificate, released: NativeFrame, /) -> AuditCheck:
    """Whether it is the certificate of these rows, and whether its parts agree."""
    verdict = certificate.verify(released)
    if verdict == "derived":
        why = "it is that of other rows: the values, their order or the columns differ"
        return check_of("certificate", "failed", why)
    for name, beliefs in certificate.verified.items():
        for found in beliefs.values():
            if not _agrees(certificate, found.epsilon):
                why = f"what was measured of {shown(name)} is not what this epsilon needs: one of both was edited"
                return check_of("certificate", "failed", why, found=found.epsilon, limit=certificate.epsilon)
            if not _is_within(certificate, found):
                why = f"the loss that was measured of {shown(name)} is beyond epsilon"
                return check_of("certificate", "failed", why, found=found.pure_loss.upper, limit=certificate.epsilon)
    return check_of("certificate", "passed", f"{verdict}; " * (verdict != "uncovered") + "its parts agree")


def _is_within(certificate: Certificate, found: Verification) -> bool:
    """Whether a measured loss is within what is certified: the pure one, or where there is a delta the hockey stick."""
    if found.pure_loss.upper <= certificate.epsilon * (1 + _NEAR):
        return True
    return bool(certificate.delta) and found.hockey_stick.upper <= certificate.delta * (1 + _NEAR)


def _agrees(certificate: Certificate, measured: float) -> bool:
    """Whether a loss was measured at the epsilon of the certificate; with shares of it, at no larger one."""
    if measured > certificate.epsilon * (1 + _NEAR):
        return False
    shares = certificate.unit_rows > 1 or certificate.releases > 1 or len(certificate.public) > 1 or certificate.refines
    return (
        bool(shares)
        or certificate.answers
        or certificate.unit is not None
        or measured >= certificate.epsilon * (1 - _NEAR) - _GRID
    )


def check_seeded(certificate: Certificate, /) -> AuditCheck:
    """Whether the certificate says that whoever knows the seed knows the noise."""
    if certificate.reproducible:
        return check_of("seed", "failed", "the noise came from a seed, as the certificate says: it is not private")
    return check_of("seed", "passed", "the certificate names no seed")


def check_columns(rows: AuditRows, released: NativeFrame, /) -> AuditCheck:
    """Whether all columns of the release are in the certificate, and the certified ones in both tables."""
    certificate = rows.certificate
    unknown = unknown_names(
        released, known=(*certificate.public, *certificate.kept, *certificate.given), rows=certificate.rows
    )
    lacking = sorted(set(certificate.public) - {each.name for each in rows.columns})
    wrong, why = unknown or lacking, "not in the certificate" if unknown else "not in both tables"
    why = f"{why}: {shown_names(wrong)}" if wrong else "all are in the certificate"
    return check_that("columns", not wrong, why, found=len(wrong))


def check_raw_columns(rows: AuditRows, /) -> AuditCheck:
    """Whether a released column is a raw one, by whatever name.

    Kept and given columns are as they were, and count where they are a column that is hidden or has noise.
    """
    found = [f"{shown(name)} is {shown(of)}" for name, of in _equal_columns(rows)]
    if found:
        return check_of("raw columns", "failed", "; ".join(found), found=len(found), limit=0)
    drawn = rows.certificate.public if rows.certificate.table else rows.certificate.channels
    left = [name for name in drawn if name in rows.original and _is_equal(rows, name, name)]
    if left:
        why = f"every value of {shown_names(left)} is the raw one: a channel may leave it so, though rarely all of them"
        return check_of("raw columns", "information", why, found=len(left))
    return check_of("raw columns", "passed", "no released column is a raw one of the original", found=0, limit=0)


def _equal_columns(rows: AuditRows) -> Iterator[tuple[str, str]]:
    certificate = rows.certificate
    as_they_were = {*certificate.kept, *certificate.given}
    hidden = {*certificate.public} | {name for group in rows.secrets for name in group.names}
    free = set(certificate.channels) | {name for name, scale in certificate.scales.items() if not scale}
    free |= {name for name in certificate.public if certificate.table and _may_be_raw(certificate, name)}
    for name, after in rows.released.items():
        if rows.shuffled and name in as_they_were:
            continue
        honest = name in as_they_were and name in rows.original and _is_equal(rows, name, name)
        for of, before in rows.original.items():
            known = (name == of and (honest or name in free)) or (honest and of not in hidden)
            if not known and (_same_values(after, before) if rows.shuffled else _same_rows(after, before)):
                yield name, of


def _may_be_raw(certificate: Certificate, name: str) -> bool:
    """Whether a column of a whole table comes out unchanged more often than once in 1e6 releases.

    The certificate rounds the share of changed values to whole percents; rows change independently of one another.
    """
    changed = certificate.changed.get(name, 0.0) - 0.005
    return bool(certificate.rows * changed < math.log(1e6))


def _same_values(first: PlainColumn, second: PlainColumn) -> bool:
    """Whether two columns of numbers have the same values, in any order."""
    if first.numbers is None or second.numbers is None:
        return False
    return np.array_equal(np.sort(first.numbers), np.sort(second.numbers))


def _same_rows(first: PlainColumn, second: PlainColumn) -> bool:
    """Whether two columns are equal, or can be told from one another by names of levels alone."""
    if is_same(first.codes + 1, second.codes + 1):
        return True
    if first.numbers is None or second.numbers is None:
        return False
    equal = np.array_equal(first.numbers, second.numbers) and bool(np.ptp(first.numbers) > 0)
    return equal or is_same_order(first.numbers, second.numbers)


def _is_equal(rows: AuditRows, name: str, of: str) -> bool:
    first, second, _ = shared_codes(rows.released[name], rows.original[of])
    return bool((first == second).all())


def check_changed(rows: AuditRows, /) -> AuditCheck:
    """Whether a whole table changed its labels as its certificate says, and not as rows of another table would.

    It fails beyond the middle of both shares, for that of the certificate is a network's; by six standard errors and
    0.05, at least. Numbers in cells are left out.
    """
    certificate, table, name = rows.certificate, rows.certificate.table, "changed values"
    aside = () if table is None else (*(table.in_cells or ()), *table.derived)
    names = [one.name for one in rows.columns if one.name in certificate.changed and one.name not in aside]
    if not names or rows.shuffled or not certificate.has_bounds or certificate.facts.prepared:
        return check_of(name, "not applicable", "the certificate says of no label how often these rows keep it")
    found = {}
    for one in names:
        first, second, levels = shared_codes(rows.original[one], rows.released[one])
        shares = [np.bincount(codes, minlength=levels) / rows.rows for codes in (first, second)]
        told, apart = certificate.changed[one], 1 - float(shares[0] @ shares[1])
        least = told + max(_AWAY, _ERRORS * math.sqrt(told * (1 - told) / rows.rows))
        found[one] = float((first != second).mean()), told, apart, max(least, (told + apart) / 2)
    worst = max(found, key=lambda one: found[one][0] - found[one][3])
    share, told, apart, limit = found[worst]
    why = (
        f"{shown(worst)} differs in {share:.2g} of the rows, {told:.2g} by the certificate, {apart:.2g} by chance alone"
    )
    return check_within(name, f"{why}; are these the rows that were released?" * (share > limit) or why, share, limit)


def check_loss(rows: AuditRows, limit: tuple[float, float] | None, rng: np.random.Generator, /) -> AuditCheck:
    """The loss at the certified scale under the observed frequencies, computed anew."""
    epsilon, delta = limit or (math.inf, 0.0)
    family = family_titled(rows.certificate.noise)
    noisy = [each for each in rows.columns if each.noise is not None or each.kept is not None]
    if (
        limit is None
        or family is None
        or len(noisy) < len(rows.columns)
        or not noisy
        or not all((each.scale > 0).all() for each in noisy)
    ):
        return check_of("loss at the scale", "not applicable", "no scale, or none that is for these frequencies")
    if delta and len(noisy) > 1:
        return check_of("loss at the scale", "not applicable", "several columns with a delta")
    rows, assumed = _of_one_copy(rows, family), rows.certificate.facts.rows_of_unit
    times = rows.certificate.unit_rows if assumed == "independent" and not delta else 1  # of rows pure losses add
    found = times * max((_loss_of(view, family, epsilon, delta, rng) for view in views_of(rows)), default=0.0)
    if assumed == "any" and family.name == "laplace" and not delta:
        numbers = [each for each in rows.columns if each.is_numbers]
        found = max(found, rows.certificate.unit_rows * sum(float(np.ptp(c.before) / c.scale.min()) for c in numbers))
    bound, what = (delta, "delta at epsilon") if delta else (epsilon, "pure loss")
    why = f"{what} {lower_text(found)} or more at the certified scale, {plain(bound)} certified"
    within = not found > bound * (1 + _NEAR) + 1e-12
    return check_that("loss at the scale", within, why, found=found, limit=bound)


def _of_one_copy(rows: AuditRows, family: NoiseFamily) -> AuditRows:
    """With the scales of one noisy copy that tells as much as all copies of a value do; those of labels as they are."""
    repeated = rows.certificate.unit_rows if rows.certificate.facts.rows_of_unit == "repeated" else 1
    copies = rows.certificate.releases * repeated
    factor = {"laplace": float(copies), "gaussian": math.sqrt(copies)}.get(family.name, 1.0)
    return replace(rows, columns=tuple(replace(each, scale=each.scale / factor) for each in rows.columns))


def _loss_of(view: View, family: NoiseFamily, epsilon: float, delta: float, rng: np.random.Generator) -> float:
    """A lower bound of the loss of one stratum."""
    if len(view.columns) > 1 or view.columns[0].noise is None:
        chosen = rng.permutation(view.codes.size)[:_MOST_POINTS]
        points = [np.concatenate([each.before[chosen], each.after[chosen]]) for each in view.columns]
        return largest_ratio(view.columns, view.codes, view.pairs, points, rng)
    column = view.columns[0]
    noise = family.at(float(column.scale[0]))
    laws = {code: _law(column.before[view.codes == code]) for pair in view.pairs for code in pair}
    if family.name != "laplace" and max(prior.weights.size for prior in laws.values()) > _MOST_ATOMS:
        return 0.0
    losses = [
        hockey_stick(laws[s], laws[t], epsilon=epsilon, scale=noise.scale, noise=family).lower
        if delta
        else pure_loss(laws[s], laws[t], scale=noise.scale, noise=family).lower
        for s, t in view.pairs[:_MOST_PAIRS]
    ]
    return max(losses, default=0.0)


def _law(values: FloatArray) -> Prior:
    atoms, counts = np.unique(values, return_counts=True)
    return Prior.empirical(atoms, counts)


def singling_out(rows: AuditRows, /) -> AuditCheck:
    """The share of rows that are unique by what is released as it is."""
    kept = [name for name in (*rows.certificate.kept, *rows.certificate.given) if name in rows.released]
    if not kept or not rows.rows:
        return check_of("singling out", "not applicable", "no column is kept")
    share = unique_share([rows.released[name].codes for name in kept])
    why = f"{100 * share:.3g} % of the rows are unique by {shown_names(kept)}"
    return check_of("singling out", "information", why, found=share)


_CHECKS = (
    "noise law",
    "noise and secret",
    "noise and values",
    "noise of rows",
    "noise of columns",
    "repeats",
    "known seeds",
)


def noise_checks(rows: AuditRows, /, *, alpha: float, rng: np.random.Generator) -> list[AuditCheck]:
    """Law and independence of the noise, each at level alpha."""
    known = {each.name: uniform_noise(each.ends, rng) for each in rows.columns if each.ends is not None}
    if rows.shuffled or not known or rows.rows < 2:
        why = "the rows were put into a random order" if rows.shuffled else "the noise of a row is not known here"
        law = _law_of_all(rows, alpha) if rows.shuffled else check_of(_CHECKS[0], "not applicable", why)
        return [law, *(check_of(name, "not applicable", why) for name in _CHECKS[1:])]
    return [
        _of_columns("noise law", known, p_of_law, "noise of each row against the certified law", alpha),
        _of_columns(
            "noise and secret",
            known,
            lambda u: smallest(p_of_groups(u, group.codes) for group in rows.secrets),
            "noise against the secret",
            alpha,
        ),
        _with_values(rows, known, alpha),
        _between_rows(rows, known, alpha),
        _between_columns(known, alpha),
        *_of_continuous(rows, known, alpha),
    ]


def _law_of_all(rows: AuditRows, alpha: float) -> AuditCheck:
    """The check on rows in a random order, which shows less."""
    tests = [
        p_of_sum(each.after, each.before, each.noise, float(each.scale[0]))
        for each in rows.columns
        if each.continuous and each.noise is not None and np.ptp(each.scale) == 0
    ]
    what, why = "released values together against the certified law", "the rows were put into a random order"
    return check_of_p("noise law", tests, what, alpha=alpha, none=why)


def _of_columns(
    name: str, known: dict[str, FloatArray], test: Callable[[FloatArray], float], what: str, alpha: float
) -> AuditCheck:
    found = {column: test(uniform) for column, uniform in known.items()}
    worst = min(found, key=lambda column: found[column])
    return check_of_p(name, found.values(), f"{what}, worst of {shown(worst)}", alpha=alpha)


def _between_rows(rows: AuditRows, known: dict[str, FloatArray], alpha: float) -> AuditCheck:
    tests = [p(uniform) for uniform in known.values() for p in (p_of_neighbours, lambda own: p_of_shifts(own, own))]
    tests += [
        p_of_places(each.after != each.before)
        for each in rows.columns
        if each.name in known and each.kept is not None and np.ptp(each.kept) == 0
    ]
    what = "noise of rows against that of the next one, and of those at every other distance"
    return check_of_p("noise of rows", tests, what, alpha=alpha)


def _with_values(rows: AuditRows, known: dict[str, FloatArray], alpha: float) -> AuditCheck:
    tests = [
        p_of_correlation(known[each.name], other.before)
        if other.is_numbers
        else p_of_groups(known[each.name], other.before.astype(np.intp))
        for each in rows.columns
        if each.name in known
        for other in rows.columns
    ]
    return check_of_p("noise and values", tests, "noise against the original values", alpha=alpha)


def _between_columns(known: dict[str, FloatArray], alpha: float) -> AuditCheck:
    pairs = itertools.combinations(known.values(), 2)
    tests = [smallest([p_of_correlation(first, second), p_of_shifts(first, second)]) for first, second in pairs]
    what, why = "noise of two columns against each other", "there is one column with noise"
    return check_of_p("noise of columns", tests, what, alpha=alpha, none=why)


def _of_continuous(rows: AuditRows, known: dict[str, FloatArray], alpha: float) -> list[AuditCheck]:
    """Repeats, and known streams."""
    columns = [each for each in rows.columns if each.continuous and each.noise is not None]
    labels = [known[each.name] for each in rows.columns if each.name in known and each.kept is not None]
    streams = [p_of_seeds([uniform]) for uniform in labels if rows.rows >= _LEVELS]
    found, tests, noises, sizes = 0, list[float](), list[FloatArray](), list[float]()
    for each in columns:
        assert each.noise is not None
        noises.append((each.after - each.before) / each.scale)
        sizes.append(float(np.abs(each.after).max() / each.scale.min()))
        count, p = repeats(noises[-1], 1.0, each.noise, largest=sizes[-1])
        found, tests = found + count, [*tests, p]
    if columns:
        assert columns[0].noise is not None
        count, p = p_of_shared(noises, columns[0].noise, largest=max(sizes))
        found, tests = max(found, count if p < alpha else 0), [*tests, p]
        streams.append(p_of_seeds(noises))
    why = "the noise was rounded or replaced, or is none"
    again = f"{found:,} rows repeat the noise of another one, or its size, in any column"
    title = min(streams, key=lambda stream: stream[1])[0] if streams else ""
    nearest = f", nearest {title}" if title else ""
    known_seeds = f"noise against streams of NumPy and Python from usual seeds{nearest}"
    return [
        check_of_p("repeats", tests, again, alpha=alpha, none=why),
        check_of_p("known seeds", [p for _, p in streams], known_seeds, alpha=alpha, none=why),
    ]


def check_grid(rows: AuditRows, /) -> AuditCheck:
    """Whether released values lie on the grid of the certificate, as those of this package do."""
    columns = [each for each in rows.columns if each.continuous]
    if not columns or rows.certificate.refines:
        return check_of("grid", "not applicable", "values on no grid of one release")
    # of shuffled rows the scale of each is not known: the finest grid holds the others
    scales = [np.full_like(c.scale, c.scale.min()) if rows.shuffled else c.scale for c in columns]
    off = [each.name for each, scale in zip(columns, scales, strict=True) if not _on_grid(each.after, scale)]
    on_grid = "all values lie on the grid that the certificate names"
    why = f"not on the grid that the certificate names: {shown_names(off)}" if off else on_grid
    return check_that("grid", not off, why, found=len(off))


def _on_grid(values: FloatArray, scale: FloatArray) -> bool:
    with np.errstate(over="ignore"):
        halves = np.concatenate([2 * values[scale == each] / grid_of(float(each)) for each in np.unique(scale)])
    return bool((halves == np.rint(halves)).all())


def check_order(rows: AuditRows, /, *, alpha: float) -> AuditCheck:
    """Whether the order of the rows tells the secret: fewer than half the runs of equal secrets of a random order."""
    if rows.shuffled:
        return check_of("row order", "not applicable", "the rows were put into a random order")
    worst, names = None, ""
    for group in rows.secrets:
        found, expected, p = runs_of(group.codes)
        clustered = is_clustered(found, expected, p, alpha=alpha / len(rows.secrets))
        if worst is None or (clustered, -found / expected) > (worst[0], -worst[1] / worst[2]):
            worst, names = (clustered, found, expected), shown_names(group.names)
    if worst is None:
        return check_of("row order", "not applicable", "there is no secret column")
    why = f"{worst[1]:,} runs of equal values of {names}, {worst[2]:,.0f} in a random order"
    return check_that("row order", not worst[0], why, found=worst[1], limit=worst[2] / 2)


def check_shuffle(rows: AuditRows, /, *, alpha: float) -> AuditCheck:
    """Whether the rows are in a random order, where the certificate says so."""
    if not rows.shuffled or rows.rows < 2:
        return check_of("shuffle", "not applicable", "the certificate does not speak of a random order")
    tests: list[float] = []
    for each in rows.columns:
        if each.is_numbers:
            tests += [p_of_ranks(each.after, each.before), p_of_ranks(each.after[1:], each.after[:-1])]
        else:
            tests += [p_of_groups(_spread(rows.rows), each.after.astype(np.intp)), _p_of_equal(each.before, each.after)]
    none = "there is no certified column to look at"
    return check_of_p("shuffle", tests, "order of the rows against a random one", alpha=alpha, none=none)


def _spread(rows: int) -> FloatArray:
    return (np.arange(rows) + 0.5) / rows


def _p_of_equal(first: FloatArray, second: FloatArray) -> float:
    """The p-value of the number of rows that have equal labels at equal places."""
    shares = [
        np.bincount(each.astype(np.intp), minlength=int(max(first.max(), second.max())) + 1) / each.size
        for each in (first, second)
    ]
    expected = float(shares[0] @ shares[1])
    return float(scipy.stats.binom.sf(int((first == second).sum()) - 1, first.size, expected)) if expected < 1 else 1.0


SHARES = 12
"""The number of checks that rest on chance, those of readers included; each has this part of 1 - level."""


def report_of(
    original: NativeFrame,
    released: NativeFrame,
    certificate: Certificate,
    /,
    *,
    secret: Sequence[str] | None,
    level: float,
    rng: np.random.Generator,
) -> AuditReport:
    """The report of a release; raises as `audited.audit`."""
    rows = rows_of(original, released, certificate, secret=secret)
    alpha = (1 - level) / (SHARES + len(NAMES) * sees_secret(rows))
    limit = claimed(certificate)
    guessed, pairs = guesses(rows, limit, level=level, alpha=alpha, rng=rng)
    read = readers(rows, alpha=alpha, rng=rng)
    checks = (
        check_certificate(certificate, released),
        check_seeded(certificate),
        check_columns(rows, released),
        check_raw_columns(rows),
        check_changed(rows),
        check_order(rows, alpha=alpha),
        check_shuffle(rows, alpha=alpha),
        *noise_checks(rows, alpha=alpha, rng=rng),
        check_grid(rows),
        check_loss(rows, limit, rng),
        *guessed,
        *read,
        singling_out(rows),
    )
    return AuditReport(
        passed=not any(each.result == "failed" for each in checks),
        level=level,
        checks=checks,
        pairs=tuple(pairs),
        library=library_of(original),
    )
