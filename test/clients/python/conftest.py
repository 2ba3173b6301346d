# Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0
"""Connections to the servers that test/blackbox started; see suites_test.go there."""

import os
import time
import urllib.request

import adbc_driver_flightsql.dbapi as flightsql
import pytest


@pytest.fixture(scope="session")
def conn():
    """A connection to the server that asks for no credentials."""
    with flightsql.connect(f"grpc+tcp://{os.environ['LAKE_QUERY']}", autocommit=True) as c:
        yield c


@pytest.fixture(scope="session")
def rows(conn):
    """A function that runs a statement and returns its rows as a table."""

    def run(sql, parameters=None):
        with conn.cursor() as cur:
            cur.execute(sql, parameters)
            return cur.fetch_arrow_table()

    return run


@pytest.fixture(scope="session")
def ingest(conn):
    def run(table, data, mode="create", **options):
        options.setdefault("db_schema_name", "py")
        with conn.cursor() as cur:
            return cur.adbc_ingest(table, data, mode=mode, **options)

    return run


@pytest.fixture(scope="session")
def inflight():
    """A function that reads how many requests the server works on."""

    def read():
        page = urllib.request.urlopen(os.environ["LAKE_METRICS"]).read().decode()
        (line,) = [x for x in page.splitlines() if x.startswith("lake_query_inflight_requests ")]
        return float(line.split()[1])

    return read


@pytest.fixture(scope="session")
def idle_within(inflight):
    """A function that waits until the server works on nothing, and says how long that took."""

    def wait(seconds):
        start = time.monotonic()
        while inflight() > 0:
            assert time.monotonic() - start < seconds, f"a query still runs after {seconds} s"
            time.sleep(0.01)
        return time.monotonic() - start

    return wait
