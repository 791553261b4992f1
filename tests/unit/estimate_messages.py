"""Messages of estimates from a release."""

import functools
import tempfile
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
from request_messages import FRAME, MARK

from puffer_frames import Channel, Layout, Ledger, Noise, Stable, Strata, Unit, calibrate, estimate, ledger, privatize
from puffer_frames.verbs.ledgers import locked_lines
from puffer_frames.verbs.ledgers.locked_lines import locked

RNG = np.random.default_rng(5)
ROWS = 900
GROUP = RNG.choice(["a", "b"], ROWS)
STAFF = pd.DataFrame(
    {
        "group": GROUP,
        "age": RNG.integers(20, 60, ROWS) + 2 * (GROUP == "a"),
        "wage": RNG.integers(1, 30, ROWS) + (GROUP == "a"),
        "town": RNG.choice(["x", "y"], ROWS),
        "hobby": RNG.choice(["go", "tag", "golf"], ROWS),
        "grade": RNG.integers(1, 4, ROWS),
    }
)
ASKED = {"secret": "group", "public": "age", "epsilon": 2.0, "layout": Layout(keep=["town", "grade"]), "rng": 1}


@functools.cache
def _estimator(**options):
    return estimate(_release(**options))


def _release(**options):
    return privatize(STAFF, **(ASKED | options))


def _few():
    """Two rows of a release."""
    return _release(public="age").head(2).puffer.estimate()


def _rounded():
    """In a release that lacks a row, so that no fingerprint tells."""
    return estimate(_release().round(1).tail(ROWS - 1))


def _with(**changes):
    """The release with a certificate that was changed."""
    released = _release(layout=Layout(keep=("town", "grade"), round=True)) if "processed" in changes else _release()
    return estimate(released, replace(released.puffer.certificate, **changes))


def _labels(**options):
    return _estimator(public="hobby", **options)


def _matrix(matrix):
    """A channel whose published table is another one."""
    released = _release(public="hobby", mechanism=Channel(publish_matrix=True))
    certificate = released.puffer.certificate
    changed = {"hobby": {**certificate.channels["hobby"], "matrix": matrix}}
    return estimate(released, replace(certificate, channels=changed)).value_counts("hobby")


def _relabelled(label, **options):
    """A release in which one label is another."""
    released = _release(**options)
    released.loc[0, "hobby"] = label
    return released.head(ROWS - 1).puffer.estimate().value_counts("hobby")


def _strata(town=None, *, drop=False):
    """A release with noise by town, which was changed."""
    released = _release(layout=Layout(keep=()), given=Strata("town", minimum=1))
    if drop:
        released = released.drop(columns="town")
    elif town is not None:
        released.loc[0, "town"] = town
    return released.head(ROWS - 1).puffer.estimate().mean("age")


