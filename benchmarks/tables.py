"""A whole table released column by column: cells changed, seconds, and what attacks and a model of its target reach.

Run: python benchmarks/tables.py [--data ../shared/data] [--table adult] [--secret sex] [--epsilon 1] [--share .25]
     [--components 4] [--contexts 64] [--beliefs 1] [--rows 2000] [--drop native-country]

The reference is section B8 of the note on tables, at epsilon 1 and a share of .25: cells changed, AUC of a model of the
target that learned from the release (raw: .927 and .933), AUC of the secret by the best attack (raw: .933 of sex).
    adult by sex      .1014  .8958  .649
    bank by marital   .0673  .9255  .561 .595 .616
"""

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

from puffer_frames.mechanisms.sequential.fitted import make_plan
from puffer_frames.mechanisms.sequential.law import Rows, fit, refit
from puffer_frames.mechanisms.sequential.release import hockey_stick, log_likelihoods, release
from puffer_frames.noise.stream import ReleaseKey

DATA = Path(__file__).parents[2] / "shared" / "data"
ADULT = "age workclass fnlwgt education education-num marital-status occupation relationship race sex"
ADULT = [*ADULT.split(), "capital-gain", "capital-loss", "hours", "native-country", "income"]
DROPPED = ["fnlwgt", "education-num"]
CELLS = 16


def read(name, data):
    """Rows to plan on, and later ones."""
    if name == "bank":
        frame = pd.read_csv(data / "bank-full.csv", sep=";")
        late = np.random.default_rng(0).random(len(frame)) < 1 / 3
        return frame[~late], frame[late]
    options = {"header": None, "skipinitialspace": True, "names": ADULT}
    frames = pd.read_csv(data / "adult.data", **options), pd.read_csv(data / "adult.test", skiprows=1, **options)
    return [frame.drop(columns=DROPPED).assign(income=frame["income"].str.rstrip(".")) for frame in frames]


def edges_of(numbers):
    """Upper ends of at most 16 cells: values with a cell's share of the rows alone, the others in equal parts."""
    values, counts = np.unique(numbers, return_counts=True)
    if len(values) <= CELLS:
        return values[:-1]
    heavy = values[counts >= len(numbers) / CELLS]
    light = np.sort(numbers[~np.isin(numbers, heavy)])
    ends = np.quantile(light, np.linspace(0, 1, CELLS - len(heavy) + 1)[1:-1], method="lower")
    before = [values[values < value][-1] for value in heavy if value > values[0]]
    return np.unique([*ends, *heavy, *before])[: CELLS - 1]


def coded(frame, known):
    """Both frames in codes, and the number of levels of each column."""
    columns, sizes = [], []
    for name in frame:
        if frame[name].dtype.kind in "iuf":
            edges = edges_of(known[name].to_numpy())
            columns.append(np.searchsorted(edges, frame[name]))
            sizes.append(len(edges) + 1)
        else:
            levels = sorted(known[name].unique())
            columns.append(frame[name].map({level: code for code, level in enumerate(levels)}).fillna(-1))
            sizes.append(len(levels))
    return np.stack(columns, axis=1).astype(np.intp), tuple(sizes)


def scores(train, target, test):
    model = HistGradientBoostingClassifier(random_state=0, max_iter=150).fit(train, target)
    return model.predict_proba(test)


def aucs(truth, chances):
    """Of each secret against all others; of two, one number."""
    found = [roc_auc_score(truth == k, chances[:, k]) for k in range(chances.shape[1])]
    return " ".join(f"{auc:.4f}" for auc in (found[:1] if len(found) == 2 else found))


