"""A checked request for histograms of series, or of the nodes of a network with one node per row."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, fields

import numpy as np

from puffer_frames.errors import ArgumentError, ArgumentTypeError, CalibrationError
from puffer_frames.frames.columns import Name, as_name
from puffer_frames.frames.local.table import check_free_names
from puffer_frames.frames.roles import check_distinct
from puffer_frames.frames.series import SeriesColumns, numbers_of_states
from puffer_frames.frames.stamps.entries import is_null
from puffer_frames.frames.table import Table
from puffer_frames.frames.units import UnitColumns
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.noise.totals import COLUMNS
from puffer_frames.numbers.arguments import Target, check_flag, check_word, described, is_array
from puffer_frames.papers.catalogue import ALONE, MECHANISMS
from puffer_frames.priors.network import BayesianNetwork, NetworkRange
from puffer_frames.priors.prior import Secret
from puffer_frames.priors.series_rows import SeriesRows
from puffer_frames.scales.chains import as_population
from puffer_frames.scales.learned import POPULATION, Population
from puffer_frames.verbs.answers.checks import check_asked
from puffer_frames.verbs.requests import Drawing, HistogramArguments


def as_networks(network: object, /) -> tuple[BayesianNetwork, ...]:
    """The networks of an argument; none for None.

    Raises ArgumentTypeError for something else, ArgumentError for networks of different nodes or states, and
    CalibrationError where no node has two possible states.
    """
    if network is None:
        return ()
    listed = [network] if isinstance(network, BayesianNetwork) or not isinstance(network, Sequence) else list(network)
    known = tuple(one for one in listed if isinstance(one, BayesianNetwork))
    networks = network if isinstance(network, NetworkRange) else known
    if not known or len(known) < len(listed):
        rule = "a BayesianNetwork, a list of them, or a range: low.to(high)"
        got = f"a {type(network).__name__}" + " of others" * isinstance(network, (list, tuple))
        raise ArgumentTypeError("network", rule=rule, got=got, hint="Make one with BayesianNetwork.of.")
    states = [dict(zip(one.names, one.states, strict=True)) for one in networks]
    if any(other != states[0] for other in states[1:]):
        rule = "networks of the same nodes with the same states"
        hint = "They may differ in tables and parents only."
        raise ArgumentError("network", rule=rule, got="two that differ in them", hint=hint)
    laws = (one.joint([node]) for one in networks for node in range(len(one)))
    if not any(np.count_nonzero(law) > 1 for law in laws):
        rule = "one that leaves the state of some node open"
        hint = "Give some node two states of positive probability."
        raise CalibrationError("the network", rule=rule, got="one in which every state is certain", hint=hint)
    return networks


def read_nodes(table: Table, columns: SeriesColumns, unit: str, networks: Sequence[BayesianNetwork], /) -> SeriesRows:
    """The rows as one series, whose order tells nothing, with counts of the states.

    Raises ArgumentError for a node with other than one row, a row of no node, and a state that the node does not have.
    """
    network = networks[0]  # the others have the same nodes
    sizes = table.unit_sizes(unit=unit, groups=(columns.state,), values=(), nulls=columns.nulls)
    if sizes.largest > 1:
        got = f"a node with {sizes.largest:,} rows"
        hint = "Keep one of them: the state that is to be hidden."
        raise ArgumentError(f"the node column {unit!r}", rule="one row per node of the network", got=got, hint=hint)
    asked = UnitColumns(
        unit=unit, value=None, by=(columns.state,), nulls=columns.nulls, low=-np.inf, high=np.inf, named=True
    )
    rows = table.read_units(asked)
    found = set(rows.units)
    missing = next((name for name in network.names if name not in found), None)
    if missing is not None or len(found) > len(network):
        others = len(found - set(network.names))
        raise ArgumentError(
            f"the node column {unit!r}",
            rule="one row per node of the network",
            got=f"no row of the node {missing!r}" if missing is not None else f"{others:,} rows of no node",
            hint="Nodes are found by their names in BayesianNetwork.of, whose type must be that of the column; leave "
            "other rows out before the call.",
        )
    given, states = numbers_of_states([label for (label,) in rows.groups], columns.states)
    most = dict(zip(network.names, network.states, strict=True))
    if len(states) != max(network.states):
        rule = f"the {max(network.states)} of the network"
        hint = "List all possible states in the order of the tables: states=[...]."
        raise ArgumentError("the states", rule=rule, got=f"{len(states)}", hint=hint)
    numbers = given[rows.group_of]
    beyond = next((name for name, state in zip(rows.units, numbers, strict=True) if state >= most[name]), None)
    if beyond is not None:
        rule = f"one of the first {most[beyond]} states for the node {beyond!r}"
        hint = "The states of every node are the first ones of states=[...], as many as its table has."
        raise ArgumentError(f"the state column {columns.state!r}", rule=rule, got="another one", hint=hint)
    counts = np.bincount(numbers, minlength=len(states)).astype(np.int64)
    held = dict(zip(rows.units, numbers.tolist(), strict=True))
    one_range = isinstance(networks, NetworkRange)
    allowed = [each.allowed([held[name] for name in each.names]) for each in networks]
    zero = np.zeros(1, dtype=np.intp)
    return SeriesRows(
        states=states,
        units=[None],
        lengths=np.array([len(network)], dtype=np.intp),
        unit_of=zero,
        first=zero,
        skipped=zero,
        bridged=True,
        counts=counts[None],
        transitions=np.zeros((len(states), len(states)), dtype=np.int64),
        impossible=not (all(map(any, zip(*allowed, strict=True))) if one_range else any(map(all, allowed))),
    )


_LARGEST = 2**53
_OF_NETWORKS = ("auto", "exact", "quilt", "group", "wasserstein", "entry")


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesRequest:
    """What `histogram` is asked for, apart from the frame and what only its rows can check."""

    target: Target
    noise: NoiseFamily
    mechanism: str
    belief: str
    """What is believed of a series, in words."""
    per: str
    query: str
    """Counts of the states, or the sum or mean of states that are numbers."""
    counts: bool
    """Counts or sums, not frequencies or means."""
    columns: SeriesColumns
    drawing: Drawing
    population: Population | None
    """Set where the chains are all those that the series do not refute."""
    networks: tuple[BayesianNetwork, ...]
    """What the values depend on one another by, where they are no series."""
    estimated: bool
    """Whether the chain is estimated from the series."""
    start_estimated: bool
    """Whether the law of the first state is."""

    @classmethod
    def of(cls, arguments: HistogramArguments, labels: Sequence[Name], /) -> SeriesRequest:
        """Check what can be checked before a row is read; raises as the verb."""
        target, noise = check_asked(arguments)
        mechanism = check_word(arguments.mechanism, "mechanism", ("auto", *MECHANISMS))
        per = check_word(arguments.per, "per", ("pooled", "unit", "both"))
        check_word(arguments.gaps, "gaps", ("bridge", "independent"))
        networks = as_networks(arguments.network)
        _check_network(arguments, mechanism=mechanism)
        _check_unused(arguments, noise, delta=target.delta)
        _check_both(per, mechanism=mechanism, unit=arguments.unit)
        names: dict[str, tuple[str, ...]] = {
            "state": as_name(arguments.state, labels, role="state"),
            "time": () if arguments.time is None else as_name(arguments.time, labels, role="time"),
            "unit": () if arguments.unit is None else as_name(arguments.unit, labels, role="unit"),
        }
        check_distinct(names)
        query = check_word(arguments.query, "query", ("counts", "sum", "mean"))
        counts = check_flag(arguments.counts, "counts")
        _check_sum(arguments, query, mechanism=mechanism)
        taken = COLUMNS if query == "counts" else ("query", *COLUMNS)
        check_free_names(names["state"] if query == "counts" else (), role="state", taken=taken)
        check_free_names(() if per == "pooled" else names["unit"], role="unit", taken=taken)
        population = as_population(arguments.chain)
        _check_population(population, arguments, mechanism=mechanism)
        add_up = per == "both" or population is not None
        if mechanism == "auto" and add_up:
            mechanism = "quilt"  # whose releases add up
        belief = "estimated chain" if isinstance(arguments.chain, str) else "given chains"
        belief = belief if population is None else "population"
        belief = "given networks" if networks else belief
        return cls(
            target=target,
            noise=noise,
            mechanism=mechanism,
            belief="any dependence" if mechanism == "group" else belief,
            per=per,
            query=query,
            counts=counts and query != "mean",
            columns=SeriesColumns(
                state=names["state"][0],
                time=next(iter(names["time"]), ""),
                unit=next(iter(names["unit"]), None),
                states=arguments.states,
                nulls=arguments.nulls,
                bridged=arguments.gaps == "bridge",
                each=per != "pooled",
            ),
            drawing=Drawing.of(arguments),
            population=None if mechanism == "group" else population,
            networks=networks,
            estimated=isinstance(arguments.chain, str) and population is None,
            start_estimated=isinstance(arguments.initial, str) and arguments.initial == "estimated",
        )

    @property
    def both(self) -> bool:
        """Whether the pooled histogram and those of the units are released."""
        return self.per == "both"

    @property
    def statistic(self) -> str:
        """What gets noise, in one word."""
        return "count" if self.query == "counts" else "sum"

    @property
    def kind(self) -> str:
        """What the rows are, in a word."""
        return "network" if self.networks else "series"

    @property
    def chained(self) -> bool:
        """Whether the mechanism asks for a chain."""
        return self.mechanism != "group" and not self.networks


def _check_network(arguments: HistogramArguments, *, mechanism: str) -> None:
    """Raise ArgumentError for what a network is not given with, and for a series without a time."""
    if arguments.network is None:
        if not isinstance(arguments.pairs, str) or arguments.pairs != "all":
            raise ArgumentError(
                "pairs", rule="left out for a series", got="pairs of states", hint="Every pair of states is hidden."
            )
        if arguments.time is None:
            hint = 'Write time="minute"; for values that are no series network=BayesianNetwork.of(...).'
            raise ArgumentError("time", rule="the name of a column", got="none", hint=hint)
        return
    if arguments.unit is None:
        raise ArgumentError(
            "unit", rule="the column of the nodes, with a network", got="none", hint='Write unit="pupil".'
        )
    if mechanism not in _OF_NETWORKS:
        rule = ", ".join(f'"{one}"' for one in _OF_NETWORKS[:-1]) + " with a network"
        raise ArgumentError("mechanism", rule=rule, got=repr(mechanism), hint="Leave it out: it belongs to chains.")
    defaults = {field.name: field.default for field in fields(HistogramArguments)}
    for name in ("time", "chain", "initial", "floor", "per", "gaps"):
        given = getattr(arguments, name)
        if type(given) is not type(defaults[name]) or given != defaults[name]:
            raise ArgumentError(
                name, rule="left out with a network", got="one", hint="It belongs to series: a network has no times."
            )


def _check_sum(arguments: HistogramArguments, query: str, *, mechanism: str) -> None:
    """Raise ArgumentError for what belongs to counts alone."""
    if query == "counts":
        return
    for name, left_out in (("bins", arguments.bins is None), ("counts", arguments.counts is True)):
        if not left_out:
            rule = f"left out for query={query!r}"
            hint = 'It belongs to query="counts".'
            raise ArgumentError(name, rule=rule, got="bins" if name == "bins" else repr(arguments.counts), hint=hint)
    if mechanism in ("exact", "wasserstein") and arguments.network is None:
        rule = '"transport", "quilt", "quilt-approx" or "group" for a sum or mean'
        raise ArgumentError("mechanism", rule=rule, got=repr(mechanism), hint="The exact loss is known of one count.")


def check_numbers(states: Sequence[Secret], query: str, /) -> list[int]:
    """The states as whole numbers; raises ArgumentError for others."""
    found = [state for state in states if isinstance(state, int) and not isinstance(state, bool)]
    if len(found) < len(states):
        odd = next(type(state).__name__ for state in states if isinstance(state, bool) or not isinstance(state, int))
        hint = "Number the intervals that the values lie in, such as steps of .2 kW by 0, 1, 2, …."
        raise ArgumentError(f"the states of a {query}", rule="integers", got=f"a {odd}", hint=hint)
    if max(map(abs, found)) > _LARGEST:
        rule = "integers from -2**53 to 2**53"
        hint = "Subtract a public number from all, or take wider intervals."
        raise ArgumentError(f"the states of a {query}", rule=rule, got="a larger one", hint=hint)
    if len(found) < 2:
        hint = "With one state there is nothing to hide: list all that are possible in states=[...]."
        raise ArgumentError(f"the states of a {query}", rule="at least two", got=str(len(found)), hint=hint)
    return found


def compared_mechanisms(mechanism: object, /) -> tuple[str, ...]:
    """The mechanisms of a comparison; none where one is named.

    Raises ArgumentError for an empty list, and a word that is none.
    """
    if isinstance(mechanism, str):
        return tuple(MECHANISMS) if mechanism == "all" else ()
    listed = tuple(mechanism) if isinstance(mechanism, Iterable) else (mechanism,)
    for word in listed or ("",):
        check_word(word, "mechanism", ("auto", *MECHANISMS))
    return listed


def check_released(mechanism: str, /) -> None:
    """Raise ArgumentError for what is there to be compared alone."""
    if mechanism == "entry":
        rule = 'another one than "entry", which hides a value only where nothing else depends on it'
        hint = 'Use mechanism="quilt"; mechanism="all" compares.'
        raise ArgumentError("mechanism", rule=rule, got="'entry'", hint=hint)


def _check_both(per: str, *, mechanism: str, unit: object) -> None:
    alone = mechanism in ALONE
    if per == "both" and (alone or unit is None):
        raise ArgumentError(
            "per",
            rule='"pooled" or "unit"'
            + (f' for mechanism="{mechanism}", whose releases do not add up' * alone or " without a unit"),
            got="'both'",
            hint='Leave it out for "pooled"'
            + (', or use mechanism="quilt".' if alone else '; name the unit for "both".'),
        )


def _check_unused(arguments: HistogramArguments, noise: NoiseFamily, *, delta: float) -> None:
    """What would have no effect is refused."""
    chain, initial, floor = arguments.chain, arguments.initial, arguments.floor
    if delta and not noise.needs_delta:
        hint = 'Leave it out, or say noise="gaussian".'
        raise ArgumentError("delta", rule="0 for other than Gaussian noise", got=f"{delta:g}", hint=hint)
    if isinstance(chain, str) and chain not in ("estimated", POPULATION):
        rule = '"estimated", "population", a transition matrix or a MarkovChain'
        raise ArgumentError("chain", rule=rule, got=repr(chain), hint='Leave it out for "estimated".')
    if noise.needs_delta and arguments.mechanism == "gk16":
        raise ArgumentError(
            'mechanism="gk16"', rule="with delta 0", got=f"{noise.title} noise", hint='Use mechanism="quilt".'
        )
    estimated = (isinstance(chain, str) and chain == "estimated") or (
        isinstance(initial, str) and initial == "estimated"
    )
    if floor is not None and not estimated:
        raise ArgumentError(
            "floor", rule="left out where the chain is not estimated", got="a number", hint="Leave it out."
        )


def _check_population(population: Population | None, arguments: HistogramArguments, *, mechanism: str) -> None:
    """Raise ArgumentError for what is not there for all chains that the series do not refute."""
    if population is None:
        return
    if mechanism not in ("auto", "quilt", "group"):
        rule = '"quilt" or "group" with chain="population"'
        hint = "Leave it out: its influences are bounded for every chain that the series do not refute."
        raise ArgumentError("mechanism", rule=rule, got=repr(mechanism), hint=hint)
    if not (isinstance(arguments.initial, str) and arguments.initial in ("stationary", "any")):
        hint = "The scale holds for every law of the first state."
        raise ArgumentError("initial", rule='left out with chain="population"', got="another law", hint=hint)


def check_bins(bins: Sequence[Secret] | None, states: Sequence[Secret], /) -> list[int]:
    """Numbers of the states to release; raises ArgumentError for others than those of the series."""
    if bins is None:
        return list(range(len(states)))
    listed = [bins] if isinstance(bins, str) or not isinstance(bins, Iterable) else list(bins)
    unknown = [label for label in listed if not isinstance(label, Hashable) or is_null(label) or label not in states]
    if unknown or not listed or len(set(listed)) < len(listed):
        wrong = described(unknown[0]) if unknown else "one named twice" if listed else "none"
        got = "an array of others" if is_array(bins) and unknown else wrong
        hint = f"Known states are, for example, {', '.join(repr(label) for label in list(states)[:5])}."
        raise ArgumentError("bins", rule="different states of the series", got=got, hint=hint)
    return [list(states).index(label) for label in listed]
