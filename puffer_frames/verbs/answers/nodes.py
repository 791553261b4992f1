"""The nodes of a network, one per row of a table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from puffer_frames.errors import ArgumentError, ArgumentTypeError, CalibrationError
from puffer_frames.frames.series import SeriesColumns, numbers_of_states
from puffer_frames.frames.table import Table
from puffer_frames.frames.units import UnitColumns
from puffer_frames.priors.network import BayesianNetwork, NetworkRange
from puffer_frames.priors.series_rows import SeriesRows


def as_networks(network: object, /) -> tuple[BayesianNetwork, ...]:
    """The networks of an argument; none for None.

    Raises
    ------
    ArgumentTypeError
        For something else.
    ArgumentError
        For networks of different nodes, or nodes of different numbers of states.
    CalibrationError
        Where no node has two possible states.
    """
    if network is None:
        return ()
    listed = [network] if isinstance(network, BayesianNetwork) or not isinstance(network, Sequence) else list(network)
    known = tuple(one for one in listed if isinstance(one, BayesianNetwork))
    networks = network if isinstance(network, NetworkRange) else known
    if not known or len(known) < len(listed):
        raise ArgumentTypeError(
            "network",
            rule="a BayesianNetwork, a list of them, or a range: low.to(high)",
            got=f"a {type(network).__name__}" + " of others" * isinstance(network, (list, tuple)),
            hint="Make one with BayesianNetwork.of.",
        )
    states = [dict(zip(one.names, one.states, strict=True)) for one in networks]
    if any(other != states[0] for other in states[1:]):
        raise ArgumentError(
            "network",
            rule="networks of the same nodes with the same states",
            got="two that differ in them",
            hint="They may differ in tables and parents only.",
        )
    laws = (one.joint([node]) for one in networks for node in range(len(one)))
    if not any(np.count_nonzero(law) > 1 for law in laws):
        raise CalibrationError(
            "the network",
            rule="one that leaves the state of some node open",
            got="one in which every state is certain",
            hint="Give some node two states of positive probability.",
        )
    return networks


def read_nodes(table: Table, columns: SeriesColumns, unit: str, networks: Sequence[BayesianNetwork], /) -> SeriesRows:
    """The rows as one series, whose order tells nothing, with counts of the states.

    Raises
    ------
    ArgumentError
        For a node with other than one row, a row of no node, and a state that the node does not have.
    """
    network = networks[0]  # the others have the same nodes
    sizes = table.unit_sizes(unit=unit, groups=(columns.state,), values=(), nulls=columns.nulls)
    if sizes.largest > 1:
        raise ArgumentError(
            f"the node column {unit!r}",
            rule="one row per node of the network",
            got=f"a node with {sizes.largest:,} rows",
            hint="Keep one of them: the state that is to be hidden.",
        )
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
        raise ArgumentError(
            "the states",
            rule=f"the {max(network.states)} of the network",
            got=f"{len(states)}",
            hint="List all possible states in the order of the tables: states=[...].",
        )
    numbers = given[rows.group_of]
    beyond = next((name for name, state in zip(rows.units, numbers, strict=True) if state >= most[name]), None)
    if beyond is not None:
        raise ArgumentError(
            f"the state column {columns.state!r}",
            rule=f"one of the first {most[beyond]} states for the node {beyond!r}",
            got="another one",
            hint="The states of every node are the first ones of states=[...], as many as its table has.",
        )
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