def bootstrap(law, rows, seed):
    own = np.random.default_rng(seed).integers(len(rows.codes), size=len(rows.codes))
    return refit(law, Rows(codes=rows.codes[own], secrets=rows.secrets[own], sizes=rows.sizes, groups=rows.groups))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--table", choices=["adult", "bank"], default="adult")
    parser.add_argument("--secret", default="sex")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--share", type=float, default=0.25)
    parser.add_argument("--drop", nargs="*", default=[], help="columns to leave out")
    for name, default in (("components", 4), ("contexts", 64), ("beliefs", 1), ("rows", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    known, later = (frame.drop(columns=options.drop) for frame in read(options.table, options.data))
    known = known.sample(options.rows, random_state=0) if options.rows else known
    levels = sorted(known[options.secret].unique())
    secrets, new_secrets = (
        pd.Categorical(frame[options.secret], categories=levels).codes.astype(np.intp) for frame in (known, later)
    )
    table, new_table = known.drop(columns=options.secret), later.drop(columns=options.secret)
    (codes, sizes), (new, _) = coded(table, table), coded(new_table, table)
    fits = (new >= 0).all(axis=1) & (new_secrets >= 0)  # an unknown level is refused
    new, new_secrets, names = new[fits], new_secrets[fits], list(table)
    rows = Rows(codes=codes, secrets=secrets, sizes=sizes, groups=len(levels))

    start = time.perf_counter()
    laws = [fit(rows, components=options.components)]
    laws += [bootstrap(laws[0], rows, seed) for seed in range(1, options.beliefs)]
    likelihood = laws[0].log_likelihood(new, new_secrets).mean()
    print(f"law: {time.perf_counter() - start:.1f} s, log-likelihood of later rows {likelihood:.3f}")
    start, cpu = time.perf_counter(), time.process_time()
    plan = make_plan(rows, epsilon=options.epsilon, laws=laws, share=options.share, contexts=options.contexts)
    print(f"plan: {time.perf_counter() - start:.1f} s, {time.process_time() - cpu:.1f} s of processors")
    print("  order:", ", ".join(f"{names[step.column]} ({len(step.weights)})" for step in plan.steps))

    start, cpu = time.perf_counter(), time.process_time()
    out = release(plan, codes, secrets, key=ReleaseKey.of(0), names=names)
    spent = time.process_time() - cpu
    print(
        f"release: {len(out) / (time.perf_counter() - start):.0f} rows a second, {len(out) / spent:.0f} of a processor"
    )
    changed = (out != codes).mean(axis=0)
    print(f"cells changed: {changed.mean():.4f}")
    print("  " + ", ".join(f"{name} {share:.3f}" for name, share in zip(names, changed, strict=True)))
    pairs = zip(codes.T, out.T, sizes, strict=True)
    apart = [abs(np.bincount(a, minlength=k) - np.bincount(b, minlength=k)).sum() for a, b, k in pairs]
    print(f"marginals: total variation {np.mean(apart) / 2 / len(out):.4f} on average")
    logs = log_likelihoods(plan, out)
    losses = (logs.max(axis=1) - logs.min(axis=1)).max(axis=0)
    print(f"loss of released rows: at most {losses.max():.12f}; 99 % {np.quantile(losses, 0.99):.3f}")

    own = np.repeat([0, 1], 20_000)
    drawn = release(plan, laws[0].sample(own, np.random.default_rng(1)), own, key=ReleaseKey.of(1), names=names)
    for name, logs in zip(
        ("law", "refit"), log_likelihoods(plan, drawn, others=[bootstrap(laws[0], rows, 99)])[[0, -1]], strict=True
    ):
        losses = logs[0] - logs[1]
        stick = hockey_stick(losses[:20_000], options.epsilon)
        tail, auc = np.quantile(abs(losses), 0.99), roc_auc_score(1 - own, losses)
        print(f"first two secrets under the {name}: delta {stick:.4f}, 99 % {tail:.3f}, AUC {auc:.4f}")

    new_out = release(plan, new, new_secrets, key=ReleaseKey.of(2), names=names)
    half = np.arange(len(new)) % 2 == 0
    print("attacks on later rows, AUC of each secret:")
    logs = log_likelihoods(plan, new_out)[0]
    chances = np.exp(logs - logs.max(axis=0)).T
    print("  likelihood", aucs(new_secrets, chances / chances.sum(axis=1, keepdims=True)))
    print("  boosting on the release", aucs(new_secrets, scores(out, secrets, new_out)))
    again = [release(plan, new[half], new_secrets[half], key=ReleaseKey.of(3 + k), names=names) for k in range(8)]
    learned = scores(np.concatenate(again), np.tile(new_secrets[half], 8), new_out[~half])
    print("  boosting on 8 releases of other later rows", aucs(new_secrets[~half], learned))
    print("  boosting on raw rows, of raw rows", aucs(new_secrets, scores(codes, secrets, new)))
    raw, learned = (scores(part[:, :-1], part[:, -1], new[:, :-1])[:, 1] for part in (codes, out))
    print(f"{names[-1]} of raw later rows: AUC {roc_auc_score(new[:, -1], learned):.4f}", end=", ")
    print(f"trained on raw rows {roc_auc_score(new[:, -1], raw):.4f}")


if __name__ == "__main__":
    main()
