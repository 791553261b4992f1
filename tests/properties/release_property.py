"""The property of every request: a private release or a documented error, and nothing but these."""

import inspect
import json
import math
import signal
import sys
import warnings
from bisect import bisect_right
from contextlib import contextmanager
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import polars as pl
from conftest import run
from odd_requests import Once, Seed, in_records
from odd_tables import MARKER
from scipy.stats import binom, gamma

import puffer_frames
from puffer_frames import Certificate, Channel, Contamination, PufferError, PufferWarning, calibrate, privatize
from puffer_frames.noise.families import noise_family
from puffer_frames.verbs.requests import MOVED, CalibrateArguments

sys.path.append(str(Path(__file__).parents[1] / "privacy"))
import oracle
from channel_oracle import faults, task_of
from joint_oracle import log_sums, orders_of, varying, worst_node

# The guarantee of a release, checked from its raw rows: plain Python, NumPy, and the oracle of tests/privacy.


SLACK = 1e-9
MOST_ATOMS = 40
PAIRS_CHECKED = 2


def is_missing(entry):
    """True for None, NaN, NaT and pandas.NA."""
    return (
        entry is None or type(entry).__name__ in ("NAType", "NaTType") or (isinstance(entry, float) and entry != entry)
    )


def complete_rows(table):
    """Numbers of the rows whose secrets and public values are all there."""
    columns = [[is_missing(entry) for entry in table.values(place)] for place in (*table.secret, *table.public)]
    return [row for row, gaps in enumerate(zip(*columns, strict=True)) if not any(gaps)]


def secret_of(entries):
    """The secret of a row; whole floats are integers."""
    labels = tuple(int(entry) if isinstance(entry, float) else entry for entry in entries)
    return labels[0] if len(labels) == 1 else labels


def raw_values(table, place, *, rows, domain):
    """A public column at some rows, clipped to its domain, as floats."""
    entries = table.values(place)
    low, high = domain or (-math.inf, math.inf)
    return [min(max(float(entries[row]), low), high) for row in rows]


def empirical_priors(secrets, values):
    """Observed frequencies per secret, as components of the oracle."""
    counts = {}
    for secret, value in zip(secrets, values, strict=True):
        of_secret = counts.setdefault(secret, {})
        of_secret[value + 0.0] = of_secret.get(value + 0.0, 0) + 1
    return {secret: [(float(k), value, 0.0) for value, k in seen.items()] for secret, seen in counts.items()}


def pairs_of(pairs, priors):
    """The protected pairs as a list."""
    return list(combinations(priors, 2)) if pairs == "all" else list(pairs)


def worst_pairs(priors, pairs, *, scale, epsilon, delta):
    """The few pairs that look worst to a float computation at a grid of points."""
    if len(pairs) <= PAIRS_CHECKED:
        return pairs
    atoms = np.unique([x for prior in priors.values() for _, x, _ in prior])
    with np.errstate(all="ignore"):
        steps = np.concatenate([[0.0], np.geomspace(0.01, 30, 12)]) * scale
        points = np.unique(np.concatenate([atoms[:, None] + steps, atoms[:, None] - steps])) if delta else atoms
        density = {secret: _density(prior, points, scale) for secret, prior in priors.items()}
        widths = np.gradient(points) / scale if delta and scale and points.size > 1 else np.ones(points.size)

        def loss(pair):
            f, g = density[pair[0]], density[pair[1]]
            if delta:
                return max(np.nansum(np.maximum(a - math.exp(epsilon) * b, 0) * widths) for a, b in ((f, g), (g, f)))
            return np.nanmax(np.abs(np.log(f) - np.log(g)), initial=0.0)

        return sorted(pairs, key=loss, reverse=True)[:PAIRS_CHECKED]


def _density(prior, points, scale):
    """Of value plus noise, up to a factor; of the value where the scale is 0."""
    weights, values, _ = np.array(prior).T
    gaps = np.abs(points[:, None] - values)
    return (np.exp(-gaps / scale) if scale else gaps == 0) @ (weights / weights.sum())


