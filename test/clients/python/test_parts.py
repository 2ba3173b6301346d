# Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0
"""Large scans in several endpoints."""

import os

import adbc_driver_flightsql.dbapi as flightsql
import adbc_driver_manager
import pytest
from adbc_driver_flightsql import DatabaseOptions

LONG = os.environ["LAKE_LONG"]
HEADER = DatabaseOptions.RPC_CALL_HEADER_PREFIX.value + "x-lake-endpoints"


def connect(endpoints):
    options = {DatabaseOptions.AUTHORIZATION_HEADER.value: f"Bearer {os.environ['LAKE_TOKEN']}", HEADER: endpoints}
    return flightsql.connect(f"grpc+tcp://{os.environ['LAKE_SECURED']}", db_kwargs=options, autocommit=True)


@pytest.mark.parametrize("endpoints", ["1", "3", "4"])
def test_the_parts_are_the_whole(endpoints):
    with connect(endpoints) as conn, conn.cursor() as cur:
        cur.execute(f"SELECT * FROM {LONG}")
        got = cur.fetch_arrow_table()
        assert sorted(got.column("id").to_pylist()) == list(range(2000))
        assert all(row["half"] == row["id"] // 2 for row in got.to_pylist())
        cur.execute(f"SELECT id FROM {LONG} WHERE id >= ?", [1200])
        assert sorted(cur.fetch_arrow_table().column("id").to_pylist()) == list(range(1200, 2000))


def test_partitions_are_read_one_by_one():
    with connect("4") as conn, conn.cursor() as cur:
        partitions, schema = cur.adbc_execute_partitions(f"SELECT id FROM {LONG}")
        assert len(partitions) == 4 and schema.names == ["id"]
        ids = []
        for partition in reversed(partitions):
            cur.adbc_read_partition(partition)
            part = cur.fetch_arrow_table()
            assert part.schema == schema and part.num_rows == 500
            ids += part.column("id").to_pylist()
        assert sorted(ids) == list(range(2000))


def test_a_number_that_is_none_is_refused_by_name():
    with connect("many") as conn, conn.cursor() as cur, pytest.raises(adbc_driver_manager.ProgrammingError, match="x-lake-endpoints"):
        cur.execute(f"SELECT id FROM {LONG}")
