"""Releases through a channel: one draw for each row, no key and no statistic of the table in what is published."""

import json
import math
import pickle
import re
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from channel_oracle import TOTAL, error_of, faults, task_of
from conftest import sweep, thinned

import puffer_frames
from puffer_frames import Channel, Layout, certificate_of
from puffer_frames.core import Prior
from puffer_frames.noise.channel import ChannelTable, LabelChannel, NumberChannel
from puffer_frames.noise.stream import Purpose, ReleaseKey

ROWS = 1777
RNG = np.random.default_rng(5)
GROUP = RNG.choice(["p", "q", "r"], ROWS, p=[0.5, 0.3, 0.2])
COLUMNS = {
    "group": GROUP,
    "town": np.where((GROUP == "p") & (RNG.random(ROWS) < 0.4), "hull", RNG.choice(["bath", "cork", "hull"], ROWS)),
    "grade": RNG.integers(100, 106, ROWS) + (GROUP == "p"),
    "id": RNG.permutation(ROWS) * 7 - 100,
}
ASKED = {"secret": "group", "public": "town", "epsilon": 0.3}
PUBLIC = ("town", "grade")


def release(frame, **options):
    return puffer_frames.privatize(frame, **ASKED | {"mechanism": "channel"} | options)


# --- One draw ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("public", PUBLIC)
@pytest.mark.parametrize("by", [None, "id"])
def test_a_plan_draws_once(public, by):
    """Every run of a lazy release, whole or in part, has the same level for a row."""
    released = release(pl.LazyFrame(COLUMNS), public=public, layout=Layout(keep="id", row_id=by))
    once = released.collect()
    assert released.collect().equals(once)
    assert released.collect(engine="streaming").sort("id").equals(once.sort("id"))
    assert released.head(50).collect().equals(once.head(50))
    assert released.filter(pl.col("id") > 500).collect().equals(once.filter(pl.col("id") > 500))
    assert released.select(public).tail(9).collect().equals(once.select(public).tail(9))
    assert released.puffer.collect().equals(once)
    twice = pl.concat([released, released]).collect()
    assert twice.equals(pl.concat([once, once]))


@pytest.mark.parametrize("public", PUBLIC)
def test_a_row_keeps_its_level_wherever_it_stands(public):
    frame = pl.DataFrame(COLUMNS)
    whole = release(frame, public=public, layout=Layout(keep="id", row_id="id"), rng=3).sort("id")
    for seed in range(3):
        other = frame.sample(fraction=1.0, shuffle=True, seed=seed)
        parts = pl.concat([other[k::3] for k in range(3)], rechunk=False)
        again = release(parts, public=public, layout=Layout(keep="id", row_id="id"), rng=3)
        assert again.sort("id").equals(whole)
    made = puffer_frames.calibrate(frame, **ASKED | {"public": public, "mechanism": "channel"})
    alone = made.release(
        frame.head(400), layout=Layout(keep="id", row_id="id"), rng=3, allow_other_frame=True, allow_drift=True
    )
    assert alone.sort("id").equals(whole.filter(pl.col("id").is_in(alone["id"].implode())))


def test_every_release_draws_anew():
    frame = pd.DataFrame(
        {"group": RNG.permutation(list("pqr") * 4000), "town": RNG.permutation(["bath", "cork"] * 6000)}
    )
    asked = {"epsilon": 0.01, "mechanism": Channel(radius=1.0)}
    first, second = (release(frame, **asked, layout=Layout(shuffle=False)) for _ in range(2))
    made = puffer_frames.calibrate(frame, **ASKED | asked)
    share = float((first["town"] != second["town"]).mean())
    assert share == pytest.approx(0.5, abs=0.03)
    assert not made.release(frame).equals(made.release(frame))


