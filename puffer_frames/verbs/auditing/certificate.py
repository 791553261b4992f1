"""The checks of an audit that need no chance: the certificate, the columns, the loss at the certified scale."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from puffer_frames.certificates.record import Certificate
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.matching import unknown_names
from puffer_frames.frames.side_by_side import PlainColumn
from puffer_frames.loss.engine import hockey_stick, pure_loss
from puffer_frames.loss.outcome import Verification
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.numbers.presentation import lower_text, plain, shown, shown_names
from puffer_frames.priors.prior import FloatArray, Prior
from puffer_frames.verbs.auditing.columns import family_of, shared_codes
from puffer_frames.verbs.auditing.guesser import largest_ratio
from puffer_frames.verbs.auditing.leaks import is_same, is_same_order, unique_share
from puffer_frames.verbs.auditing.report import AuditCheck, Result, check_of
from puffer_frames.verbs.auditing.rows import AuditRows, View, views_of

_NEAR = 1e-6
_GRID = 1e-8
"""Less than so much of an epsilon is spent on the grid."""
_MOST_POINTS, _MOST_PAIRS, _MOST_ATOMS = 150, 60, 4000


def check_certificate(certificate: Certificate, released: NativeFrame, /) -> AuditCheck:
    """Whether it is the certificate of these rows, and whether its parts agree."""
    verdict = certificate.verify(released)
    if verdict == "derived":
        return check_of(
            "certificate", "failed", "it is that of other rows: the values, their order or the columns differ"
        )
    for name, beliefs in certificate.verified.items():
        for found in beliefs.values():
            if not _agrees(certificate, found.epsilon):
                why = f"what was measured of {shown(name)} is not what this epsilon needs: one of both was edited"
                return check_of("certificate", "failed", why, found=found.epsilon, limit=certificate.epsilon)
            if not _is_within(certificate, found):
                why = f"the loss that was measured of {shown(name)} is beyond epsilon"
                return check_of("certificate", "failed", why, found=found.pure_loss.upper, limit=certificate.epsilon)
    return check_of(
        "certificate", "passed", f"{verdict}; its parts agree" if verdict != "uncovered" else "its parts agree"
    )


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
    return bool(shares) or certificate.unit is not None or measured >= certificate.epsilon * (1 - _NEAR) - _GRID


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
    if unknown:
        return check_of(
            "columns", "failed", f"not in the certificate: {shown_names(unknown)}", found=len(unknown), limit=0
        )
    if lacking:
        return check_of("columns", "failed", f"not in both tables: {shown_names(lacking)}", found=len(lacking), limit=0)
    return check_of("columns", "passed", "all are in the certificate", found=0, limit=0)


def check_raw_columns(rows: AuditRows, /) -> AuditCheck:
    """Whether a released column is a raw one, by whatever name.

    Kept and given columns are as they were, and count where they are a column that is hidden or has noise.
    """
    found = [f"{shown(name)} is {shown(of)}" for name, of in _equal_columns(rows)]
    if found:
        return check_of("raw columns", "failed", "; ".join(found), found=len(found), limit=0)
    return check_of("raw columns", "passed", "no released column is a raw one of the original", found=0, limit=0)


def _equal_columns(rows: AuditRows) -> Iterator[tuple[str, str]]:
    certificate = rows.certificate
    as_they_were = {*certificate.kept, *certificate.given}
    hidden = {*certificate.public} | {name for group in rows.secrets for name in group.names}
    free = set(certificate.channels) | {name for name, scale in certificate.scales.items() if not scale}
    for name, after in rows.released.items():
        if rows.shuffled and name in as_they_were:
            continue
        honest = name in as_they_were and name in rows.original and _is_equal(rows, name, name)
        for of, before in rows.original.items():
            known = (name == of and (honest or name in free)) or (honest and of not in hidden)
            if not known and (_same_values(after, before) if rows.shuffled else _same_rows(after, before)):
                yield name, of


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


def check_loss(rows: AuditRows, limit: tuple[float, float] | None, rng: np.random.Generator, /) -> AuditCheck:
    """The loss at the certified scale under the observed frequencies, computed anew."""
    epsilon, delta = limit or (math.inf, 0.0)
    family = family_of(rows.certificate)
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
    found = max((_loss_of(view, family, epsilon, delta, rng) for view in views_of(rows)), default=0.0)
    bound = delta if delta else epsilon
    result: Result = "failed" if found > bound * (1 + _NEAR) + 1e-12 else "passed"
    what = "delta at epsilon" if delta else "pure loss"
    return check_of(
        "loss at the scale",
        result,
        f"{what} {lower_text(found)} or more at the certified scale, {plain(bound)} certified",
        found=found,
        limit=bound,
    )


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
