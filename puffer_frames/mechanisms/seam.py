"""What a mechanism is: a folder, or a file, that defines one `Mechanism` and what it fits, and a line in the registry.

The verbs are written once over these two classes. A mechanism says here what it takes, what it must count, what it
found, how it draws, and what is true of its releases; it never sees a frame.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from puffer_frames.certificates.build import is_warned, left_out, seen, weak
from puffer_frames.certificates.facts import Facts
from puffer_frames.certificates.record import MOST_VALUES, Certificate
from puffer_frames.certificates.sentences import say, warnings_of
from puffer_frames.certificates.statement import Statement
from puffer_frames.certificates.version import __version__
from puffer_frames.errors import (
    ArgumentError,
    ArgumentTypeError,
    CalibrationError,
    KeptColumnWarning,
    PufferWarning,
    RowOrderWarning,
)
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.null_values import Dropped, Sampled
from puffer_frames.frames.roles import Roles, RowOrder
from puffer_frames.frames.table import CompleteRows, Table
from puffer_frames.loss.outcome import Verification, excess_text
from puffer_frames.mechanisms.batch_report import Finding
from puffer_frames.mechanisms.request import Request, RowsRequest
from puffer_frames.noise.adding import Draw
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.noise.stream import ReleaseKey
from puffer_frames.numbers.arguments import Target
from puffer_frames.numbers.presentation import Rows, at_most, listed, pairs_text, shown, shown_names
from puffer_frames.priors.pairs import Pairs, ProtectedPairs, by_column
from puffer_frames.priors.prior import FloatArray, Secret
from puffer_frames.scales.drift import Batch
from puffer_frames.scales.strata import Stratum

_STEPS = tuple(2.0 ** (k / 2) for k in range(-4, 5))
NO_BOUND = math.nan


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """What a release costs at one epsilon."""

    column: str
    epsilon: float
    delta: float
    published_scale: float = math.nan
    """What the theorem asks for; not a number where it has no condition, and for a channel."""
    scale: float = math.nan
    """What a plan would use; not a number for a channel."""
    published_error: float = math.nan
    error: float
    """Not a number after a remap, at other scales than the plan's, where its pairs leave secrets out."""
    bound: float
    """No mechanism that sees the value alone has a smaller error; not a number where none is known."""


def as_epsilons(given: Iterable[float] | None, own: float) -> list[float]:
    """Ascending, each once."""
    if given is None:
        return [own * step for step in _STEPS]
    if isinstance(given, (str, Mapping)) or not isinstance(given, Iterable):
        raise ArgumentTypeError(
            "epsilons", rule="several numbers", got=f"a {type(given).__name__}", hint="Write [0.5, 1, 2]."
        )
    found = sorted({Target.of(epsilon, 0.0).epsilon for epsilon in given})
    if not found:
        raise ArgumentError("epsilons", rule="one number or more", got="none", hint="Leave them out.")
    return found


