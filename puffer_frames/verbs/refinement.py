"""A later release of the same rows with less noise: both together have the guarantee of the later one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import gammainc, gammaincc

from puffer_frames.certificates.about import FIELDS, About
from puffer_frames.certificates.record import Certificate
from puffer_frames.errors import ArgumentError, ArgumentTypeError, CalibrationError
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.local.table import LocalRows, LocalTable
from puffer_frames.frames.null_values import codes_text, with_nulls
from puffer_frames.frames.roles import Roles, RowOrder
from puffer_frames.frames.table import open_table
from puffer_frames.mechanisms.noise.certificate import release_certificate
from puffer_frames.mechanisms.noise.fitted import LAWS
from puffer_frames.mechanisms.noise.mechanism import FittedNoise
from puffer_frames.mechanisms.noise.rows_seen import RowsSeen
from puffer_frames.mechanisms.request import RowsRequest
from puffer_frames.mechanisms.seam import Release
from puffer_frames.noise.adding import HALVES, grid_of, noise_on_grid, on_grid
from puffer_frames.noise.refining import GRID_COST, LEAST_STEP, MOST_TIMES, refined
from puffer_frames.noise.stream import ReleaseKey
from puffer_frames.noise.usefulness import sampled
from puffer_frames.numbers.arguments import Target
from puffer_frames.numbers.presentation import plain, shown, upper_text
from puffer_frames.papers.catalogue import PUBLISHED_FOR
from puffer_frames.priors.prior import FloatArray
from puffer_frames.scales.cautions import rarest_rows
from puffer_frames.verbs.attached import certificate_of
from puffer_frames.verbs.ledgers.refine_key import opened
from puffer_frames.verbs.ledgers.release_ledger import LedgerArgument, Reserved
from puffer_frames.verbs.requests import DrawArguments, Drawing

_RARE = 1e-9
"""Noise less probable than this is not that of a release of these rows, in this order."""
_CHANGED = {
    "shuffled": "rows in a random order",
    "processed": "values that were clipped or rounded",
    "replaced": "values of the column in place of noisy ones",
    "other_rows": "other rows than those of the plan",
}
"""What a release may not have gone through, by the facts of its certificate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """A release that is to be refined, with those that it refines itself."""

    certificate: Certificate
    table: LocalTable

    @classmethod
    def of(cls, plan: FittedNoise, released: NativeFrame, /) -> Chain:
        """Raise CalibrationError unless it is a release of this plan, as it was released."""
        if not getattr(plan, "is_refinable", False):
            raise _wrong("the plan", f"one of {PUBLISHED_FOR.title} noise on numbers alone", "another one")
        found = cls(certificate=certificate_of(released), table=_in_memory(released, "the release"))
        found._check(plan, released)
        return found

    def _check(self, plan: FittedNoise, released: NativeFrame) -> None:
        one, request = self.certificate, plan.request
        first, repeats = self.links[0], request.repeats
        theirs = (one.secret, one.public, one.pairs, first["epsilon"], one.delta, first["scales"])
        target = request.target
        mine = (request.secret, request.public, plan.protected_pairs, target.epsilon, target.delta, plan.scales)
        units = (request.unit and request.unit.column, repeats.rows, repeats.releases)
        if theirs != mine or (one.unit, one.unit_rows, one.releases) != units or one.answers:
            raise _wrong("the release", "one of this plan", "one of another plan")
        if one.derived or not one.verify(released).startswith(("intact", "unsigned")):
            raise _wrong("the release", "as it was released", "one with other values, rows or order")
        for name, words in _CHANGED.items():
            if getattr(one.facts, name):
                raise _wrong("the release", "one of noisy values in the order of the frame", words)
        if one.reproducible:
            raise _wrong("the release", "private", "one with noise that came from a seed")

    @property
    def links(self) -> tuple[Mapping[str, Any], ...]:
        """The releases of the chain, this one last, as a certificate names them."""
        one = self.certificate
        return (*one.refines, {"fingerprint": one.fingerprint, "epsilon": one.epsilon, "scales": dict(one.scales)})

    def grid(self, name: str, /) -> float:
        """The grid of a column: that of the first release."""
        return grid_of(self.links[0]["scales"][name])

    def noise(self, values: Mapping[str, FloatArray], /) -> dict[str, FloatArray]:
        """The noise of the columns that have any, in units of their grids.

        Raises CalibrationError where it is no noise of this scale: the rows stand in another order, or are other ones.
        """
        found: dict[str, FloatArray] = {}
        for name, scale in self.certificate.scales.items():
            if not scale:
                continue
            released, grid = self.table.values(name), self.grid(name)
            if not (np.abs(released) < HALVES * grid).all():
                raise _wrong(
                    f"the released values of {shown(name)}",
                    "within 2,048 scales of 0, so that their noise is known",
                    "larger ones",
                    hint="Subtract a public constant from the column before the first release.",
                )
            noise = noise_on_grid(released, values[name], grid)
            if noise is None or not _is_like(noise * (grid / scale), values[name]):
                raise _order(f"values of {shown(name)} that are not those of the frame and noise, row by row")
            found[name] = noise
        return found


