"""Answers of `aggregate` and `histogram` beside those of the same call without noise."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from puffer_frames.certificates.record import Certificate
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.side_by_side import read_columns
from puffer_frames.frames.table import library_of
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.noise.laplace import Laplace
from puffer_frames.noise.totals import COLUMNS
from puffer_frames.numbers.presentation import lower_text, upper_text
from puffer_frames.priors.prior import FloatArray, IndexArray, Prior
from puffer_frames.verbs.answers.aggregates import aggregate, replay_aggregate
from puffer_frames.verbs.answers.replayed import Replay
from puffer_frames.verbs.answers.series import histogram, replay_histogram
from puffer_frames.verbs.attached import attached_to
from puffer_frames.verbs.auditing.checks import check_certificate, check_seeded
from puffer_frames.verbs.auditing.columns import ReleasedColumn, family_of
from puffer_frames.verbs.auditing.guesser import Bound
from puffer_frames.verbs.auditing.guesses import bound_checks, proved_bounds
from puffer_frames.verbs.auditing.noise_tests import (
    noise_ends,
    p_of_correlation,
    p_of_law,
    p_of_neighbours,
    p_of_seeds,
    repeats,
    smallest,
    uniform_noise,
)
from puffer_frames.verbs.auditing.report import AuditCheck, AuditReport, Result, check_of, check_of_p
from puffer_frames.verbs.requests.arguments import AggregateArguments, HistogramArguments, bind

CHANCES = 7
"""So many checks rest on chance; each has this part of 1 - level."""
_NEAR = 1e-6
_CHECKS = ("noise law", "noise and values", "noise of rows", "raw answers", "repeats", "known seeds")
_MOST_TRIALS = 20_000
_DRAWS = 199
"""Answers of rows drawn at random are compared with so many others; their ranks are uniform."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Answers:
    """Released answers in the order of the replay's rows."""

    numbers: FloatArray
    """NaN for one that is lacking or missing, shape (releases, rows)."""
    off: tuple[str, ...]
    """What else the tables have wrong."""
    exact: FloatArray
    scale: FloatArray
    """As certified, in units of the answer, shape (rows,); 0 for no noise, NaN for a quotient."""
    certified: Mapping[str, float]
    """The certified scale of each statistic."""
    integer: bool
    """Whether the noise is discrete Laplace."""
    statistic: tuple[str, ...]
    """Of each row."""
    noisy: IndexArray
    """Rows with noise of their own."""

    @property
    def noise(self) -> FloatArray:
        """In units of the scale, shape (releases, noisy rows)."""
        return (self.numbers - self.exact)[:, self.noisy] / self.scale[self.noisy]


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
    certificate, alpha = certificates[0], (1 - level) / CHANCES
    replay = _replay(original, certificate, request, rng)
    expected = attached_to(replay.released)
    answers = _side_by_side(replay, releases, certificates, expected)
    noise = (family_of(expected) or Laplace()).at(1.0)
    parts = [check_certificate(own, released) for own, released in zip(certificates, releases, strict=True)]
    checks = (
        next((each for each in parts if each.result == "failed"), parts[0]),
        next((each for each in map(check_seeded, certificates) if each.result == "failed"), check_seeded(certificate)),
        *_request_checks(certificates, expected),
        _check_answers(answers),
        *_noise_checks(answers, replay, noise, alpha, rng),
        *_bounds(answers, replay, expected, noise, alpha, rng),
    )
    passed = not any(each.result == "failed" for each in checks)
    return AuditReport(passed=passed, level=level, checks=checks, pairs=(), library=library_of(original))


def _replay(
    original: NativeFrame, certificate: Certificate, request: Mapping[str, Any], rng: np.random.Generator
) -> Replay:
    given = {"epsilon": certificate.epsilon, "delta": certificate.delta, **request}
    asked = {**given, "ledger": None, "about": None, "rng": rng}
    verb = histogram if "state" in request else aggregate
    bind(inspect.signature(verb), verb.__name__, (original,), asked)
    if "state" in request:
        return replay_histogram(original, HistogramArguments(**asked))
    return replay_aggregate(original, AggregateArguments(**asked), certificate.scales)


def _read(
    frame: NativeFrame, certificate: Certificate, role: str
) -> tuple[list[tuple[Any, ...]], dict[str, FloatArray]]:
    """The labels of each row, and the numbers."""
    columns = read_columns(frame, role=role, known=(*certificate.public, *certificate.kept), rows=certificate.rows)
    labels = [
        [None if code < 0 else each.levels[code] for code in each.codes.tolist()]
        for name, each in columns.items()
        if name not in COLUMNS
    ]
    numbers = {name: each.numbers for name, each in columns.items() if name in COLUMNS and each.numbers is not None}
    return list(zip(*labels, strict=True)), numbers