def test_two_columns_have_words_of_their_own():
    """The same seed and the same levels under two names: outputs that agree no more than by chance."""
    levels = np.zeros(200_000, dtype=np.uint16)
    table = ChannelTable(np.array([[TOTAL // 2, TOTAL // 2]]))
    key = ReleaseKey.of(7)

    def drawn(column):
        made = LabelChannel.of(column, key=key, codes={"a": 0}, outputs=("a", "b"), table=table)
        return made.prepared()({column: levels}, None)[column]

    same = float((drawn("town") == drawn("town 2")).mean())
    assert abs(same - 0.5) < 5 * 0.5 / levels.size**0.5
    words = key.stream(Purpose.NOISE, "town").words(range(1000))
    assert np.array_equal(drawn("town")[:1000], (words >> np.uint64(63)).astype(np.uint16))
    order = key.stream(Purpose.ORDER, "0").words(range(1000))
    assert not np.intersect1d(words, order).size


def test_the_order_of_shuffled_rows_tells_nothing_of_the_draw():
    """An attacker who takes the place of a row for its word would know which rows were changed."""
    rows = 20_000
    frame = pd.DataFrame(
        {"group": RNG.choice(["p", "q"], rows), "town": RNG.choice(["a", "b"], rows), "number": range(rows)}
    )
    released = release(frame, mechanism=Channel(radius=1.0), layout=Layout(keep="number", shuffle=True), rng=3)
    changed = released["town"].to_numpy() != frame["town"].to_numpy()[released["number"]]
    share = float(changed.mean())
    assert 0.3 < share < 0.5
    for part in np.array_split(changed, 8):
        assert abs(part.mean() - share) < 5 * (share * (1 - share) / part.size) ** 0.5


# --- The key ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("public", PUBLIC)
@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_the_key_is_nowhere_in_what_is_published(public, library):
    key = ReleaseKey.of(7)
    secrets = [key._key, *key.derive(Purpose.NOISE, public)]
    released = release(library(COLUMNS), public=public, rng=7)
    certificate = certificate_of(released)
    made = puffer_frames.calibrate(library(COLUMNS), **ASKED | {"public": public, "mechanism": "channel"})
    said = (
        f"{certificate} {certificate!r} {certificate._repr_html_()} {made} {made!r} {json.dumps(certificate.to_dict())}"
    )
    held = pickle.dumps(certificate) + pickle.dumps(released) + pickle.dumps(made)
    for secret in secrets:
        assert secret not in held
        assert secret.hex() not in said
        assert repr(secret)[2:-1] not in said


def test_a_change_that_is_sent_to_a_task_does_not_show_its_key():
    key = ReleaseKey.of(7)
    table = ChannelTable(np.array([[TOTAL]]))
    for change in (
        LabelChannel.of("x", key=key, codes={"a": 0}, outputs=("a",), table=table),
        NumberChannel.of("x", key=key, edges=np.array([]), outputs=[1.0], table=table),
    ):
        shown = f"{change} {change!r}"
        assert "not shown" in shown
        assert key._key.hex() not in shown
        assert repr(key._key)[2:-1] not in shown
        assert key._key in pickle.dumps(change)  # so that it would be seen


# --- Statistics of the table ------------------------------------------------------------------------------------------


def leaves(plain):
    """All numbers and texts of a record."""
    if isinstance(plain, dict):
        for name, entry in plain.items():
            yield name
            yield from leaves(entry)
    elif isinstance(plain, list | tuple):
        for entry in plain:
            yield from leaves(entry)
    else:
        yield plain


def statistics(made, public):
    """Numbers of a plan that are statistics of the table."""
    found = made.channels[public]
    yield from made.rows_per_secret.values()
    for counts in made.fitted.column.counts.values():
        yield from (int(count) for count in counts if count > 20)
    yield from (int(count) for count in made.fitted.column.pooled if count > 20)
    yield from (found.expected_error, found.lower_bound, found.constant_error, found.unchanged)
    for measured in (made.fitted.observed, made.fitted.population):
        yield from (measured.pure_loss.lower, measured.pure_loss.upper)
    yield from (float(p) for p in found.matrix.ravel() if 0.0 < p < 1.0)


REQUESTS = {
    "text": {},
    "numbers": {"public": "grade"},
    "delta": {"delta": 1e-5},
    "listed pairs": {"pairs": [("p", "q")]},
    "mapping of radius": {"mechanism": Channel(radius={"p": 0.0313, "q": 0.0457, "r": 0.0571}, cap=5.0)},
    "declared": {"domain": {"town": ["bath", "cork", "hull", "york"]}},
    "side knowledge": {"beliefs": {s: {"bath": 0.1234, "cork": 0.8766} for s in "pqr"}},
    "merged": {"mechanism": Channel(merge_rare=600)},
    "kept": {"layout": Layout(keep="id")},
}


@pytest.mark.filterwarnings("ignore::puffer_frames.errors.RareLevelsWarning")
@pytest.mark.parametrize(("name", "library"), thinned(REQUESTS, [pd.DataFrame, pl.DataFrame]))
def test_no_statistic_is_in_the_certificate(name, library):
    asked = ASKED | {"mechanism": "channel"} | REQUESTS[name]
    plan_of = {key: value for key, value in asked.items() if key != "layout"}
    made = puffer_frames.calibrate(library(COLUMNS), **plan_of)
    public = made.public[0]
    certificate = certificate_of(made.release(library(COLUMNS), layout=asked.get("layout")))
    held = list(leaves(replace(certificate, fingerprint="").to_dict()))
    numbers = {entry for entry in held if isinstance(entry, int | float) and not isinstance(entry, bool)}
    asked_for = {0.3, 0.0, 1e-5, 8.0, 5.0, ROWS, 3, 2, 100}  # 100: the smallest group has at least so many rows
    wider = set(certificate.wider[public].values())  # losses, rounded up to two digits
    assert all(float(f"{loss:.2g}") == loss for loss in wider)
    assert numbers <= asked_for | wider | {math.inf}
    assert not set(statistics(made, public)) & (numbers - wider)
    texts = " ".join(entry for entry in held if isinstance(entry, str))
    texts += str(certificate).replace(certificate.fingerprint[:16], "")
    words = set(re.findall(r"[\d.e+-]*\d", texts.replace(",", "")))
    assert "1777" in words
    for number in set(statistics(made, public)) - asked_for - {1.0}:
        assert not {f"{number:.{digits}g}" for digits in (3, 4, 5, 6, 17)} & words, number
    if name != "declared":
        for level in ("bath", "cork", "hull", "100", "105"):
            assert level not in texts
    assert "0.0313" not in texts


def test_a_curator_may_publish_them():
    made = puffer_frames.calibrate(pd.DataFrame(COLUMNS), **ASKED)
    words = ("expected_error", "lower_bound", "levels")
    record = certificate_of(made.release(pd.DataFrame(COLUMNS), layout=Layout(publish=words))).to_dict()["channels"][
        "town"
    ]
    assert record["expected_error"] == made.expected_error["town"]
    assert record["levels"] == ["bath", "cork", "hull"]
    options = Channel(publish_matrix=True)
    record = certificate_of(release(pd.DataFrame(COLUMNS), mechanism=options)).to_dict()["channels"]["town"]
    assert np.array(record["matrix"]) == pytest.approx(made.channels["town"].matrix, abs=1e-12)
    assert "expected_error" not in record


def test_a_plan_says_that_it_is_private():
    assert "keep private" in str(puffer_frames.calibrate(pd.DataFrame(COLUMNS), **ASKED))


# --- The guarantee, from the rows -------------------------------------------------------------------------------------


def random_case(seed):
    """A table, and a request with what the oracle can check of it."""
    rng = np.random.default_rng([seed, 17])
    secrets, levels = int(rng.integers(2, 5)), int(rng.integers(2, 7))
    laws = rng.dirichlet(np.full(levels, 0.7), secrets)
    rows = int(rng.choice([30, 200, 2000]))
    group = rng.integers(0, secrets, rows)
    group[:secrets] = range(secrets)
    value = np.array([rng.choice(levels, p=laws[g]) for g in group])
    value[:levels] = range(levels)
    kind = rng.choice(["text", "numbers", "booleans"]) if levels > 2 else "booleans"
    names = {"text": [f"v{k}" for k in range(levels)], "numbers": list(range(levels)), "booleans": [False, True]}[kind]
    entries = [names[v % len(names)] for v in value]
    options = {
        "radius": [0.0, 0.05, "auto", 1.0][int(rng.integers(4))],
        "cap": [None, 1.5, 8.0][int(rng.integers(3))],
        "preserve": [None, None, "marginal"][int(rng.integers(3))],
    }
    asked = {
        "epsilon": float(rng.choice([0.05, 0.5, 2.0, 1 / 3])),
        "delta": float(rng.choice([0.0, 0.0, 1e-6, 0.01])),
        "mechanism": Channel(**options),
        "allow_zero_noise": True,
    }
    if rng.random() < 0.3 and secrets > 2:
        asked["pairs"] = [("s0", "s1"), ("s2", "s1")]
    if kind == "text" and rng.random() < 0.4:
        asked["domain"] = {"value": [*names, "never"]}
    return {"group": [f"s{g}" for g in group], "value": entries}, asked


@sweep(20, 300)
def test_the_channel_of_every_release_is_private_under_the_counts(count):
    """Counts of the rows in plain Python, and exact fractions: no pair, no contaminated law, no input breaks it."""
    for seed in range(count):
        columns, asked = random_case(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", puffer_frames.PufferWarning)
            frame = pl.DataFrame(columns)
            made = puffer_frames.calibrate(frame, secret="group", public="value", **asked)
            released = made.release(frame)
        found = made.channels["value"]
        counts = {s: [0] * len(found.inputs) for s in sorted(set(columns["group"]))}
        for secret, value in zip(columns["group"], columns["value"], strict=True):
            counts[secret][found.inputs.index(value)] += 1
        task = task_of(
            counts,
            levels=["a"] * len(found.inputs) if isinstance(found.inputs[0], bool | str) else found.inputs,
            epsilon=asked["epsilon"],
            delta=asked["delta"],
            pairs=asked.get("pairs", "all"),
            options=Channel(radius=asked["mechanism"].radius, cap=asked["mechanism"].cap),
        )
        assert faults(found.weights, task) == [], (seed, asked)
        if task.preserve is None and not isinstance(found.inputs[0], str | bool):
            assert made.expected_error["value"] == pytest.approx(float(error_of(found.weights, task)), rel=1e-9)
        assert set(released["value"]) <= set(found.outputs)
        certified = certificate_of(released).verified["value"]["empirical"]
        assert certified.pure_loss.upper <= asked["epsilon"] or asked["delta"]
        assert certified.hockey_stick.upper <= asked["delta"]


def test_the_brute_force_finds_a_channel_for_another_table():
    """The channel of a table whose secrets are alike is not private for one whose are not."""
    rng = np.random.default_rng(2)
    alike = pl.DataFrame({"group": ["p", "q"] * 500, "value": rng.permutation(["a", "b"] * 500)})
    options = Channel(radius=0, cap=None)
    asked = {"secret": "group", "public": "value", "epsilon": 0.5, "mechanism": options, "allow_zero_noise": True}
    weights = puffer_frames.calibrate(alike, **asked).channels["value"].weights
    task = task_of({"p": [400, 100], "q": [100, 400]}, levels=["a", "b"], epsilon=0.5, options=options)
    assert faults(weights, task)
    assert sum(Fraction(int(w), TOTAL) for w in weights[0]) == 1


ROWS_OF_CELLS = 140_000
# Channels of columns that were counted on a grid: the input of a value is the one that it was counted in.
EXACT = Channel(radius=0, cap=None)
MARGIN = Fraction(1, 10**12)


def counted(plan, secrets, values):
    """Rows of each input, by the edges that a release goes by."""
    inputs = np.searchsorted(plan.fitted.column.edges, values, side="right")
    levels = len(plan.fitted.column.levels)
    return {name: np.bincount(inputs[secrets == name], minlength=levels).tolist() for name in "ab"}


def worst_ratio(plan, counts):
    """The largest ratio of two probabilities of an output, in whole numbers."""
    weights = plan.channels["x"].weights.tolist()
    laws = {}
    for name, often in counts.items():
        sums = [sum(n * w for n, w in zip(often, column, strict=True)) for column in zip(*weights, strict=True)]
        laws[name] = [Fraction(entry, sum(often)) for entry in sums]
    pairs = zip(laws["a"], laws["b"], strict=True)
    return max(max(p, q) / min(p, q) if min(p, q) else math.inf for p, q in pairs if max(p, q))


def secrets_and_noise(seed):
    rng = np.random.default_rng(seed)
    return rng, rng.choice(["a", "b"], ROWS_OF_CELLS)


@pytest.mark.parametrize("bounds", [(-2.0, 1.0), (-1.2345678, 0.7770001)])
def test_values_just_inside_a_bound(bounds):
    rng, secrets = secrets_and_noise(1)
    values = rng.uniform(-2, 0.5, ROWS_OF_CELLS)
    inside = bounds[1] - 2.0**-12 * 1.5
    values[:20_000] = np.where(secrets[:20_000] == "a", inside, 1.5)
    frame = pl.DataFrame({"s": secrets, "x": values})
    plan = puffer_frames.calibrate(frame, secret="s", public="x", epsilon=1.0, mechanism=EXACT, domain={"x": bounds})
    counts = counted(plan, secrets, values.clip(*bounds))
    assert {name: plan.fitted.column.counts[name].tolist() for name in "ab"} == counts
    assert worst_ratio(plan, counts) <= Fraction(math.e) + MARGIN


@pytest.mark.parametrize("far", [3.0, 1e6])
def test_another_table_that_was_counted_on_a_coarser_grid(far):
    rng, secrets = secrets_and_noise(2)
    frame = pl.DataFrame({"s": secrets, "x": rng.normal(size=ROWS_OF_CELLS)})
    values = rng.normal(size=ROWS_OF_CELLS) + 0.5 * (secrets == "a")
    values[:2] = -far, far
    other = pl.DataFrame({"s": secrets, "x": values})
    asked = {"secret": "s", "public": "x", "epsilon": 1.0, "mechanism": Channel(radius=0)}
    plan = puffer_frames.calibrate(frame, beliefs=[other], **asked)
    assert worst_ratio(plan, counted(plan, secrets, values)) <= Fraction(math.e) + MARGIN


@pytest.mark.parametrize("far", [3.0, 1e6])
def test_the_measured_loss_of_other_rows_holds_the_exact_one(far):
    rng, secrets = secrets_and_noise(3)
    frame = pl.DataFrame({"s": secrets, "x": rng.normal(size=ROWS_OF_CELLS) + 0.1 * (secrets == "a")})
    asked = {"secret": "s", "public": "x", "epsilon": 1.0, "mechanism": Channel(radius=0)}
    plan = puffer_frames.calibrate(frame, **asked)
    values = rng.random(size=ROWS_OF_CELLS) + (secrets == "a")
    for name in "ab":
        values[np.flatnonzero(secrets == name)[:2]] = -far, far
    released = plan.release(pl.DataFrame({"s": secrets, "x": values}), allow_other_frame=True, allow_drift=True)
    said = [line for line in puffer_frames.certificate_of(released).statements if line.key == "observed-exceeds"]
    assert math.log(worst_ratio(plan, counted(plan, secrets, values))) > 1.0
    assert said


TRIAL = np.arange(400) % 2 == 0
LEFT_OUT = (
    pl.DataFrame(
        {
            "s": np.where(TRIAL, "a", "b"),
            "x": np.where(np.random.default_rng(0).random(400) < np.where(TRIAL, 0.05, 0.95), 1.0, 0.0),
            "z": ["g", "g", "h", "h"] * 100,
        }
    )
    .with_columns(l=pl.when(pl.col("x") == 1).then(pl.lit("u")).otherwise(pl.lit("v")))
    .sample(fraction=1.0, shuffle=True, seed=0)
)
SHARES = {"a": {"u": 0.45, "v": 0.55}, "b": {"u": 0.65, "v": 0.35}}
PRIORS = {name: Prior.bernoulli(shares["u"]) for name, shares in SHARES.items()}
BRITTLE = Channel(radius=0, cap=None)


@pytest.mark.filterwarnings("ignore::puffer_frames.errors.WeakGuaranteeWarning")
@pytest.mark.parametrize(
    "asked",
    [
        {"public": "l", "beliefs": ("only", SHARES)},
        {"public": "l", "beliefs": ("only", SHARES), "delta": 0.01},
        {"public": "l", "beliefs": ("only", SHARES), "mechanism": Channel(sees="secret", reader_cap=None)},
        {"public": "x", "beliefs": ("only", PRIORS), "mechanism": "channel"},
        {"public": ["l", "z"], "beliefs": puffer_frames.Bootstrap(1, seed=1), "mechanism": BRITTLE},
    ],
    ids=["labels", "delta", "sees", "numbers", "together"],
)
def test_a_loss_of_its_own_rows_that_no_belief_covers_is_said(asked, tmp_path):
    """As noise says it, and no ledger counts such a release."""
    asked = {"secret": "s", "epsilon": 0.3, **asked}
    plan = puffer_frames.calibrate(LEFT_OUT, **asked)
    certificate = certificate_of(plan.release(LEFT_OUT))
    channel, public = next(iter(plan.channels.values())), np.atleast_1d(asked["public"]).tolist()
    table, inputs = np.asarray(channel.weights, dtype=float) / TOTAL, list(channel.inputs)
    laws = []
    for k, name in enumerate("ab"):
        rows = [row if len(row) > 1 else row[0] for row in LEFT_OUT.filter(pl.col("s") == name)[public].rows()]
        own = table[k * len(inputs) :][: len(inputs)] if channel.secrets else table
        laws.append(np.mean([own[inputs.index(row)] for row in rows], axis=0))
    loss = np.abs(np.log(laws[0] / laws[1])).max()
    assert loss > 0.3
    assert set(certificate.observed) == set(public)
    assert all(found.pure_loss.upper == pytest.approx(loss) for found in certificate.observed.values())
    assert "observed-exceeds" in certificate.warnings
    assert "for these rows, where epsilon = 0.3" in str(certificate).splitlines()[0]
    assert type(certificate).from_dict(json.loads(json.dumps(certificate.to_dict()))) == certificate
    book = puffer_frames.Ledger(tmp_path / "book", limit=9.0)
    with pytest.raises(puffer_frames.errors.PufferError, match="lose more than was asked for"):
        plan.release(LEFT_OUT, ledger=book, about={"dataset": "d"})


def test_no_loss_is_said_where_a_belief_covers_the_rows():
    """Decided in whole numbers: the law that side knowledge names is that of the rows, to the last one."""
    shares = {name: dict(part["l"].value_counts().rows()) for (name,), part in LEFT_OUT.group_by("s")}
    released = puffer_frames.privatize(
        LEFT_OUT, secret="s", public="l", epsilon=0.3, beliefs=("only", shares), mechanism=BRITTLE
    )
    assert "observed-exceeds" not in certificate_of(released).warnings
    assert not certificate_of(released).observed


def test_beliefs_about_numbers_that_the_column_does_not_have():
    frame = pl.DataFrame({"s": ["a", "b"] * 300, "x": [0.0, 0.1, 0.2, 0.3, 0.4, 0.2] * 100})
    asked = {"secret": "s", "public": "x", "epsilon": 1.0, "mechanism": "channel"}
    with pytest.raises(puffer_frames.errors.CalibrationError, match="others in 600 rows"):
        puffer_frames.calibrate(frame, beliefs=[frame.with_columns(pl.col("x") + 0.05)], **asked)
    prior = puffer_frames.core.Prior.empirical([0.1, 0.30000000000000004], [1, 1])
    with pytest.raises(puffer_frames.errors.ArgumentTypeError, match="a level that the column does not have"):
        puffer_frames.calibrate(frame, beliefs=[{"a": prior, "b": prior}], **asked)
