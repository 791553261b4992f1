"""Answers of `aggregate` and `histogram` beside those of the same request without noise."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from puffer_frames.certificates.record import Certificate
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.side_by_side import read_columns
from puffer_frames.frames.table import library_of
from puffer_frames.noise.families import family_titled
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.noise.laplace import Laplace
from puffer_frames.noise.totals import COLUMNS
from puffer_frames.numbers.presentation import lower_text, upper_text
from puffer_frames.priors.prior import FloatArray, IndexArray, Prior
from puffer_frames.verbs.answers.aggregates import aggregate, replay_aggregate
from puffer_frames.verbs.answers.checks import Replay
from puffer_frames.verbs.answers.series import histogram, replay_histogram
from puffer_frames.verbs.attached import attached_to
from puffer_frames.verbs.auditing import noise_tests
from puffer_frames.verbs.auditing.checks import check_certificate, check_seeded
from puffer_frames.verbs.auditing.columns import ReleasedColumn
from puffer_frames.verbs.auditing.guesser import Bound, model_bounds
from puffer_frames.verbs.auditing.guesses import bound_checks
from puffer_frames.verbs.auditing.report import AuditCheck, AuditReport, check_of, check_of_p, check_that
from puffer_frames.verbs.requests import AggregateArguments, HistogramArguments, bind

_CHANCES = 6
"""The number of checks that rest on chance; each has this part of 1 - level."""
_NEAR, _FINE, _COARSE = 1e-6, 2.0**-30, 2.0**-20
_MOST_TRIALS = 20_000
_DRAWS = 199
"""Answers of rows drawn at random are compared with so many others: then their ranks are uniform."""
_NAMES = ("noise law", "noise and values", "noise of rows", "repeats", "known seeds")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Answers:
    """Released answers beside the exact ones."""

    replay: Replay
    expected: Certificate
    """The certificate of the request, made again."""
    certified: Mapping[str, float]
    """The certified scale of each statistic."""
    numbers: FloatArray
    """NaN where a release has other rows, shape (releases, rows)."""
    scale: FloatArray
    """As certified, in units of the answer, shape (rows,); 0 for no noise, NaN for a quotient."""
    statistic: tuple[str, ...]
    """The statistic of each row."""
    noisy: IndexArray
    """Rows with noise of their own."""
    off: tuple[str, ...]
    """What the tables have wrong beside the answers."""

    @property
    def noise(self) -> FloatArray:
        """In units of the scale, shape (releases, noisy rows)."""
        return (self.numbers - self.replay.exact)[:, self.noisy] / self.scale[self.noisy]

    @property
    def family(self) -> NoiseFamily | None:
        """The noise at scale 1; None for discrete Laplace noise."""
        return family_titled(self.expected.noise)


def report_of_answers(
    original: NativeFrame,
    releases: Sequence[NativeFrame],
    certificates: Sequence[Certificate],
    request: Mapping[str, Any],
    /,
    *,
    level: float,
    rng: np.random.Generator,
) -> AuditReport:
    """The report of answers, of one release or of several of the same request; raises as the verb."""
    alpha, both = (1 - level) / _CHANCES, list(zip(certificates, releases, strict=True))
    answers = _side_by_side(original, both, request, rng)
    checks = (
        max((check_certificate(*each) for each in both), key=_fails),
        max(map(check_seeded, certificates), key=_fails),
        *_request_checks(certificates, answers.expected),
        _check_answers(answers),
        *_noise_checks(answers, alpha, rng),
        *_bounds(answers, alpha, rng),
    )
    passed = not any(map(_fails, checks))
    return AuditReport(passed=passed, level=level, checks=checks, pairs=(), library=library_of(original))


def _fails(check: AuditCheck) -> bool:
    return check.result == "failed"


def _side_by_side(
    original: NativeFrame,
    releases: Sequence[tuple[Certificate, NativeFrame]],
    request: Mapping[str, Any],
    rng: np.random.Generator,
) -> _Answers:
    """Make the request again, and lay the releases beside it."""
    certificate, verb = releases[0][0], histogram if "state" in request else aggregate
    asked = {"epsilon": certificate.epsilon, "delta": certificate.delta, **request}
    asked |= {"ledger": None, "about": None, "rng": rng}
    bind(inspect.signature(verb), verb.__name__, (original,), asked)
    again = verb(original, **asked)
    expected, certified = attached_to(again), certificate.scales
    replay = (
        replay_histogram(original, HistogramArguments(**asked))
        if verb is histogram
        else replay_aggregate(original, AggregateArguments(**asked), certified)
    )
    labels, fresh = _read(expected, again)
    words = [{"mean": "sum"}.get(str(label[-1]), str(label[-1])) for label in labels]
    statistic = tuple(word if word in expected.scales else next(iter(expected.scales)) for word in words)
    ratio = [certified.get(name, math.nan) / (expected.scales[name] or 1.0) for name in statistic]
    scale = np.where(fresh["scale"] == 0, 0.0, fresh["scale"] * np.array(ratio))
    numbers, off = np.full((len(releases), len(labels)), math.nan), dict[str, None]()
    for k, release in enumerate(releases):
        own, columns = _read(*release)
        if own != labels or not {"answer", "scale"} <= set(columns):
            off["other rows or columns than the request gives"] = None
            continue
        numbers[k] = columns["answer"]
        off |= {} if np.allclose(columns["scale"], scale, rtol=_NEAR, equal_nan=True) else {"other scales": None}
    return _Answers(
        replay=replay,
        expected=expected,
        certified=certified,
        numbers=numbers,
        scale=scale,
        statistic=statistic,
        noisy=np.flatnonzero(replay.own_noise & (scale > 0)),
        off=tuple(off),
    )


def _read(certificate: Certificate, frame: NativeFrame) -> tuple[list[tuple[Any, ...]], dict[str, FloatArray]]:
    """The labels of each row, and the columns of numbers."""
    known = (*certificate.public, *certificate.kept)
    columns = read_columns(frame, role="released", known=known, rows=certificate.rows)
    labels = [
        [None if code < 0 else each.levels[code] for code in each.codes.tolist()]
        for name, each in columns.items()
        if name not in COLUMNS
    ]
    numbers = {name: each.numbers for name, each in columns.items() if name in COLUMNS and each.numbers is not None}
    return list(zip(*labels, strict=True)), numbers


def _request_checks(certificates: Sequence[Certificate], expected: Certificate) -> list[AuditCheck]:
    """Whether the certificates are those of the request, with scales at which the engine confirms epsilon."""
    names = ("epsilon", "delta", "subject", "secret", "pairs", "beliefs", "noise", "rows")
    other = [name for name in names for each in certificates if getattr(each, name) != getattr(expected, name)]
    why = f"the request gives another {', '.join(dict.fromkeys(other))}" if other else "as the request gives it"
    checks = [check_that("request", not other, why, found=len(other))]
    for name, least in expected.scales.items():
        found = min(each.scales.get(name, 0.0) for each in certificates)
        enough = found >= least * (1 - _NEAR)
        texts = (f"{max(found, least):.6g}", f"{least:.6g}") if enough else (lower_text(found), upper_text(least))
        why = f"{texts[0]} certified for the {name}; the engine confirms epsilon at {texts[1]}"
        checks.append(check_that("loss at the scale", enough, f"scale {why}", found=found, limit=least))
    return checks


def _check_answers(answers: _Answers) -> AuditCheck:
    """Whether all answers are there, and those without noise of their own are what follows from the others."""
    numbers, exact, scale = answers.numbers, answers.replay.exact, answers.scale
    before, follows, quotient = np.roll(numbers, 1, axis=1), numbers.copy(), np.isnan(scale)
    derived = ~answers.replay.own_noise
    follows[:, derived] = (exact + np.roll(exact - numbers, -1, axis=1))[:, derived]
    follows[:, scale == 0] = exact[scale == 0]
    of_count = np.where(before > 0, before, math.nan)  # there is no mean by a count that is not positive
    follows[:, quotient] = (np.roll(numbers, 2, axis=1) / of_count)[:, quotient]
    wrong = ~np.isclose(follows, numbers, rtol=_NEAR, atol=_NEAR, equal_nan=True)
    count = int(wrong.sum() + np.isnan(numbers[:, answers.noisy]).sum())
    found = [*answers.off, *([f"{count:,} are lacking, or not what follows from the others"] if count else [])]
    why = "; ".join(found) or "all are there, with the certified scales"
    return check_that("answers", not found, why, found=count)


def _noise_checks(answers: _Answers, alpha: float, rng: np.random.Generator) -> list[AuditCheck]:
    """Law and independence of the noise, each at level alpha."""
    uniform, family = _uniform(answers, rng), answers.family
    known = ~np.isnan(uniform)
    if not known.any():
        return [check_of(name, "not applicable", "there is no answer with noise") for name in _NAMES]
    flat, exact = uniform[known], np.broadcast_to(answers.replay.exact[answers.noisy], known.shape)[known]
    rows = noise_tests.smallest(map(noise_tests.p_of_neighbours, (flat, uniform.T[known.T])))
    tests = [
        (noise_tests.p_of_law(flat), f"noise in {flat.size:,} numbers against the certified law"),
        (noise_tests.p_of_correlation(flat, exact), "noise against the true answers"),
        (rows, "noise against that of the next answer, and of the next release"),
    ]
    largest = float(np.abs(answers.numbers[:, answers.noisy] / answers.scale[answers.noisy])[known].max())
    why = "the noise itself is not known (of rows drawn at random), or may be alike (integers, few digits)"
    if answers.replay.again is None and family is not None and np.spacing(largest) < _FINE:
        z = answers.noise[known]
        count, p = noise_tests.repeats(z, 1.0, family, largest=largest)
        title, seeded = noise_tests.p_of_seeds([z])
        tests += [(p, f"{count:,} answers repeat the noise of another one")]
        tests += [(seeded, "noise against streams of NumPy from usual seeds" + (f", nearest {title}" if title else ""))]
    found = [check_of_p(name, [p], what, alpha=alpha) for name, (p, what) in zip(_NAMES, tests, strict=False)]
    return [*found, *(check_of(name, "not applicable", why) for name in _NAMES[len(tests) :])]


def _uniform(answers: _Answers, rng: np.random.Generator) -> FloatArray:
    """Uniform numbers under the certified law, shape (releases, noisy rows); NaN for answers that are lacking."""
    z, noisy, family = answers.noise, answers.noisy, answers.family
    if answers.replay.again is not None:
        others = np.array([[answers.replay.again()[noisy] for _ in range(_DRAWS)] for _ in z])
        below, alike = ((each(others, answers.numbers[:, None, noisy])).sum(axis=1) for each in (np.less, np.equal))
        return np.where(np.isnan(z), math.nan, (below + rng.random(z.shape) * (alike + 1)) / (_DRAWS + 1))
    if family is not None:
        return family.cdf(z.ravel()).reshape(z.shape)
    k, q = np.rint(z * answers.scale[noisy]), np.exp(-1 / answers.scale[noisy])
    # P(N <= k) = 1 - q^(k + 1) / (1 + q) from 0 on, q^-k / (1 + q) below
    tails = [(whole, q ** np.where(whole >= 0, whole + 1, -whole) / (1 + q)) for whole in (k - 1, k)]
    low, high = (np.where(whole >= 0, 1 - tail, tail).ravel() for whole, tail in tails)
    return noise_tests.uniform_noise((low, high), rng).reshape(z.shape)


def _bounds(answers: _Answers, alpha: float, rng: np.random.Generator) -> list[AuditCheck]:
    """What a guesser of two laws wins by the noise of all answers: each answer is a trial of both."""
    bounds, limits, family = list[Bound](), [0.0], answers.family or Laplace()
    for name, laws in answers.replay.rivals.items():
        z = answers.noise[:, [answers.statistic[k] == name for k in answers.noisy]].ravel()
        z = z[~np.isnan(z)][:_MOST_TRIALS]
        if z.size < 2:
            continue
        before = np.concatenate([_drawn(law, z.size, rng) for law in laws]) / answers.certified[name]
        # on one coarse grid: otherwise the last bits of z and of 1 + z would tell the two laws apart
        after, codes = np.rint((before + np.tile(z, 2)) / _COARSE) * _COARSE, np.repeat([0, 1], z.size)
        column = ReleasedColumn(name=name, before=before, after=after, scale=np.ones(after.size), noise=family)
        share, delta = alpha / len(answers.replay.rivals), answers.expected.delta
        bounds += model_bounds([column], codes, [(0, 1)], delta=delta, alpha=share, rng=rng).values()
        limits += [each.epsilon for each in answers.expected.verified[name].values()]
    if not bounds:
        why = "only for sums and counts over units or one of a network, with several answers whose noise is known"
        return [check_of(each, "not applicable", why) for each in ("epsilon", "advantage")]
    return bound_checks(bounds, [], (max(limits), answers.expected.delta), alpha)[:2]


def _drawn(law: Prior, count: int, rng: np.random.Generator) -> FloatArray:
    chosen = rng.choice(law.weights.size, count, p=law.weights / law.weights.sum())
    return law.means[chosen] + law.stds[chosen] * rng.standard_normal(count)