def check_pairs(priors, pairs, *, scale, epsilon, delta):
    """Require (epsilon, delta)-privacy of the worst pairs of atoms; return what was done of them."""
    done = []
    for first, second in worst_pairs(priors, pairs, scale=scale, epsilon=epsilon, delta=delta):
        p, q = priors[first], priors[second]
        atoms = [value for _, value, _ in p + q]
        if len(set(atoms)) > MOST_ATOMS:
            done.append("oracle: too many atoms")
            continue
        with patch.object(oracle, "DIGITS", oracle.DIGITS + _digits_of(atoms, scale)):
            private = oracle.is_private(p, q, epsilon=epsilon, delta=delta, scale=scale, slack=SLACK)
        assert private, f"scale {scale!r} is not ({epsilon}, {delta})-private for {first!r} and {second!r}: {p} and {q}"
        done.append("oracle: checked" if scale else "oracle: checked, scale 0")
    return done


def _digits_of(atoms, scale):
    """More digits where the atoms lie much wider apart than the scale."""
    span = Fraction(max(atoms)) - Fraction(min(atoms))
    return math.ceil(math.log10(2 + int(span / Fraction(scale)))) if scale else 0


def check_bounded(values, named, scales, *, epsilon):
    """Require that the observed ranges of several columns are worth epsilon together, whatever their joint law."""
    spent = Fraction(0)
    for column, scale in zip(values, scales, strict=True):
        seen = [Fraction(value) for value, protected in zip(column, named, strict=True) if protected]
        width = max(seen) - min(seen)
        assert scale > 0 or not width, "a column that is not constant without noise"
        spent += width / Fraction(scale) if width else 0
    assert spent <= Fraction(epsilon) * (1 + Fraction(SLACK)), f"worth {float(spent)}, not {epsilon}"


# The guarantee of a release through a channel, checked in whole numbers from its raw rows.

MOST_LEVELS = {False: 64, True: 12}
"""Levels of the tables that are checked, without and with delta."""


def check_channel(case, released, *, rows, secrets, label):
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
        *_check_law_guarantee(case, certificate, counts, found, options, label),
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
    return None if is_missing(value) else value


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


def _check_law_guarantee(case, certificate, counts, found, options, label):
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


# What must hold of every release: its frame, its certificate, its rows, and the guarantee from the raw rows.

FARTHEST = 60
"""Laplace noise is beyond so many scales with probability e^-60."""
MOST_NODES = 100_000
"""Of the grid of a joint release that is checked."""
DRAWN = 4_000
"""Releases that a joint hockey stick is found from."""
UNLIKELY = 1e-10
"""Share of correct columns that may be taken for wrong ones, on either side."""


def check_release(case, released):
    table, options = case.table, case.options
    certificate = released.puffer.certificate
    levels = options.get("nulls") == "level"
    rows = complete_rows(table) if not levels else list(range(len(table.eager)))
    assert options.get("nulls") == "drop" or len(rows) == len(table.eager), "a missing value was released"
    _check_frame(case, released, rows=len(rows))
    _check_certificate(case, released, certificate, rows=len(rows))
    secrets = [secret_of(entries) for entries in _rows(table, table.secret, rows)]
    if certificate.facts.dates:  # whose days and their noise test_dates.py compares with those of numbers
        _check_kept(case, released, rows)
        return ["dates"]
    if certificate.channels:
        _check_kept(case, released, rows)
        return check_channel(case, released, rows=rows, secrets=secrets, label=_label)
    domain = {str(name): bounds for name, bounds in (options.get("domain") or {}).items()}
    values = [
        raw_values(table, place, rows=rows, domain=domain.get(str(table.labels[place]))) for place in table.public
    ]
    assert all(math.isfinite(value) for column in values for value in column), "an infinity was released"
    scales = [certificate.scales[str(table.labels[place])] for place in table.public]
    _check_rows(case, released, rows=rows, values=values, scales=scales)
    return _check_guarantee(case, certificate, secrets=secrets, values=values, scales=scales)


def _rows(table, places, rows):
    columns = [table.values(place) for place in places]
    return [tuple(column[row] for column in columns) for row in rows]


def _check_frame(case, released, *, rows):
    table = case.table
    polars = table.library.startswith("polars")
    assert isinstance(released, pl.DataFrame if polars else pd.DataFrame), type(released)
    assert len(released) == rows
    places = sorted(table.public + table.keep)
    expected = [table.labels[k] for k in places] if polars else table.frame.columns[places]
    if not polars and isinstance(expected, pd.CategoricalIndex):
        expected = expected.remove_unused_categories()  # the names of other columns
    if not polars:
        expected = expected.set_names([None] * expected.nlevels)  # which may be anything
    same = list(released.columns) == expected if polars else released.columns.identical(expected)
    assert same, f"{released.columns} instead of {expected}"
    if not polars:
        assert list(released.attrs) == ["puffer_frames"], released.attrs
        keep = case.options.get("index") == "keep"
        assert keep or released.index.identical(pd.RangeIndex(rows)), released.index
    for k, place in enumerate(places):
        column = released.to_series(k) if polars else released.iloc[:, k]
        if place in table.public and not released.puffer.certificate.channels:
            if str(table.labels[place]) in released.puffer.certificate.facts.dates:
                assert column.dtype == table.dtype(place), column.dtype
                continue
            assert str(column.dtype) == _float_of(table.dtype(place)), column.dtype
            assert np.isfinite(np.array(column.to_list(), dtype=float)).all(), "not finite"


