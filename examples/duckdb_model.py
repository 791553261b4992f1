"""A step between two models of SQL, as in dbt: DuckDB makes the table, the release goes into another schema.

`model(dbt, session)` has the form of a Python model of dbt-duckdb. What it returns is what dbt stores: the noisy table.
Its certificate is stored beside it, as a table of one row.
"""

import json

import puffer_frames
from puffer_frames import Layout

CERTIFICATES = "certificates"


def model(dbt, session):
    """The released table of the model `patients`."""
    dbt.config(materialized="table")
    patients = dbt.ref("patients")  # a DuckDB relation
    released = puffer_frames.privatize(
        patients, secret="sex", public="glucose", layout=Layout(keep="ward"), epsilon=1.0
    )
    keep_certificate(session, "released_patients", puffer_frames.certificate_of(released))
    return released  # a PyArrow table


def keep_certificate(session, name, certificate):
    """Write the certificate of a model into a table of the database."""
    session.execute(
        f"create table if not exists {CERTIFICATES} (model varchar primary key, certificate varchar)"
    ).fetchall()
    session.execute(
        f"insert or replace into {CERTIFICATES} values (?, ?)",
        [name, json.dumps(certificate.to_dict())],
    ).fetchall()


def verdict(session, name):
    """Compare a stored table with its stored certificate."""
    rows = session.execute(f"select certificate from {CERTIFICATES} where model = ?", [name]).fetchall()
    certificate = puffer_frames.Certificate.from_dict(json.loads(rows[0][0]))
    return certificate.verify(session.table(name).to_arrow_table())
