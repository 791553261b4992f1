"""Releases in scikit-learn's pipelines: `fit` makes the plan, `transform` draws the noise."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import wraps
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from puffer_frames.certificates.about import About
from puffer_frames.certificates.record import Certificate
from puffer_frames.certificates.text import headline
from puffer_frames.errors import (
    ArgumentError,
    ArgumentTypeError,
    PriorError,
    WeakGuaranteeWarning,
    as_they_are,
    short_traceback,
    warn,
)
from puffer_frames.frames.columns import Name, NativeFrame, as_names, check_column_names
from puffer_frames.frames.local.table import LocalTable
from puffer_frames.frames.matching import RowsIdentity
from puffer_frames.frames.null_values import NullValuesArgument
from puffer_frames.frames.side_by_side import array_of, frame_of, in_library
from puffer_frames.frames.table import is_frame, library_of, open_table
from puffer_frames.mechanisms.arguments import (
    BeliefArgument,
    CalibrateArguments,
    Layout,
    NullsWord,
    PairsArgument,
    RowMechanism,
    SecretsWord,
    check_layout,
)
from puffer_frames.mechanisms.request import RowsRequest
from puffer_frames.noise.stream import RandomSource
from puffer_frames.numbers.arguments import check_flag
from puffer_frames.scales.repeats import Unit
from puffer_frames.scales.strata import Strata
from puffer_frames.verbs.attached import certificate_of
from puffer_frames.verbs.ledgers.release_ledger import LedgerArgument
from puffer_frames.verbs.once import ReleasedRows
from puffer_frames.verbs.plans.plan import calibrate
from puffer_frames.verbs.requests import DrawArguments, Drawing, PrivatizeArguments, bind, with_names

_COMPLEX = "Complex data not supported"
MOST_CERTIFICATES = 1000
"""The most certificates that are kept; each has some kilobytes."""
_PLANNED = tuple(field.name for field in fields(CalibrateArguments))


_LEAVE_OUT = "eave out such rows, of X and of y, before they are fitted."


@contextmanager
def _of_all_rows() -> Iterator[None]:
    """Errors of missing values, without the hint to drop rows, which a transformer refuses."""
    try:
        yield
    except PriorError as error:
        if 'nulls="drop"' not in error.hint:
            raise
        level = 'Say nulls="level", which makes "missing" a level, or l' if 'nulls="level"' in error.hint else "L"
        raise PriorError(error.what, rule=error.rule, got=error.got, hint=level + _LEAVE_OUT) from None


def _warn_of_drift(certificate: Certificate, /) -> None:
    """Warn where these rows lose more under their own frequencies than was asked for."""
    found = headline(certificate)
    loss = f"up to {found.epsilon:.3g}" + f" with delta {found.delta:.3g}" * bool(certificate.delta)
    if found.exceeds:
        warn(
            WeakGuaranteeWarning(
                f"the loss under the frequencies of these rows is beyond epsilon, {certificate.epsilon:g}: "
                + (f"{loss}; the certificate says so" if math.isfinite(found.epsilon) else "it is not known"),
                hint='Epsilon holds under the fitted beliefs; with beliefs="population" mostly for later rows, too. '
                "allow_drift=False makes this an error.",
            )
        )


def _in_words(function: Callable[..., Any], /, *, some_of: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """The same, with a CallError for arguments that it, or `some_of`, does not take; the signature is kept."""
    signature = inspect.signature(some_of or function)
    required = {"secret": None, "epsilon": None} if some_of else {}

    @wraps(function)
    def call(self: Any, *args: Any, **arguments: Any) -> Any:
        bind(signature, "PufferTransformer", (self, *args), required | arguments)
        return function(self, *args, **arguments)

    return call


class PufferTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Pufferfish privacy as a scikit-learn transformer: private columns go in, columns that can be published come out.

    `fit` makes the plan of a release, as `puffer_frames.calibrate`. `transform` draws the noise once and gives the
    public columns, the given and the kept ones, in the order of the input; the secret is not among them.

    Parameters
    ----------
    secret, public, epsilon, delta, mechanism, beliefs, pairs, secrets, given, unit, releases, domain, nulls, \
    null_values, allow_zero_noise
        As in `puffer_frames.calibrate`. The columns of an array are called "x0", "x1", ... The rows that come out are
        those that went in, so `nulls="drop"` and `Unit(over="sample")` are refused.
    layout, ledger, about, rng
        As in `puffer_frames.privatize`, but for `Layout(shuffle=True)`, for the rows must stay beside `y`, and
        `refine_key`. A pandas index is kept, unless `Layout(index="drop")`. The same rows with the noise that they had
        are not written into the ledger again.
    allow_drift : bool, optional
        Transform other rows than the fitted ones even where the loss under their own frequencies is more than was asked
        for, as test rows mostly lose more: epsilon holds under the beliefs that were fitted, and the certificate states
        the loss of these rows. By default there is a warning too; False makes it an error.

    Attributes
    ----------
    calibration_ : Plan
        The plan. It holds exact statistics of every secret, and so does a pickle of the fitted transformer: keep both
        with the data.
    certificates_ : list of Certificate
        One per transform since the fit, the newest last; of more than 1000 the newest.
    n_features_in_ : int
        Number of columns of the input.
    feature_names_in_ : array of str
        Their names, where the input was a frame whose names are text.

    Notes
    -----
    **Guarantee**: that of `puffer_frames.privatize`, for one release of each record. The noise is a function of a key,
    the plan and the rows, so the same rows get the same noise from the fitted transformer and from every copy and
    pickle of it: there is no second draw to be averaged with the first. With `row_id` each row has one noise, whatever
    batch it comes in. Without it a batch has one noise in one order, and what cannot be told is an error (`transform`).
    Not covered: a record in several batches without `row_id`, a record whose values have changed, another transformer,
    a copy that was made before the fit, or one that was fitted otherwise. Cross-validation fits a transformer for each
    part, so each record is released in several of them: release once, then cross-validate a model on the release.

    A clone is unfitted. A copy or a pickle holds the key of the noise, but not `rng`: whoever reads a pickle can
    subtract the noise from every release. Keep it with the raw table.

    **Cost**: `fit` as `calibrate`, `transform` as `Plan.release` and a hash of each row.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from puffer_frames import PufferTransformer
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"group": rng.choice(["a", "b"], 100), "score": rng.integers(0, 5, 100)})
    >>> transformer = PufferTransformer(secret="group", public="score", epsilon=0.1)
    >>> released = transformer.fit_transform(people)
    >>> list(released.columns), released.puffer.verify()
    (['score'], 'unsigned: cannot be trusted')
    >>> transformer.transform(people).equals(released), len(transformer.certificates_)
    (True, 2)
    """

    calibration_: Any
    certificates_: list[Certificate]
    n_features_in_: int

    @short_traceback
    @_in_words
    def __init__(
        self,
        *,
        secret: Name | Iterable[Name],
        public: Name | Iterable[Name] = "rest",
        epsilon: float,
        delta: float = 0.0,
        mechanism: RowMechanism = "auto",
        beliefs: BeliefArgument | Iterable[BeliefArgument] = ("fitted", "empirical"),
        pairs: PairsArgument = "all",
        secrets: SecretsWord = "joint",
        given: Name | Iterable[Name] | Strata = (),
        unit: Unit | None = None,
        releases: int = 1,
        domain: Mapping[Name, Sequence[Any]] | None = None,
        nulls: NullsWord = "raise",
        null_values: NullValuesArgument = None,
        allow_zero_noise: bool = False,
        layout: Layout | None = None,
        ledger: LedgerArgument = None,
        about: About = None,
        rng: RandomSource = None,
        allow_drift: bool | None = None,
    ) -> None:
        arguments = dict(locals())  # scikit-learn keeps every argument as it is, under its name
        del arguments["self"]
        self.__dict__.update(arguments)

    set_params = short_traceback(_in_words(BaseEstimator.set_params, some_of=__init__))

    @short_traceback
    def fit(self, X: NativeFrame | ArrayLike, y: object = None) -> Self:  # noqa: N803, ARG002 - scikit-learn's names
        """Make the plan of a release of these rows.

        Parameters
        ----------
        X : pandas, Polars or PyArrow frame in memory, or array of two dimensions
            With the secret and the public columns.
        y : ignored

        Returns
        -------
        PufferTransformer
            Itself, fitted.

        Raises
        ------
        ColumnNotFoundError, ArgumentError, ArgumentTypeError, PriorError, CalibrationError
            As `puffer_frames.calibrate`; also for a frame that is not in memory, and for what leaves out rows.
        """
        self._require_all_rows()
        frame = self._frame(X, reset=True)
        check_flag(self.allow_drift is None or self.allow_drift, "allow_drift")
        arguments = PrivatizeArguments(layout=self.layout, **{name: getattr(self, name) for name in _PLANNED})
        found = with_names(arguments, frame, open_table(frame).labels)
        self._keep = check_layout(found.layout).keep
        with _of_all_rows():
            plan = calibrate(frame, **{name: getattr(found, name) for name in _PLANNED})
        table, asked = self._asked(frame, plan)
        out = {*plan.public, *as_names(asked.roles.keep, table.names, role="keep")}
        self.calibration_ = plan
        self.certificates_ = []
        self._names_in = table.names
        self._places_out = [place for place, name in enumerate(table.names) if name in out]
        self._plan = plan.identity()
        if not hasattr(self, "_released"):  # a plan that is made again knows what it has released
            self._released = ReleasedRows()
        self._row_id = asked.roles.row_id
        self._fitted_rows = RowsIdentity.of(table, asked.roles, start=self._released.start(self._plan))
        self._released.remember_fit(self._plan, self._fitted_rows)
        return self

    @short_traceback
    def transform(self, X: NativeFrame | ArrayLike) -> Any:  # noqa: N803
        """Release the fitted rows, or others that the plan covers.

        Parameters
        ----------
        X : frame or array
            With the columns of the fitted one. Other rows than the fitted ones are taken as other records.

        Returns
        -------
        frame or array
            Of the kind of `X`, or as `set_output` says; a frame has its certificate attached. The newest of
            `certificates_` is its certificate in any case.

        Raises
        ------
        CalibrationError
            For rows with a secret that the plan does not know, and, with `allow_drift=False`, where they lose more than
            was asked for under their own frequencies. For the `row_id` of an earlier row with other values. Without
            `row_id` for earlier rows in another order, for those of an earlier batch of fewer than 32 different rows,
            and in a copy of the transformer (a pickle, a deep copy, another process) for all but the fitted rows.
        ColumnNotFoundError, ArgumentError, ArgumentTypeError, PriorError
            As `Plan.release`; also for another `row_id` than at the fit.
        """
        with as_they_are():
            check_is_fitted(self)
        if self._layout().row_id != self._row_id:  # other numbers would be other noise for the same rows
            rule = "the one that the transformer was fitted with"
            hint = "Set it before the fit; a transformer that is fitted anew makes further releases."
            raise ArgumentError("row_id", rule=rule, got="another one", hint=hint)
        frame = self._frame(X, reset=False)
        if self.rng is not None:
            with _of_all_rows():
                released = self._draw(frame)
        else:
            table, asked = self._asked(frame, self.calibration_)
            rows = RowsIdentity.of(table, asked.roles, start=self._released.start(self._plan))
            told = {"ledger": self.ledger, "about": self.about}
            with _of_all_rows(), self._released.drawing(self._plan, rows, fitted=self._fitted_rows, **told) as drawn:
                released = self._draw(frame, **drawn)
        certificate = certificate_of(released)
        if self.allow_drift is None:
            _warn_of_drift(certificate)
        self.certificates_.append(certificate)
        del self.certificates_[:-MOST_CERTIFICATES]
        if not is_frame(X):
            return array_of(released)
        asked_for = self._container()
        if asked_for in ("default", library_of(released)):
            return released
        return certificate.put_on(in_library(released, asked_for))

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Names of the columns that come out.

        Parameters
        ----------
        input_features : array of str, optional
            Names of the columns of a fitted array; for a frame they must be its own.

        Returns
        -------
        array of str

        Raises
        ------
        ValueError
            For names that do not suit.
        """
        check_is_fitted(self)
        names = np.asarray(self._names_in, dtype=object)
        if input_features is not None:
            given = np.asarray(input_features, dtype=object)
            if given.shape != names.shape:
                raise ValueError(f"input_features should have length equal to number of features ({names.size})")
            if hasattr(self, "feature_names_in_") and not np.array_equal(given, self.feature_names_in_):
                raise ValueError("input_features is not equal to feature_names_in_")
            names = given
        return names[self._places_out]

    def _require_all_rows(self) -> None:
        """Raise ArgumentError for what would leave out rows, which must stay beside `y`, or move them."""
        layout = check_layout(self.layout)
        if layout.shuffle or layout.refine_key is not None:
            word = "shuffle" if layout.shuffle else "refine_key"
            raise ArgumentError(word, rule="left out in a transformer", got="it", hint="Leave it out of Layout(...).")
        sampled = isinstance(self.unit, Unit) and self.unit.over == "sample"
        if sampled or (isinstance(self.nulls, str) and self.nulls == "drop"):
            raise ArgumentError(
                "unit" if sampled else "nulls",
                rule=('of over="raise"' if sampled else '"raise" or "level"')
                + " in a transformer, which gives as many rows as it gets",
                got='over="sample"' if sampled else "'drop'",
                hint=f"L{_LEAVE_OUT}",
            )

    def _frame(self, X: NativeFrame | ArrayLike, *, reset: bool) -> NativeFrame:  # noqa: N803
        """The input as a frame, its columns those of the fitted one."""
        if isinstance(X, np.ma.MaskedArray):
            hint = "Give a frame, in which missing entries are null."
            raise ArgumentTypeError("X", rule="an array without a mask", got="a masked one", hint=hint)
        if not is_frame(X):
            least = {"ensure_min_samples": 2, "ensure_min_features": 2} if reset else {}
            try:
                with as_they_are():
                    found = validate_data(self, _rows(X), reset=reset, dtype=None, ensure_all_finite=False, **least)
            except ValueError as error:  # scikit-learn's own text prints the array
                if str(error).startswith(_COMPLEX):
                    rule = "an array of real numbers or labels"
                    hint = "Give the real and the imaginary part a column each."
                    raise ArgumentError("X", rule=rule, got=f"complex numbers: {_COMPLEX}", hint=hint) from None
                if "array=" not in str(error):
                    raise
                rule = "a frame, or an array of rows and columns"
                hint = "Reshape your data: one entry for each row and column; frame[[name]] is one column."
                raise ArgumentError("X", rule=rule, got=f"a {type(X).__name__} of another shape", hint=hint) from None
            return frame_of(found)
        if not isinstance(open_table(X), LocalTable):
            hint = "Collect it first, or release it by X.puffer.privatize(...), which does not."
            raise ArgumentTypeError("X", rule="a frame in memory", got=f"a {type(X).__name__}", hint=hint)
        check_column_names(open_table(X).names)
        with as_they_are():
            validate_data(self, X, skip_check_array=True, reset=reset)
        return X

    def _asked(self, frame: NativeFrame, plan: Any) -> tuple[LocalTable, RowsRequest]:
        """The frame in memory, and how its release is to look."""
        table = open_table(frame).in_memory()
        seeded = Drawing.of(DrawArguments(ledger=self.ledger, about=self.about, rng=self.rng)).seeded
        return table, RowsRequest.of(self._layout(), table, plan.fitted.request, seeded=seeded)

    def _draw(self, frame: NativeFrame, **drawing: Any) -> NativeFrame:
        drawn = {"layout": self._layout(), "ledger": self.ledger, "about": self.about, "rng": self.rng} | drawing
        return self.calibration_.release(
            frame, **drawn, allow_other_frame=True, allow_drift=self.allow_drift is not False
        )

    def _layout(self) -> Layout:
        """How a release is to look: with the kept columns of the fitted frame, and the index of the rows beside `y`."""
        layout = check_layout(self.layout)
        return replace(layout, keep=self._keep, index=layout.index or "keep")

    def _container(self) -> str:
        """What `set_output` or the configuration of scikit-learn asks for."""
        own: Mapping[str, str] = getattr(self, "_sklearn_output_config", {})
        return own.get("transform", get_config()["transform_output"])

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "rng": None}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.rng is None
        tags.input_tags.string = tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def _rows(X: ArrayLike) -> ArrayLike:  # noqa: N803
    """Lists of rows with texts and other entries as an array of objects: in one of texts NumPy makes texts of all."""
    rows = X if isinstance(X, list | tuple) else ()
    texts = {isinstance(entry, str) for row in rows if isinstance(row, list | tuple) for entry in row}
    return np.array(X, dtype=object) if len(texts) > 1 else X
