"""Train a classifier of income on released columns: how much of its power is left?

The labels are the raw incomes, in training too: they are not part of the release, and beside it they would tell more.

Run: python examples/classifier.py FOLDER, the folder with adult.data and adult.test of the UCI Adult data set.
"""

import sys
from pathlib import Path

import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

import puffer_frames
from puffer_frames import Noise

COLUMNS = {"age": 0, "education_num": 4, "race": 8, "hours": 12, "income": 14}
PUBLIC = ["age", "education_num", "hours"]


def read(path):
    """The columns that are used."""
    frame = pd.read_csv(path, header=None, skipinitialspace=True, usecols=list(COLUMNS.values()), comment="|")
    frame.columns = list(COLUMNS)
    return frame.assign(rich=frame["income"].str.startswith(">50K"))


def auc(rows, target, test):
    """Of a classifier that is trained on these rows, on raw ones."""
    model = HistGradientBoostingClassifier(random_state=0, min_samples_leaf=200, learning_rate=0.05)
    model.fit(rows.to_numpy(), target)
    return roc_auc_score(test["rich"], model.predict_proba(test[PUBLIC].to_numpy())[:, 1])


def main():
    """Print the AUC of three training sets."""
    folder = Path(sys.argv[1])
    train, test = read(folder / "adult.data"), read(folder / "adult.test")
    print("labels: the raw income, which is not released")
    print(f"raw columns        AUC {auc(train[PUBLIC], train['rich'], test):.3f}")
    for name, theorem in (("joint scales", "auto"), ("bounded columns", "bounded")):
        released = puffer_frames.privatize(
            train, secret="race", public=PUBLIC, epsilon=1.0, mechanism=Noise(theorem=theorem), rng=0
        )
        scales = released.puffer.certificate.scales
        found = auc(released[PUBLIC], train["rich"], test)
        print(f"{name:<18} AUC {found:.3f}  noise {', '.join(f'{c} {b:.1f}' for c, b in scales.items())}")


if __name__ == "__main__":
    main()
