"""The guarantee of a release through a channel, checked in whole numbers from its raw rows."""

import math
import warnings
from bisect import bisect_right
from fractions import Fraction

import empirical_guarantee as guarantee
import numpy as np
import polars as pl
from channel_oracle import faults, task_of
from odd_requests import Once, in_records

from puffer_frames import Channel, Contamination, calibrate
from puffer_frames.verbs.requests import CalibrateArguments

MOST_LEVELS = {False: 64, True: 12}
"""Levels of the tables that are checked, without and with delta."""


def check(case, released, *, rows, secrets, label):
    """Require that the plan's channel is private under the counts of the rows, and that it is the released one."""
    (place,) = case.table.public
    name = str(case.table.labels[place])
    asked = CalibrateArguments.__dataclass_fields__
    options = {key: value for key, value in in_records(case.options).items() if key in asked}
    options = {key: list(value) if type(value) is Once else value for key, value in options.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = calibrate(case.table.frame, **options)
    found, certificate = made.channels[name], released.puffer.certificate
    inputs = [input_of(made, value) for value in raw_levels(case, place, rows)]
    counts = {secret: [0] * len(found.inputs) for secret in dict.fromkeys(secrets)}
    for secret, k in zip(secrets, inputs, strict=True):
        counts[secret][k] += 1
    assert not released.empty if hasattr(released, "empty") else len(released)
    column = released.to_series(released.columns.index(name)) if isinstance(released, pl.DataFrame) else None
    column = released.iloc[:, sorted(case.table.public + case.table.keep).index(place)] if column is None else column
    _check_outputs(found, inputs, [plain(value) for value in column.to_list()], shuffled=case.options.get("shuffle"))
    _check_record(certificate.channels[name], found, options)
    return [
        f"channel: {'numbers' if made.fitted.column.edges is not None else 'labels'}",
        *_check_guarantee(case, certificate, counts, found, options, label),
    ]


def raw_levels(case, place, rows):
    """The public entries of these rows, None for a missing one, numbers in their bounds."""
    entries = case.table.values(place)
    bounds = (case.options.get("domain") or {}).get(case.table.labels[place])
    found = [plain(entries[row]) for row in rows]
    if isinstance(bounds, tuple):
        found = [min(max(float(value), bounds[0]), bounds[1]) for value in found]
    return found


def plain(value):
    return None if guarantee.is_missing(value) else value


def input_of(made, value):
    """The place of a level among the inputs: of a number by the cells, of a merged level that of "other"."""
    inputs, edges = made.fitted.channel.inputs, made.fitted.column.edges
    if edges is not None:
        return bisect_right(edges.tolist(), float(value))
    known = [k for k, level in enumerate(inputs) if level == value and (level is None) == (value is None)]
    return known[0] if known else inputs.index("other")


def _check_outputs(found, inputs, outputs, *, shuffled):
    """Every released level is one that its input may have."""
    places = {level: k for k, level in enumerate(found.outputs)}
    assert set(outputs) <= set(places), "a level that is no output"
    if not shuffled:
        assert all(found.weights[k, places[y]] for k, y in zip(inputs, outputs, strict=True)), "an impossible level"


def _check_record(record, found, options):
    if isinstance(options.get("mechanism"), Channel) and options["mechanism"].publish_matrix:
        assert np.abs(np.array(record["matrix"]) - found.matrix).max() <= 1e-12
    else:
        assert not {"matrix", "inputs", "expected_error", "lower_bound"} & set(record)


def _check_guarantee(case, certificate, counts, found, options, label):
    epsilon, delta = certificate.epsilon, certificate.delta
    if len(found.inputs) > MOST_LEVELS[delta > 0]:
        return ["channel: too many levels"]
    asked = options.get("mechanism") if isinstance(options.get("mechanism"), Channel) else Channel()
    beliefs = options.get("beliefs", "fitted")
    entries = [beliefs] if isinstance(beliefs, str | dict) or not isinstance(beliefs, list | tuple) else list(beliefs)
    tasks = {}
    if "empirical" in certificate.beliefs:
        tasks["empirical"] = counts, Channel(radius=asked.radius, cap=asked.cap)
    for entry in entries:
        if isinstance(entry, Contamination):
            radius = {secret: entry.share_of(secret, sum(row)) for secret, row in counts.items()}
            tasks["contaminated"] = counts, Channel(radius=radius, cap=asked.cap)
        if isinstance(entry, dict):
            known = {label(secret): _law(law, found) for secret, law in entry.items()}
            if all(row is not None for row in known.values()):
                tasks["given"] = known, Channel(radius=0, cap=asked.cap)
    for name, (table, wanted) in tasks.items():
        pairs = certificate.pairs if certificate.pairs == "all" else [tuple(pair) for pair in certificate.pairs]
        table = {secret: row for secret, row in table.items() if secret in counts}
        task = task_of(
            table, levels=["x"] * len(found.inputs), epsilon=epsilon, delta=delta, pairs=pairs, options=wanted
        )
        broken = faults(found.weights, task)
        assert not broken, f"the channel is not private under the belief {name}: {broken[:3]}"
    return [f"channel: checked, {name}" for name in tasks]


def _law(law, found):
    """Whole weights of a mapping of level to weight; None for a Prior, which other tests check."""
    if not isinstance(law, dict):
        return None
    exact = [Fraction(0)] * len(found.inputs)
    for level, weight in law.items():
        exact[found.inputs.index(level if level in found.inputs else "other")] += Fraction(weight)
    unit = math.lcm(*(share.denominator for share in exact))
    return [int(share * unit) for share in exact]
