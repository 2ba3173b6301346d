# Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0
"""Statements, parameters, types, large results, cancellation and errors."""

import datetime as dt
import os
import threading
import time
from decimal import Decimal

import adbc_driver_manager
import pyarrow as pa
import pytest

# A statement that computes for hours and sends nothing, and one that sends for ever.
ENDLESS = "SELECT count(*) FROM range(100000000000000)"
STREAM = "SELECT range AS x FROM range(100000000000000)"


def test_every_type_of_a_wide_table(rows):
    got = rows(f"SELECT * FROM {os.environ['LAKE_WIDE']} ORDER BY id")
    first, second = got.drop_columns("ts_ns").to_pylist()  # Python's datetime has no nanoseconds
    # `lake ingest` stores large texts, fixed binaries and date64 as their plain kin.
    assert {f.name: str(f.type) for f in got.schema} == {
        "id": "int64", "b": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "u8": "uint8", "u16": "uint16",
        "u32": "uint32", "u64": "uint64", "f32": "float", "f64": "double", "s": "string", "ls": "string",
        "bin": "binary", "fsb": "binary", "d32": "date32[day]", "d64": "date32[day]",
        "t32": "time32[ms]", "t64": "time64[us]", "ts_s": "timestamp[s]", "ts_us": "timestamp[us]",
        "ts_ns": "timestamp[ns]", "tz": "timestamp[us, tz=UTC]", "tz_zone": "timestamp[ms, tz=Europe/Berlin]",
        "dec": "decimal128(38, 9)", "l": "list<item: string>", "fsl": "fixed_size_list<item: float>[2]",
        "st": "struct<x: int64, y: string>",
    }
    moment = dt.datetime(2024, 2, 29, 12, 34, 56, 789012)
    assert first["b"] is True and first["i8"] == -128 and first["u8"] == 255 and first["u64"] == 2**64 - 1
    assert first["s"] == first["ls"] == "grün" and first["bin"] == b"\x00\xff" and first["fsb"] == b"abcd"
    assert first["d32"] == first["d64"] == dt.date(2024, 2, 29)
    assert first["t32"] == dt.time(12, 34, 56, 789000) and first["t64"] == dt.time(12, 34, 56, 789012)
    assert first["ts_us"] == moment and first["ts_s"] == moment.replace(microsecond=0)
    assert got.column("ts_ns")[0].value == 1709210096789012345
    assert first["tz"] == moment.replace(tzinfo=dt.timezone.utc)
    assert first["tz_zone"] == moment.replace(microsecond=789000, tzinfo=dt.timezone.utc)
    assert first["dec"] == Decimal("-12345678901234567890.123456789")
    assert first["l"] == ["a", None, "c"] and first["fsl"] == [0.5, 1.5] and first["st"] == {"x": 7, "y": "z"}
    assert [k for k, v in second.items() if v is not None] == ["id"], "the second row is null but for its id"


@pytest.mark.parametrize(
    "value",
    [7, 1.5, True, "grün", b"\x00\xff", dt.date(2024, 2, 29), dt.time(12, 34, 56), dt.datetime(2024, 2, 29, 1, 2, 3),
     dt.datetime(2024, 2, 29, 1, 2, 3, tzinfo=dt.timezone.utc), Decimal("12.50"), [1, 2], {"x": 1, "y": "z"}, None],
    ids=str,
)
def test_a_parameter_of_each_type_comes_back(rows, value):
    assert rows("SELECT ? AS x", [value]).to_pylist() == [{"x": value}]


def test_parameters_of_a_where_clause(rows):
    wide = os.environ["LAKE_WIDE"]
    assert rows(f"SELECT id FROM {wide} WHERE id = ? OR s = ? ORDER BY id", [2, "grün"]).column(0).to_pylist() == [1, 2]
    assert rows(f"SELECT id FROM {wide} WHERE id = ?", [None]).num_rows == 0
    assert rows(f"SELECT id FROM {wide} WHERE dec = ? AND tz < ?", [
        Decimal("-12345678901234567890.123456789"), dt.datetime.now(dt.timezone.utc)]).column(0).to_pylist() == [1]


def test_prepared_statement_lists_its_placeholders(conn):
    with conn.cursor() as cur:
        schema = cur.adbc_prepare(f"SELECT * FROM {os.environ['LAKE_WIDE']} WHERE id = ? AND s < ?")
        assert [f.type for f in schema] == [pa.int64(), pa.string()]


@pytest.mark.parametrize("values, text", [([1], "1 parameters are bound, the statement has 2"),
                                          ([1, 2, 3], "3 parameters are bound, the statement has 2")])