def from_file(lacks: str, /, *, for_what: str = "other epsilons") -> CalibrationError:
    """The error for a plan from a file that lacks something."""
    return CalibrationError(
        "the plan",
        rule=f"one that was made from a table, for {for_what}",
        got=f"one from a file, without {lacks}",
        hint="Calibrate the table again with the same request.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnError:
    """The error of a column beside what it can be compared with, in its units."""

    name: str
    error: float
    constant: float
    """Mean error of the median, or of the best constant, in place of every value."""
    spread: float | None
    """Standard deviation; None of labels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFigures:
    """The figures of a plan."""

    errors: tuple[ColumnError, ...]
    losses: tuple[tuple[str, float, str], ...]
    """Under which laws, what is lost at most, and the same in words: the pure loss, or delta where there is one."""
    partly_useless: tuple[str, ...] = ()
    """Columns that a constant is nearer to in some strata, and not in others."""


def loss_of(found: Verification, /, *, delta: float) -> tuple[float, str]:
    """The largest loss, and the same in words: the pure one, or delta where there is one."""
    return at_most(found.loss(delta=delta).upper)


def rows_text(rows_per_secret: Mapping[Secret, int], /) -> str:
    """The rows of each secret, of many secrets the first."""
    return listed([f"{secret!r} {rows:,}" for secret, rows in rows_per_secret.items()], most=12, what=" secrets")


class Counts(Protocol):
    """What the rows of a table say to a mechanism."""

    def checksum(self) -> str:
        """Equal for frames with the same rows in any order."""


S = TypeVar("S", bound=Counts)


def named_secrets(pairs: Pairs, secrets: Iterable[Secret], /) -> list[Secret]:
    """The secrets that pairs name, each once."""
    return list(secrets) if pairs == "all" else list(dict.fromkeys(secret for pair in pairs for secret in pair))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading(Generic[S]):
    """A table as a mechanism has read it."""

    request: Request
    """With what is known when the table was looked at."""
    frame: NativeFrame
    """The whole table, as it is released."""
    table: Table
    rows: CompleteRows
    seen: S
    """Counts of the rows."""
    dropped: Dropped | None = None
    """Rows that are not among them, for a value is missing."""
    sampled: Sampled | None = None
    """Rows that are not among them, for their unit has more than are used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """One release, as far as its certificate depends on it."""

    asked: RowsRequest
    columns: Sequence[str] = ()
    """Names of the columns of the frame."""
    rows: int
    """How many rows are released."""
    secrets: tuple[Secret, ...]
    """The values of the secret that are protected here."""
    kept: tuple[str, ...] = ()
    """Names of the kept columns, and of the kept levels of an index."""
    warnings: Sequence[PufferWarning] = ()
    """What was seen of the order of the rows and of kept columns."""
    rows_per_secret: Mapping[Secret, int]
    """Rows of each protected secret in the table of the plan: no count of other rows is here, so none is published."""
    batch: Batch | None = None
    """What may be said of other rows than those that the plan was made from, as `Batch.excess`."""
    unproved: Sequence[str] = ()
    """Beliefs whose laws a plan from a file lacks."""

    def exceeded(self, fitted: Fitted[Any], /) -> Mapping[str, str]:
        """What is not known to be within what was asked for under the frequencies of the released rows, in words."""
        return fitted.exceeded if self.batch is None else self.batch.exceeded

    def facts(self, fitted: Fitted[Any], /) -> Facts:
        """What a certificate states of any release; each has a sentence, which `said` gives but for seeds."""
        return Facts(
            seeded=self.asked.seeded,
            other_rows=self.batch is not None,
            exceeds=bool(self.exceeded(fitted)),
            dropped=fitted.request.nulls == "drop",
            shuffled=self.asked.layout.shuffle,
            order_tells=is_warned(self.warnings, RowOrderWarning),
            kept_tells=is_warned(self.warnings, KeptColumnWarning),
        )

    def certificate(
        self, fitted: Fitted[Any], /, *, statements: tuple[Statement, ...], whose: str = "record", **others: Any
    ) -> Certificate:
        """The certificate of the release, its values not known yet.

        The `others` are its fields that depend on the mechanism; some need not be given where no noise is added.
        """
        request, released = fitted.request, (*fitted.request.public, *self.kept, *self.asked.roles.given)
        fields: dict[str, Any] = {
            "epsilon": request.target.epsilon,
            "delta": request.target.delta,
            "published_scales": {},
            "calibration": "exact",
            "scales": {},
            "expected_error": {},
            "estimated": {},
            "observed": self._observed(fitted) if self.exceeded(fitted) else {},
            "adds_up": False,
            "reproducible": self.asked.seeded,
            "version": __version__,
        }
        return Certificate(
            subject=f"{shown_names(request.secret)} of each {whose}, {pairs_text(fitted.pairs, apart=request.apart)}",
            answers=False,
            secret=request.secret,
            secret_values=self.secrets[:MOST_VALUES],
            secret_count=len(self.secrets),
            public=request.public,
            kept=self.kept,
            given=self.asked.roles.given,
            withheld=tuple(name for name in self.columns if name not in released),
            pairs=fitted.protected_pairs,
            statements=statements,
            warnings=warnings_of(statements),
            rows=self.rows,
            fingerprint="",
            **(fields | others),
        )

    def _observed(self, fitted: Fitted[Any]) -> dict[str, Verification]:
        """The loss under the frequencies of the released rows, per column, where columns together have one."""
        found = fitted.observed_losses if self.batch is None else self.batch.observed
        together = found.get(", ".join(fitted.request.public))
        return dict(found) if together is None else dict.fromkeys(fitted.request.public, together)

    def said(self, fitted: Fitted[Any], /) -> Iterator[Statement]:
        """The sentences that the certificate of any release of one value of a record has, whatever the mechanism."""
        request, batch = fitted.request, self.batch
        yield from (say("records"), say("other-columns"), say("per-record"))
        yield say("learned", what="scale and losses" if fitted.scales else "losses and what was measured")
        if batch is not None:
            yield say("other-rows")
        for name, found in self.exceeded(fitted).items():
            yield say("observed-exceeds", what=shown(name), found=found)
        yield from self.cautions(fitted)
        yield from left_out(fitted.protected_pairs, self.kept, request.nulls)
        if self.asked.layout.shuffle:
            yield say("shuffled")

    def cautions(self, fitted: Fitted[Any], /) -> Iterator[Statement]:
        """What was seen of order and kept columns, and how weak the guarantee is."""
        others = self.batch is not None
        yield from seen(self.warnings, others=others)
        yield from weak(fitted.request.target, self.rows_per_secret, rows=self.rows, others=others)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Errors of noise with the same guarantee for the observed laws alone."""

    noise: float
    """Mean absolute noise."""
    remap: float
    """Mean absolute error after the posterior median."""


NOTHING_NEEDED = "private as it is: say allow_zero_noise=True"
ADDS_UP, LARGEST_ADD, NO_RULE = "epsilons add", "largest losses add", "no rule"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRow:
    """A row of a comparison: one column under one alternative. What is not known is not a number."""

    epsilon: float
    delta: float
    belief: str
    mechanism: str
    noise: str = ""
    theorem: str = ""
    column: str
    published_scale: float = math.nan
    verdict: str = ""
    scale: float = math.nan
    error: float = math.nan
    error_std: float = math.nan
    error_constant: float = math.nan
    bound: float = math.nan
    loss_observed: float = math.nan
    loss_population: float = math.nan
    loss_any_law: float = math.nan
    loss_reader: float = math.nan
    composes: str = ""
    seconds: float = math.nan
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How far a column spreads by itself."""

    std: float = math.nan
    constant: float = math.nan
    """The mean error of its median, or of its most frequent label, in place of every value."""

    def shares(self, error: float, /) -> dict[str, Any]:
        """An error as a share of both."""
        units = {"error_std": self.std, "error_constant": self.constant}
        return {name: error / unit if unit > 0 else math.nan for name, unit in units.items()}


class Fitted(ABC, Generic[S]):
    """What a mechanism found for a request and the counts of a table. It holds exact statistics of every secret."""

    __slots__ = ()

    request: Request
    pairs: Pairs
    """"all", or the protected pairs of secrets."""
    rows_per_secret: Mapping[Secret, int]
    """Rows of each secret, or of each column and value where these are protected by themselves."""
    rows: int
    """Rows of the table, complete ones."""
    tag: ClassVar[str] = "Calibration"
    """What its plans are called in a file."""
    compares: ClassVar[bool] = False
    """Whether its plans say what another mechanism would cost."""
    unchanged: ClassVar[str] = ""
    """What releases values of the columns, with which nothing is done; empty for noisy values."""
    within: ClassVar[str] = "the loss under the frequencies of these rows is within what was asked for"
    """Why a plan covers other rows, where it does."""

    @property
    def secrets(self) -> tuple[Secret, ...]:
        """The values of the secret that the pairs name."""
        return tuple(named_secrets(self.pairs, self.rows_per_secret))

    @property
    def protected_pairs(self) -> ProtectedPairs:
        """The pairs, as a certificate states them."""
        return "each" if self.request.apart else self.pairs

    def protected_rows(self, rows: Mapping[Secret, int] | None = None, /) -> dict[Secret, int]:
        """The rows of each secret that the pairs name, or of each column and value of it; 0 where there are none.

        Those of the table of the plan, or of rows by joint secrets.
        """
        if rows is None:
            rows = self.rows_per_secret
        elif self.request.apart:
            groups = by_column(rows, self.request.secret)
            rows = {own: sum(rows.get(secret, 0) for secret in of) for own, of in groups.items()}
        named = set(self.secrets)
        found = {secret: count for secret, count in rows.items() if secret in named}
        return found | {secret: 0 for secret in self.secrets if secret not in found}

    @property
    def target(self) -> Target:
        """What other rows of the plan must meet."""
        return self.request.target

    @property
    def family(self) -> NoiseFamily | None:
        """The family of the noise; None where none is added."""
        return None

    @property
    def scales(self) -> Mapping[str, float]:
        """Scale of the noise per released column of numbers, in its units."""
        return {}

    @property
    def strata_scales(self) -> Mapping[Stratum, Mapping[str, float]]:
        """The same per stratum, where the guarantee conditions on columns."""
        return {}

    @property
    def channels(self) -> Mapping[str, Any]:
        """The channel per released column that has one."""
        return {}

    @property
    def remaps(self) -> Mapping[str, Any]:
        """What noisy values are replaced by, per column; empty where they are not."""
        return {}

    @property
    @abstractmethod
    def observed_losses(self) -> Mapping[str, Verification]:
        """The loss under the observed frequencies, per released column."""

    @property
    def exceeded(self) -> Mapping[str, str]:
        """What is not known to be within what was asked for under the observed frequencies, as `Batch.exceeded`.

        Only beliefs that leave these out lead to that.
        """
        found = {name: loss for name, loss in self.observed_losses.items() if not loss.confirms(self.target)}
        return {name: excess_text(loss, self.target) for name, loss in found.items()}

    @property
    @abstractmethod
    def expected_error(self) -> Mapping[str, float]:
        """Mean error per released column: in its units, or as the share of changed labels."""

    @property
    def error_unit(self) -> str:
        """What these are, in words."""
        return "mean absolute, in units of the column"

    @property
    def changed_labels(self) -> Mapping[str, float]:
        """Columns of labels that have no such error, and the share of their labels that change."""
        return {}

    @abstractmethod
    def warn(self, seen: S, /) -> None:
        """Warn of what makes a release of little use, of the table of which this was seen."""

    def instead(self) -> str | None:
        """The mechanism to try where none was asked for and this one does badly; None where it may stay."""
        return None

    # what is shown

    @abstractmethod
    def text(self, compared: Compared | None, /) -> Rows:
        """Labels and texts, in order; `compared` is what another mechanism would cost, where that is known."""

    @abstractmethod
    def figures(self) -> PlanFigures:
        """What the report of a plan, and a notebook, show as pictures."""

    def compared_rows(self, told: ComparedRow, spreads: Mapping[str, Spread], seen: S, /) -> list[ComparedRow]:
        """A row of a comparison for each column; `told` has what does not depend on what was found."""
        errors, observed, delta = self.expected_error, self.observed_losses, self.request.target.delta
        return [
            replace(
                told,
                column=name,
                error=error,
                loss_observed=observed[name].loss(delta=delta).upper if name in observed else math.nan,
                composes=NO_RULE,
                **spreads.get(name, Spread()).shares(error),
            )
            for name, error in errors.items()
        ]

    # rows: those of the plan, or others

    @abstractmethod
    def complete(self, table: Table, roles: Roles, /, *, kinds: Mapping[str, str], layout: RowOrder | None) -> Any:
        """The rows of a table that may be those of the plan; raises as `puffer_frames.Plan.release`."""

    @abstractmethod
    def see(self, rows: CompleteRows, /) -> S:
        """Count rows as those of the plan were."""

    @abstractmethod
    def rows_of(self, seen: S, /) -> dict[Secret, int]:
        """Rows of each secret among them."""

    @abstractmethod
    def measure(self, seen: S, /) -> Batch:
        """The loss under the frequencies of other rows; raises CalibrationError for a secret that is not known."""

    def warn_of_others(self, seen: S, rows: CompleteRows, /) -> None:
        """Warn of other rows whose values a release moves."""
        return

    @abstractmethod
    def findings(self, seen: S, rows: CompleteRows, /) -> list[Finding]:
        """What there is to say of other rows."""

    def check_own(self, seen: S, /, *, own_rows: bool, left_out: Sequence[str]) -> tuple[str, ...]:
        """For a plan from a file: the beliefs that were not proved again, neither by the file nor by these rows.

        Raises PlanFileError where these are the rows of the plan, and it says something else than they do.
        """
        return ()

    # a release

    def takes_given(self) -> bool:
        """Whether the same request may name given columns."""
        return False

    def check_asked(self, asked: RowsRequest, /) -> None:
        """Raise ArgumentError for what this mechanism cannot do to released rows."""
        given = "clip" if asked.bounds else "round" if asked.to_integers else None
        if self.unchanged and given:
            raise ArgumentError(given, rule=f"left out for {self.unchanged}", got="one", hint="Leave it out.")

    @abstractmethod
    def draws(self, asked: RowsRequest, key: ReleaseKey, /) -> tuple[Draw, ...]:
        """What is done to the values of each public column."""

    @abstractmethod
    def certificate(self, release: Release, /) -> Certificate:
        """What is guaranteed of a release, its values not known yet."""

    def originals(self, rows: CompleteRows, /) -> Mapping[str, FloatArray] | None:
        """The values before the noise of a release that can be refined later; None of one that cannot."""
        return None

    # a file

    @abstractmethod
    def lean(self) -> tuple[Self, tuple[str, ...]]:
        """Without what a file does not hold, and that in words."""

    @abstractmethod
    def checked(self) -> Self:
        """From a file: with what follows from its parts, which agree; raises PufferError."""

    # what else a plan can say

    def curve(self, epsilons: Sequence[float], /, *, left_out: Sequence[str]) -> Iterator[CurvePoint]:
        """Scale and error at each epsilon; `left_out` is what a plan from a file lacks."""
        raise self._has_no("curve")

    def deltas(self, *, left_out: Sequence[str]) -> Iterator[tuple[str, bool, Callable[[float], tuple[float, float]]]]:
        """Per belief: whether the guarantee is under it, and the bounds of delta at an epsilon."""
        raise self._has_no("privacy_profile")

    def robustness(self, *, left_out: Sequence[str]) -> Mapping[str, list[Any]]:
        """What each belief would need, as columns."""
        raise self._has_no("robustness")

    def loss_given(
        self, frame: NativeFrame, columns: str | Sequence[str], /, *, kinds: Mapping[str, str]
    ) -> Mapping[str, list[Any]]:
        """The loss to a reader who sees further columns, as columns; `kinds` is what the columns of the plan held."""
        raise self._has_no("loss_given")

    def _has_no(self, what: str) -> ArgumentError:
        return ArgumentError(
            f"the plan whose {what}() is called",
            rule="one of noise",
            got="one of another mechanism",
            hint='Calibrate with mechanism="noise" to compare, or print the plan: it says what this mechanism has.',
        )


class Mechanism(ABC, Generic[S]):
    """A way to make columns private."""

    name: ClassVar[str]
    options: ClassVar[type]
    """The record of its options."""
    records: ClassVar[Mapping[str, type]] = {}
    """The dataclasses of its own that a plan file may hold, by their names there."""

    def is_asked(self, mechanism: object, /) -> bool:
        """Whether what a request says of the mechanism, a word or a record, means this one."""
        return mechanism == self.name or isinstance(mechanism, self.options)

    def suits(self, public: Sequence[str], table: Table, /) -> bool:
        """Whether it is the default for these columns."""
        return False

    @abstractmethod
    def takes(self, request: Request, table: Table, /) -> Request | None:
        """A request for it, or by default, as this mechanism has it; None where the next one is the default.

        Raises ArgumentError for what does not go together.
        """

    @abstractmethod
    def read(self, request: Request, frame: NativeFrame, table: Table, asked: RowsRequest | None, /) -> Reading[S]:
        """Look at the rows; `asked` says how they are to be released, and is None for a plan."""

    @abstractmethod
    def fit(self, request: Request, seen: S, /) -> Fitted[S]:
        """Find what has the guarantee; raises ArgumentError, ArgumentTypeError, PriorError, CalibrationError."""

    def compared(self, fitted: Any, seen: S, /) -> Compared | None:
        """What another mechanism with the guarantee would cost; None where nothing is compared."""
        return None
