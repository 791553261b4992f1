"""Releases a frame of Spark Connect by number and by position, and prints what became of it as JSON.

The first argument is the server, as `SparkSession.builder.remote` takes it.
"""

import json
import os
import sys

import pandas as pd
from pyspark.sql import SparkSession

import puffer_frames
from puffer_frames import Layout

ASKED = {"secret": "group", "public": "value", "epsilon": 1.0, "rng": 3}
REQUESTS = {"by number": {**ASKED, "layout": Layout(row_id="id", keep="kept")}, "by position": ASKED}


def rows():
    """Every group and value, some more often."""
    found = [(k, "ab"[k % 2], k % 7 + 2 * (k % 2), k % 5) for k in range(400)]
    return pd.DataFrame(found, columns=["id", "group", "value", "kept"]).sample(
        frac=1, random_state=0, ignore_index=True
    )


def main():
    os.environ["PYSPARK_PYTHON"] = sys.executable
    options = {"spark.ui.enabled": "false", "spark.log.level": "OFF", "spark.sql.shuffle.partitions": "2"}
    session = SparkSession.builder.config(map=options).remote(sys.argv[1]).getOrCreate()
    frame = session.createDataFrame(rows())
    found = {}
    for name, request in REQUESTS.items():
        released = puffer_frames.privatize(frame, **request)
        certificate = puffer_frames.certificate_of(released)
        found[name] = {
            "kind": type(released).__module__,
            "values": sorted(map(list, released.toPandas().itertuples(index=False))),
            "scale": certificate.scales["value"],
            "verdict": certificate.verify(released),
        }
    json.dump(found, sys.stdout)
    session.stop()


if __name__ == "__main__":
    main()
