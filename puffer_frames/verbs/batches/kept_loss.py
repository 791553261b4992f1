"""What noise hides from a reader who sees columns beside it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, Protocol

from puffer_frames.errors import ArgumentError, CalibrationError
from puffer_frames.frames.columns import NativeFrame, as_names
from puffer_frames.frames.roles import Roles
from puffer_frames.frames.table import open_table, small_frame
from puffer_frames.mechanisms.batch_report import figure_of
from puffer_frames.mechanisms.noise.drift import measure_part
from puffer_frames.mechanisms.noise.fitted import Plan
from puffer_frames.mechanisms.noise.merged_strata import as_merged
from puffer_frames.mechanisms.noise.rows_seen import RowsSeen
from puffer_frames.mechanisms.plan_columns import check_columns
from puffer_frames.priors.prior import Secret
from puffer_frames.scales.strata import Strata

MOST_STRATA = 10_000
"""Different values of the columns together, at most."""


class _Planned(Protocol):
    """What is needed of a calibration."""

    @property
    def plan(self) -> Plan: ...
    @property
    def kinds(self) -> Mapping[str, str]: ...
    @property
    def library(self) -> str: ...


def loss_given(calibration: _Planned, frame: NativeFrame, /, columns: str | Sequence[str]) -> NativeFrame:
    r"""Say what the noisy columns lose to a reader who sees other columns of the same row too, such as kept ones.

    Parameters
    ----------
    frame : a frame of any kind
        With the secret, public and given columns of the plan, and these ones.
    columns : str or list of str
        Columns of labels or whole numbers that are to stand beside the release.

    Returns
    -------
    frame
        Of the library of the frame that the plan was made from (of PyArrow for a DuckDB relation, of pandas for a Spark
        frame), a row per value of the columns: the columns as text; "rows"; "loss", the pure loss of the noisy values
        among these rows where delta is 0, else their delta at epsilon, and NaN where no protected pair occurs; "told",
        the largest change of the odds of a protected pair, as a logarithm, that the columns make without any noisy
        value, infinite where a secret never has this value. The largest losses come first.

    Raises
    ------
    ArgumentError, ArgumentTypeError, ColumnNotFoundError, PriorError
        As `privatize`, and for more than 10,000 values.
    CalibrationError
        For a secret or a stratum that the plan does not know.

    Notes
    -----
    The guarantee of a release is about its noisy columns. Kept columns are outside it: `given=` makes it hold beside
    them, with the noise that this takes. A released row changes the log-odds of two secrets by at most "told" + "loss".
    Small strata have large losses: of a single row of each secret the loss is the distance of their values over the
    scale. **Cost**: one group-by, and an evaluation of the loss per value. The frame holds exact statistics of every
    secret: keep it private.

    References
    ----------
    docs/theory.md, section 17, T4.

    Examples
    --------
    >>> import numpy as np, pandas as pd, puffer_frames
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"group": rng.choice(["a", "b"], 400), "score": rng.integers(0, 5, 400)})
    >>> people["score"] += people["group"] == "a"
    >>> people["town"] = np.where((people["group"] == "a") & (people["score"] > 2), "x", rng.choice(["x", "y"], 400))
    >>> plan = people.puffer.calibrate(secret="group", public="score", epsilon=0.5)
    >>> plan.loss_given(people, "town").round(2).to_dict("list")
    {'town': ['x', 'y'], 'rows': [250, 150], 'loss': [0.7, 0.41], 'told': [0.45, 0.84]}
    """
    plan, request = calibration.plan, calibration.plan.request
    frame = as_merged(request, frame)
    table = open_table(frame)
    names = tuple(dict.fromkeys(as_names(columns, table.labels, role="columns")))
    more = tuple(name for name in names if name not in request.given_columns)
    if not more:
        raise ArgumentError(
            "columns",
            rule="columns on which the guarantee does not condition already",
            got="given columns alone" if names else "none",
            hint="Name a column that is to be kept.",
        )
    given = (*request.given_columns, *more)
    roles = Roles.of(secret=request.secret, public=request.public, given=given)
    check_columns(table, request, roles, kinds=calibration.kinds)
    asked = replace(request, given=Strata(given), given_columns=given)
    rows = table.complete(asked.counting(roles), nulls=request.nulls, layout=None)
    seen = RowsSeen.for_plan(rows, asked, plan.clipped, joint=plan.is_joint)
    strata = seen.by_stratum(len(request.secret))
    if len(strata) > MOST_STRATA:
        raise ArgumentError(
            "columns", rule=f"of at most {MOST_STRATA:,} values together", got="more", hint="Take coarser columns."
        )
    found = [(z, *_measured(plan, part, z[: len(request.given_columns)])) for z, part in strata.items()]
    whole = _by_own(plan, strata)
    own = [(z, n, loss, _told(plan, counts, whole[z[: len(request.given_columns)]])) for z, n, counts, loss in found]
    own.sort(key=lambda row: (-1.0 if math.isnan(row[2]) else row[2], row[3]), reverse=True)
    shown: dict[str, list[Any]] = {name: [str(row[0][k]) for row in own] for k, name in enumerate(given)}
    shown |= {"rows": [row[1] for row in own], "loss": [row[2] for row in own], "told": [row[3] for row in own]}
    return small_frame(shown, library=calibration.library)


def _measured(plan: Plan, part: RowsSeen, given: tuple[Any, ...]) -> tuple[int, dict[Secret, int], float]:
    """Rows, rows per secret, and the loss of the noisy values among them."""
    scales = plan.scales
    if plan.strata is not None:
        if given not in plan.strata.scales:
            raise CalibrationError(
                "the strata of the frame", rule="strata of the plan", got="others", hint="Calibrate this frame."
            )
        scales = dict(plan.strata.scales[given])
    protected = part.protected(plan.request)
    counts = protected.rows_per_secret
    batch = measure_part(plan, protected, scales)
    losses = [figure_of(each, delta=plan.request.target.delta) for each in batch.observed.values()]
    return sum(part.rows_per_secret.values()), counts, max(losses, default=math.nan)


def _by_own(plan: Plan, strata: dict[Any, RowsSeen]) -> dict[tuple[Any, ...], dict[Secret, int]]:
    """Rows per secret of each stratum of the plan's own given columns."""
    found: dict[tuple[Any, ...], dict[Secret, int]] = {}
    for z, part in strata.items():
        counts = found.setdefault(z[: len(plan.request.given_columns)], {})
        for secret, rows in part.protected(plan.request).rows_per_secret.items():
            counts[secret] = counts.get(secret, 0) + rows
    return found


def _told(plan: Plan, counts: dict[Secret, int], whole: dict[Secret, int]) -> float:
    """How far the columns alone change the log-odds of a protected pair."""
    pairs = combinations(whole, 2) if plan.pairs == "all" else plan.pairs
    told = 0.0
    for one, two in pairs:
        here = counts.get(one, 0), counts.get(two, 0)
        if not any(here) or not (whole.get(one) and whole.get(two)):
            continue
        if not all(here):
            return math.inf
        told = max(told, abs(math.log(here[0] / here[1]) - math.log(whole[one] / whole[two])))
    return told
