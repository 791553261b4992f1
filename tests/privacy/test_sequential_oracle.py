"""Whole tables against brute force: random tables whose rows and outputs are all enumerated, in sums of products."""

import dataclasses
import itertools

import numpy as np
import pytest
from conftest import few
from scipy.stats import chi2

from puffer_frames.mechanisms.channel.program import exp_below
from puffer_frames.mechanisms.sequential import release as release_module
from puffer_frames.mechanisms.sequential.fitted import Asked, ContextLaw, _contexts, base_table, make_plan
from puffer_frames.mechanisms.sequential.law import Filter, NetworkLaw, Rows, Tree, fit, k_means, nearest
from puffer_frames.mechanisms.sequential.release import RowChannels, Walk, features, lift, log_likelihoods, release
from puffer_frames.noise.stream import ReleaseKey

TOTAL = 2**62


def random_law(rng, sizes, secrets, trees, rare=1.0):
    found = []
    for _ in range(trees):
        columns = rng.permutation(len(sizes)).tolist()
        parents = [-1] * len(sizes)
        for k, column in enumerate(columns[1:], start=1):
            parents[column] = columns[rng.integers(k)]
        above = [1 if parent < 0 else sizes[parent] for parent in parents]
        tables = [rng.dirichlet(np.full(k, 0.5), (secrets, n)) + 1e-6 for k, n in zip(sizes, above)]
        tables[0][:, :, 0] *= rare
        tables = tuple(table / table.sum(axis=2, keepdims=True) for table in tables)
        found.append(Tree(parents=tuple(parents), tables=tables))
    return NetworkLaw(trees=tuple(found), shares=rng.dirichlet(np.ones(trees), secrets).T)


def every(sizes):
    return np.array(list(itertools.product(*map(range, sizes))))


def probabilities(law, secret):
    """Of all rows given a secret, from the definition."""
    found = []
    for row in every(law.sizes):
        parts = [
            share[secret]
            * np.prod(
                [
                    table[secret, row[p] if p >= 0 else 0, row[j]]
                    for j, (p, table) in enumerate(zip(tree.parents, tree.tables))
                ]
            )
            for tree, share in zip(law.trees, law.shares)
        ]
        found.append(sum(parts))
    return np.array(found)


def table_of(seed, *, blind=False):
    rng = np.random.default_rng(seed)
    sizes = tuple(int(size) for size in rng.integers(2, 4, rng.integers(3, 5)))
    secrets, trees = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    # a level that no program knows, in every other table
    rare, beliefs = (1.0, 1e-10)[rng.integers(2)], rng.integers(1, 4)
    laws = [random_law(rng, sizes, secrets, trees, rare) for _ in range(beliefs)]
    own = rng.choice(secrets, 400, p=rng.dirichlet(np.full(secrets, 3.0)))
    own[:secrets] = range(secrets)
    rows = Rows(codes=laws[0].sample(own, rng), secrets=own, sizes=sizes, groups=secrets)
    epsilon, caps = float(rng.choice([0.3, 1.0, 2.0])), rng.choice([0.0, 0.5, 1.0, 2.0], len(sizes))
    caps = np.zeros(len(sizes)) if blind else caps
    return make_plan(rows, epsilon=epsilon, laws=laws, reader_caps=caps, contexts=4, simulated=600, seed=seed), rows


def chances_of(plan, rows):
    """Hold every output to the bounds of the plan; probabilities of all outputs given each secret and row."""
    outputs, inputs = every(rows.sizes), every(rows.sizes)
    walk = Walk(plan, len(outputs))
    chances = np.ones((rows.groups, len(inputs), len(outputs)))
    for step in plan.steps:
        channels = walk.channels(step, walk.laws_of(step.column))
        size = rows.sizes[step.column]
        own = np.empty((rows.groups, size, len(outputs)))
        for secret, level in itertools.product(range(rows.groups), range(size)):
            weights = channels.weights(np.full(len(outputs), level), np.full(len(outputs), secret))
            assert (weights > 0).all()
            assert all(sum(row) == TOTAL for row in weights.tolist())
            own[secret, level] = weights[np.arange(len(outputs)), outputs[:, step.column]] / TOTAL
        ratios = own[:, None] / own
        assert ratios.max() <= np.exp(step.reader_cap) * (1 + 1e-11)
        ends = own.max(axis=1)[:, None] / own.min(axis=1)
        assert max(ends[s, t].max() for s, t in itertools.permutations(range(rows.groups), 2)) <= np.exp(8) * (
            1 + 1e-11
        )
        chances *= own[:, inputs[:, step.column]]
        walk.see(channels, outputs[:, step.column])
    for law, logs in zip(plan.laws, walk.logs):
        exact = np.array([probabilities(law, secret) @ chances[secret] for secret in range(rows.groups)])
        assert exact.sum(axis=1) == pytest.approx(np.ones(rows.groups), abs=1e-9)
        assert logs == pytest.approx(np.log(exact), abs=1e-9)
        losses = np.log(exact[:, None] / exact)
        assert losses.max() <= plan.epsilon + 1e-9
        assert losses.max() <= sum(step.most for step in plan.steps) + 1e-9
    return chances


