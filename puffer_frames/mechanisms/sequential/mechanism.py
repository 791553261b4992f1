"""A whole table as a mechanism: what it takes, reads, finds, draws and says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from puffer_frames.certificates.record import Certificate
from puffer_frames.errors import ArgumentError, WeakGuaranteeWarning, warn
from puffer_frames.frames.columns import NativeFrame, check_rows, not_found
from puffer_frames.frames.roles import Roles, RowOrder
from puffer_frames.frames.table import CompleteRows, Table, is_frame, library_of, open_table, small_frame
from puffer_frames.loss.outcome import Verification
from puffer_frames.mechanisms.batch_report import Finding, finding, rows_found
from puffer_frames.mechanisms.figures import PlanFigures
from puffer_frames.mechanisms.file_checks import is_close, require
from puffer_frames.mechanisms.lean import lean_request
from puffer_frames.mechanisms.plan_columns import check_columns
from puffer_frames.mechanisms.request import Request, RowsRequest
from puffer_frames.mechanisms.seam import Compared, Fitted, Mechanism, Reading, Release
from puffer_frames.mechanisms.sequential.certificate import table_certificate
from puffer_frames.mechanisms.sequential.checks import check_table_plan
from puffer_frames.mechanisms.sequential.columns import (
    CodedRows,
    TableColumn,
    learn_columns,
    read_again,
    read_other,
    with_derived,
)
from puffer_frames.mechanisms.sequential.fitted import WARNED, TableFit, split
from puffer_frames.mechanisms.sequential.law import NetworkLaw, Tree
from puffer_frames.mechanisms.sequential.measured import Attack, HeldOut, Kept, OtherBelief
from puffer_frames.mechanisms.sequential.options import Sequential
from puffer_frames.mechanisms.sequential.release import SequentialPlan, Step, log_likelihoods
from puffer_frames.mechanisms.sequential.text import table_figures, table_rows
from puffer_frames.noise.draw import Draw, other_levels
from puffer_frames.noise.stream import ReleaseKey
from puffer_frames.numbers.presentation import Rows
from puffer_frames.priors.prior import Secret
from puffer_frames.scales.cautions import warn_of_few_rows, warn_of_moved, warn_of_weakness
from puffer_frames.scales.drift import Batch, protected_here
from puffer_frames.scales.learned import Bootstrap, OtherTable

FEW_COLUMNS = 4
"""More public columns are released column by column by default."""
LEAST_EPSILON, MOST_EPSILON = 1e-4, 100.0
"""Far above what floats err by, and where nothing would be hidden."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedTable(TableFit, Fitted[CodedRows]):
    """The network of a table and its channels, and what was measured of them."""

    within: ClassVar[str] = "epsilon holds under the network of the plan, whatever these rows are"

    @property
    def observed_losses(self) -> Mapping[str, Verification]:
        """None: the guarantee is under the network, not under the observed frequencies of whole rows."""
        return {}

    @property
    def expected_error(self) -> Mapping[str, float]:
        """Share of the rows whose value, or cell of values, is another one, per column that is drawn."""
        return self.kept.changed

    def warn(self) -> None:
        """Warn of secrets in few rows, an epsilon that says little, and losses far above it under other networks."""
        warn_of_weakness(self.request.target, rows=self.rows)
        warn_of_few_rows(self.rows_per_secret)
        if self.is_far:
            epsilon = self.request.target.epsilon
            warn(
                WeakGuaranteeWarning(
                    f"under networks that are fitted again, the loss of 1 % of the rows is above "
                    f"{self.worst_tail:.3g}, more than {WARNED:g} times epsilon, {WARNED * epsilon:g}; the "
                    "certificate says so",
                    hint="Add Bootstrap(10) to beliefs, take Sequential(step=.15), or release fewer columns.",
                )
            )

        if self.is_unchanged:
            warn(
                WeakGuaranteeWarning(
                    "fewer than 1 % of the cells are changed: the network sees next to nothing in these columns that "
                    "tells the secret, and what it cannot see (a rule over many columns together) is released as it is",
                    hint="Look whether a column is a code or a check digit of the secret, and leave it out.",
                )
            )

    def text(self, compared: Compared | None, /) -> Rows:
        """Labels and texts, in order."""
        return table_rows(self)

    def figures(self) -> PlanFigures:
        """What its report shows as pictures."""
        return table_figures(self)

    def complete(
        self, table: Table, roles: Roles, /, *, kinds: Mapping[str, str], layout: RowOrder | None
    ) -> CompleteRows:
        """The rows of a table that may be those of the plan."""
        check_columns(table, self.request, roles, kinds=kinds, coded=self.request.public)
        return complete_rows(table, roles, self.request, layout=layout)

    def see(self, rows: CompleteRows, /) -> CodedRows:
        """The rows in codes."""
        return read_again(rows, self.request, self.columns)

    def rows_of(self, seen: CodedRows, /) -> dict[Secret, int]:
        """Rows of each secret among them."""
        return dict(seen.rows_per_secret)

    def measure(self, seen: CodedRows, /) -> Batch:
        """Nothing but which secrets there are: epsilon holds under the network, whatever these rows are."""
        _, _, absent = protected_here(seen.rows_per_secret, known=self.rows_per_secret, pairs="all")
        return Batch(observed={}, exceeded={}, absent=absent)

    def findings(self, seen: CodedRows, rows: CompleteRows, /) -> list[Finding]:
        """Rows of each secret, and how likely the rows are under the network."""
        self.measure(seen)
        numbers = {secret: k for k, secret in enumerate(self.rows_per_secret)}
        groups = np.array([numbers[secret] for secret in seen.secrets])[seen.groups]
        found = float(self.plan.laws[0].log_likelihood(seen.codes, groups).mean())
        likely = finding("log-likelihood of a row", "", "", found, limit=self.likelihood, verdict="")
        return [likely, *rows_found(", ".join(self.request.secret), self.rows_per_secret, seen.rows_per_secret)]

    def check_asked(self, asked: RowsRequest, /) -> None:
        """Raise ArgumentError for what is done to noisy values."""
        for name, given in (("clip", bool(asked.bounds)), ("round", asked.to_integers)):
            if given:
                raise ArgumentError(
                    name,
                    rule="left out for a table that is released column by column: it releases values of the columns",
                    got="one",
                    hint="Leave it out.",
                )

    def draws(self, asked: RowsRequest, key: ReleaseKey, /) -> tuple[Draw, ...]:
        """One, of all columns together."""
        return (self.draw(key),)

    def certificate(self, release: Release, /) -> Certificate:
        """What is guaranteed of a release, its values not known yet."""
        return table_certificate(self, release)

    def lean(self) -> tuple[Self, tuple[str, ...]]:
        """A file holds all of it."""
        return replace(self, request=lean_request(self.request, self.pairs)), ()

    def checked(self) -> Self:
        """From a file, whose parts agree."""
        check_table_plan(self)
        return self

    def check_own(self, seen: CodedRows, /, *, own_rows: bool, left_out: Sequence[str]) -> tuple[str, ...]:
        """Raise PlanFileError where these are the rows of the plan, and its network is not what it says of them."""
        if own_rows:
            planned, _ = split(seen, self.options.holdout)
            found = float(self.plan.laws[0].log_likelihood(planned.codes, planned.secrets).mean())
            require(is_close(found, self.likelihood), "another likelihood of these rows")
        return ()

    def loss(self, released: NativeFrame, /) -> NativeFrame:
        """The loss of each released row under each network that the plan is for, and the mean of these.

        Parameters
        ----------
        released : frame in memory
            A release by this plan, or some of its rows.

        Returns
        -------
        frame
            Of the same library, a column for each network: by how much the released values of the row change the
            log-odds of two secrets, of those two for which it is the most. Never above epsilon.

        Raises
        ------
        ColumnNotFoundError, PriorError, CalibrationError
            For a column that is not there, no row, and values that no release by this plan has.
        """
        table = open_table(released).in_memory()
        missing = next((name for name in self.names if name not in table.names), None)
        if missing is not None:
            raise not_found("public", missing, table.names)
        check_rows(len(table.opened()))
        for column in (each for each in self.columns if each.source is None):
            if (table.kind_of(column.name) == "numbers") != (column.edges is not None):
                raise other_levels(column.name, "all rows")
        drawn = [column for column in self.columns if column.source is None]
        codes = np.stack([column.released(table) for column in drawn], axis=1)
        logs = log_likelihoods(self.plan, codes)
        losses = logs.max(axis=1) - logs.min(axis=1)
        return small_frame(dict(zip(self.beliefs, losses, strict=True)), library=library_of(released))


