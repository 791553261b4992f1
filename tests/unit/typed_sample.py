"""What type checkers know of a release; `test_editors` runs them on this file."""

from typing import assert_type

import pandas as pd
import polars as pl

import puffer_frames
from puffer_frames import Certificate, Noise, Plan, PufferTransformer

table = pd.DataFrame({"group": list("abab"), "score": [1, 2, 3, 4]})
people = pl.DataFrame({"group": list("abab"), "score": [1, 2, 3, 4]})
plan = people.lazy()

assert_type(puffer_frames.of(table).privatize(secret="group", public="score", epsilon=1.0), pd.DataFrame)
assert_type(puffer_frames.of(people).privatize(secret="group", public=["score"], epsilon=1.0), pl.DataFrame)
assert_type(puffer_frames.of(plan).privatize(secret="group", public="score", epsilon=1.0), pl.LazyFrame)
assert_type(puffer_frames.of(plan).collect(), pl.DataFrame)
assert_type(puffer_frames.of(plan).aggregate(unit="group", value="score", epsilon=1.0), pl.DataFrame)
assert_type(puffer_frames.of(table).aggregate(unit="group", value="score", epsilon=1.0), pd.DataFrame)
assert_type(puffer_frames.of(people).histogram(state="group", time="score", epsilon=1.0), pl.DataFrame)
assert_type(puffer_frames.of(people).calibrate(secret="group", public="score", epsilon=1.0), Plan | Plan)
assert_type(puffer_frames.of(table).certificate, Certificate)
assert_type(PufferTransformer(secret="group", public="score", epsilon=1.0).fit(people).certificates_, list[Certificate])

assert_type(puffer_frames.privatize(table, secret="group", public="score", epsilon=1.0), pd.DataFrame)
assert_type(puffer_frames.privatize(people, secret="group", public="score", epsilon=1.0), pl.DataFrame)
assert_type(puffer_frames.privatize(plan, secret="group", public="score", epsilon=1.0), pl.LazyFrame)
found = puffer_frames.calibrate(people, secret="group", public="score", epsilon=1.0)
assert_type(found.release(table, allow_other_frame=True), pd.DataFrame)
assert_type(found.release(people), pl.DataFrame)
assert_type(found.release(plan), pl.LazyFrame)

found.release(people, allow_drfit=True)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
puffer_frames.of(people).privatize(secret="group", public="score")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
puffer_frames.of(people).privatize(secret="group", public="score", epsilon="1")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
puffer_frames.of(people).privatize(secret="group", public="score", epsilon=1.0, mechanism=Noise(theorem="gmn"))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
puffer_frames.of(table).collect()  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
people.puffer.privatize()  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
