"""Requests for a release of an odd table: the options of privatize, valid ones and sometimes one that is not."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st
from odd_tables import Table, holds_labels, rarely, tables

from puffer_frames import Bootstrap, Channel, Contamination, Laplace, Layout, Noise, Population, Stable
from puffer_frames.core import Prior

WIDER = ("population", Population(0.5), Contamination(), Contamination(0.3), Bootstrap(2))
FEW_SECRETS = 4
"""With more of them Gaussian theorems are not asked for: every pair takes some ten milliseconds."""

HUGE = 10**400

INVALID = {
    "epsilon": (0, -1, math.nan, math.inf, True, "1", None, 1j, [1.0], np.array(1.0), HUGE),
    "delta": (1, 1.5, -1e-9, math.nan, math.inf, "0", None, False, HUGE),
    "pairs": ("some", None, 3, [], [()], ["ab"], [("a",)], [("nobody", "no one")], [(1, 2, 3)], [([1], [2])], {1: 2}),
    "theorem": ("best", "", None, 3, ["gmm"], "Kantorovich"),
    "calibration": ("loose", None, 1, ["exact"]),
    "beliefs": ("true", (), None, 3, [3], {}, {"nobody": Prior.bernoulli(0.5)}, Population, ["fitted", "x"], {"a": 1}),
    "mechanism": ("best", None, 3, ["remap"], "exact", "Remap"),
    "noise": ("normal", "stable", None, 3, ["laplace"], "Gaussian", Laplace, Laplace(scale=2.0)),
    "components": (0, -1, 1.5, True, "2", [2], math.nan),
    "nulls": ("keep", None, True, ["drop"]),
    "releases": (0, -1, 1.5, None, "2", [2]),
    "unit": ("a", 3, ["a"]),
    "given": ("nowhere", None, 3.5, ["nowhere"], {"nowhere": 1}),
    "domain": ((0, 1), 3, "ab", {"nowhere": (0, 1)}, [(0, 1)]),
    "clip": ((1, 0), (math.nan, 1), 3, "ab", ("a", "b"), {"nowhere": (0, 1)}, (1, 1), (0, 1, 2)),
    "index": ("all", 0, True, ["keep"]),
    "rng": ("seed", -1, 1.5, True, [1]),
    "secret": ("nowhere", None, (), [], 3.5, ["nowhere"], [["s"]], {"nowhere": 1}),
    "public": ("nowhere", None, (), [], 3.5, ["nowhere"], [["x"]], {"nowhere": 1}),
    "keep": ("nowhere", None, 3.5, ["nowhere"], [["k"]], {"nowhere": 1}),
}
"""Values that no request may have; no table has these column labels."""

INVALID_BOUNDS = ((1, 0), (math.nan, 1), (-math.inf, 0), 3, None, "ab", (0, 1, 2), (0, 1j), (True, 2), (0, HUGE))


OF_LAYOUT = ("keep", "index", "shuffle", "clip", "round")
OF_NOISE = {"noise": "family"} | {name: name for name in ("theorem", "components", "calibration")}
"""Options that are fields of a record, and their names there."""


def in_records(options):
    """The options of a case as arguments of privatize; raises PufferError for what a record refuses."""
    found = {name: value for name, value in options.items() if name not in (*OF_LAYOUT, *OF_NOISE, "merge_rare")}
    layout = {name: options[name] for name in OF_LAYOUT if name in options}
    if layout:
        found["layout"] = Layout(**layout)
    noise = {field: options[name] for name, field in OF_NOISE.items() if name in options}
    word = options.get("mechanism", "auto")
    if (noise and (isinstance(word, Channel) or word in ("auto", "noise", "channel"))) or word == "remap":
        found["mechanism"] = Noise(**noise, remap=word == "remap")
    elif "merge_rare" in options and (isinstance(word, Channel) or word in ("auto", "channel")):
        found["mechanism"] = replace(word if isinstance(word, Channel) else Channel(), merge_rare=options["merge_rare"])
    return found


class Once(tuple):
    """Entries that the request gets as an iterator."""


class Seed(int):
    """Seed of the generator that the request gets."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A table, the options of a request, the side knowledge as components, and the option that is not valid."""

    table: Table
    options: dict[str, Any]
    given: list[dict[Any, list[tuple[float, float, float]]]]
    invalid: str | None

    def __repr__(self):
        options = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
        return f"privatize(frame, {options}) of\n{self.table!r}" + f"\n  invalid: {self.invalid}" * bool(self.invalid)