class SequentialMechanism(Mechanism[CodedRows]):
    """The columns of a table are released one after another."""

    name = "sequential"
    records: ClassVar[Mapping[str, type]] = {
        "TablePlan": FittedTable,
        **{
            kind.__name__: kind
            for kind in (
                *(Sequential, TableColumn, SequentialPlan, Step, NetworkLaw, Tree),
                *(Kept, OtherBelief, Attack, HeldOut),
            )
        },
    }

    def takes(self, request: Request, table: Table, /) -> Request | None:
        """A request for it, and by default one of more than a few columns."""
        asked = request.mechanism
        if asked == "auto":
            wide = len(request.public) > FEW_COLUMNS
            return replace(request, mechanism=Sequential()) if wide and not _cannot(request) else None
        options = Sequential() if asked == "sequential" else asked
        if not isinstance(options, Sequential):
            return None
        for name, rule, got in _cannot(request):
            raise ArgumentError(
                name, rule=f"{rule} for a table that is released column by column", got=got, hint="Leave it out."
            )
        unknown = [name for name in options.known if name not in request.public]
        if unknown:
            raise ArgumentError(
                "known", rule="names of public columns", got=repr(unknown[0]), hint="Name columns that are released."
            )
        return replace(request, mechanism=options)

    def read(
        self, request: Request, frame: NativeFrame, table: Table, asked: RowsRequest | None, /
    ) -> Reading[CodedRows]:
        """The rows in codes: all of them, or of many some."""
        roles, layout = Roles(secret=request.secret, public=request.public), None
        if asked is not None:
            roles, layout = asked.roles, asked.layout
        rows = complete_rows(table, roles, request, layout=layout)
        warn_of_moved(rows, {}, request.domain)
        options = _options(request)
        seen = learn_columns(rows, request, cells=options.cells)
        seen = with_derived(seen, tuple(options.known)) if options.derived == "auto" else seen
        others = []
        for entry in filter(is_frame, request.beliefs):
            other = open_table(entry)
            missing = next((name for name in (*request.secret, *request.public) if name not in other.names), None)
            if missing is not None:
                raise not_found("beliefs", missing, other.names)
            others.append(read_other(complete_rows(other, roles, request, layout=None), request, seen))
        # a plan holds their networks: of the tables what is left is that there were some
        beliefs = [OtherTable(counts={}, radius=0.0) if is_frame(entry) else entry for entry in request.beliefs]
        request, seen = replace(request, beliefs=beliefs), replace(seen, others=tuple(others))
        return Reading(request=request, frame=frame, table=table, rows=rows, seen=seen)

    def fit(self, request: Request, seen: CodedRows, /) -> FittedTable:
        """Find the network, the channels, and what they lose."""
        found = FittedTable.of(request, _options(request), seen)
        found.refuse()
        return found


