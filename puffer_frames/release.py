"""Record-level release: one noisy value per row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from puffer_frames.arguments import check_delta, check_epsilon
from puffer_frames.beliefs import Belief, check_components, learn, name_beliefs
from puffer_frames.calibration import Calibration, release_prepared
from puffer_frames.frames.columns import Frame, Name, NativeFrame, as_names, labels_of, open_frame
from puffer_frames.frames.prepare import prepare
from puffer_frames.frames.summary import summarise
from puffer_frames.frames.write import check_index
from puffer_frames.joint import check_joint, select_bounded
from puffer_frames.noise.family import noise_family
from puffer_frames.noise.stream import RandomSource, check_rng
from puffer_frames.pairs import check_pairs
from puffer_frames.postprocessing import BoundsArgument, check_bounds
from puffer_frames.priors import Secret
from puffer_frames.selection import check_calibration, select_scale
from puffer_frames.theorems.catalogue import check_theorem


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
    rng: RandomSource = None,
) -> NativeFrame:
    r"""Release a column with just enough noise to keep another one secret.

    Learns the law of the public column given each secret, finds the smallest noise that makes every pair
    of secrets (epsilon, delta)-indistinguishable from one released value, adds the noise and drops the secret.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame or polars.LazyFrame
        Never changed. A lazy frame is collected.
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
    rng : None, int or numpy.random.Generator
        None for fresh noise. A seed makes the noise reproducible, hence not private; for tests.

    Returns
    -------
    pandas.DataFrame or polars.DataFrame
        The public column as 64-bit floats and the kept ones, in the frame's order, with a certificate attached
        (`released.puffer.certificate`).

    Raises
    ------
    ColumnNotFoundError
        For a column that is not there.
    ArgumentError, ArgumentTypeError
        For an argument or dtype out of range.
    PriorError
        For an empty frame, nulls, NaN, infinities, or integers beyond 2**53.
    CalibrationError
        Where no noise would be added, unless `allow_zero_noise`, and for calibration="theorem" where the theorem has
        no condition (gmm at delta 0).

    Warns
    -----
    RowOrderWarning
        Where the rows are clustered by the secret (fewer than half the runs of a random order) and not shuffled.
    UnsoundTheoremWarning
        For calibration="theorem", where the published scale is not private under the priors that it assumes.

    Notes
    -----
    **Guarantee**: for each record, each pair of secrets and each set B,
    :math:`P(Y \in B \mid s_i) \le e^\varepsilon P(Y \in B \mid s_j) + \delta` under every one of the
    beliefs: laws of the public value given the secret. Not claimed: anything of kept columns, of several rows of one
    unit, of a second release. **Cost**: one group-by, one pass of noise, the fit (which does not grow with the rows),
    and 10 to 40 evaluations of the loss engine, each linear in (secrets x distinct values).

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
    opened = open_frame(frame)
    kept = as_names(keep, frame, role="keep")
    check_rng(rng)
    columns = as_names(public, frame, role="public")
    check_bounds(clip, role="clip", columns=columns, finite=False)
    plan, complete = _calibrate(
        opened,
        secret=as_names(secret, frame, role="secret"),
        public=columns,
        keep=kept,
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
        index=index,
        allow_zero_noise=allow_zero_noise,
    )
    return release_prepared(
        plan,
        complete,
        rows_per_secret=plan.rows_per_secret,
        keep=kept,
        index=index,
        shuffle=shuffle,
        clip=clip,
        to_integers=round,
        rng=rng,
        labels=labels_of(frame),
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
    frame : pandas.DataFrame, polars.DataFrame or polars.LazyFrame
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
    plan, _ = _calibrate(
        open_frame(frame),
        secret=as_names(secret, frame, role="secret"),
        public=as_names(public, frame, role="public"),
        keep=(),
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
        index="keep",
        allow_zero_noise=allow_zero_noise,
    )
    return plan


def _calibrate(
    frame: Frame,
    /,
    *,
    secret: tuple[str, ...],
    public: tuple[str, ...],
    keep: tuple[str, ...],
    epsilon: float,
    delta: float,
    pairs: str | Iterable[Sequence[Secret]],
    theorem: str,
    calibration: str,
    noise: str,
    alpha: float | None,
    beliefs: str | Belief | Iterable[str | Belief],
    components: int | None,
    nulls: str,
    domain: Mapping[Name, Sequence[float]] | None,
    index: str | None,
    allow_zero_noise: bool,
) -> tuple[Calibration, Frame]:
    """The plan, and the complete rows of the frame."""
    epsilon, delta = check_epsilon(epsilon), check_delta(delta)
    family = noise_family(noise, alpha=alpha)
    family.check(epsilon=epsilon, delta=delta)
    check_theorem(theorem, family=family)
    check_calibration(calibration)
    components = check_components(components, theorem=theorem)
    complete = prepare(frame, secret=secret, public=public, keep=keep, nulls=nulls)
    check_index(frame, index)
    bounds = check_bounds(domain, role="domain", columns=public, finite=True)
    summaries = {c: summarise(complete, secret=secret, public=c, domain=bounds.get(c)) for c in public}
    first = summaries[public[0]]
    checked = check_pairs(pairs, list(first.counts))
    named = list(first.counts) if checked == "all" else list(dict.fromkeys(s for pair in checked for s in pair))
    counts = {c: {label: summary.counts[label] for label in named} for c, summary in summaries.items()}
    if len(public) > 1:
        check_joint(theorem=theorem, components=components, beliefs=beliefs)
        calibration = "theorem"
        selections = select_bounded(
            counts,
            domain=bounds,
            radius={c: summary.radius for c, summary in summaries.items()},
            epsilon=epsilon,
            delta=delta,
            pairs=checked,
            allow_zero_noise=allow_zero_noise,
            family=family,
        )
    else:
        chosen, fitted, empirical = learn(
            counts[public[0]],
            theorem=theorem,
            components=components,
            coupled=family.alpha is not None,
            radius=first.radius,
        )
        covered = name_beliefs(beliefs, fitted=fitted, empirical=empirical, secrets=named)
        selections = {
            public[0]: select_scale(
                covered,
                theorem=chosen,
                assumed=fitted,
                epsilon=epsilon,
                delta=delta,
                pairs=checked,
                calibration=calibration,
                allow_zero_noise=allow_zero_noise,
                family=family,
            )
        }
    plan = Calibration(
        epsilon=epsilon,
        delta=delta,
        secret=secret,
        public=public,
        pairs=checked,
        calibration=calibration,
        noise=family,
        nulls=nulls,
        domain=bounds,
        selections=selections,
        rows_per_secret=first.rows_per_secret,
        checksum="".join(summary.checksum() for summary in summaries.values()),
    )
    return plan, complete