def test_a_wrong_number_of_parameters_is_refused(rows, values, text):
    with pytest.raises(adbc_driver_manager.ProgrammingError, match=text):
        rows("SELECT ? + ?", values)


def test_a_statement_reads_one_row_of_parameters_at_a_time(conn):
    with conn.cursor() as cur, pytest.raises(adbc_driver_manager.ProgrammingError, match="exactly one row"):
        cur.execute("SELECT ? AS x", pa.record_batch({"1": [1, 2, 3]}))


def test_schema_without_running(conn):
    with conn.cursor() as cur:
        assert cur.adbc_execute_schema(f"SELECT id, s FROM {os.environ['LAKE_WIDE']}").names == ["id", "s"]


def test_partitions_can_be_read_by_another_cursor(conn):
    with conn.cursor() as cur:
        parts, schema = cur.adbc_execute_partitions("SELECT 42 AS x")
    assert schema.names == ["x"]
    with conn.cursor() as cur:
        cur.adbc_read_partition(parts[0])
        assert cur.fetchall() == [(42,)]


def test_a_result_above_the_message_limit_of_clients(conn):
    with conn.cursor() as cur:
        cur.execute("SELECT i, repeat('x', 80) || i AS s FROM range(400000) t(i)")
        total, largest = 0, 0
        for batch in cur.fetch_record_batch():
            total, largest = total + batch.num_rows, max(largest, batch.get_total_buffer_size())
    assert total == 400_000 and largest < 4 << 20


def test_rows_of_several_megabytes(rows, ingest):
    texts = ["a" * 3_000_000, "b" * 4_100_000, "c"]
    ingest("long_rows", pa.table({"id": [1, 2, 3], "s": texts}))
    assert rows("SELECT s FROM py.long_rows ORDER BY id").column(0).to_pylist() == texts


def test_a_row_above_the_limit_is_refused_with_the_reason(rows):
    text = "repeat('x', 1000000)"
    with pytest.raises(adbc_driver_manager.Error, match="a .*row .*5000.* bytes"):
        rows("SELECT " + " || ".join([text] * 5) + " AS s")


def test_an_empty_result_has_its_schema(rows):
    got = rows(f"SELECT id, s FROM {os.environ['LAKE_WIDE']} WHERE false")
    assert got.num_rows == 0 and got.schema.types == [pa.int64(), pa.string()]


def test_cancel_stops_the_query_within_a_second(conn, inflight, idle_within):
    cancelled = []
    with conn.cursor() as cur:

        def cancel():
            while inflight() == 0:
                time.sleep(0.01)
            time.sleep(0.3)  # let it reach the engine
            cancelled.append(time.monotonic())
            cur.adbc_cancel()

        canceller = threading.Thread(target=cancel)
        canceller.start()
        with pytest.raises(adbc_driver_manager.OperationalError, match="(?i)cancel"):
            cur.execute(ENDLESS)
            cur.fetchall()
        assert time.monotonic() - cancelled[0] < 1
        canceller.join()
    idle_within(1)


def test_closing_the_reader_stops_the_query_within_a_second(conn, inflight, idle_within):
    with conn.cursor() as cur:
        cur.execute(STREAM)
        assert cur.fetch_record_batch().read_next_batch().num_rows > 0
        assert inflight() > 0
    idle_within(1)


@pytest.mark.parametrize(
    "sql, kind, text",
    [
        ("SELECT * FROM py.missing", "NOT_FOUND", "table py.missing does not exist"),
        ("SELECT * FROM missing", "INVALID_ARGUMENT", "want namespace.table"),
        ("SELEC 1", "INVALID_ARGUMENT", 'syntax error at or near "SELEC"'),
        ("SELECT nope FROM information_schema.tables", "INVALID_ARGUMENT", "nope"),
        ("SELECT 'a'::INT", "INVALID_ARGUMENT", "Could not convert string 'a' to INT32"),
        ("SELECT 1; SELECT 2", "INVALID_ARGUMENT", "2 statements"),
        ("DROP TABLE py.t", "INVALID_ARGUMENT", "DROP is not allowed"),
        ("INSERT INTO py.t VALUES (1)", "INVALID_ARGUMENT", "bulk ingest"),
        ("CREATE TABLE py.t (x INT)", "INVALID_ARGUMENT", "CREATE is not allowed"),
    ],
)
def test_errors_have_a_kind_and_a_text(rows, sql, kind, text):
    with pytest.raises(adbc_driver_manager.Error) as failed:
        rows(sql)
    assert failed.value.status_code == adbc_driver_manager.AdbcStatusCode[kind]
    assert text in str(failed.value)
