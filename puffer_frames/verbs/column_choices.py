"""The scales of the columns of a request, from counts of rows."""

from __future__ import annotations

from puffer_frames.priors.pairs import Pairs
from puffer_frames.priors.prior import Secret
from puffer_frames.scales.choice import Choice
from puffer_frames.scales.columns import check_several, choose_column, choose_columns
from puffer_frames.scales.joint.columns import choose_jointly
from puffer_frames.verbs.request import Request, is_coupled
from puffer_frames.verbs.rows_seen import RowsSeen


def choices_of(request: Request, rows: RowsSeen, /, *, pairs: Pairs, named: list[Secret]) -> dict[str, Choice]:
    """The scale and why, per column, for the secrets that the pairs name."""
    if rows.joint is not None:
        return choose_jointly(
            rows.joint,
            request.target,
            coupled=is_coupled(request),
            named=named,
            beliefs=request.beliefs,
            weights=request.weights,
            noise=request.noise,
            pairs=pairs,
            domain=request.domain,
            allow_zero_noise=request.allow_zero_noise,
        )
    summaries = rows.summaries
    counts = {c: {label: summary.counts[label] for label in named} for c, summary in summaries.items()}
    if len(request.public) > 1:
        check_several(theorem=request.theorem, components=request.components, beliefs=request.beliefs)
        return choose_columns(
            counts,
            request.target,
            domain=request.domain,
            extent={c: summary.extent for c, summary in summaries.items()},
            radius={c: summary.radius for c, summary in summaries.items()},
            noise=request.noise,
            pairs=pairs,
            allow_zero_noise=request.allow_zero_noise,
        )
    name = request.public[0]
    choice = choose_column(
        counts[name],
        request.target,
        noise=request.noise,
        pairs=pairs,
        theorem=request.theorem,
        components=request.components,
        beliefs=request.beliefs,
        domain=request.domain.get(name),
        extent=summaries[name].extent,
        radius=summaries[name].radius,
        calibration=request.calibration,
        allow_zero_noise=request.allow_zero_noise,
    )
    return {name: choice}
