"""The checks of an audit that look at the noise of each row."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
from scipy import stats

from puffer_frames.noise.grid import grid_of
from puffer_frames.numbers.presentation import shown, shown_names
from puffer_frames.priors.prior import FloatArray
from puffer_frames.verbs.auditing.leaks import is_clustered, runs_of
from puffer_frames.verbs.auditing.noise_tests import (
    p_of_correlation,
    p_of_groups,
    p_of_law,
    p_of_neighbours,
    p_of_seeds,
    p_of_sum,
    repeats,
    smallest,
    uniform_noise,
)
from puffer_frames.verbs.auditing.report import AuditCheck, check_of, check_of_p
from puffer_frames.verbs.auditing.rows import AuditRows

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
        _of_columns("noise of rows", known, p_of_neighbours, "noise of neighbouring rows against each other", alpha),
        _between_columns(known, alpha),
        *_of_continuous(rows, alpha),
    ]


def _law_of_all(rows: AuditRows, alpha: float) -> AuditCheck:
    """Of rows in a random order, which shows less."""
    tests = [
        p_of_sum(each.after, each.before, each.noise, float(each.scale[0]))
        for each in rows.columns
        if each.continuous and each.noise is not None and np.ptp(each.scale) == 0
    ]
    if not tests:
        return check_of("noise law", "not applicable", "the rows were put into a random order")
    return check_of_p("noise law", smallest(tests), "released values together against the certified law", alpha=alpha)


def _of_columns(
    name: str, known: dict[str, FloatArray], test: Callable[[FloatArray], float], what: str, alpha: float
) -> AuditCheck:
    found = {column: test(uniform) for column, uniform in known.items()}
    worst = min(found, key=lambda column: found[column])
    return check_of_p(name, smallest(found.values()), f"{what}, worst of {shown(worst)}", alpha=alpha)


def _with_values(rows: AuditRows, known: dict[str, FloatArray], alpha: float) -> AuditCheck:
    tests = [
        p_of_correlation(known[each.name], other.before)
        if other.is_numbers
        else p_of_groups(known[each.name], other.before.astype(np.intp))
        for each in rows.columns
        if each.name in known
        for other in rows.columns
    ]
    return check_of_p("noise and values", smallest(tests), "noise against the original values", alpha=alpha)


def _between_columns(known: dict[str, FloatArray], alpha: float) -> AuditCheck:
    pairs = list(itertools.combinations(known, 2))
    if not pairs:
        return check_of("noise of columns", "not applicable", "there is one column with noise")
    tests = [p_of_correlation(known[first], known[second]) for first, second in pairs]
    return check_of_p("noise of columns", smallest(tests), "noise of two columns against each other", alpha=alpha)


def _of_continuous(rows: AuditRows, alpha: float) -> list[AuditCheck]:
    """Repeats, and streams of NumPy."""
    columns = [each for each in rows.columns if each.continuous and each.noise is not None]
    if not columns:
        why = "the noise was rounded or replaced, or is none"
        return [check_of(name, "not applicable", why) for name in ("repeats", "known seeds")]
    found, tests = 0, list[float]()
    for each in columns:
        assert each.noise is not None
        same = (each.after - each.before) / each.scale
        largest = float(np.abs(each.after).max() / each.scale.min())
        count, p = repeats(same, 1.0, each.noise, largest=largest)
        found, tests = found + count, [*tests, p]
    title, p = p_of_seeds([(each.after - each.before) / each.scale for each in columns])
    return [
        check_of_p("repeats", smallest(tests), f"{found:,} rows repeat the noise of another one", alpha=alpha),
        check_of_p(
            "known seeds",
            p,
            "noise against streams of NumPy from usual seeds" + (f", nearest {title}" if title else ""),
            alpha=alpha,
        ),
    ]


def check_grid(rows: AuditRows, /) -> AuditCheck:
    """Whether released values lie on the grid of the certificate, as those of this package do."""
    columns = [each for each in rows.columns if each.continuous]
    if not columns or rows.certificate.refines:
        return check_of("grid", "not applicable", "values on no grid of one release")
    off = [each.name for each in columns if not _on_grid(each.after, each.scale)]
    if off:
        return check_of(
            "grid", "failed", f"not on the grid that the certificate names: {shown_names(off)}", found=len(off), limit=0
        )
    return check_of("grid", "passed", "all values lie on the grid that the certificate names", found=0, limit=0)


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
    return check_of("row order", "failed" if worst[0] else "passed", why, found=worst[1], limit=worst[2] / 2)


def check_shuffle(rows: AuditRows, /, *, alpha: float) -> AuditCheck:
    """Whether the rows are in a random order, where the certificate says so."""
    if not rows.shuffled or rows.rows < 2:
        return check_of("shuffle", "not applicable", "the certificate does not speak of a random order")
    tests: list[float] = []
    for each in rows.columns:
        if each.is_numbers:
            tests += [_p_of_ranks(each.after, each.before), _p_of_ranks(each.after[1:], each.after[:-1])]
        else:
            tests += [p_of_groups(_spread(rows.rows), each.after.astype(np.intp)), _p_of_equal(each.before, each.after)]
    return check_of_p("shuffle", smallest(tests), "order of the rows against a random one", alpha=alpha)


def _spread(rows: int) -> FloatArray:
    return (np.arange(rows) + 0.5) / rows


def _p_of_ranks(first: FloatArray, second: FloatArray) -> float:
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return 1.0
    found = float(np.corrcoef(stats.rankdata(first), stats.rankdata(second))[0, 1])
    return float(2 * stats.norm.sf(abs(found) * np.sqrt(first.size - 1)))


def _p_of_equal(first: FloatArray, second: FloatArray) -> float:
    """Of so many rows that have the same label at the same place."""
    shares = [
        np.bincount(each.astype(np.intp), minlength=int(max(first.max(), second.max())) + 1) / each.size
        for each in (first, second)
    ]
    expected = float(shares[0] @ shares[1])
    return float(stats.binom.sf(int((first == second).sum()) - 1, first.size, expected)) if expected < 1 else 1.0