def _is_like(noise: FloatArray, values: FloatArray) -> bool:
    """Whether it may be Laplace noise of scale 1, independent of the values.

    Its sizes have a sum and a largest one, and it has a sum weighted by the values, that are not too rare: of the last
    by the bound exp(-t s) E exp(t S). Rows in a random order have a weighted sum of about sqrt(n) x (spread / scale).
    """
    sizes = np.abs(noise)
    total, largest = float(sizes.sum()), float(sizes.max(initial=0.0))
    tails = [gammainc(sizes.size, total), gammaincc(sizes.size, total), sizes.size * math.exp(-largest)]
    weights = values - values.mean()
    most = float(np.abs(weights).max(initial=0.0))
    if most > 0:
        weights = weights / most
        weighted = abs(float(weights @ noise))
        best = min(0.9, weighted / (2 * float(weights @ weights)))  # were the sum Gaussian
        rates = (best, best / 2)
        tails.append(min(2 * math.exp(-t * weighted - np.log1p(-((t * weights) ** 2)).sum()) for t in rates))
    return min(map(float, tails)) > _RARE


def refine_release(
    calibration: Any,
    frame: NativeFrame,
    released: NativeFrame,
    /,
    *,
    epsilon: float,
    key: str | Path,
    about: About = None,
    ledger: LedgerArgument = None,
) -> NativeFrame:
    """Release the same rows again with less noise, so that both releases cost what the second one does alone.

    The new noise is drawn given the old one, of which it is a part. So the earlier release tells nothing that the
    later one does not tell: together they have its epsilon, not the sum.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame or pyarrow.Table
        The one that was released, its rows in the order in which they were.
    released : frame
        The release that this plan made of it, with its certificate; or what this method gave for that one: each
        refinement is one of the latest.
    epsilon : float
        Of both releases together, above that of the release. The scales are those of this request at that epsilon;
        every column must have at least 1 % less noise than before, and at least 1/1024 of that of the first release.
    key : str or Path
        Of the curator's key file, made on first use, for its owner alone. The draw follows from it: the same call
        gives the same release, and another refinement of a refined release is an error. Keep it as long as the
        releases; whoever has it can tell the noise from the two releases.
    about, ledger
        As in `puffer_frames.privatize`; left out, `about` is that of the release.

    Returns
    -------
    pandas.DataFrame, polars.DataFrame or pyarrow.Table
        As `released`, with other values of the public columns, and a certificate that names what it refines.

    Raises
    ------
    CalibrationError
        Where the release is not one of this plan as it was released (shuffled, clipped, rounded or remapped values
        are none), was refined already, or had another frame or order of rows; and where a column would not have
        less noise.
    ArgumentError
        For an epsilon that is no larger, a file that is no key file or that others can read, and as `release`.
    ArgumentTypeError
        For frames that are not in memory.
    UncoveredFrameError
        For a frame without a certificate.
    LedgerError
        Where the release is beyond the limit of its ledger.

    Notes
    -----
    **Guarantee**: the first noise is the second one and an independent number, exactly on one grid, so that both
    releases are a randomised function of the later one. Laplace noise on numbers, without given columns. Where
    the release was made with `refine_key=` and this file, or is a refinement, the order of the rows and their values
    are certain to be the same. Else kept columns are compared row by row, and the noise must look like noise: of few
    rows, or with noise far larger than the spread of the columns, another order may not be found, and the certificate
    says that it is assumed. **Cost**: a calibration, and about four times that of drawing the noise.

    References
    ----------
    [KHP15]; docs/theory.md, section 17.

    Examples
    --------
    >>> import numpy as np, pandas as pd, puffer_frames, tempfile
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"group": rng.choice(["a", "b"], 100), "score": rng.integers(0, 5, 100)})
    >>> plan = people.puffer.calibrate(secret="group", public="score", epsilon=0.1)
    >>> first = plan.release(people)
    >>> second = plan.refine(people, first, epsilon=0.2, key=tempfile.mkdtemp() + "/refine.key")
    >>> round(plan.scale, 2), round(second.puffer.certificate.scales["score"], 2)
    (2.21, 1.19)
    >>> puffer_frames.compose([first, second]).epsilon
    0.2
    """
    plan = calibration.fitted
    if set(calibration.left_out) - {LAWS}:
        raise _wrong("the plan", "whole, for its beliefs at another epsilon", "one from a file, without some of them")
    chain = Chain.of(plan, released)
    earlier = chain.certificate
    drawing = Drawing.of(DrawArguments(about=_about(earlier, about), ledger=ledger))
    asked, rows = _rows(plan, frame, chain)
    seen = RowsSeen.of(rows, plan.request)
    if seen.checksum() != calibration.checksum:
        raise _wrong("the frame", "the one that the plan was made from", "a frame with other rows")
    values = plan.originals(rows)
    noise = chain.noise(values)
    if not rows.is_kept_in(chain.table, kept=earlier.kept):
        raise _order("kept columns that are not those of the frame, row by row")
    later = _later(plan, seen, chain, epsilon)
    with opened(key) as file:
        code = file.rows.get(earlier.fingerprint)
        if code is not None and code != file.code(values):
            raise _order("rows in another order, or with other values, than were released")
        certificate = _certificate(later, asked, chain, rows, seen, noted=code is not None).said(drawing.about)
        known = file.find(chain.links, epsilon=later.request.target.epsilon, scales=later.scales)
        reserved = Reserved.of(drawing.ledger, certificate, frame, known=known)
        columns = {
            name: on_grid(
                values[name],
                chain.grid(name),
                refined(
                    noise[name],
                    grid=chain.grid(name),
                    old=earlier.scales[name],
                    new=scale,
                    key=file.key,
                    name=earlier.fingerprint,
                    column=name,
                ),
            )
            for name, scale in later.scales.items()
            if scale
        }
        table = chain.table.with_values(columns)
        value = table.with_levels(known=earlier.kept, rows=earlier.rows).fingerprint()
        if known and known != value:
            raise _order("rows in another order than when it was refined before")
        if not known:
            file.write(earlier.fingerprint, value, epsilon=certificate.epsilon, scales=later.scales, values=values)
    sample = {name: sampled(column) for name, column in columns.items()}
    return reserved.put(certificate.of_values(value, sample), table.native)


