"""Record-level release: one noisy value per row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from puffer_frames.arguments import check_flag
from puffer_frames.beliefs import Belief
from puffer_frames.calibration import Calibration, release_prepared
from puffer_frames.frames.columns import Name, NativeFrame, as_names, as_row_id
from puffer_frames.frames.roles import Layout, Roles
from puffer_frames.frames.table import open_table
from puffer_frames.noise.stream import RandomSource, check_rng
from puffer_frames.postprocessing import BoundsArgument, check_bounds
from puffer_frames.priors import Secret
from puffer_frames.request import Request


def privatize(
    frame: NativeFrame,
    /,
    *,
    secret: Name | Iterable[Name],
    public: Name | Iterable[Name],
    epsilon: float,
    delta: float = 0.0,
    pairs: str | Iterable[Sequence[Secret]] = "all",
    theorem: str = "auto",
    calibration: str = "exact",
    noise: str = "laplace",
    alpha: float | None = None,
    beliefs: str | Belief | Iterable[str | Belief] = ("fitted", "empirical"),
    components: int | None = None,
    keep: Name | Iterable[Name] = (),
    nulls: str = "raise",
    domain: Mapping[Name, Sequence[float]] | None = None,
    index: str | None = None,
    shuffle: bool = False,
    clip: BoundsArgument = None,
    round: bool = False,  # noqa: A002
    allow_zero_noise: bool = False,
    row_id: Name | None = None,
    rng: RandomSource = None,
) -> NativeFrame:
    r"""Release a column with just enough noise to keep another one secret.

    Learns the law of the public column given each secret, finds the smallest noise that makes every pair
    of secrets (epsilon, delta)-indistinguishable from one released value, adds the noise and drops the secret.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame, polars.LazyFrame, pyarrow.Table or pyspark.sql.DataFrame
        Never changed. Lazy Polars and Spark frames are never collected.
    secret : column name or several
        Column to protect: strings, categories, booleans, integers. Several columns: their joint value.
    public : column name or several
        Numeric column to release. Several columns are released jointly: Laplace noise of scale (number of columns) x
        range / epsilon on each, which needs no model of how they depend on one another.
    epsilon : float
        Greater than 0.
    delta : float
        0 for pure privacy, or far below 1 / (number of rows).
    pairs : "all" or iterable of pairs of secret values
        Which secrets must be indistinguishable.
    theorem : str
        "auto", "translation", "gaussian", "gmm", "kantorovich" or "bernoulli": the published condition, and with it
        the model of the public column given the secret. "auto" takes no model for up to 256 distinct values
        (bernoulli, kantorovich), else Gaussian mixtures of up to 5 components by BIC.
    calibration : str
        "exact": the smallest scale that the engine confirms. "theorem": the published scale, raised where the
        engine does not confirm it.
    noise : "laplace", "gaussian" or "stable"
        Laplace noise needs the least in one column. Gaussian noise needs delta > 0; it earns its place with many
        columns or releases. Stable noise (delta 0) is the sum of equally stable shares of many contributors; with it
        the theorems of a coupling within a distance hold (translation, kantorovich, bernoulli), and the exact search is
        one of observed frequencies.
    alpha : float, optional
        Exponent of stable noise, from 1 (Cauchy) to 1.995.
    beliefs : "fitted", "empirical", mapping of secret to Prior, or several of these
        The adversaries: the fitted model, the observed frequencies, side knowledge. The scale satisfies all.
    components : int, optional
        Number of components with theorem="gmm"; by default by BIC.
    keep : column name or several
        Further columns to release as they are, outside the guarantee.
    nulls : "raise" or "drop"
        What to do with rows whose secret or public value is missing (null or NaN).
    domain : mapping of column to (low, high)
        Public bounds of public columns, to which values are clipped before anything else.
    index : None, "keep" or "drop"
        What to do with a pandas index other than 0, 1, ..., n - 1.
    shuffle : bool
        Release the rows in random order.
    clip : (low, high), or mapping of column to (low, high)
        Bounds to clip the released values to. Use public constants; costs nothing.
    round : bool
        Round the released values to integers; costs nothing.
    allow_zero_noise : bool
        Allow a release without noise where none is needed.
    row_id : column name, optional
        Column of integers that numbers the rows, each differently: the noise of a row follows its number wherever the
        row stands. It is not released unless kept. By default rows are numbered by position, for which a lazy frame
        must give its rows in one order, and the rows of a Spark frame are materialised.
    rng : None, int or numpy.random.Generator
        None for fresh noise. A seed makes the noise reproducible, hence not private; for tests.

    Returns
    -------
    pandas.DataFrame, polars.DataFrame, polars.LazyFrame, pyarrow.Table or pyspark.sql.DataFrame
        The public column as 64-bit floats and the kept ones, in the frame's order, with a certificate attached
        (`released.puffer.certificate`, or `certificate_of(released)`); of a lazy frame a plan, to be run by
        `released.puffer.collect()` or `released.puffer.sink_parquet(path)`.

    Raises
    ------
    ColumnNotFoundError
        For a column that is not there.
    ArgumentError, ArgumentTypeError
        For an argument or dtype out of range.
    PriorError
        For an empty frame, nulls, NaN, infinities, or integers beyond 2**53.
    CalibrationError
        Where no noise would be added, unless `allow_zero_noise`, for calibration="theorem" where the theorem has
        no condition (gmm at delta 0), and where the rows of a lazy or Spark frame change from pass to pass.

    Warns
    -----
    RowOrderWarning
        Where the rows are clustered by the secret (fewer than half the runs of a random order) and not shuffled.
        Not for Spark frames, whose rows have no order of their own.
    UnsoundTheoremWarning
        For calibration="theorem", where the published scale is not private under the priors that it assumes.

    Notes
    -----
    **Guarantee**: for each record, each pair of secrets and each set B,
    :math:`P(Y \in B \mid s_i) \le e^\varepsilon P(Y \in B \mid s_j) + \delta` under every one of the
    beliefs: laws of the public value given the secret. Not claimed: anything of kept columns, of several rows of one
    unit, of a second release. **Cost**: one group-by, one pass of noise, the fit (which does not grow with the rows),
    and 10 to 40 evaluations of the loss engine, each linear in (secrets x distinct values).

    **Lazy frames**: the result is a plan that holds the raw rows and the key. Every run of it draws the same noise, and
    compares the rows with those of this call before it gives them on. Calibration takes some streaming passes.

    **Spark**: the result is a plan; its noise is a function of the key and the number of a row, so a task that is
    retried or computed again draws the same. Without `row_id` the secret, public and kept columns are materialised
    once: in the checkpoint directory where the session has one, else in memory and on disk of the executors, and then
    the release cannot be computed again once one of these is lost. With `row_id` nothing is materialised, and rows that
    change between the passes of this function are an error. The fingerprint of the certificate takes a pass over the
    release of its own.

    References
    ----------
    [KM14]; theory sections 1 to 4.

    Examples
    --------
    >>> import pandas as pd, puffer_frames
    >>> people = pd.DataFrame({"group": list("aabb"), "score": [1, 2, 2, 4]})
    >>> released = people.puffer.privatize(secret="group", public="score", epsilon=1.0, rng=7)
    >>> list(released.columns), round(released.puffer.certificate.scales["score"], 3)
    (['score'], 1.706)
    """
    table = open_table(frame)
    kept, numbered = as_names(keep, frame, role="keep"), as_row_id(row_id, frame)
    check_rng(rng)
    check_flag(shuffle, "shuffle")
    check_flag(round, "round")
    columns = as_names(public, frame, role="public")
    check_bounds(clip, role="clip", columns=columns, finite=False)
    request = Request.of(
        secret=as_names(secret, frame, role="secret"),
        public=columns,
        epsilon=epsilon,
        delta=delta,
        pairs=pairs,
        theorem=theorem,
        calibration=calibration,
        noise=noise,
        alpha=alpha,
        beliefs=beliefs,
        components=components,
        nulls=nulls,
        domain=domain,
        allow_zero_noise=allow_zero_noise,
    )
    roles = Roles(secret=request.secret, public=columns, keep=kept, row_id=numbered)
    layout = Layout(index=index, shuffle=shuffle)
    rows = table.complete(roles, nulls=nulls, layout=layout)
    plan = request.plan(rows.summaries(request.domain))
    return release_prepared(
        plan,
        rows,
        rows_per_secret=plan.rows_per_secret,
        keep=kept,
        layout=layout,
        clip=clip,
        to_integers=round,
        rng=rng,
    )


def calibrate(
    frame: NativeFrame,
    /,
    *,
    secret: Name | Iterable[Name],
    public: Name | Iterable[Name],
    epsilon: float,
    delta: float = 0.0,
    pairs: str | Iterable[Sequence[Secret]] = "all",
    theorem: str = "auto",
    calibration: str = "exact",
    noise: str = "laplace",
    alpha: float | None = None,
    beliefs: str | Belief | Iterable[str | Belief] = ("fitted", "empirical"),
    components: int | None = None,
    nulls: str = "raise",
    domain: Mapping[Name, Sequence[float]] | None = None,
    allow_zero_noise: bool = False,
) -> Calibration:
    """Plan a release without drawing noise; print the result to read the plan.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame, polars.LazyFrame, pyarrow.Table or pyspark.sql.DataFrame
    secret, public, epsilon, delta, pairs, theorem, calibration, noise, alpha, beliefs, components, nulls, domain, \
    allow_zero_noise
        As in `privatize`.

    Returns
    -------
    Calibration
        Deterministic; its `release(frame)` draws the noise.

    Raises
    ------
    ColumnNotFoundError, ArgumentError, ArgumentTypeError, PriorError, CalibrationError
        As `privatize`.

    Examples
    --------
    >>> import pandas as pd, puffer_frames
    >>> people = pd.DataFrame({"group": list("aabb"), "score": [1, 2, 2, 4]})
    >>> plan = people.puffer.calibrate(secret="group", public="score", epsilon=1.0)
    >>> plan.theorem, plan.published_scale, round(plan.scale, 3)
    ('kantorovich', 2.0, 1.706)
    """
    table = open_table(frame)
    request = Request.of(
        secret=as_names(secret, frame, role="secret"),
        public=as_names(public, frame, role="public"),
        epsilon=epsilon,
        delta=delta,
        pairs=pairs,
        theorem=theorem,
        calibration=calibration,
        noise=noise,
        alpha=alpha,
        beliefs=beliefs,
        components=components,
        nulls=nulls,
        domain=domain,
        allow_zero_noise=allow_zero_noise,
    )
    rows = table.complete(Roles(secret=request.secret, public=request.public), nulls=nulls, layout=None)
    return request.plan(rows.summaries(request.domain))
