"""A task for Airflow or Dagster: release tonight's table by the plan that the office has approved.

The body is a plain function. It may be run again after a failure. A release that is there and has its own values is
left as it is, so that a retry never draws a second noise for the same night.
"""

from pathlib import Path

import polars as pl

import puffer_frames


def release(source: str, target: str, plan: str, ledger: str, dataset: str) -> str:
    """Release `source` to `target` by a plan, once; returns the verdict on what is there."""
    if Path(target).exists():
        verdict = puffer_frames.read_certificate(target).verify(target)
        if not verdict.startswith(("intact", "unsigned")):
            raise RuntimeError(f"{target} is there and is {verdict}: nothing was released")
        return verdict
    rows = pl.scan_parquet(source)
    released = puffer_frames.load_plan(plan).release(
        rows, allow_other_frame=True, ledger=ledger, about={"dataset": dataset}
    )
    released.puffer.sink_parquet(target)
    return puffer_frames.read_certificate(target).verify(target)


def airflow_dag():
    """The same as a task of Airflow; where Airflow is not installed, None."""
    try:
        from airflow.sdk import dag, task
    except ImportError:
        return None

    @dag(schedule="@daily", catchup=False)
    def release_of_patients():
        @task(retries=2)
        def tonight(ds: str = ""):
            return release(
                f"/data/raw/{ds}.parquet", f"/data/public/{ds}.parquet", "/keys/plan.json", "/keys/l.jsonl", ds
            )

        tonight()

    return release_of_patients()


def dagster_asset():
    """The same as an asset of Dagster; where Dagster is not installed, None."""
    try:
        from dagster import asset
    except ImportError:
        return None

    @asset
    def released_patients() -> str:
        return release("raw.parquet", "public.parquet", "plan.json", "releases.jsonl", "patients of today")

    return released_patients


dag = airflow_dag()
asset = dagster_asset()
