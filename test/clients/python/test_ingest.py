# Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0
"""Writing by bulk ingestion, and what SQL texts may not do."""

import adbc_driver_manager
import pyarrow as pa
import pytest

THREE = pa.table({"n": [1, 2, 3], "s": ["a", None, "c"]})


def count(rows, table):
    return rows(f"SELECT count(*) FROM {table}").column(0)[0].as_py()


def test_create_then_append(rows, ingest):
    assert ingest("made", THREE, mode="create") == 3
    assert ingest("made", THREE, mode="append") == 3
    assert ingest("made", THREE, mode="create_append") == 3
    assert count(rows, "py.made") == 9, "a client reads what it wrote"
    assert rows("SELECT DISTINCT n, s FROM py.made ORDER BY n").to_pylist() == THREE.to_pylist()


def test_the_columns_may_come_in_another_order(rows, ingest):
    ingest("swapped", THREE)
    ingest("swapped", THREE.select(["s", "n"]), mode="append")
    assert rows("SELECT count(*) FROM py.swapped WHERE n = 3 AND s = 'c'").column(0).to_pylist() == [2]


def test_a_stream_of_many_batches(rows, ingest):
    big = pa.table({"n": range(200_000), "s": ["y" * 200] * 200_000})
    reader = pa.RecordBatchReader.from_batches(big.schema, big.to_batches(max_chunksize=20_000))
    assert ingest("streamed", reader) == 200_000
    got = rows("SELECT count(*) AS c, sum(n) AS total, sum(length(s)) AS letters FROM py.streamed").to_pylist()
    assert got == [{"c": 200_000, "total": sum(range(200_000)), "letters": 40_000_000}]


@pytest.mark.parametrize(
    "options, kind, text",
    [
        ({"mode": "create"}, "ALREADY_EXISTS", "already exists"),
        ({"mode": "replace"}, "NOT_IMPLEMENTED", "drop it, or append to it"),
        ({"mode": "append", "table": "absent"}, "NOT_FOUND", "table py.absent does not exist"),
        ({"mode": "append", "data": pa.table({"n": [1], "x": ["a"]})}, "INVALID_ARGUMENT", 'lack column "s"'),
        ({"mode": "append", "data": pa.table({"n": ["a"], "s": ["a"]})}, "INVALID_ARGUMENT", 'column "n" has type utf8'),
        ({"mode": "create", "table": "x", "db_schema_name": ""}, "INVALID_ARGUMENT", "database schema"),
        ({"mode": "create", "table": "x", "catalog_name": "other"}, "INVALID_ARGUMENT", 'want "lake"'),
        ({"mode": "create", "table": "x", "temporary": True}, "NOT_IMPLEMENTED", "temporary tables"),
        ({"mode": "create", "table": "x", "data": pa.table({"m": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64()))})}, "INVALID_ARGUMENT", "column m"),
    ],
    ids=lambda x: str(x.get("mode")) + "-" + "-".join(x) if isinstance(x, dict) else "",
)
def test_refusals_say_what_to_do(ingest, options, kind, text):
    ingest("refused", THREE, mode="create_append")
    options = dict(options)
    with pytest.raises(adbc_driver_manager.Error) as failed:
        ingest(options.pop("table", "refused"), options.pop("data", THREE), **options)
    assert failed.value.status_code == adbc_driver_manager.AdbcStatusCode[kind], failed.value
    assert text in str(failed.value)


def test_executemany_is_refused_and_names_bulk_ingestion(conn, ingest):
    ingest("many", THREE)
    with conn.cursor() as cur, pytest.raises(adbc_driver_manager.ProgrammingError, match="bulk ingest"):
        cur.executemany("INSERT INTO py.many VALUES (?, ?)", [[4, "d"], [5, "e"]])