@few(9)
@pytest.mark.parametrize("seed", range(300))
def test_loss_and_caps_of_every_output(seed):
    chances_of(*table_of(seed))


def check_draws(plan, rows):
    """Draws of a few rows have the probabilities that every output has, by chi-square; and one number one word."""
    inputs = every(rows.sizes)
    chances = chances_of(plan, rows)
    for secret, row in itertools.product(range(rows.groups), (0, len(inputs) // 2, len(inputs) - 1)):
        codes, own = np.tile(inputs[row], (DRAWS, 1)), np.full(DRAWS, secret)
        out = release(plan, codes, own, key=ReleaseKey.of(row), names="abcde"[: len(rows.sizes)])
        places = np.ravel_multi_index(tuple(out.T), rows.sizes)
        counts, expected = np.bincount(places, minlength=len(inputs)), DRAWS * chances[secret, row]
        rare = expected < 5
        pooled = np.append(expected[~rare], expected[rare].sum()) + 1e-9
        distance = ((np.append(counts[~rare], counts[rare].sum()) - pooled) ** 2 / pooled).sum()
        assert chi2.sf(distance, max((~rare).sum(), 1)) > 1e-6
    if all(step.reader_cap == 0 for step in plan.steps):  # then secrets are not seen, and equal rows come out equal
        codes, names = inputs[np.arange(500) % len(inputs)], "abcde"[: len(rows.sizes)]
        first, second = (release(plan, codes, np.full(500, s), key=ReleaseKey.of(1), names=names) for s in (0, 1))
        assert (first == second).all()


DRAWS = 20_000


def of_module(monkeypatch, name, make):
    monkeypatch.setattr(release_module, name, make(getattr(release_module, name)))


def of_channels(monkeypatch, name, make):
    monkeypatch.setattr(RowChannels, name, make(getattr(RowChannels, name)))


def bare(channels):
    """Without lifts."""
    return dataclasses.replace(channels, added=np.zeros_like(channels.added))


def raw_contexts(monkeypatch):
    """What is seen of a column is its raw value, so that later contexts and lifts are those of raw values."""
    seen = {}

    def weights(channels, codes, secrets):
        seen["codes"] = codes
        return plain(channels, codes, secrets)

    def see(walk, channels, released):
        plain_see(walk, channels, seen.get("codes", released))

    plain, plain_see = RowChannels.weights, Walk.see
    monkeypatch.setattr(RowChannels, "weights", weights)
    monkeypatch.setattr(Walk, "see", see)


def upper(allowed):
    """One order of each pair is not bounded."""
    found = allowed.copy()
    for s, t in itertools.combinations(range(allowed.shape[1]), 2):
        found[:, t, s] = 50.0
    return found


FAULTS = {
    "contexts from raw values": raw_contexts,
    "lifts for one order of a pair": lambda m: of_module(m, "lift", lambda f: lambda q, a, k: f(q, upper(a), k)),
    "lifts for one belief": lambda m: of_module(m, "lift", lambda f: lambda q, a, k: f(q[:1], a[:1], k)),
    "no lifts": lambda m: of_module(m, "lift", lambda f: lambda q, a, k: np.zeros(q.shape[1:])),
    "likelihood without the lifts": lambda m: of_channels(m, "evidence", lambda f: lambda c, y: f(bare(c), y)),
    "draws without the lifts": lambda m: of_channels(m, "weights", lambda f: lambda c, x, s: f(bare(c), x, s)),
    "lifts by a smaller reader cap": lambda m: of_module(m, "lift", lambda f: lambda q, a, k: f(q, a, 8.0)),
    "the secret in the words": lambda m: of_module(
        m, "released_with_logs", lambda f: lambda p, x, s, **o: f(p, x, s, **o | {"rows": np.arange(len(s)) + s})
    ),
    "contexts by the batch": lambda m: of_module(
        m, "nearest", lambda f: lambda x, c: f(x - x.mean(axis=0), c - c.mean(axis=0))
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_found(fault, monkeypatch):
    found = False
    for seed, blind in itertools.product(range(4), (False, True)):
        plan, rows = table_of(seed, blind=blind)
        check_draws(plan, rows)
        with monkeypatch.context() as patch:
            FAULTS[fault](patch)
            try:
                check_draws(plan, rows)
            except AssertionError:
                found = True
                break
    assert found


@pytest.mark.parametrize("cap", [0.0, 0.02, 0.5, 1.0, np.inf])
@pytest.mark.parametrize("beliefs", [1, 3])
@pytest.mark.parametrize("secrets", [2, 4])
def test_lifts_of_any_laws(secrets, beliefs, cap):
    rng = np.random.default_rng(secrets + 10 * beliefs)
    laws = rng.dirichlet(np.full(5, 0.3), (beliefs, secrets, 500))
    allowed = 10 ** rng.uniform(-3, 0, (beliefs, secrets, secrets, 500))
    added = lift(laws, allowed, cap)
    sums = added.sum(axis=2)
    assert (added >= 0).all()
    assert abs(sums / sums[0] - 1).max() < 1e-12
    raised = laws + added
    for s, t in itertools.permutations(range(secrets), 2):
        assert (raised[:, s] <= np.exp(allowed[:, s, t])[..., None] * raised[:, t]).all()
        assert (added[s] <= np.exp(cap) * (1 + 1e-12) * np.where(added[t] > 0, added[t], 1e-15)).all() or cap == np.inf


@pytest.mark.parametrize("cap", [0.0, 1e-6, 1e-3, 1.0, np.inf])
def test_caps_of_base_tables_are_exact(cap):
    rng = np.random.default_rng(1)
    for secrets in (2, 3):
        law = ContextLaw(laws=rng.dirichlet(np.full(6, 0.5), secrets), shares=rng.dirichlet(np.ones(secrets)))
        asked = Asked(most=0.25, reader_cap=cap, cap=8.0, cost=1 - np.eye(6), preserve=cap == 1)
        weights = base_table(law, asked).tolist()
        assert all(sum(row) == TOTAL for table in weights for row in table)
        for s, t in itertools.permutations(range(secrets), 2):
            for one, other in itertools.product(range(6), range(6)):
                bound = (exp_below(cap) if cap else 1) if one == other else exp_below(8.0)
                assert all(a <= bound * b for a, b in zip(weights[s][one], weights[t][other]))


@pytest.mark.parametrize("trees", [1, 3])
def test_filter_against_enumeration(trees):
    rng = np.random.default_rng(trees)
    sizes, secrets = (3, 2, 4, 3, 2), 3
    law = random_law(rng, sizes, secrets, trees)
    inputs, order = every(sizes), rng.permutation(len(sizes))
    tables = [rng.random((secrets, 5, size)) for size in sizes]
    joint = np.array([probabilities(law, secret) for secret in range(secrets)])[:, None, :] * np.ones((1, 5, 1))
    state = Filter(law)
    for column in order:
        marks = np.eye(sizes[column])[inputs[:, column]]
        exact = joint @ marks / joint.sum(axis=2, keepdims=True)
        found = np.broadcast_to(state.law_of(column), exact.shape)
        assert found == pytest.approx(exact, rel=1e-13)
        chance = state.see(tables[column])
        assert chance == pytest.approx((exact * tables[column]).sum(axis=2), rel=1e-13)
        joint = joint * tables[column][:, :, inputs[:, column]]


def test_filter_of_many_columns():
    """Messages of a star of 400 columns do not vanish, and stay those of its definition."""
    rng, columns = np.random.default_rng(0), 400
    root, leaf = rng.dirichlet(np.ones(3), (2, 1)), rng.dirichlet(np.ones(4), (2, 3))
    tree = Tree(parents=(-1, *[0] * (columns - 1)), tables=(root, *[leaf] * (columns - 1)))
    state = Filter(NetworkLaw(trees=(tree,), shares=np.ones((1, 2))))
    logs, total = np.log(root[:, 0]), np.zeros(2)
    for column in range(1, columns):
        evidence = 1e-6 * rng.random((2, 1, 4))
        state.law_of(column)
        total += np.log(state.see(evidence))[:, 0]
        logs = logs + np.log((leaf * evidence).sum(axis=2))
    assert total == pytest.approx(np.logaddexp.reduce(logs, axis=1), rel=1e-12)


def test_fit_finds_the_law_and_samples_have_it():
    rng = np.random.default_rng(3)
    law = random_law(rng, (3, 4, 2), 2, 1)
    own = rng.integers(2, size=40_000)
    rows = Rows(codes=law.sample(own, rng), secrets=own, sizes=law.sizes, groups=2)
    for components in (1, 2):
        found = fit(rows, components=components, smoothing=5.0)
        for secret in range(2):
            assert abs(probabilities(found, secret) - probabilities(law, secret)).sum() < 0.06
    again = fit(rows, components=2, smoothing=5.0)
    assert (again.shares == found.shares).all()


@pytest.fixture(scope="module")
def wide():
    rng = np.random.default_rng(5)
    law = random_law(rng, (5, 3, 9, 4, 6), 2, 2)
    own = rng.integers(2, size=3000)
    rows = Rows(codes=law.sample(own, rng), secrets=own, sizes=law.sizes, groups=2)
    return make_plan(rows, epsilon=1.0, laws=[fit(rows, components=2)], contexts=12, simulated=5000), rows


def test_rows_do_not_depend_on_their_batch(wide):
    plan, rows = wide
    key, names, count = ReleaseKey.of(7), "abcde", 2002
    whole = release(plan, rows.codes[:count], rows.secrets[:count], key=key, names=names)
    for size in (7, 1001):
        for start in range(0, count if size > 7 else 70, size):
            own = slice(start, start + size)
            numbers = np.arange(count)[own]
            part = release(plan, rows.codes[own], rows.secrets[own], key=key, names=names, rows=numbers)
            assert (part == whole[own]).all()
    for k in range(20):
        part = release(plan, rows.codes[[k]], rows.secrets[[k]], key=key, names=names, rows=np.array([k]))
        assert (part == whole[k]).all()


@pytest.mark.parametrize("size", [1, 7, 1001])
def test_contexts_do_not_depend_on_their_batch(wide, size):
    plan, rows = wide
    out, count = rows.codes[:1001], 1001 if size > 1 else 60

    def contexts(part):
        walk, found = Walk(plan, len(part)), []
        for step in plan.steps:
            channels = walk.channels(step, walk.laws_of(step.column))
            found.append(channels.contexts)
            walk.see(channels, part[:, step.column])
        return np.stack(found, axis=1)

    parts = [contexts(out[start : min(start + size, count)]) for start in range(0, count, size)]
    assert (np.concatenate(parts) == contexts(out)[:count]).all()


def test_every_released_row_keeps_epsilon(wide):
    plan, rows = wide
    out = release(plan, rows.codes, rows.secrets, key=ReleaseKey.of(1), names="abcde")
    logs = log_likelihoods(plan, out)[0]
    assert abs(logs[0] - logs[1]).max() <= 1 + 1e-9
    assert (out != rows.codes).any()


def test_plans_and_contexts_are_the_same_again_and_none_is_empty(wide):
    plan, rows = wide
    again = make_plan(rows, epsilon=1.0, laws=plan.laws, contexts=12, simulated=5000)
    assert all((a.weights == b.weights).all() and a.column == b.column for a, b in zip(plan.steps, again.steps))
    plan, _ = wide
    for step in plan.steps:
        assert len(np.unique(step.centres, axis=0)) == len(step.centres) == len(step.weights)
        assert (nearest(step.centres, step.centres) == np.arange(len(step.centres))).all()
    assert [len(plan.steps[0].weights), max(len(step.weights) for step in plan.steps)] == [1, 12]
    assert len(k_means(np.ones((9, 2)), 4, np.random.default_rng(0))) == 1


@pytest.mark.parametrize("seed", range(5))
def test_contexts_have_rows_and_differ(seed):
    rng = np.random.default_rng(seed)
    for laws in (rng.dirichlet(np.ones(3), (2, 300)), np.tile(rng.dirichlet(np.ones(3), (2, 5)), (1, 60, 1))):
        laws = laws * (1 + 1e-9 * rng.random(laws.shape))
        centres, own = _contexts(laws[None], 64, rng)
        assert np.unique(own).tolist() == list(range(len(centres)))
        assert len(np.unique(centres, axis=0)) == len(centres)
        assert (own == nearest(features(laws), centres)).all()
