"""A plan from a file releases every kind of frame as the plan does that it was made from."""

import pytest
from channel_requests import REQUESTS, columns_of, planned
from conftest import build_frame, run, thinned
from kinds import entries, make_columns

import puffer_frames
from puffer_frames import Layout, Noise, Strata, load_plan

ASKED = {
    "numbers": {},
    "several columns": {"public": ["score", "height"]},
    "labels beside numbers": {"public": ["score", "note"], "nulls": "drop"},
    "strata": {"given": Strata("old", minimum=10)},
    "two secrets": {"secret": ["group", "old"], "mechanism": Noise(remap=True)},
    "whole floats as secrets": {"secret": "code", "epsilon": 0.1},
}


@pytest.fixture(scope="module")
def frame(make_frame):
    return make_frame(make_columns())


def same(plan, frame, path):
    plan.save(path)
    again = load_plan(path)
    first, second = (run(each.release(frame, rng=7, layout=Layout(row_id="id"))) for each in (plan, again))
    assert entries(first) == entries(second)
    assert puffer_frames.certificate_of(first).to_dict() == puffer_frames.certificate_of(second).to_dict()
    return again


@pytest.mark.parametrize("name", ASKED)
def test_of_noise(frame, name, tmp_path):
    asked = {"secret": "group", "public": "score", "epsilon": 0.05} | ASKED[name]
    plan = puffer_frames.calibrate(frame, **asked)
    again = same(plan, frame, tmp_path / "plan")
    assert list(map(repr, again.rows_per_secret)) == list(map(repr, plan.rows_per_secret))
    assert again.library == plan.library


@pytest.mark.parametrize("name", thinned(list(REQUESTS), few=["text", "cells", "missing level", "rare text"]))
def test_of_a_channel(make_frame, name, tmp_path):
    frame = make_frame(columns_of(name))
    plan = puffer_frames.calibrate(frame, **({"secret": "group", "public": "town", "epsilon": 0.5} | planned(name)))
    same(plan, frame, tmp_path / "plan")


def test_a_plan_of_one_kind_of_frame_releases_another(frame, tmp_path):
    """Their rows have one checksum."""
    elsewhere = build_frame("polars", make_columns())
    plan = puffer_frames.calibrate(elsewhere, secret="group", public="score", epsilon=0.05)
    plan.save(tmp_path / "plan")
    released = run(load_plan(tmp_path / "plan").release(frame, rng=7, layout=Layout(row_id="id")))
    assert sorted(dict(entries(released))["score"]) == sorted(
        plan.release(elsewhere, rng=7, layout=Layout(row_id="id"))["score"]
    )