def _float_of(dtype):
    """The name of the 64-bit float of a dtype's own family."""
    if isinstance(dtype, pl.DataType):
        return "Float64"
    if isinstance(dtype, pd.ArrowDtype):
        return "double[pyarrow]"
    return "Float64" if pd.api.types.is_extension_array_dtype(dtype) else "float64"


def _check_certificate(case, released, certificate, *, rows):
    options, table = case.options, case.table
    assert released.puffer.verify() == certificate.verify(released) == "unsigned: cannot be trusted"
    plain = certificate.to_dict()
    assert Certificate.from_dict(plain) == certificate
    assert Certificate.from_dict(json.loads(json.dumps(plain, allow_nan=False))) == certificate, "JSON"
    assert str(certificate) == str(Certificate.from_dict(plain))
    assert (certificate.epsilon, certificate.delta) == (float(options["epsilon"]), float(options.get("delta", 0)))
    assert certificate.rows == rows
    assert certificate.reproducible is (options["rng"] is not None)
    for role, names in (("secret", certificate.secret), ("public", certificate.public), ("keep", certificate.kept)):
        levels = _levels(released) if role == "keep" and options.get("index") == "keep" else []
        assert sorted(names) == sorted([*(str(table.labels[k]) for k in getattr(table, role)), *levels])
    asked = options.get("pairs", "all")
    if asked == "all":
        assert certificate.pairs == "all"
    else:
        assert {frozenset(pair) for pair in certificate.pairs} == {frozenset(map(_label, pair)) for pair in asked}


def _levels(released):
    """Names of the levels of an index, unless it only numbers the rows."""
    if isinstance(released, pl.DataFrame):
        return []
    if released.index.names == [None] and released.index.tolist() == list(range(len(released))):
        return []
    return [f"__index_level_{k}__" if name is None else str(name) for k, name in enumerate(released.index.names)]


def _label(secret):
    return secret_of(secret if isinstance(secret, tuple) else (secret,))


def _check_rows(case, released, *, rows, values, scales):
    """Without shuffling, every row is where it was: kept values as they were, public ones with the noise."""
    table, options = case.table, case.options
    entries = _check_kept(case, released, rows)
    places = sorted(table.public + table.keep)
    if options.get("mechanism") == "remap":
        _check_remap(options, [[row[places.index(k)] for row in entries] for k in table.public], values)
    elif options.get("clip") is None and not options.get("shuffle"):
        for place, column, scale in zip(table.public, values, scales, strict=True):
            released_values = [row[places.index(place)] for row in entries]
            if scale and "noise" in options:
                family = noise_family(options["noise"])
                _check_half(released_values, column, family.at(scale), rounded=options.get("round"))
            else:
                _check_noise(released_values, column, scale, rounded=options.get("round"))


def _check_kept(case, released, rows):
    """Kept values are as they were, row by row without shuffling; return all entries."""
    table = case.table
    places = sorted(table.public + table.keep)
    entries = _entries(released)
    kept = [repr([row[places.index(k)] for k in table.keep]) for row in entries]
    raw = [repr(list(row)) for row in _rows(table, table.keep, rows)]
    same = sorted(kept) == sorted(raw) if case.options.get("shuffle") else kept == raw
    assert same, "kept values have changed"
    return entries


def _check_remap(options, released, values):
    """Every released value is one of the column, unless it was clipped or rounded."""
    if options.get("clip") is None and not options.get("round"):
        for found, raw in zip(released, values, strict=True):
            assert set(found) <= set(raw), "a value that the column does not have"


def _check_noise(released, raw, scale, *, rounded):
    """The sum of n absolute values of the noise, in units of its scale, has the gamma distribution of shape n."""
    noise = np.abs(np.array(released) - np.array(raw))
    unseen = 1e-15 * np.abs(raw).max() + 0.51 * bool(rounded)
    if scale > 1e6 * unseen:
        low, high = gamma.ppf([UNLIKELY, 1 - UNLIKELY], noise.size)
        assert low <= noise.sum() / scale <= high, f"the noise is not of scale {scale!r}"
    else:
        assert (noise <= FARTHEST * scale + unseen).all(), "a row is not where it was"