def _unit(target):
    turn = (STAFF.groupby("group").cumcount() // 2).astype(str)
    frame = STAFF.assign(who=STAFF["group"] + turn)
    released = privatize(
        frame, **ASKED | {"layout": Layout(keep=()), "unit": Unit("who", rows="independent"), "epsilon": 9.0}
    )
    return estimate(released, target=target)


BOTH = {"public": ("age", "wage")}
GRADE = {"public": "grade", "layout": Layout(keep="town"), "mechanism": Channel(publish_matrix=True)}


def own(bad, good, **options):
    """Either question of the estimates from one release."""
    return lambda: bad(_estimator(**options)), lambda: good(_estimator(**options))


def of(question, bad, good):
    """One question of the estimates from releases with either options."""
    return lambda: question(_estimator(**bad)), lambda: question(_estimator(**good))


ESTIMATES = {
    "an estimate from answers": (
        lambda: estimate(STAFF.head(200).puffer.aggregate(value="wage", epsilon=1.0, protect="value", domain=(0, 40))),
        lambda: STAFF.head(200).puffer.aggregate(value="wage", epsilon=1.0, protect="value", domain=(0, 40)),
    ),
    "an estimate without a certificate": (lambda: estimate(STAFF), lambda: estimate(_release())),
    "an estimate with a path for a certificate": (
        lambda: estimate(_release(), "released.json"),
        lambda: estimate(_release(), _release().puffer.certificate),
    ),
    "an estimate of another target": (lambda: estimate(_release(), target="rows"), lambda: estimate(_release())),
    "an estimate from rows twice": (
        lambda: estimate(pd.concat([_release()] * 2, ignore_index=True), _release().puffer.certificate),
        lambda: estimate(_release(), _release().puffer.certificate),
    ),
    "an estimate from changed rows": (
        lambda: estimate(_release().assign(age=lambda t: 3 * t["age"])),
        lambda: estimate(_release()).mean("age"),
    ),
    "an estimate from some rows twice": (
        lambda: estimate(pd.concat([_release().head(99)] * 2, ignore_index=True)).mean("age"),
        lambda: estimate(_release().head(99)).mean("age"),
    ),
    "the population of units": (lambda: _unit("population"), lambda: _unit("table")),
    "a mean of rounded values": (
        lambda: _estimator(layout=Layout(keep=("town", "grade"), round=True)).mean("age"),
        lambda: _estimator(layout=Layout(keep=("town", "grade"), round=True)).quantile("age"),
    ),
    "a mean under heavy tails": (
        lambda: _estimator(mechanism=Noise(Stable(alpha=1.0))).mean("age"),
        lambda: _estimator(mechanism=Noise(Stable(alpha=1.0))).quantile("age"),
    ),
    "a mean of remapped values": of(lambda e: e.mean("age"), {"mechanism": Noise(remap=True)}, {"mechanism": "noise"}),
    "a mean of a channel": of(lambda e: e.mean("age"), {"mechanism": "channel"}, {"mechanism": "noise"}),
    "a variance of a channel with a table": own(lambda e: e.var("grade"), lambda e: e.value_counts("grade"), **GRADE),
    "a mean by random labels and noisy numbers": (
        lambda: _estimator(public=("age", "wage", "hobby"), mechanism="noise").mean("age", by=["hobby", "wage"]),
        lambda: _estimator(public=("age", "wage", "hobby"), mechanism="noise").mean("age", by=["hobby", "town"]),
    ),
    "a mean of random labels": (
        lambda: _estimator(public=("age", "hobby"), mechanism="noise").mean("hobby", by="town"),
        lambda: _estimator(public=("age", "hobby"), mechanism="noise").mean("age", by="hobby"),
    ),
    "weights with noise": (
        lambda: _estimator(**BOTH).mean("age", weights="wage"),
        lambda: _estimator(**BOTH).mean("age", weights="grade"),
    ),
    "a correlation of one column": (lambda: _estimator().corr("age"), lambda: _estimator().corr("age", "grade")),
    "a mean of labels": (lambda: _estimator().mean("town"), lambda: _estimator().value_counts("town")),
    "a mean of rounded values afterwards": (lambda: _rounded().mean("age"), lambda: estimate(_release()).mean("age")),
    "a mean of missing values": (
        lambda: _release().head(99).assign(age=lambda t: t["age"].where(t.index > 3)).puffer.estimate().mean("age"),
        lambda: _release().loc[lambda t: t.index > 3].puffer.estimate().mean("age"),
    ),
    "a mean under noise of a later version": (
        lambda: _with(noise="logistic").mean("age"),
        lambda: _with(noise="Laplace").mean("age"),
    ),
    "rounded values of an earlier certificate": (
        lambda: _with(processed={}).quantile("age"),
        lambda: estimate(_release()).quantile("age"),
    ),
    "a mean by noisy values": own(lambda e: e.mean("age", by="wage"), lambda e: e.mean("age", by="town"), **BOTH),
    "a mean by one column twice": (
        lambda: _estimator().mean("age", by=["town", "town"]),
        lambda: _estimator().mean("age", by=["town"]),
    ),
    "a mean of no column": (lambda: _estimator().mean("salary"), lambda: _estimator().mean("age")),
    "a variance with a broken ddof": (lambda: _estimator().var("age", ddof=-1), lambda: _estimator().var("age")),
    "a covariance of one column": (lambda: _estimator().cov("age"), lambda: _estimator().var("age")),
    "a regression on y itself": (
        lambda: _estimator().regress("age", on=["age", "grade"]),
        lambda: _estimator().regress("age", on=["grade"]),
    ),
    "a regression on what the noise swamps": (
        lambda: _estimator(public="wage", epsilon=0.05, mechanism=Noise(theorem="bounded")).regress("grade", on="wage"),
        lambda: _estimator(public="wage", epsilon=9.0).regress("grade", on="wage"),
    ),
    "a regression on a constant": (
        lambda: estimate(_release(layout=Layout(keep="grade")).assign(grade=1).head(99)).regress("age", on="grade"),
        lambda: estimate(_release(layout=Layout(keep="grade"))).regress("age", on="grade"),
    ),
    "a regression of two rows": (
        lambda: _few().regress("age", on="grade"),
        lambda: _estimator().regress("age", on="grade"),
    ),
    "a quantile that the noise swamps": (
        lambda: _estimator(public="wage", epsilon=0.05, mechanism=Noise(theorem="bounded")).quantile("wage"),
        lambda: _estimator(public="wage", epsilon=9.0).quantile("wage"),
    ),
    "a share above 1": (lambda: _estimator().quantile("age", 50), lambda: _estimator().quantile("age", 0.5)),
    "a support below 0": own(lambda e: e.quantile("age", support=-1), lambda e: e.quantile("age", support=1)),
    "a support that the values refute": own(
        lambda e: e.quantile("age", support=(20, 62)), lambda e: e.quantile("age", support=range(20, 62 + 1))
    ),
    "a pair that is turned round": own(
        lambda e: e.histogram("age", support=(62, 20)), lambda e: e.histogram("age", support=1)
    ),
    "a mean with a support": own(lambda e: e.mean("age", support=(20, 62)), lambda e: e.mean("age")),
    "a support of text": (
        lambda: _estimator().quantile("age", support="integers"),
        lambda: _estimator().quantile("age", support=range(17, 91)),
    ),
    "a support of too many points": (
        lambda: _estimator().quantile("age", support=1e-6),
        lambda: _estimator().quantile("age", support=1),
    ),
    "no resamples": (lambda: _estimator().quantile("age", resamples=0), lambda: _estimator().quantile("age")),
    "too many resamples": own(lambda e: e.quantile("age", resamples=10**7), lambda e: e.quantile("age", resamples=200)),
    "an rng of text": (lambda: _estimator().quantile("age", rng="now"), lambda: _estimator().quantile("age")),
    "bins that go back": own(lambda e: e.histogram("age", [3, 2]), lambda e: e.histogram("age", range(15, 95, 5))),
    "counts of noisy numbers": own(lambda e: e.value_counts("age"), lambda e: e.histogram("age", 5, support=1)),
    "counts of columns that are not one draw": (
        lambda: _estimator().value_counts(["town", "grade"]),
        lambda: _estimator().value_counts("town"),
    ),
    "counts behind an unknown channel": (
        lambda: _labels().value_counts("hobby"),
        lambda: _labels(mechanism=Channel(publish_matrix=True)).value_counts("hobby"),
    ),
    "a mean by the secret": (
        lambda: _estimator().mean("age", by="group"),
        lambda: _estimator().mean("age", by="town"),
    ),
    "counts behind a channel that sees the secret": (
        lambda: _labels(mechanism=Channel(sees="secret")).value_counts("hobby"),
        lambda: _labels(mechanism=Channel(sees="secret", preserve="marginal")).value_counts("hobby"),
    ),
    "counts behind a table that mixes all": (
        lambda: _matrix(np.full((3, 3), 1 / 3).tolist()),
        lambda: _matrix(np.eye(3).tolist()),
    ),
    "counts of levels that are none": (
        lambda: _relabelled("chess", public="hobby", mechanism=Channel(publish_matrix=True)),
        lambda: _relabelled("go", public="hobby", mechanism=Channel(publish_matrix=True)),
    ),
    "counts of more labels than there are": (
        lambda: _relabelled("chess", public=["age", "hobby"]),
        lambda: _relabelled("go", public=["age", "hobby"]),
    ),
    "counts behind labels that say nothing": (lambda: _nothing(1e-12), lambda: _nothing(1.0)),
    "noise by a column that is gone": (lambda: _strata(drop=True), _strata),
    "noise by a column that was changed": (lambda: _strata("z"), _strata),
    "a level of intervals above 1": own(lambda e: e.mean("age").interval(95), lambda e: e.mean("age").interval(0.95)),
    "a level of intervals that is text": (
        lambda: _estimator().mean("age").to_frame("95 %"),
        lambda: _estimator().mean("age").to_frame(0.95),
    ),
    "a term that is none": own(lambda e: e.mean("age", by="town")["z"], lambda e: e.mean("age", by="town")["x"]),
    "a part of one number": (lambda: _estimator().mean("age")["x"], lambda: _estimator().mean("age").value),
}


def _nothing(cap):
    """Randomised labels of another largest loss."""
    released = _release(public=["age", "hobby"])
    certificate = released.puffer.certificate
    changed = {"hobby": {**certificate.channels["hobby"], "cap": cap}}
    return estimate(released, replace(certificate, channels=changed)).value_counts("hobby")


# Messages of ledgers and of refinements.

NAMED = {"dataset": "wages of 2026"}


def _file(text=""):
    path = Path(tempfile.mkdtemp()) / "releases.jsonl"
    path.write_text(text, encoding="utf-8")
    return path


def _entered(ledger, **options):
    return privatize(
        FRAME, **{"secret": "race", "public": "wage", "epsilon": 0.4, "about": NAMED, "ledger": ledger} | options
    )


def _written(**options):
    path = _file()
    _entered(path, **options)
    return path


def _plan_that_was_withdrawn():
    """The released plan, and its ledger."""
    import polars as pl

    path = _file()
    plan = _release_of(pl.from_pandas(FRAME).lazy(), path)
    (entry,) = Ledger(path)
    Ledger(path).withdraw(entry.entry)
    return plan


def _release_of(frame, path):
    return frame.puffer.privatize(secret="race", public="wage", epsilon=0.4, about=NAMED, ledger=path)


def _run(plan):
    return plan.puffer.collect()


def _held():
    path = _file()
    with locked(path, what="the ledger"), mock.patch.object(locked_lines, "WAIT", 0.0):
        return len(Ledger(path))


def _cut():
    path = _written()
    text = path.read_text(encoding="utf-8")
    return _file(text + text[:200])


# wages far from 0 would hide their own noise from the curator: those of the other messages are
NEAR = FRAME.assign(wage=FRAME["wage"] - MARK)
PLAN = calibrate(NEAR, secret="race", public="wage", epsilon=0.4)


def _key(mode=0o600):
    path = Path(tempfile.mkdtemp()) / "refine.key"
    if mode != 0o600:
        path.touch()
        path.chmod(mode)
    return path


def _refine(*, epsilon=1.0, key=None, frame=NEAR, released=None):
    key = _key() if key is None else key
    released = PLAN.release(NEAR, layout=Layout(refine_key=key)) if released is None else released
    return PLAN.refine(frame, released, epsilon=epsilon, key=key)


def _refined(of_the_latest):
    key = _key()
    first = PLAN.release(NEAR)
    second = _refine(released=first, key=key)
    return _refine(released=second if of_the_latest else first, key=key, epsilon=2.0)


REFINEMENTS = {
    "a release that was refined already": (lambda: _refined(False), lambda: _refined(True)),
    "a refinement with no less noise": (lambda: _refine(epsilon=0.4), lambda: _refine(epsilon=0.8)),
    "a refinement with hardly less noise": (lambda: _refine(epsilon=0.4001), lambda: _refine(epsilon=0.8)),
    "a refinement of rows in another order": (
        lambda: _refine(frame=NEAR.iloc[::-1].reset_index(drop=True)),
        lambda: _refine(),
    ),
    "a key file that others can read": (lambda: _refine(key=_key(0o644)), lambda: _refine(key=_key())),
    "a key file that is none": (
        lambda: _refine(key=_file().parent),
        lambda: _refine(key=_file().parent / "refine.key"),
    ),
    "a key file beside shuffled rows": (
        lambda: PLAN.release(NEAR, layout=Layout(shuffle=True, refine_key=_key())),
        lambda: PLAN.release(NEAR, layout=Layout(shuffle=True)),
    ),
    "values too far from 0 to be refined": (
        lambda: calibrate(FRAME, secret="race", public="wage", epsilon=0.4).refine(
            FRAME, calibrate(FRAME, secret="race", public="wage", epsilon=0.4).release(FRAME), epsilon=1.0, key=_key()
        ),
        lambda: _refine(),
    ),
}
LEDGERS = {
    "a release beyond the limit of its ledger": (
        lambda: _entered(Ledger(_file(), limit=0.3)),
        lambda: _entered(Ledger(_file(), limit=0.3), epsilon=0.3),
    ),
    "releases of which nothing is known together": (
        lambda: _entered(Ledger(_written(), limit=2.0), mechanism=Noise("gaussian"), delta=1e-6),
        lambda: _entered(Ledger(_written(), limit=2.0)),
    ),
    "a ledger beside a data set without a name": (
        lambda: _entered(_file(), about=None),
        lambda: _entered(_file(), about={"dataset": "survey of 2026"}),
    ),
    "a ledger that is none": (lambda: _entered(3), lambda: _entered(_file())),
    "a folder as a ledger": (lambda: _entered(_file().parent), lambda: _entered(_file().parent / "other.jsonl")),
    "a ledger that no release has begun": (
        lambda: ledger(_file().with_name("none.jsonl")),
        lambda: ledger(_written()),
    ),
    "a delta without a limit": (lambda: Ledger(_file(), delta=1e-6), lambda: Ledger(_file(), limit=2.0, delta=1e-6)),
    "a limit of 0": (lambda: Ledger(_file(), limit=0), lambda: Ledger(_file(), limit=2.0)),
    "a line that no release has written": (
        lambda: len(Ledger(_file("something else\n"))),
        lambda: len(Ledger(_file())),
    ),
    "a line that is cut off": (lambda: len(Ledger(_cut())), lambda: len(Ledger(_written()))),
    "a data set that the ledger does not have": (
        lambda: Ledger(_written()).total(dataset="wages"),
        lambda: Ledger(_written()).total(dataset=NAMED["dataset"]),
    ),
    "a total of no release": (lambda: Ledger(_file()).total(), lambda: Ledger(_written()).total()),
    "a release that was made from a seed": (
        lambda: Ledger(_written(rng=1)).total(),
        lambda: Ledger(_written()).total(),
    ),
    "a finished release withdrawn": (
        lambda: Ledger(path := _written()).withdraw(next(iter(Ledger(path))).entry),
        lambda: Ledger(_written()).frame["entry"],
    ),
    "a ledger that another process holds": (lambda: _held(), lambda: len(Ledger(_file()))),
    "a plan whose entry was withdrawn": (lambda: _run(_plan_that_was_withdrawn()), lambda: _entered(_file())),
}
