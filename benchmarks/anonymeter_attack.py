"""The inference attack of anonymeter beside an audit's guessers: adult.data, sex from age, education and hours.

Two steps, since anonymeter needs NumPy below 1.27, in an environment of its own:

    python benchmarks/anonymeter_attack.py export attack.csv
    python -m venv other && other/bin/pip install anonymeter
    other/bin/python benchmarks/anonymeter_attack.py attack attack.csv

anonymeter guesses the secret of a target by the nearest row of a table that holds secrets. A release holds none. So the
attacker is given more than a reader has: half of the released rows with their secrets.
"""

import sys
from pathlib import Path

import pandas as pd

DATA = Path(__file__).parents[2] / "shared" / "data" / "adult.data"
COLUMNS = {0: "age", 4: "education_num", 9: "sex", 12: "hours"}
PUBLIC = ["age", "education_num", "hours"]


def export(path):
    import puffer_frames

    people = pd.read_csv(DATA, header=None, skipinitialspace=True, usecols=list(COLUMNS)).rename(columns=COLUMNS)
    released = puffer_frames.privatize(people, secret="sex", public=PUBLIC, epsilon=1.0)
    (pair,) = puffer_frames.audit(people, released).pairs
    print(f"audit: accuracy {pair.accuracy_before:.3f} before, {pair.accuracy_after:.3f} after, sexes equally likely")
    print(f"advantage {pair.advantage:.3f}, of {pair.advantage_bound:.3f}; learned {pair.advantage_learned:.3f}")
    beside = released[PUBLIC].add_prefix("released_")
    # as many of both sexes, so that both figures have the same guesses to be compared with
    rows = pd.concat([people, beside], axis=1).groupby("sex").sample(10_000, random_state=0)
    rows.sample(frac=1, random_state=0).to_csv(path, index=False)


def attack(path):
    from anonymeter.evaluators import InferenceEvaluator

    rows = pd.read_csv(path)
    for prefix in ("", "released_"):
        names = [prefix + name for name in PUBLIC]
        table = rows[[*names, "sex"]]
        parts = [table.iloc[k::4].reset_index(drop=True) for k in range(4)]
        known, targets, control = pd.concat(parts[:2], ignore_index=True), parts[2], parts[3]
        evaluator = InferenceEvaluator(
            ori=targets, syn=known, control=control, aux_cols=names, secret="sex", n_attacks=2000
        )
        evaluator.evaluate(n_jobs=1)
        found = evaluator.results(confidence_level=0.99)
        guessed, blind = found.attack_rate, found.baseline_rate
        print(
            f"anonymeter, {prefix or 'raw '}columns: right {guessed.value:.3f} +- {guessed.error:.3f}, "
            f"blind {blind.value:.3f} +- {blind.error:.3f}"
        )


if __name__ == "__main__":
    {"export": export, "attack": attack}[sys.argv[1]](sys.argv[2])