def _side_by_side(
    replay: Replay, releases: Sequence[NativeFrame], certificates: Sequence[Certificate], expected: Certificate
) -> _Answers:
    """Released answers by their labels."""
    labels, fresh = _read(replay.released, expected, "original")
    only = next(iter(expected.scales))
    named = [{"mean": "sum"}.get(str(word), str(word)) for label in labels for word in label[-1:]]
    statistic = tuple(word if word in expected.scales else only for word in named)
    certified = np.array([certificates[0].scales.get(word, math.nan) for word in statistic])
    found = np.array([expected.scales[word] for word in statistic])
    with np.errstate(invalid="ignore"):
        scale = np.where(found > 0, fresh["scale"] * certified / found, fresh["scale"])
    place, off = {label: k for k, label in enumerate(labels)}, dict[str, None]()
    numbers = np.full((len(releases), len(labels)), math.nan)
    for k, (released, certificate) in enumerate(zip(releases, certificates, strict=True)):
        own, columns = _read(released, certificate, "released")
        held = [place[label] for label in own if label in place]
        mine = [j for j, label in enumerate(own) if label in place]
        numbers[k, held] = columns["answer"][mine] if "answer" in columns else math.nan
        told = columns["scale"][mine] if "scale" in columns else np.full(len(mine), math.nan)
        off |= {"another number of rows": None} if len(own) != len(labels) else {}
        off |= {"other labels": None} if len(set(held)) < len(own) else {}
        off |= {} if np.allclose(told, scale[held], rtol=_NEAR, equal_nan=True) else {"other scales": None}
    return _Answers(
        numbers=numbers,
        off=tuple(off),
        exact=replay.exact,
        scale=scale,
        certified=certificates[0].scales,
        integer=expected.noise == "discrete Laplace",
        statistic=statistic,
        noisy=np.flatnonzero(replay.own_noise & (scale > 0)),
    )


def _request_checks(certificates: Sequence[Certificate], expected: Certificate) -> list[AuditCheck]:
    """Whether the certificates are those of the request, with scales at which the engine confirms epsilon."""
    names = ("epsilon", "delta", "subject", "secret", "pairs", "beliefs", "noise", "rows")
    other = [name for name in names for each in certificates if getattr(each, name) != getattr(expected, name)]
    why = f"the request gives another {', '.join(dict.fromkeys(other))}" if other else "as the request gives it"
    checks = [check_of("request", "failed" if other else "passed", why, found=len(other), limit=0)]
    for name, least in expected.scales.items():
        found = min(each.scales.get(name, 0.0) for each in certificates)
        said = f"{lower_text(found)} certified for the {name}; the engine confirms epsilon at {upper_text(least)}"
        result: Result = "failed" if found < least * (1 - _NEAR) else "passed"
        checks.append(check_of("loss at the scale", result, f"scale {said}", found=found, limit=least))
    return checks


def _check_answers(answers: _Answers) -> AuditCheck:
    """Whether all answers are there, and those without noise of their own are what follows from the others."""
    numbers, exact, scale = answers.numbers, answers.exact, answers.scale
    before, follows, quotient = np.roll(numbers, 1, axis=1), numbers.copy(), np.isnan(scale)
    derived = ~np.isin(np.arange(exact.size), answers.noisy) & (scale > 0)
    follows[:, derived] = (exact + np.roll(exact - numbers, -1, axis=1))[:, derived]
    follows[:, scale == 0] = exact[scale == 0]
    of_count = np.where(before > 0, before, math.nan)  # there is no mean by a count that is not positive
    follows[:, quotient] = (np.roll(numbers, 2, axis=1) / of_count)[:, quotient]
    lacking = int(np.isnan(numbers[:, ~quotient]).sum())
    wrong = int((~np.isclose(follows, numbers, rtol=_NEAR, atol=_NEAR, equal_nan=True)).sum())
    said = {f"{lacking:,} are lacking": lacking, f"{wrong:,} are not what follows from the others": wrong}
    found = [*answers.off, *(words for words, count in said.items() if count)]
    why = "; ".join(found) or "all are there, with the certified scales"
    return check_of("answers", "failed" if found else "passed", why, found=lacking + wrong, limit=0)


