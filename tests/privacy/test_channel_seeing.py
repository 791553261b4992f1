"""Channels that see the secret: another program, checks in fractions, numbers of the note, and their releases."""

import itertools
import json
import math
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import build_frame, run, sweep, table
from scipy.stats import chi2
from seeing_oracle import TOTAL, by_secret, error_of, errors_of, faults, least_error, least_error_of_all, task_of

import puffer_frames
from puffer_frames import Channel, Layout, certificate_of, load_plan
from puffer_frames.core import best_channel
from puffer_frames.verbs.plans.file import digest_of

# --- The program and the guarantee ------------------------------------------------------------------------------------


def random_request(seed):
    """Counts and arguments of `best_channel`: laws near each other or far, some levels of no row."""
    rng = np.random.default_rng([seed, 44])
    count = int(rng.integers(2, 7))
    shared = rng.dirichlet(np.full(count, rng.choice([0.5, 2.0])))
    shared[rng.random(count) < rng.choice([0.0, 0.2])] = 0.0
    shared = shared + (not shared.any())
    near = rng.choice([1.0, 10.0, 100.0])
    law = near * shared / shared.sum() + 1e-9
    counts = {
        f"s{k}": rng.multinomial(int(rng.choice([8, 60, 400, 6000])), rng.dirichlet(law)) for k in range(2 + seed % 3)
    }
    listed = list(itertools.combinations(counts, 2))
    some = [listed[k] for k in rng.permutation(len(listed))[: rng.integers(1, len(listed) + 1)]]
    given = {s: float(rng.choice([0.0, 0.013, 0.1, 0.4, 1.0])) for s in counts}
    numbers = tuple(np.cumsum(rng.choice([0.5, 1.0, 3.0], count)).tolist())
    options = Channel(
        sees="secret",
        radius=[0.0, round(float(rng.uniform(0.001, 0.2)), 4), "auto", given][seed // 3 % 4],
        cap=[None, 4.0, 8.0][int(rng.integers(3))],
        reader_cap=[0.3, 1.0, None, "auto"][int(rng.integers(4))],
        weights=["rows", "secrets"][int(rng.integers(2))],
        preserve=[None, None, "marginal"][int(rng.integers(3))],
    )
    return counts, {
        "levels": numbers if rng.random() < 0.5 else tuple(f"l{k}" for k in range(count)),
        "epsilon": float(rng.choice([0.1, 0.3, 1.0, 2.0])),
        "delta": [0.0, 0.0, 1e-3, 0.05][int(rng.integers(4))],
        "pairs": "all" if rng.random() < 0.6 else some,
        "options": options,
    }


def on_all_levels(found, task):
    """The weights with a column for every level."""
    weights = np.zeros((len(task.levels) * len(task.counts), len(task.levels)), dtype=np.int64)
    weights[:, [task.levels.index(output) for output in found.outputs]] = found.weights
    return weights


@sweep(36, 600)
def test_the_least_error_of_the_guarantee_and_no_constraint_is_broken(count):
    for seed in range(count):
        counts, asked = random_request(seed)
        found, task = best_channel(counts, **asked), task_of(counts, **asked)
        weights = on_all_levels(found, task)
        assert faults(weights, task) == [], seed
        error = float(error_of(weights, task))
        assert found.expected_error == pytest.approx(error, rel=1e-9, abs=1e-12), seed
        for secret, own in errors_of(weights, task).items():
            assert found.errors[secret] == pytest.approx(float(own), rel=1e-9, abs=1e-12), seed
        value = least_error(task)[0]
        near = 1e-6 * value + 1e-9 * max(1.0, float(task.cost.max()))
        if task.delta and any(task.radius.values()):
            # The rule may be any sound one between the guarantee itself and the one that treats each output for itself.
            assert least_error_of_all(task, rounds=4)[0] - near <= error <= value + near, seed
            continue
        assert error == pytest.approx(value, abs=near), seed
        assert found.lower_bound <= error + 1e-12, seed
        assert task.marginal or found.lower_bound == pytest.approx(value, abs=near), seed


def test_matrices_are_the_weights_of_each_secret():
    found = best_channel(COUNTS, levels=list("abc"), epsilon=0.5, options=Channel(sees="secret"))
    for k, (secret, matrix) in enumerate(found.matrices.items()):
        assert np.array_equal(matrix, found.weights[3 * k : 3 * k + 3] / TOTAL)
        assert secret == list(COUNTS)[k]
    rows = np.array(list(COUNTS.values()), dtype=float)
    mean = (rows[:, :, None] * np.array(list(found.matrices.values()))).sum(axis=0) / rows.sum(axis=0)[:, None]
    assert found.matrix == pytest.approx(mean, rel=1e-12)


COUNTS = {"p": [50, 30, 20], "q": [10, 30, 60], "r": [40, 45, 15]}


def test_the_check_finds_planted_faults():
    """One order only, caps of one secret with itself, extremes over all secrets, no reader cap."""
    options = Channel(sees="secret", radius=0.05, cap=2.0, reader_cap=0.5)
    asked = {"levels": list("abc"), "epsilon": 0.5}
    task = task_of(COUNTS, **asked, options=options)
    good = best_channel(COUNTS, **asked, options=options)
    assert faults(on_all_levels(good, task), task) == []
    for worse in ({"radius": 0.04}, {"cap": 2.01}, {"reader_cap": 0.51}, {"reader_cap": None}, {"cap": None}):
        given = {"sees": "secret", "radius": 0.05, "cap": 2.0, "reader_cap": 0.5} | worse
        found = best_channel(COUNTS, **asked, options=Channel(**given))
        assert faults(on_all_levels(found, task), task), worse
    reordered = {secret: COUNTS[secret] for secret in "rpq"}
    found = best_channel(reordered, **asked, options=options)
    assert faults(on_all_levels(found, task), task), "rows of other secrets"


def test_a_reader_cap_of_0_is_a_channel_that_sees_the_value_alone():
    for seed in range(12):
        counts, asked = random_request(seed)
        given = asked.pop("options")
        same = {"radius": given.radius, "cap": given.cap, "preserve": given.preserve}
        alone = best_channel(counts, **asked, options=Channel(**same))
        seeing = best_channel(counts, **asked, options=Channel(sees="secret", reader_cap=0, **same))
        assert np.array_equal(alone.weights, seeing.weights), seed
        assert alone.outputs == seeing.outputs
        assert not seeing.matrices


def test_what_does_not_go_together_is_refused():
    with pytest.raises(puffer_frames.errors.ArgumentError, match="weights"):
        Channel(sees="secret", reader_cap=0, weights="secrets")
    counts = {k: [3, 2] for k in range(9000)}
    with pytest.raises(puffer_frames.errors.ArgumentError, match="pairs of a level and a secret"):
        best_channel(counts, levels=["a", "b"], epsilon=1.0, options=Channel(sees="secret", radius=0))


# --- Brute force ------------------------------------------------------------------------------------------------------

ATTACKS = 3000


def laws_and_matrices(found, task):
    """The laws of the levels and W(y|x,s) as floats, of the secrets in one order."""
    laws = np.array([[float(p) for p in task.law(s)] for s in task.counts])
    return laws, np.array(list(found.matrices.values()))


def largest_ratio(tops, bottoms):
    """The largest log-ratio along the last axis, of outputs that occur."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(tops > 0, np.log(tops / bottoms), -np.inf).max(axis=-1)


@sweep(8, 100)
def test_no_contaminated_law_loses_more_than_was_asked_for(count):
    """3,000 laws of each secret, a share of them replaced: by one value, by a few, by a law of all."""
    worst = []
    for seed in range(count):
        counts, asked = random_request(seed)
        found, task = best_channel(counts, **asked), task_of(counts, **asked)
        laws, matrices = laws_and_matrices(found, task)
        rng = np.random.default_rng([seed, 45])
        radius = np.array([float(task.radius[s]) for s in task.counts])[:, None]
        spikes = rng.dirichlet(np.full(laws.shape[1], 0.02), (ATTACKS - 1000, len(laws)))
        others = np.concatenate([spikes, rng.dirichlet(np.full(laws.shape[1], 1.0), (1000, len(laws)))])
        drawn = np.einsum("asx,sxy->asy", (1 - radius) * laws + radius * others, matrices)
        places = {s: k for k, s in enumerate(task.counts)}
        for s, t in task.orders:
            one, other = drawn[:, places[s]], drawn[:, places[t]]
            if task.delta:
                stick = (one - math.exp(task.epsilon) * other).clip(0).sum(axis=1).max()
                assert stick <= float(task.delta) + 1e-9, seed
            else:
                worst.append(largest_ratio(one, other).max() - float(task.epsilon))
                assert worst[-1] <= 1e-9, seed
    assert max(worst) > -1e-3  # what is allowed is used


@sweep(8, 100)
def test_no_side_knowledge_tells_more_than_the_caps(count):
    """F6, 3,000 readers who know something of a row that depends on value and secret: also the value, or one of two."""
    excess, largest = [], []
    for seed in range(count):
        counts, asked = random_request(seed)
        found, task = best_channel(counts, **asked), task_of(counts, **asked)
        laws, matrices = laws_and_matrices(found, task)
        rng = np.random.default_rng([seed, 46])
        known = rng.random((ATTACKS, *laws.shape)) ** rng.choice([1.0, 8.0, 40.0], (ATTACKS, 1, 1))
        for k, (i, j) in enumerate(itertools.product(range(laws.shape[1]), repeat=2)):
            known[k] = np.isin(range(laws.shape[1]), (i, j))
        beliefs = (laws + 1e-12) * known  # P(x, a | s); a level of no row may be one of a next batch
        beliefs /= beliefs.sum(axis=2, keepdims=True)
        drawn = np.einsum("asx,sxy->asy", beliefs, matrices)
        for s, t in itertools.permutations(range(len(laws)), 2):
            by_release, by_value = (largest_ratio(each[:, s], each[:, t]) for each in (drawn, beliefs))
            if task.reader_cap is not None:
                excess.append((by_release - by_value).max() - float(task.reader_cap))
                assert excess[-1] <= 1e-9, seed
            if task.cap is not None:
                largest.append(by_release.max() - float(task.cap))
                assert largest[-1] <= 1e-9, seed
    assert max(excess) > -1e-3
    assert max(largest) > -1e-3


# --- Numbers of the note ----------------------------------------------------------------------------------------------

ADULT = {1: "workclass", 4: "education-num", 5: "marital-status", 6: "occupation", 7: "relationship", 8: "race"}
ADULT |= {9: "sex", 14: "income"}
UNCAPPED, CAPPED, WIDE = {"radius": 0, "cap": None}, {"radius": 0, "cap": 8.0}, {"radius": "auto", "cap": 8.0}
NUMBERS = [
    ("relationship", "sex", 1.0, UNCAPPED, {0.5: 0.098037, 1.0: 0.094914, 2.0: 0.091870, None: 0.089977}),
    ("relationship", "sex", 1.0, WIDE, {1.0: 0.099906, 2.0: 0.096635, None: 0.094670}),
    ("relationship", "sex", 1.0, {"radius": 0, "cap": 4.0}, {1.0: 0.146146}),
    ("relationship", "sex", 0.3, WIDE, {0.6: 0.245673, None: 0.172715}),
    ("marital-status", "sex", 1.0, CAPPED, {0.5: 0.040048, 1.0: 0.035184, 3.0: 0.030492}),
    ("marital-status", "sex", 2.0, WIDE, {2.0: 0.005467, None: 0.005358}),
    ("occupation", "sex", 1.0, UNCAPPED, {1.0: 0.038102, None: 0.029632}),
    ("occupation", "sex", 1.0, WIDE, {1.0: 0.049695}),
    ("education-num", "sex", 0.3, UNCAPPED, {0.3: 0.038057, None: 0.006558}),
    ("education-num", "race", 1.0, UNCAPPED, {1.0: 0.097325}),
    ("education-num", "race", 1.0, WIDE, {1.0: 0.307322}),
    ("workclass", "race", 1.0, CAPPED, {1.0: 0.007301}),
]


@pytest.fixture(scope="module")
def people():
    frame = table("adult.data", header=None, skipinitialspace=True, usecols=list(ADULT))
    return frame.set_axis(list(ADULT.values()), axis=1)


def counted(frame, column, secret):
    found = pd.crosstab(frame[secret], frame[column])
    return {s: row.tolist() for s, row in zip(found.index, found.to_numpy())}, found.columns.tolist()


@pytest.mark.parametrize("entry", NUMBERS, ids=lambda entry: "-".join(map(str, entry[:3])))
def test_numbers_of_the_note(people, entry):
    """Table A2; "auto" is 2/sqrt(n) rounded up to six digits, so those are a little larger."""
    column, secret, epsilon, options, errors = entry
    counts, levels = counted(people, column, secret)
    for reader_cap, error in errors.items():
        given = Channel(sees="secret", reader_cap=reader_cap, **options)
        found = best_channel(counts, levels=levels, epsilon=epsilon, options=given).expected_error
        assert found == pytest.approx(error, abs=5e-6 if options is WIDE else 6e-7)


def test_kept_shares_and_equal_weights_of_the_note(people):
    counts, levels = counted(people, "relationship", "sex")
    asked = {"levels": levels, "epsilon": 1.0}
    options = {"sees": "secret", "reader_cap": 1.0, **UNCAPPED}
    assert best_channel(counts, **asked, options=Channel(**options, preserve="marginal")).expected_error == (
        pytest.approx(0.12945, abs=5e-6)
    )
    counts, levels = counted(people, "education-num", "race")
    found = best_channel(counts, levels=levels, epsilon=1.0, options=Channel(**options, weights="secrets"))
    shares = {s: sum(row) / sum(map(sum, counts.values())) for s, row in counts.items()}
    assert sum(shares[s] * error for s, error in found.errors.items()) == pytest.approx(0.13749, abs=5e-5)
    assert found.expected_error == pytest.approx(sum(found.errors.values()) / 5, rel=1e-9)


def test_the_closed_form_of_two_values(people):
    """F2: the cheaper of the two moves, where the other value does not bind."""
    counts, levels = counted(people, "income", "sex")
    rows = {s: sum(row) for s, row in counts.items()}
    share = {s: rows[s] / sum(rows.values()) for s in rows}
    rich = {s: counts[s][1] / rows[s] for s in rows}
    most = math.e
    over = rich["Male"] - most * rich["Female"]
    assert over > 0
    assert rich["Male"] <= most / (1 + most)
    assert rich["Female"] <= 1 / (1 + most)
    least = min(share["Male"] * over, share["Female"] * over / most)
    errors = [0.000996886, 0.001258513, 0.001761087, 0.003602240]
    assert least == pytest.approx(errors[0], abs=1e-9)
    for reader_cap, error in zip((None, 2.0, 1.0, 0), errors, strict=True):
        options = Channel(sees="secret", reader_cap=reader_cap, **UNCAPPED)
        found = best_channel(counts, levels=levels, epsilon=1.0, options=options)
        assert found.expected_error == pytest.approx(error, abs=1e-9)


# --- Releases ---------------------------------------------------------------------------------------------------------

KINDS = ("pandas", "pandas-nullable", "polars", "polars-lazy", "pyarrow", "duckdb")
SEEING = Channel(sees="secret", cells=6)


def rows_of(seed, count=900):
    """Rows whose label and number depend on the secret; no text of a secret is a part of any other text."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 3, count)
    value = (group + rng.integers(0, 3, count)) % 4
    return {
        "guild": [f"zqguild{k}" for k in group],
        "year": [int(k) for k in group * 7 + 1900],
        "flag": [bool(k) for k in group > 0],
        "town": [("bath", "cork", "hull", "york")[k] for k in value],
        "pet": [("cat", "dog")[k] for k in (group + rng.integers(0, 2, count)) % 2],
        "score": (30.0 * group + rng.normal(0, 40, count)).tolist(),
    }


def entries(released, name):
    """A column of a release of any kind, as a list."""
    released = run(released)
    if isinstance(released, pd.DataFrame | pl.DataFrame):
        return released[name].to_list() if isinstance(released, pl.DataFrame) else released[name].tolist()
    return (released if isinstance(released, pa.Table) else pa.table(released.arrow().read_all()))[name].to_pylist()


def quietly(call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", puffer_frames.PufferWarning)
        return call()


@pytest.mark.parametrize(
    ("secret", "public"),
    [("guild", ["town"]), (["guild", "flag"], ["town", "pet"]), ("year", ["score"]), ("flag", ["town"])],
    ids=str,
)
def test_every_kind_of_frame_has_the_same_labels(secret, public):
    columns = rows_of(1)
    names = [*([secret] if isinstance(secret, str) else secret), *public]
    found = {}
    for kind in KINDS:
        frame = build_frame(kind, {name: columns[name] for name in names})
        asked = {"secret": secret, "public": public, "epsilon": 0.4, "mechanism": SEEING, "rng": 5}
        released = quietly(lambda frame=frame, asked=asked: puffer_frames.privatize(frame, **asked))
        found[kind] = [entries(released, name) for name in public]
    assert all(own == found["pandas"] for own in found.values())
    assert found["pandas"] != [columns[name] for name in public]


def test_labels_have_the_law_of_their_secret():
    """Chi-square for each value and secret, against the weights."""
    columns = rows_of(2, 30000)
    frame = pl.DataFrame({name: columns[name] for name in ("guild", "town")})
    plan = frame.puffer.calibrate(secret="guild", public="town", epsilon=0.4, mechanism=SEEING)
    released = plan.release(frame, rng=3)
    channel = plan.channels["town"]
    drawn = pd.Series(released["town"].to_list())
    for secret, matrix in channel.matrices.items():
        for level, law in zip(channel.inputs, matrix, strict=True):
            mine = np.array((frame["guild"] == secret) & (frame["town"] == level))
            if not mine.any():
                continue
            often = np.array([(drawn[mine] == output).sum() for output in channel.outputs])
            expected = law * mine.sum()
            sure = expected > 5
            rest = often[~sure].sum(), expected[~sure].sum()
            statistic = ((often - expected)[sure] ** 2 / expected[sure]).sum()
            statistic += (rest[0] - rest[1]) ** 2 / rest[1] if rest[1] > 1 else 0.0
            assert statistic < chi2.ppf(1 - 1e-4, len(law)), (secret, level)
            assert rest[0] <= rest[1] + 5 * math.sqrt(rest[1]) + 3
    one, other, *_ = channel.matrices.values()
    assert np.abs(one - other).max() > 0.05  # so a draw of another secret's row would be found


def test_more_pairs_of_value_and_secret_than_there_may_be_levels():
    rng = np.random.default_rng(0)
    laws = rng.dirichlet(np.full(8, 0.5), 33)
    group = rng.integers(0, 33, 6000)
    value = [int(rng.choice(8, p=laws[k])) for k in group]
    frame = pd.DataFrame({"g": [f"g{k}" for k in group], "x": [f"v{k}" for k in value]})
    options = Channel(sees="secret", radius=0, cap=None)
    plan = quietly(lambda: frame.puffer.calibrate(secret="g", public="x", epsilon=2.0, mechanism=options))
    released = quietly(lambda: plan.release(frame))
    assert plan.channels["x"].weights.shape[0] == 264
    assert set(released["x"]) <= set(frame["x"])


def test_missing_rare_and_declared_levels():
    columns = rows_of(3)
    frame = pd.DataFrame({name: columns[name] for name in ("guild", "town")})
    frame.loc[:2, "town"], frame.loc[frame["town"] == "york", "town"] = "ryde", None
    asked = {"secret": "guild", "public": "town", "epsilon": 0.4, "mechanism": SEEING}
    merging = asked | {"mechanism": replace(SEEING, merge_rare=5)}
    plan = quietly(lambda: frame.puffer.calibrate(**merging, nulls="level"))
    assert set(plan.channels["town"].inputs) == {"bath", "cork", "hull", "other", None}
    assert quietly(lambda: plan.release(frame))["town"].isna().any()
    town = [*dict.fromkeys(columns["town"]), "ryde", "never"]
    whole = frame.assign(town=columns["town"])
    plan = quietly(lambda: whole.puffer.calibrate(**asked, domain={"town": town}))
    task = task_of(
        {s: [int(n) for n in plan.column.counts[s]] for s in plan.channels["town"].secrets},
        levels=town,
        epsilon=0.4,
        options=SEEING,
    )
    assert list(plan.channels["town"].inputs) == town
    assert faults(on_all_levels(plan.channels["town"], task), task) == []


def test_secrets_of_columns_apart_are_refused():
    frame = pd.DataFrame(rows_of(4))
    with pytest.raises(puffer_frames.errors.ArgumentError, match="secrets"):
        frame.puffer.privatize(
            secret=["guild", "flag"],
            public="town",
            epsilon=0.4,
            mechanism=SEEING,
            secrets="each",
            layout=Layout(keep=[]),
        )


def seeing_plan(frame, **options):
    given = Channel(sees="secret", **options)
    return quietly(lambda: frame.puffer.calibrate(secret="guild", public="town", epsilon=0.4, mechanism=given))


def test_other_rows_with_an_unknown_secret_are_refused_without_its_name():
    columns = rows_of(5)
    frame = pd.DataFrame({name: columns[name] for name in ("guild", "town")})
    plan = seeing_plan(frame)
    others = frame.iloc[:300].assign(guild=["zqguildsecret", *frame["guild"][1:300]])
    with pytest.raises(puffer_frames.errors.PufferError) as caught:
        plan.release(others, allow_other_frame=True)
    assert "bath" not in str(caught.value)
    with pytest.raises(puffer_frames.errors.PufferError, match="guild"):
        plan.release(frame.drop(columns="guild"), allow_other_frame=True)


def test_the_secret_is_in_nothing_that_leaves(tmp_path):
    columns = rows_of(6)
    frame = pd.DataFrame({name: columns[name] for name in ("guild", "town")})
    released = quietly(lambda: frame.puffer.privatize(secret="guild", public="town", epsilon=0.4, mechanism=SEEING))
    assert list(released.columns) == ["town"]
    record = certificate_of(released).to_dict()
    released.attrs.clear()  # with it goes the certificate, which names the secrets that it covers
    released.to_parquet(tmp_path / "out.parquet")
    assert b"zqguild" not in (tmp_path / "out.parquet").read_bytes()
    named = record.pop("secret_values")
    assert set(named) == {"zqguild0", "zqguild1", "zqguild2"}
    assert "zqguild" not in json.dumps(record)
    lazy = quietly(
        lambda: pl.LazyFrame(frame).puffer.privatize(secret="guild", public="town", epsilon=0.4, mechanism=SEEING)
    )
    assert lazy.collect_schema().names() == ["town"]


@pytest.mark.parametrize(
    ("options", "most"),
    [({}, "1"), ({"reader_cap": 0.2}, "0.2"), ({"reader_cap": None}, "8"), ({"reader_cap": None, "cap": None}, None)],
    ids=str,
)
def test_plan_and_certificate_say_what_a_reader_learns_who_knows_the_value(options, most):
    columns = rows_of(6)
    frame = pd.DataFrame({name: columns[name] for name in ("guild", "town")})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        plan = frame.puffer.calibrate(
            secret="guild", public="town", epsilon=0.4, mechanism=Channel(sees="secret", **options)
        )
    assert any("reader_cap" in str(each.message) for each in caught) == (options.get("reader_cap", 1) is None)
    certificate = certificate_of(quietly(lambda: plan.release(frame)))
    texts, text = {each.key: each.text for each in certificate.statements}, " ".join(str(plan).split())
    assert "channel-unlike" in texts
    assert certificate.channels["town"]["sees"] == "secret"
    if most is None:
        assert "channel-reader-any" in certificate.warnings
        assert "NOTHING BOUNDS" in text
        assert "channel-reader" not in texts
        assert certificate.channels["town"]["reader_loss"] is None
    else:
        assert f"log-odds of two secrets by at most {most}." in texts["channel-reader"]
        assert "under any law of these levels: pure loss at most 8 " in text  # and not 8.00001, beside a cap of 8
        assert f"who knows the value a loss of at most {most}, and" in text
        assert certificate.channels["town"]["reader_loss"] == float(most)
    alone = frame.puffer.calibrate(secret="guild", public="town", epsilon=0.4, mechanism=Channel())
    certificate = certificate_of(quietly(lambda: alone.release(frame)))
    assert "sees" not in certificate.channels["town"]
    assert not any(each.key.startswith(("channel-reader", "channel-unlike")) for each in certificate.statements)


# --- Files ------------------------------------------------------------------------------------------------------------


def test_a_plan_from_a_file_is_the_plan(tmp_path):
    columns = rows_of(7)
    frame = pd.DataFrame({name: columns[name] for name in ("guild", "town")})
    plan = seeing_plan(frame)
    plan.save(tmp_path / "plan.json")
    again = load_plan(tmp_path / "plan.json")
    assert np.array_equal(plan.channels["town"].weights, again.channels["town"].weights)
    assert plan.channels["town"].errors == again.channels["town"].errors
    assert plan.release(frame, rng=1).equals(again.release(frame, rng=1))


@pytest.mark.parametrize(
    "options", [{"preserve": "marginal", "weights": "secrets"}, {"radius": 0, "cap": None}], ids=str
)
def test_other_plans_from_a_file_are_the_plan(options, tmp_path):
    columns = rows_of(7)
    frame = pd.DataFrame({name: columns[name] for name in ("guild", "town")})
    plan = seeing_plan(frame, **options)
    plan.save(tmp_path / "plan.json")
    assert load_plan(tmp_path / "plan.json").channels["town"].errors == plan.channels["town"].errors


def edited_options(name, entry):
    def edit(plan):
        for place in (plan["request"]["mechanism"], plan["options"], plan["channel"]["problem"]):
            if name in place:
                place[name] = entry

    return edit


def reordered(plan):
    groups = plan["channel"]["problem"]["groups"]
    plan["channel"]["problem"]["groups"] = {secret: groups[secret] for secret in reversed(groups)}


def swapped(plan):
    groups = plan["channel"]["problem"]["groups"]
    groups["zqguild0"], groups["zqguild1"] = groups["zqguild1"], groups["zqguild0"]


def halved_errors(plan):
    times = plan["channel"]["problem"]["times"]
    plan["channel"]["problem"]["times"] = {secret: 2 * number for secret, number in times.items()}


EDITS = {
    "smaller reader cap": edited_options("reader_cap", 0.2),
    "larger reader cap": edited_options("reader_cap", 5.0),
    "no reader cap": edited_options("reader_cap", None),
    "reader cap of 0": edited_options("reader_cap", 0),
    "value alone": edited_options("sees", "value"),
    "weights of rows": edited_options("weights", "rows"),
    "secrets in another order": reordered,
    "inputs of other secrets": swapped,
    "errors by secret": halved_errors,
    "errors by secret, none": lambda plan: plan["channel"]["problem"].update(times=None),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_an_edited_plan_with_a_new_digest_is_not_believed(edit, tmp_path):
    columns = rows_of(7)
    plan = seeing_plan(pd.DataFrame({name: columns[name] for name in ("guild", "town")}), weights="secrets")
    plan.save(tmp_path / "plan.json")
    found = json.loads((tmp_path / "plan.json").read_text())
    edit(found["plan"]["plan"])
    found["digest"] = digest_of(found["plan"], schema=found["schema"])
    (tmp_path / "plan.json").write_text(json.dumps(found))
    with pytest.raises(puffer_frames.errors.PlanFileError):
        load_plan(tmp_path / "plan.json")


@pytest.mark.parametrize("weights", ["rows", "secrets"])
def test_the_error_in_cells_is_that_of_the_rows_of_each_secret(weights, tmp_path):
    """By every row and output: within a cell the rows of one secret are nearer to a median than those of another."""
    columns = rows_of(12, 3000)
    frame = pd.DataFrame({"guild": columns["guild"], "score": np.array(columns["score"]) ** 3})
    options = Channel(sees="secret", cells=5, weights=weights)
    plan = quietly(lambda: frame.puffer.calibrate(secret="guild", public="score", epsilon=0.4, mechanism=options))
    found, errors = plan.channels["score"], {}
    for secret, matrix in found.matrices.items():
        scores = frame["score"][frame["guild"] == secret].to_numpy()
        away = np.abs(scores[:, None] - np.array(found.outputs))
        errors[secret] = (matrix[np.searchsorted(plan.column.edges, scores, side="right")] * away).sum(axis=1).mean()
    assert found.errors == pytest.approx(errors, rel=1e-9)
    shares = frame["guild"].value_counts(normalize=True) if weights == "rows" else dict.fromkeys(errors, 1 / 3)
    assert plan.expected_error["score"] == pytest.approx(sum(shares[s] * e for s, e in errors.items()), rel=1e-9)
    plan.save(tmp_path / "plan.json")
    assert load_plan(tmp_path / "plan.json").channels["score"].errors == pytest.approx(found.errors, rel=1e-12)
    stored = json.loads((tmp_path / "plan.json").read_text())
    costs = stored["plan"]["plan"]["column"]["costs"]
    first, second, *_ = costs
    costs[first], costs[second] = costs[second], costs[first]
    stored["digest"] = digest_of(stored["plan"], schema=stored["schema"])
    (tmp_path / "plan.json").write_text(json.dumps(stored))
    with pytest.raises(puffer_frames.errors.PlanFileError):
        load_plan(tmp_path / "plan.json")


def test_weights_by_secret_are_rows_of_the_table_in_order():
    plan = seeing_plan(pd.DataFrame({name: rows_of(8)[name] for name in ("guild", "town")}))
    found = plan.channels["town"]
    task = task_of(
        {s: [int(n) for n in plan.column.counts[s]] for s in found.secrets},
        levels=found.inputs,
        epsilon=0.4,
        options=SEEING,
    )
    assert set(by_secret(found.weights, task)) == {"zqguild0", "zqguild1", "zqguild2"}
    assert faults(on_all_levels(found, task), task) == []


# --- Other verbs ------------------------------------------------------------------------------------------------------


def test_two_releases_of_a_column_have_no_epsilon_together(tmp_path):
    columns = rows_of(9)
    frame = pd.DataFrame({name: columns[name] for name in ("guild", "town", "pet")})
    asked = {"secret": "guild", "epsilon": 0.4}
    seeing = quietly(lambda: frame.puffer.privatize(public="town", mechanism=SEEING, **asked))
    for public, options in (("town", SEEING), ("town", Channel()), ("pet", SEEING)):
        other = frame.puffer.privatize(public=public, mechanism=options, allow_zero_noise=True, **asked)
        with pytest.raises(puffer_frames.errors.CalibrationError):
            puffer_frames.compose([certificate_of(seeing), certificate_of(other)])
    book = puffer_frames.Ledger(tmp_path / "releases.jsonl", limit=20.0)
    asked |= {"public": "town", "mechanism": SEEING, "ledger": book, "about": {"dataset": "d"}}
    frame.puffer.privatize(**asked)
    with pytest.raises(puffer_frames.errors.LedgerError):
        frame.puffer.privatize(**asked)


def test_audit_and_estimate():
    """The audit passes a right release, and no estimate takes the mean of the matrices for the channel."""
    columns = rows_of(10)
    frame = pd.DataFrame({name: columns[name] for name in ("guild", "town")})
    released = frame.puffer.privatize(secret="guild", public="town", epsilon=0.4, mechanism=SEEING)
    assert puffer_frames.audit(frame, released, level=0.9999999).passed
    with pytest.raises(puffer_frames.errors.ArgumentError):
        released.puffer.estimate().value_counts("town")