def _check_half(released, raw, noise, *, rounded):
    """Half of the noise is within its quartiles."""
    distance = np.abs(np.array(released) - np.array(raw))
    unseen = 1e-15 * np.abs(raw).max() + 0.51 * bool(rounded)
    end = noise.quantile(0.75)
    if end > 1e6 * unseen:
        low, high = binom.ppf([UNLIKELY, 1 - UNLIKELY], distance.size, 0.5)
        assert low <= (distance <= end).sum() <= high, f"the noise is not {noise!r}"


def _entries(released):
    if isinstance(released, pl.DataFrame):
        return list(zip(*(column.to_list() for column in released), strict=True))
    return list(zip(*(released.iloc[:, k].tolist() for k in range(released.shape[1])), strict=True))


def _check_guarantee(case, certificate, *, secrets, values, scales):
    epsilon, delta, releases = certificate.epsilon, certificate.delta, case.options.get("releases", 1)
    each, scales = scales, [scale / releases for scale in scales]  # of all releases that were planned, as one
    named = set(secrets) if certificate.pairs == "all" else {label for pair in certificate.pairs for label in pair}
    assert all(math.isfinite(scale) and scale >= 0 for scale in scales), scales
    assert case.options.get("allow_zero_noise") or max(scales) > 0, "no noise, and not asked for"
    for beliefs in certificate.verified.values():
        for measured in beliefs.values():
            private = measured.hockey_stick.upper <= delta if delta else measured.pure_loss.upper <= epsilon
            assert private, f"certified, and not confirmed: {measured} at {scales}"
    if "noise" in case.options:
        return ["noise: " + certificate.noise]
    if len(values) > 1 and certificate.theorem in ("joint", "kantorovich"):
        if any(statement.key == "joint-delta" for statement in certificate.statements):
            return [_check_joint_stick(certificate, secrets=secrets, values=values, scales=each, releases=releases)]
        return [_check_joint(certificate, secrets=secrets, values=values, scales=scales)]
    if len(values) > 1:
        check_bounded(values, [secret in named for secret in secrets], scales, epsilon=epsilon)
        return ["joint range: checked"]
    done = ["model: " + certificate.theorem]
    beliefs = [belief for belief in case.given if all(std == 0 for parts in belief.values() for _, _, std in parts)]
    beliefs = [{_label(secret): parts for secret, parts in belief.items()} for belief in beliefs]
    if {"empirical", "population", "contaminated"} & set(certificate.beliefs):  # the last two hold the first
        beliefs.append(empirical_priors(secrets, values[0]))
    for priors in beliefs:
        pairs = pairs_of(certificate.pairs, priors)
        done += check_pairs(priors, pairs, scale=scales[0], epsilon=epsilon, delta=delta)
    return done if beliefs else [*done, "oracle: no belief of atoms"]


def _laws(secrets, values):
    rows = np.array([[float(value) for value in column] for column in values]).T
    return {label: rows[[secret == label for secret in secrets]] for label in dict.fromkeys(secrets)}


def _check_joint_stick(certificate, *, secrets, values, scales, releases):
    """The joint hockey stick, by drawn releases of the raw rows and the densities of these."""
    pairs = "all" if certificate.pairs == "all" else [tuple(pair) for pair in certificate.pairs]
    laws, scales = varying(_laws(secrets, values), scales)
    rng = np.random.default_rng(7)
    for s, t in orders_of(laws, pairs):
        rows = laws[s][rng.integers(0, len(laws[s]), DRAWN)]
        drawn = rows + rng.laplace(size=(releases, *rows.shape)) * scales
        lost = 1 - np.exp(
            np.minimum(certificate.epsilon + _logs(laws[t], drawn, scales) - _logs(laws[s], drawn, scales), 0.0)
        )
        surely = lost.mean() - 6 * lost.std() / math.sqrt(DRAWN) - 1e-3 * certificate.delta
        assert surely <= certificate.delta, f"a joint hockey stick above {surely} at {scales}"
    return "joint hockey stick: checked"


def _logs(law, drawn, scales):
    """Log of the density of drawn releases, shape (releases, rows, columns), up to a constant of the scales."""
    atoms, counts = np.unique(law, axis=0, return_counts=True)
    away = sum((np.abs(copy[:, None, :] - atoms) / scales).sum(axis=2) for copy in drawn)
    return log_sums(np.log(counts / counts.sum()) - away)


