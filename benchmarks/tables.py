"""Adult by sex, released column by column: cells changed, seconds, and what attacks and a model of income reach.

Run: python benchmarks/tables.py [--data ../shared/data] [--epsilon 1] [--share .25] [--components 4]

The reference is section B8 of the note on tables: at epsilon 1 and a share of .25, .1014 of the cells of 12 columns change,
income is predicted with an AUC of .8958 (.927 from raw rows), and sex with at most .65 (.933 from raw rows).
"""

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

from puffer_frames.mechanisms.sequential.law import Rows, fit
from puffer_frames.mechanisms.sequential.plan import make_plan
from puffer_frames.mechanisms.sequential.release import hockey_stick, log_likelihoods, release
from puffer_frames.noise.stream import ReleaseKey

DATA = Path(__file__).parents[2] / "shared" / "data"
NUMBERS = {0: "age", 10: "capital-gain", 11: "capital-loss", 12: "hours"}
LABELS = {1: "workclass", 3: "education", 5: "marital-status", 6: "occupation", 7: "relationship", 8: "race"}
LABELS |= {13: "native-country", 14: "income"}
NAMES = [*NUMBERS.values(), *LABELS.values()]
CELLS = 16


def read(path, **options):
    frame = pd.read_csv(path, header=None, skipinitialspace=True, **options)
    frame[14] = frame[14].str.rstrip(".")
    return frame


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


def coded(frame, edges, levels):
    columns = [np.searchsorted(edges[k], frame[k]) for k in NUMBERS]
    columns += [pd.Categorical(frame[k], categories=levels[k]).codes for k in LABELS]
    return np.stack(columns, axis=1).astype(np.intp)


def auc(train, target, test, truth):
    model = HistGradientBoostingClassifier(random_state=0, max_iter=150).fit(train, target)
    return roc_auc_score(truth, model.predict_proba(test)[:, 1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--share", type=float, default=0.25)
    parser.add_argument("--components", type=int, default=4)
    options = parser.parse_args()
    adult, later = read(options.data / "adult.data"), read(options.data / "adult.test", skiprows=1)
    edges = {k: edges_of(adult[k].to_numpy()) for k in NUMBERS}
    levels = {k: sorted(adult[k].unique()) for k in LABELS}
    sizes = (*(len(edges[k]) + 1 for k in NUMBERS), *(len(levels[k]) for k in LABELS))
    codes, new = coded(adult, edges, levels), coded(later, edges, levels)
    sex, new_sex = ((frame[9] == "Male").to_numpy().astype(np.intp) for frame in (adult, later))
    rows = Rows(codes=codes, secrets=sex, sizes=sizes, groups=2)

    start = time.perf_counter()
    law = fit(rows, components=options.components)
    print(f"law: {time.perf_counter() - start:.1f} s, log-likelihood {law.log_likelihood(codes, sex).mean():.3f} a row")
    start, cpu = time.perf_counter(), time.process_time()
    plan = make_plan(rows, epsilon=options.epsilon, laws=[law], share=options.share)
    print(f"plan: {time.perf_counter() - start:.1f} s, {time.process_time() - cpu:.1f} s of processors")
    print("  order:", ", ".join(f"{NAMES[step.column]} ({len(step.weights)})" for step in plan.steps))
    start, cpu = time.perf_counter(), time.process_time()
    out = release(plan, codes, sex, key=ReleaseKey.of(0), names=NAMES)
    spent = time.process_time() - cpu
    print(
        f"release: {len(out) / (time.perf_counter() - start):.0f} rows a second, {len(out) / spent:.0f} of a processor"
    )
    changed = (out != codes).mean(axis=0)
    print(f"cells changed: {changed.mean():.4f}")
    print("  " + ", ".join(f"{name} {share:.3f}" for name, share in zip(NAMES, changed, strict=True)))
    apart = [
        abs(np.bincount(a, minlength=k) - np.bincount(b, minlength=k)).sum() for a, b, k in zip(codes.T, out.T, sizes)
    ]
    print(f"marginals: total variation {np.mean(apart) / 2 / len(out):.4f} on average")
    logs = log_likelihoods(plan, out)[0]
    losses = logs[0] - logs[1]
    print(f"loss of released rows: at most {abs(losses).max():.12f}; 99 % {np.quantile(abs(losses), 0.99):.3f}")
    drawn = law.sample(np.repeat([0, 1], 20_000), np.random.default_rng(1))
    simulated = release(plan, drawn, np.repeat([0, 1], 20_000), key=ReleaseKey.of(1), names=NAMES)
    logs = log_likelihoods(plan, simulated)[0]
    losses = logs[0] - logs[1]
    print(
        f"simulated rows: delta at half of epsilon {hockey_stick(losses[:20_000], options.epsilon / 2):.4f}", end=", "
    )
    print(f"AUC under the law {roc_auc_score(np.repeat([1, 0], 20_000), losses):.4f}")

    new_out = release(plan, new, new_sex, key=ReleaseKey.of(2), names=NAMES)
    new_logs = log_likelihoods(plan, new_out)[0]
    half = np.arange(len(new)) % 2 == 0
    print(f"attack on new rows by likelihood: AUC {roc_auc_score(new_sex, new_logs[1] - new_logs[0]):.4f}")
    print(f"attack by boosting on the release: AUC {auc(out, sex, new_out[~half], new_sex[~half]):.4f}", end=", ")
    print(f"on raw rows {auc(codes, sex, new[~half], new_sex[~half]):.4f}")
    again = [release(plan, new[half], new_sex[half], key=ReleaseKey.of(3 + k), names=NAMES) for k in range(8)]
    reached = auc(np.concatenate(again), np.tile(new_sex[half], 8), new_out[~half], new_sex[~half])
    print(f"attack by boosting on 8 releases of other new rows: AUC {reached:.4f}")
    last = NAMES.index("income")
    others = [k for k in range(len(NAMES)) if k != last]
    raw = auc(codes[:, others], codes[:, last], new[:, others], new[:, last])
    print(
        f"income of raw new rows: AUC {auc(out[:, others], out[:, last], new[:, others], new[:, last]):.4f}", end=", "
    )
    print(f"trained on raw rows {raw:.4f}")


if __name__ == "__main__":
    main()