def _rows(plan: FittedNoise, frame: NativeFrame, chain: Chain) -> tuple[RowsRequest, LocalRows]:
    """The rows of the frame, with the columns and the levels of its index that the release kept."""
    request = plan.request
    table = _in_memory(with_nulls(frame, request.null_values), "the frame")
    kept = tuple(name for name in chain.certificate.kept if name in table.names)
    asked = RowsRequest(
        roles=Roles.of(secret=request.secret, public=request.public, given=(), keep=kept, row_id=None),
        layout=RowOrder(index="keep" if len(kept) < len(chain.certificate.kept) else "drop"),
    )
    return asked, table.complete(request.counting(asked.roles), nulls=request.nulls, layout=asked.layout)


def _later(plan: FittedNoise, seen: RowsSeen, chain: Chain, epsilon: float) -> FittedNoise:
    """The same request at another epsilon, less what the grid of the first release costs beyond that of this one.

    Raises ArgumentError for an epsilon that is no larger, and CalibrationError where the noise of a column would not
    become less, or too little for that grid.
    """
    request, earlier = plan.request, chain.certificate
    target = Target.of(epsilon, request.target.delta)
    cost = GRID_COST * len(plan.scales) * request.repeats.rows * request.repeats.releases
    if target.epsilon <= earlier.epsilon or target.epsilon <= 2 * cost:
        rule = f"above that of the release, {plain(earlier.epsilon)}"
        hint = "A refined release has less noise: ask for more."
        raise ArgumentError("epsilon", rule=rule, got=plain(target.epsilon), hint=hint)
    reduced = Target(epsilon=math.nextafter(target.epsilon - cost, 0.0), delta=target.delta * (1 - cost))
    later = replace(type(plan).of(replace(request, target=reduced), seen), request=replace(request, target=target))
    for name, scale in later.scales.items():
        old, first = earlier.scales[name], chain.links[0]["scales"][name]
        least = first / MOST_TIMES
        if (scale or old) and not least <= scale <= old * LEAST_STEP:
            raise CalibrationError(
                f"the scale of {shown(name)} at this epsilon",
                rule=f"at least 1 % below {old:.6g}, that of the release, and at least {upper_text(least)}",
                got=f"{scale:.6g}",
                hint="Try another epsilon. All columns must have less noise than before, on the grid of the first.",
            )
    if not any(later.scales.values()):
        raise _wrong("the release", "one with noise", "one without")
    return later


