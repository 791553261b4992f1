"""The guarantee of a release, checked from its raw rows: plain Python, NumPy, and the oracle of tests/privacy."""

import math
import sys
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from unittest.mock import patch

import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "privacy"))
import oracle

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
