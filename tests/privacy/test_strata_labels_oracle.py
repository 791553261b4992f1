"""Labels beside numbers, in strata: the loss in each stratum by direct sums, from the numbers of the certificate."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

from puffer_frames import Strata, certificate_of


def people(seed, rows=900):
    rng = np.random.default_rng(seed)
    town, group = rng.choice(["east", "north", "west"], rows, p=[0.6, 0.35, 0.05]), rng.choice(["a", "b"], rows)
    hours = rng.integers(0, 6, rows) + 2.0 * (group == "a") * (town == "east")
    job = np.where(rng.random(rows) < 0.3 + 0.3 * (group == "b"), "clerk", rng.choice(["cook", "smith"], rows))
    return {"town": town, "group": group, "hours": hours, "job": job}


def loss_in(part, scale, cap):
    """Largest |log-ratio| over released rows: Laplace noise and randomised response of single rows, summed directly."""
    laws = {s: one.groupby(["hours", "job"]).size() / len(one) for s, one in part.groupby("group")}
    worst = 0.0
    for y, label in itertools.product(sorted(part["hours"].unique()), sorted(part["job"].unique())):
        density = [
            sum(w * math.exp(-abs(y - x) / scale - cap * (label != own)) for (x, own), w in law.items())
            for law in laws.values()
        ]
        worst = max(worst, abs(math.log(density[0] / density[1])))
    return worst


@pytest.mark.parametrize("seed", range(3))
def test_each_stratum_is_within_epsilon(seed):
    frame = pd.DataFrame(people(seed))
    released = frame.puffer.privatize(
        secret="group", public=["hours", "job"], given=Strata("town", minimum=30), epsilon=1.0, rng=1
    )
    certificate = certificate_of(released)
    small = 0
    for found in certificate.strata:
        (town,), scale, cap = found["given"], found["scales"]["hours"], found["caps"]["job"]
        part = frame[frame["town"] == town]
        loss = loss_in(part, scale, cap)
        assert loss <= 1.0
        if part.groupby("group").size().min() < 30:
            small += 1
            assert cap <= 0.5
            assert scale >= 2 * np.ptp(frame["hours"])
        else:
            assert loss > 0.9 or (scale <= 0.5 and cap >= 1.9)  # at its least, or at the least noise there is
    assert small == 1
    assert certificate.scales["hours"] == max(s["scales"]["hours"] for s in certificate.strata)
    assert certificate.channels["job"]["cap"] == max(s["caps"]["job"] for s in certificate.strata)


def test_one_scale_is_enough_for_all():
    frame = pd.DataFrame(people(3))
    certificate = certificate_of(
        frame.puffer.privatize(
            secret="group", public=["job", "hours"], given=Strata("town", scale="one"), epsilon=1.0, rng=1
        )
    )
    assert certificate.strata == ()
    losses = [
        loss_in(p, certificate.scales["hours"], certificate.channels["job"]["cap"]) for _, p in frame.groupby("town")
    ]
    assert max(losses) <= 1.0


def test_labels_keep_as_often_as_their_stratum_says():
    frame = pd.DataFrame(people(4, rows=40_000))
    released = frame.puffer.privatize(secret="group", public=["hours", "job"], given="town", epsilon=0.7, rng=1)
    shares = set()
    for found in certificate_of(released).strata:
        mine = (frame["town"] == found["given"][0]).to_numpy()
        kept = 1 / (1 + 2 * math.exp(-found["caps"]["job"]))
        seen = (released["job"].to_numpy() == frame["job"].to_numpy())[mine].mean()
        assert abs(seen - kept) < 5 * math.sqrt(kept * (1 - kept) / mine.sum())
        shares.add(round(kept, 6))
    assert len(shares) > 1