def _check_joint(certificate, *, secrets, values, scales):
    """The joint loss of the raw rows, by direct sums at every node of the grid."""
    laws = _laws(secrets, values)
    if math.prod(np.unique(column).size for column in np.vstack(list(laws.values())).T) > MOST_NODES:
        return "joint: too large"
    pairs = "all" if certificate.pairs == "all" else [tuple(pair) for pair in certificate.pairs]
    worst = worst_node(laws, scales, pairs=pairs)
    assert worst.loss <= certificate.epsilon * (1 + 1e-9) + worst.rounding, f"a joint loss of {worst.loss} at {scales}"
    return "joint: checked"


OPTIONS = {*inspect.signature(privatize).parameters, *MOVED, "family"}
SECONDS = 60
"""No release of so small a table works longer, whatever else the machine does."""
OLD = int(pl.__version__.partition(".")[0]) < 2
"""Polars before 2."""


def check(case):
    """Require the property of a case; return what happened, as words to be counted."""
    table, options = case.table, _fresh(case.options)
    if OLD and isinstance(table.frame, pl.LazyFrame) and pl.Object in table.frame.collect_schema().dtypes():
        return ["objects in a plan of an old Polars, which reads them back as bytes"]
    before = snapshot(table)
    released = error = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", category=puffer_frames.WideNoiseWarning)
        try:
            with within(SECONDS):
                released = run(privatize(table.frame, **in_records(options)))
        except PufferError as raised:
            error = raised
        except pl.exceptions.PanicException as panic:
            raise AssertionError("a panic of Polars") from panic
    assert snapshot(table) == before, "the input frame has changed"
    for warning in caught:
        place = f"{Path(warning.filename).name}:{warning.lineno}"
        assert isinstance(warning.message, PufferWarning), f"{warning.category.__name__} at {place}: {warning.message}"
        named = map(str, getattr(warning.message, "secrets", ()))  # labels of secrets may be shown
        assert str(MARKER) not in str(warning.message) or any(str(MARKER) in label for label in named), (
            "a warning shows a public value"
        )
    events = [f"warning: {warning.category.__name__}" for warning in caught]
    if error is not None:
        check_error(error)
        lazy_order = error.what == "shuffle" and isinstance(table.frame, pl.LazyFrame)  # its rows are never together
        merged = error.what == "merge_rare" and "two levels are left" in error.rule  # which the rows decide
        blamed = error.what in OPTIONS and not lazy_order and not merged
        assert case.invalid or names_none(case) or not blamed, f"a valid option is blamed: {error}"
        return [*events, f"error: {type(error).__name__}: {error.rule}"]
    assert case.invalid is None, f"a release in spite of {case.invalid}"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=puffer_frames.WideNoiseWarning)
        return [*events, "release", *check_release(case, released)]


@contextmanager
def within(seconds):
    """Interrupt what computes longer, where the platform can."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_):
        raise AssertionError(f"no answer within {seconds} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _fresh(options):
    """The options with new iterators and generators, so that a case can be run again."""
    made = {Once: iter, Seed: np.random.default_rng}
    return {name: made.get(type(value), lambda same: same)(value) for name, value in options.items()}


def snapshot(table):
    """Everything that there is to see of a frame, as text."""
    frame = table.frame
    columns = [(repr(label), repr(table.dtype(k)), repr(table.values(k))) for k, label in enumerate(table.labels)]
    if not isinstance(frame, pd.DataFrame):
        return type(frame), columns, sorted(vars(frame))
    index = type(frame.index), repr(frame.index.tolist()), str(frame.index.dtype), frame.index.names
    labels = type(frame.columns), str(frame.columns.dtype), frame.columns.names
    return type(frame), columns, index, labels, repr(frame.attrs), frame.flags.allows_duplicate_labels


def names_none(case):
    """Whether a named column has the label None or (), which alone say that none is named."""
    table = case.table
    named = [table.labels[place] for place in (*table.secret, *table.public, *table.keep)]
    return any(label is None or (isinstance(label, tuple) and not label) for label in named)


def check_error(error):
    text = str(error)
    assert " must be " in text, text
    assert "; got " in text, text
    assert "Hint:" in text, text
    for shown in _chain(error):
        assert str(MARKER) not in f"{shown} {shown!r} {shown.args}", f"an error shows a public value: {shown}"


def _chain(error):
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