def _certificate(
    later: FittedNoise, asked: RowsRequest, chain: Chain, rows: LocalRows, seen: RowsSeen, *, noted: bool
) -> Certificate:
    """What is guaranteed of the later release, its values not known yet."""
    counts, earlier = seen.rows_of_secrets(len(later.request.secret), given=False), chain.certificate
    noted = noted and not earlier.facts.order_assumed
    release = Release(
        asked=asked,
        columns=rows.names,
        rows=earlier.rows,
        secrets=tuple(counts) if later.pairs == "all" else later.secrets,
        kept=earlier.kept,
        warnings=rows.warnings(list(counts.values()), lambda: later.draws(asked, ReleaseKey.of(0))),
        rows_per_secret=later.protected_rows(counts),
    )
    links = [link["fingerprint"] for link in chain.links]
    found = release_certificate(later, release, refines=links, order_noted=noted)
    found = replace(found, refines=chain.links, rarest=rarest_rows(release.rows_per_secret))
    return found.of_codes(codes_text(later.request.null_values))


def _about(certificate: Certificate, given: About) -> About:
    """What the office says of the release that is refined, but for when; its data set and batch stay as they are."""
    said = {name: getattr(certificate, name) for name in FIELDS if name != "created"}
    said = {name: text for name, text in said.items() if text}
    if not isinstance(given, Mapping):
        return given or said
    if certificate.dataset is None:
        return given
    rows = ("dataset", "batch", "batches")
    if any(name in given and given[name] != said.get(name) for name in rows):
        raise _wrong("about", "of the data set and batch of the release", "another one", hint="Leave them out.")
    return {**given, **{name: said[name] for name in rows if name in said}}


def _in_memory(frame: NativeFrame, what: str) -> LocalTable:
    if isinstance(table := open_table(frame), LocalTable):
        return table
    rule, hint = "a pandas or Polars DataFrame, or a PyArrow table", "Only releases in memory can be refined."
    library = type(frame).__module__.partition(".")[0]
    raise ArgumentTypeError(what, rule=rule, got=f"a {library} {type(frame).__name__}", hint=hint)


def _order(got: str) -> CalibrationError:
    return _wrong("the frame", "the one that was released, its rows in the same order", got)


def _wrong(what: str, rule: str, got: str, *, hint: str = "") -> CalibrationError:
    usual = "Give the frame, its release as it was released, and the plan of that release."
    return CalibrationError(what, rule=rule, got=got, hint=hint or usual)