def _noise_checks(
    answers: _Answers, replay: Replay, noise: NoiseFamily, alpha: float, rng: np.random.Generator
) -> list[AuditCheck]:
    """Law and independence of the noise, each at level alpha."""
    uniform = _uniform(answers, replay, noise, rng)
    known = ~np.isnan(uniform)
    if not known.any():
        return [check_of(name, "not applicable", "there is no answer with noise") for name in _CHECKS]
    flat, values = uniform[known], np.broadcast_to(answers.exact[answers.noisy], known.shape)[known]
    orders = (flat, uniform.T[known.T])
    found = [
        check_of_p(
            _CHECKS[0], p_of_law(flat), f"noise in {flat.size:,} numbers against the certified law", alpha=alpha
        ),
        check_of_p(_CHECKS[1], p_of_correlation(flat, values), "noise against the true answers", alpha=alpha),
        check_of_p(
            _CHECKS[2], smallest(map(p_of_neighbours, orders)), "noise against that of the next answer", alpha=alpha
        ),
    ]
    if replay.again is not None:
        why = "rows were drawn at random, so that the noise itself is not known"
        return [*found, *(check_of(name, "not applicable", why) for name in _CHECKS[3:])]
    z, numbers = answers.noise[known], answers.numbers[:, answers.noisy][known]
    largest = float(np.abs(answers.numbers[:, answers.noisy] / answers.scale[answers.noisy])[known].max())
    density = math.exp(float(noise.log_density(np.zeros(1))[0]))
    width = max(2.0**-30, float(np.spacing(largest)))
    least = float(answers.scale[answers.noisy].min())
    chance = math.tanh(0.5 / least) if answers.integer else min(1.0, density * width)
    hits = int((numbers == values).sum())
    found.append(
        check_of_p(
            _CHECKS[3],
            float(stats.binom.sf(hits - 1, z.size, chance)),
            f"{hits:,} of {z.size:,} answers are the true ones",
            alpha=alpha,
        )
    )
    if answers.integer:
        return [*found, *(check_of(name, "not applicable", "the noise is integers") for name in _CHECKS[4:])]
    count, p = repeats(z, 1.0, noise, largest=largest)
    title, seeded = p_of_seeds([z])
    near = f", nearest {title}" if title else ""
    return [
        *found,
        check_of_p(_CHECKS[4], p, f"{count:,} answers repeat the noise of another one", alpha=alpha),
        check_of_p(_CHECKS[5], seeded, f"noise against streams of NumPy from usual seeds{near}", alpha=alpha),
    ]


def _uniform(answers: _Answers, replay: Replay, noise: NoiseFamily, rng: np.random.Generator) -> FloatArray:
    """Uniform numbers under the certified law, shape (releases, noisy rows); NaN for answers that are lacking."""
    z = answers.noise
    if replay.again is not None:
        others = np.array([[replay.again()[answers.noisy] for _ in range(_DRAWS)] for _ in z])
        below = (others < answers.numbers[:, None, answers.noisy]).sum(axis=1)
        return np.where(np.isnan(z), math.nan, (below + rng.random(z.shape)) / (_DRAWS + 1))
    if answers.integer:
        scale = np.broadcast_to(answers.scale[answers.noisy], z.shape)
        low, high = (_discrete_cdf(np.rint(z * scale) - step, np.exp(-1 / scale)) for step in (1, 0))
    else:
        low, high = noise_ends(z, z, noise, np.ones(1))
    return uniform_noise((low.ravel(), high.ravel()), rng).reshape(z.shape)


def _discrete_cdf(k: FloatArray, q: FloatArray) -> FloatArray:
    """P(N <= k) = 1 - q^(k + 1) / (1 + q) from 0 on, q^-k / (1 + q) below."""
    tail = q ** np.where(k >= 0, k + 1, -k) / (1 + q)
    return np.where(k >= 0, 1 - tail, tail)


def _bounds(
    answers: _Answers, replay: Replay, expected: Certificate, noise: NoiseFamily, alpha: float, rng: np.random.Generator
) -> list[AuditCheck]:
    """What a guesser of two laws wins by the noise of all answers: each answer is a trial of both."""
    bounds, limits = list[Bound](), [0.0]
    for name, laws in replay.rivals.items():
        mine = np.array([answers.statistic[k] == name for k in answers.noisy], dtype=bool)
        z = answers.noise[:, mine].ravel()
        z = z[~np.isnan(z)][:_MOST_TRIALS]
        if z.size < 2 or replay.again is not None:
            continue
        before = np.concatenate([_drawn(law, z.size, rng) for law in laws]) / answers.certified[name]
        after, codes = before + np.tile(z, 2), np.repeat([0, 1], z.size)
        column = ReleasedColumn(name=name, before=before, after=after, scale=np.ones(after.size), noise=noise)
        share = alpha / len(replay.rivals)
        bounds += proved_bounds([column], codes, [(0, 1)], delta=expected.delta, alpha=share, rng=rng).values()
        limits += [each.epsilon for each in expected.verified[name].values()]
    if not bounds:
        why = "there are too few answers with noise that is known, or no two laws that it must hide"
        return [check_of(each, "not applicable", why) for each in ("epsilon", "advantage")]
    return bound_checks(bounds, [], (max(limits), expected.delta), alpha)[:2]


def _drawn(law: Prior, count: int, rng: np.random.Generator) -> FloatArray:
    chosen = rng.choice(law.weights.size, count, p=law.weights / law.weights.sum())
    return law.means[chosen] + law.stds[chosen] * rng.standard_normal(count)