@st.composite
def cases(draw):
    """A request; most of its options are left out."""
    table = draw(tables())
    secrets = secret_values(table)
    options = {
        "secret": _named(draw, table, table.secret),
        "public": _named(draw, table, table.public),
        "epsilon": draw(st.floats(1e-3, 20) | st.sampled_from([1, 0.1, Fraction(1, 3), np.float32(0.5), np.int64(2)])),
        "rng": draw(st.integers(0, 99) | st.integers(0, 99).map(Seed) | st.none()),
    }
    if table.keep:
        options["keep"] = _named(draw, table, table.keep)
    if len(table.public) == 1:
        given = draw(_models(options, secrets))
    else:
        given = []
        options |= {"theorem": draw(st.sampled_from(["bounded", "kantorovich"]))} if rarely(draw, 3) else {}
    for name, strategy in _free(table, secrets).items():
        if rarely(draw, 2 if name in ("nulls", "allow_zero_noise") else 4):
            options[name] = draw(strategy)
    if rarely(draw, 5):
        options |= draw(_noises(options))
        if len(table.public) > 1 and options.get("theorem") == "kantorovich":
            del options["theorem"]
    if not table.library.startswith("polars") and not rarely(draw, 4):
        options["index"] = draw(st.sampled_from(["drop"] if options.get("shuffle") else ["drop", "keep"]))
    given = draw(_mechanisms(table, options, given, secrets))
    if _is_noise(table, options) and rarely(draw, 5):
        options["releases"] = draw(st.integers(1, 4))
    labels = any(holds_labels(_column(table, place)) for place in table.public)
    mixed = len(table.public) > 1 and labels  # their noisy values are replaced by none
    invalid = "mechanism" if mixed else draw(st.sampled_from(sorted(INVALID))) if rarely(draw, 8) else None
    if invalid and not mixed:
        options[invalid] = draw(st.sampled_from([*INVALID[invalid], *_invalid_here(table).get(invalid, ())]))
    return Case(table=table, options=options, given=given, invalid=invalid)


def _is_noise(table, options):
    """Whether several releases can be planned: Laplace or Gaussian noise, and no channel."""
    labels = any(holds_labels(_column(table, place)) for place in table.public)
    word = options.get("mechanism", "auto")
    return not labels and word in ("auto", "noise") and not isinstance(options.get("noise"), Stable)


def _invalid_here(table):
    """More values that a request of this table may not have."""
    secret, public = table.labels[table.secret[0]], table.labels[table.public[0]]
    return {
        "secret": ([secret, secret], [secret, public]),
        "public": ([secret], [public, public], [public, secret]),
        "keep": ([secret], [public]),
        "domain": [{public: bounds} for bounds in INVALID_BOUNDS] if public.__hash__ else (),
        "pairs": [[(value, value)] for value in secret_values(table)[:1]],
    }


def secret_values(table):
    """The distinct secrets as a user would write them, tuples for several columns."""
    columns = [table.values(place) for place in table.secret]
    rows = zip(*columns, strict=True) if len(columns) > 1 else columns[0]
    try:
        return [value for value in dict.fromkeys(rows) if not _has_null(value)]
    except TypeError:
        return []


def _has_null(value):
    entries = value if isinstance(value, tuple) else (value,)
    return any(entry is None or type(entry).__name__ == "NAType" or entry != entry for entry in entries)


def _named(draw, table, places):
    labels = [table.labels[place] for place in places]
    if len(labels) == 1 and labels[0] != () and draw(st.booleans()):  # the empty tuple names no column
        return labels[0]
    return draw(st.sampled_from([list, Once]))(labels)


def _free(table, secrets):
    """Options that any request may have."""
    low, high = st.sampled_from([-10, -1.0, 0, -1e300, 1e12]), st.sampled_from([1e13, 1e301, 2e12])
    bounds = st.tuples(low, high) | st.sampled_from([(0, 1), (0.0, 5e-324), (-2, 3.5), (1e12, 1e12 + 1)])
    labels = [table.labels[place] for place in table.public]
    per_column = st.dictionaries(st.sampled_from(labels), bounds) if _all_hashable(labels) else st.just({})
    return {
        "delta": st.floats(-9, math.log10(0.5)).map(lambda x: 10**x) | st.sampled_from([0, 1e-300, 0.5, 0.99]),
        "pairs": _pairs(secrets) if len(secrets) > 1 else st.just("all"),
        "nulls": st.sampled_from(["drop", "drop", "raise"]),
        "domain": per_column,
        "clip": bounds | per_column | st.sampled_from([(-math.inf, 0), (0, HUGE)]),
        "round": st.booleans(),
        "shuffle": st.booleans(),
        "allow_zero_noise": st.sampled_from([True, True, False]),
    }


def _all_hashable(labels):
    return all(label.__hash__ for label in labels)


def _pairs(secrets):
    chosen = st.sampled_from(secrets[:20])
    pair = st.tuples(chosen, chosen).filter(lambda pair: pair[0] != pair[1])
    listed = st.lists(pair | pair.map(list) | pair.map(frozenset), min_size=1, max_size=4)
    return listed | listed.map(Once) | st.just("all")


@st.composite
def _noises(draw, options):
    """Options of another noise than Laplace's, and the options that it forbids put right."""
    if options.get("theorem", "auto") in ("auto", "kantorovich", "bernoulli") and draw(st.booleans()):
        return {"noise": Stable(alpha=draw(st.sampled_from([1, 1.3, 1.995]))), "delta": 0}
    return {"noise": "gaussian", "delta": options.get("delta") or draw(st.sampled_from([1e-12, 1e-5, 0.3]))}


