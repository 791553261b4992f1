"""Rows of numbers and labels: the loss by direct sums over all nodes and levels.

Nothing here is shared with the library. The kernel of a number is exp(-|y - x| / b), that of a label 1 for the label
itself and exp(-1 / b) for another one.
"""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from conftest import sweep

from puffer_frames import calibrate
from puffer_frames.loss.joint.joint_loss import JointLoss
from puffer_frames.loss.joint.lines import JointLaw
from puffer_frames.noise.channel import changed_share, randomised_response


def loss_of(laws, scales, labels):
    """The largest log ratio of any two secrets at any released row; a law is a list of (row, probability)."""
    axes = [sorted({row[k] for law in laws.values() for row, _ in law}) for k in range(len(scales))]
    worst = 0.0
    for node in itertools.product(*axes):
        logs = []
        for law in laws.values():
            density = 0.0
            for row, share in law:
                away = sum(
                    (float(x != y) if k in labels else abs(y - x)) / scales[k]
                    for k, (x, y) in enumerate(zip(row, node, strict=True))
                )
                density += share * math.exp(-away)
            logs.append(math.log(density))
        worst = max(worst, max(logs) - min(logs))
    return worst


def drawn(seed):
    """A table of 2 or 3 columns, of which one or two hold labels."""
    rng = np.random.default_rng(seed)
    rows, count = int(rng.integers(30, 200)), int(rng.integers(2, 4))
    labels = sorted(rng.choice(count, int(rng.integers(1, count + 1)), replace=False).tolist())
    secrets = rng.choice(list("pqr")[: int(rng.integers(2, 4))], rows)
    table = {"secret": secrets}
    for k in range(count):
        lean = (secrets == "p") * rng.integers(0, 3, rows)
        values = (rng.integers(0, int(rng.integers(2, 6)), rows) + lean) % 6
        table[f"c{k}"] = [f"level {v}" for v in values] if k in labels else values * float(rng.choice([0.5, 1.0, 3.0]))
    return pd.DataFrame(table), [f"c{k}" for k in range(count)], labels


def laws_of(table, public):
    found = {}
    for secret, part in table.groupby("secret"):
        counts = part.groupby(public).size()
        found[secret] = [(row, count / len(part)) for row, count in counts.items()]
    return found


@sweep(12, 200)
def test_the_loss_of_a_plan_is_at_most_epsilon_and_near_it(count):
    for seed in range(count):
        table, public, labels = drawn(seed)
        epsilon = [0.3, 1.0, 2.5][seed % 3]
        made = calibrate(table, secret="secret", public=public, epsilon=epsilon)
        scales = [made.fitted.all_scales[name] for name in public]
        laws = laws_of(table, public)
        found = loss_of(laws, scales, labels)
        assert found <= epsilon
        measured = made.choices[public[0]].verified["empirical"].pure_loss
        assert measured.lower - 1e-12 <= found <= measured.upper + 1e-12
        floors = [min_step(table[name], k in labels) / (2 * max(1, epsilon)) for k, name in enumerate(public)]
        if any(scale > 1.001 * floor for scale, floor in zip(scales, floors, strict=True)):
            assert found > 0.995 * epsilon
            assert loss_of(laws, [0.9 * scale for scale in scales], labels) > epsilon  # a fault would be found


def min_step(values, is_label):
    return 1.0 if is_label else float(np.diff(np.unique(values)).min())


def test_the_engine_has_the_kernel_of_labels():
    rng = np.random.default_rng(5)
    for _ in range(40):
        points = [np.unique(rng.integers(0, 4, (12, 2)).astype(float), axis=0) for _ in "st"]
        laws = {}
        for name, rows in zip("st", points, strict=True):
            weights = rng.random(len(rows))
            laws[name] = JointLaw(points=rows, weights=weights / weights.sum())
        scales = rng.uniform(0.2, 3.0, 2).tolist()
        direct = {
            name: [(tuple(row), share) for row, share in zip(law.points.tolist(), law.weights, strict=True)]
            for name, law in laws.items()
        }
        for labels in ((), (0,), (1,), (0, 1)):
            found = JointLoss(laws, pairs="all", labels=labels).bracket(scales, enough=0.0)
            assert found.lower - 1e-12 <= loss_of(direct, scales, labels) <= found.upper + 1e-12


@pytest.mark.parametrize("levels", [1, 2, 3, 17, 256])
@pytest.mark.parametrize("scale", [0.02, 0.125, 0.5, 1.0, 40.0])
def test_the_probabilities_of_a_response(levels, scale):
    """No two rows differ by more than 1 / scale; the share of changed labels is the one that is said."""
    weights = randomised_response(levels, scale)
    assert [sum(row) for row in weights.tolist()] == [2**62] * levels
    if levels > 1:
        same, other = int(weights[0, 0]), int(weights[0, 1])
        assert {int(weights[i, j]) for i in range(levels) for j in range(levels) if i != j} == {other}
        assert same >= other
        assert math.log(same / other) <= 1 / scale * (1 + 1e-15)
        assert 1 - same / 2**62 == pytest.approx(changed_share(levels, scale), rel=1e-9, abs=1e-15)