def _options(request: Request) -> Sequential:
    assert isinstance(request.mechanism, Sequential)
    return request.mechanism


def _cannot(request: Request) -> list[tuple[str, str, str]]:
    """Arguments that this mechanism has no place for: the name, what is possible, and what was given."""
    words = [belief for belief in request.beliefs if isinstance(belief, str)]
    others = [b for b in request.beliefs if not (isinstance(b, (str, Bootstrap, OtherTable)) or is_frame(b))]
    known = "fitted" in words and set(words) <= {"fitted", "empirical"}  # the latter by default: no law of whole rows
    found = [
        (
            "epsilon",
            f"from {LEAST_EPSILON:g} to {MOST_EPSILON:g}",
            f"{request.target.epsilon:g}",
            LEAST_EPSILON <= request.target.epsilon <= MOST_EPSILON,
        ),
        ("delta", "0", f"{request.target.delta:g}", request.target.delta == 0),
        ("given", "left out", "columns", not request.given_columns),
        ("unit", "left out", "a unit", request.unit is None),
        ("releases", "1", f"{request.repeats.releases}", request.repeats.releases == 1),
        ("secrets", '"joint", which protects each of them, too,', '"each"', not request.apart),
        ("pairs", '"all"', "a list", request.pairs == "all"),
        ("beliefs", '"fitted", and Bootstrap() or a frame beside it,', "others", known and not others),
    ]
    return [(name, rule, got) for name, rule, got, good in found if not good]


def labels_of(table: Table, request: Request, /) -> tuple[str, ...]:
    """The public columns of labels and truth values."""
    return tuple(name for name in request.public if table.kind_of(name) != "numbers")


def complete_rows(table: Table, roles: Roles, request: Request, /, *, layout: RowOrder | None) -> CompleteRows:
    """The rows; where a missing value is a level, as where it is refused: it is looked for when they are read."""
    roles = replace(roles, coded=labels_of(table, request))
    return table.complete(roles, nulls="drop" if request.nulls == "drop" else "raise", layout=layout)
