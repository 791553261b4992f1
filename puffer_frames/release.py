"""Record-level release: one noisy value per row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from puffer_frames.arguments import check_delta, check_epsilon
from puffer_frames.beliefs import Belief, check_components, learn, name_beliefs
from puffer_frames.calibration import Calibration, release_checked
from puffer_frames.errors import ArgumentTypeError
from puffer_frames.frames.columns import Frame, NativeFrame, as_names, check_dtypes, check_names, open_frame
from puffer_frames.frames.summary import summarise
from puffer_frames.frames.write import check_index
from puffer_frames.noise.laplace import RandomSource, check_rng
from puffer_frames.pairs import check_pairs
from puffer_frames.priors import Secret
from puffer_frames.selection import check_calibration, select_scale
from puffer_frames.theorems.catalogue import check_theorem


def privatize(
    frame: NativeFrame,
    /,
    *,
    secret: str | Sequence[str],
    public: str,
    epsilon: float,
    delta: float = 0.0,
    pairs: str | Iterable[Sequence[Secret]] = "all",
    theorem: str = "auto",
    calibration: str = "exact",
    beliefs: str | Belief | Iterable[str | Belief] = ("fitted", "empirical"),
    components: int | None = None,
    keep: str | Sequence[str] = (),
    index: str | None = None,
    allow_zero_noise: bool = False,
    rng: RandomSource = None,
) -> NativeFrame:
    r"""Release a column with just enough noise to keep another one secret.

    Learns the law of the public column given each secret, finds the smallest Laplace scale that makes every pair
    of secrets (epsilon, delta)-indistinguishable from one released value, adds the noise and drops the secret.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame or polars.LazyFrame
        Never changed. A lazy frame is collected.
    secret : str or sequence of str
        Column to protect: strings, categories, booleans, integers. Several columns: their joint value.
    public : str
        Numeric column to release.
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
    beliefs : "fitted", "empirical", mapping of secret to Prior, or several of these
        The adversaries: the fitted model, the observed frequencies, side knowledge. The scale satisfies all.
    components : int, optional
        Number of components with theorem="gmm"; by default by BIC.
    keep : str or sequence of str
        Further columns to release as they are, outside the guarantee.
    index : None, "keep" or "drop"
        What to do with a pandas index other than 0, 1, ..., n - 1.
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
    kept = as_names(keep)
    check_rng(rng)
    check_names(opened, secret=as_names(secret), public=_one_column(public), keep=kept)
    check_index(opened, index)
    plan = _calibrate(
        opened,
        secret=as_names(secret),
        public=public,
        epsilon=epsilon,
        delta=delta,
        pairs=pairs,
        theorem=theorem,
        calibration=calibration,
        beliefs=beliefs,
        components=components,
        allow_zero_noise=allow_zero_noise,
    )
    return release_checked(plan, opened, keep=kept, index=index, rng=rng)


def calibrate(
    frame: NativeFrame,
    /,
    *,
    secret: str | Sequence[str],
    public: str,
    epsilon: float,
    delta: float = 0.0,
    pairs: str | Iterable[Sequence[Secret]] = "all",
    theorem: str = "auto",
    calibration: str = "exact",
    beliefs: str | Belief | Iterable[str | Belief] = ("fitted", "empirical"),
    components: int | None = None,
    allow_zero_noise: bool = False,
) -> Calibration:
    """Plan a release without drawing noise; print the result to read the plan.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame or polars.LazyFrame
    secret, public, epsilon, delta, pairs, theorem, calibration, beliefs, components, allow_zero_noise
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
    opened = open_frame(frame)
    check_names(opened, secret=as_names(secret), public=_one_column(public))
    return _calibrate(
        opened,
        secret=as_names(secret),
        public=public,
        epsilon=epsilon,
        delta=delta,
        pairs=pairs,
        theorem=theorem,
        calibration=calibration,
        beliefs=beliefs,
        components=components,
        allow_zero_noise=allow_zero_noise,
    )


def _calibrate(
    frame: Frame,
    /,
    *,
    secret: tuple[str, ...],
    public: str,
    epsilon: float,
    delta: float,
    pairs: str | Iterable[Sequence[Secret]],
    theorem: str,
    calibration: str,
    beliefs: str | Belief | Iterable[str | Belief],
    components: int | None,
    allow_zero_noise: bool,
) -> Calibration:
    epsilon, delta = check_epsilon(epsilon), check_delta(delta)
    check_theorem(theorem)
    check_calibration(calibration)
    components = check_components(components, theorem=theorem)
    check_dtypes(frame, secret=secret, public=public)
    summary = summarise(frame, secret=secret, public=public)
    checked = check_pairs(pairs, list(summary.counts))
    named = summary.counts if checked == "all" else dict.fromkeys(s for pair in checked for s in pair)
    counts = {label: summary.counts[label] for label in named}
    chosen, fitted, empirical = learn(counts, theorem=theorem, components=components)
    covered = name_beliefs(beliefs, fitted=fitted, empirical=empirical, secrets=named)
    selection = select_scale(
        covered,
        theorem=chosen,
        assumed=fitted,
        epsilon=epsilon,
        delta=delta,
        pairs=checked,
        calibration=calibration,
        allow_zero_noise=allow_zero_noise,
    )
    return Calibration(
        epsilon=epsilon,
        delta=delta,
        secret=secret,
        public=(public,),
        pairs=checked,
        published=chosen,
        calibration=calibration,
        selection=selection,
        scales={public: selection.scale},
        priors=fitted,
        beliefs=covered,
        rows=summary.rows,
        rows_per_secret={label: int(counts.sum()) for label, (_, counts) in summary.counts.items()},
        checksum=summary.checksum(),
    )


def _one_column(public: str) -> tuple[str]:
    if not isinstance(public, str):
        raise ArgumentTypeError(
            "public", rule="the name of one column", got=f"a {type(public).__name__}", hint="Release one column."
        )
    return (public,)
