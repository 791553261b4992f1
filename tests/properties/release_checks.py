"""What must hold of every release: its frame, its certificate, its rows, and the guarantee from the raw rows."""

import json
import math

import channel_guarantee
import empirical_guarantee as guarantee
import numpy as np
import pandas as pd
import polars as pl
from joint_oracle import log_sums, orders_of, varying, worst_node
from scipy.stats import binom, gamma

from puffer_frames import Certificate
from puffer_frames.noise.families import noise_family

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
    rows = guarantee.complete_rows(table) if not levels else list(range(len(table.eager)))
    assert options.get("nulls") == "drop" or len(rows) == len(table.eager), "a missing value was released"
    _check_frame(case, released, rows=len(rows))
    _check_certificate(case, released, certificate, rows=len(rows))
    secrets = [guarantee.secret_of(entries) for entries in _rows(table, table.secret, rows)]
    if certificate.channels:
        _check_kept(case, released, rows)
        return channel_guarantee.check(case, released, rows=rows, secrets=secrets, label=_label)
    domain = {str(name): bounds for name, bounds in (options.get("domain") or {}).items()}
    values = [
        guarantee.raw_values(table, place, rows=rows, domain=domain.get(str(table.labels[place])))
        for place in table.public
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
    return guarantee.secret_of(secret if isinstance(secret, tuple) else (secret,))


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
        guarantee.check_bounded(values, [secret in named for secret in secrets], scales, epsilon=epsilon)
        return ["joint range: checked"]
    done = ["model: " + certificate.theorem]
    beliefs = [belief for belief in case.given if all(std == 0 for parts in belief.values() for _, _, std in parts)]
    beliefs = [{_label(secret): parts for secret, parts in belief.items()} for belief in beliefs]
    if {"empirical", "population", "contaminated"} & set(certificate.beliefs):  # the last two hold the first
        beliefs.append(guarantee.empirical_priors(secrets, values[0]))
    for priors in beliefs:
        pairs = guarantee.pairs_of(certificate.pairs, priors)
        done += guarantee.check_pairs(priors, pairs, scale=scales[0], epsilon=epsilon, delta=delta)
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