CHANNELS = (
    "channel",
    "channel",
    *(Channel(radius=radius, cap=cap) for radius in (0, 0.1, 1, "auto") for cap in (None, 1.0, 8)),
    *(Channel(preserve=word) for word in ("mean", "marginal")),
    *(Channel(outputs=2), Channel(cost="change"), Channel(cells=3), Channel(publish_matrix=True)),
)


@st.composite
def _mechanisms(draw, table, options, given, secrets):
    """The mechanism of a request, whose options are put right for it; the side knowledge that is left."""
    columns = [_column(table, place) for place in table.public]
    labels = any(map(holds_labels, columns))
    if len(columns) > 1:
        word = "remap" if labels else draw(st.sampled_from([None] * 4 + ["auto", "noise", "remap"]))
    elif labels:
        word = draw(st.sampled_from([None, None, "auto", *CHANNELS, "noise", "remap"]))
    else:
        word = draw(st.sampled_from([None] * 20 + ["auto", "noise", "remap", "remap", "remap", *CHANNELS[::2]]))
    if word == "remap" and isinstance(options.get("noise"), Stable):
        word = None
    if word is not None:
        options["mechanism"] = word
    is_channel = isinstance(word, Channel) or word == "channel" or (labels and word in (None, "auto"))
    if not is_channel:
        return given
    for name in (*OF_NOISE, "clip", "round"):
        options.pop(name, None)
    if not labels:
        return given
    for name in ("domain", "beliefs"):
        options.pop(name, None)
    levels = _levels(columns[0])
    if rarely(draw, 3):
        options["nulls"] = "level"
    if rarely(draw, 3):
        options["merge_rare"] = draw(st.sampled_from([1, 3, 10]))
    label = table.labels[table.public[0]]
    if levels and label.__hash__ and rarely(draw, 3):
        options["domain"] = {label: draw(st.permutations(levels)) + draw(_more_levels(levels))}
    if levels and secrets and rarely(draw, 3):
        belief = st.dictionaries(st.sampled_from(levels), st.sampled_from([1, 0.5, 3]), min_size=1)
        options["beliefs"] = {label: draw(belief) for label in secrets}
    elif rarely(draw, 4):
        options["beliefs"] = draw(st.sampled_from([*WIDER, "empirical", ["fitted"]]))
    return []


def _more_levels(levels):
    more = [["a level of nobody"]] if isinstance(levels[0], str) else []
    return st.sampled_from([[], *more])


def _column(table, place):
    frame = table.eager
    return frame.to_series(place) if hasattr(frame, "to_series") else frame.iloc[:, place]


def _levels(column):
    """The levels of a column of labels, without a missing one; none where they are of several types."""
    levels = list(dict.fromkeys(value for value in column.to_list() if not _has_null(value)))
    return levels if len({type(level) for level in levels}) == 1 else []


@st.composite
def _models(draw, options, secrets):
    """Options of a single public column; `options` is extended, and the side knowledge returned."""
    few = len(secrets) <= FEW_SECRETS
    if rarely(draw, 3):
        gaussian = ["translation", "gaussian", "gmm"] if few else []
        options["theorem"] = draw(st.sampled_from(["auto", "kantorovich", "bernoulli", *gaussian]))
    if options.get("theorem") == "gmm" and draw(st.booleans()):
        options["components"] = draw(st.integers(1, 5))
    if rarely(draw, 4):
        options["calibration"] = draw(st.sampled_from(["theorem", "exact"]))
    given = []
    if rarely(draw, 4):
        words = draw(st.sampled_from(["fitted", "empirical", ("empirical",), ["fitted", "empirical"], ()]))
        entries = [words] if isinstance(words, str) else list(words)
        if secrets and (not entries or rarely(draw, 2)):
            given = draw(st.lists(_side_knowledge(secrets, few=few), min_size=1, max_size=2))
        mappings = [{label: _as_prior(parts) for label, parts in belief.items()} for belief in given]
        wider = draw(st.lists(st.sampled_from(WIDER), max_size=2)) if rarely(draw, 2) else []
        beliefs = [*entries, *wider, *mappings]
        if beliefs:
            options["beliefs"] = beliefs[0] if len(beliefs) == 1 and draw(st.booleans()) else beliefs
    return given


@st.composite
def _side_knowledge(draw, secrets, *, few):
    stds = st.sampled_from([0.0, 0.0, 1.0, 5.0]) if few else st.just(0.0)
    unit = draw(st.sampled_from([1.0, 1.0, 1e-3, 1e12]))
    part = st.tuples(st.sampled_from([1, 2, 7]), st.integers(-9, 9), stds)
    belief = {}
    for label in secrets:
        parts = draw(st.lists(part, min_size=1, max_size=3))
        total = sum(weight for weight, _, _ in parts)
        belief[label] = [(weight / total, mean * unit, std * unit) for weight, mean, std in parts]
    return belief


def _as_prior(parts):
    return Prior.mixture(*zip(*parts, strict=True))
