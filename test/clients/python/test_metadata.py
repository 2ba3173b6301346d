# Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0
"""Catalogs, schemas, tables and columns, as tools list them."""

import adbc_driver_manager
import pyarrow as pa
import pytest


@pytest.fixture(scope="module", autouse=True)
def tables(ingest):
    ingest("apples", pa.table({"id": [1], "name": ["a"]}), db_schema_name="py_fruit")
    ingest("pears", pa.table({"id": [1]}), db_schema_name="py_fruit")
    ingest("oaks", pa.table({"height": [1.5]}), db_schema_name="py_trees")


def listed(conn, **filters):
    """The names that GetObjects returns, as namespace.table.column."""
    out = set()
    for catalog in conn.adbc_get_objects(**filters).read_all().to_pylist():
        for schema in catalog["catalog_db_schemas"] or []:
            tables = schema["db_schema_tables"]
            for table in [{"table_name": None}] if tables is None else tables:
                for column in table.get("table_columns") or [{"column_name": None}]:
                    parts = [schema["db_schema_name"], table["table_name"], column["column_name"]]
                    out.add(".".join(p for p in parts if p is not None))
    return out


def test_catalogs(conn):
    (catalog,) = conn.adbc_get_objects(depth="catalogs").read_all().to_pylist()
    assert catalog["catalog_name"] == "lake"


def test_schemas(conn):
    assert listed(conn, depth="db_schemas") >= {"py_fruit", "py_trees"}
    assert listed(conn, depth="db_schemas", db_schema_filter="py_f%") == {"py_fruit"}


def test_tables_without_a_filter_are_those_of_every_namespace(conn):
    assert listed(conn, depth="tables") >= {"py_fruit.apples", "py_fruit.pears", "py_trees.oaks"}


@pytest.mark.parametrize(
    "filters, want",
    [
        ({"db_schema_filter": "py_trees"}, {"py_trees.oaks"}),
        ({"table_name_filter": "_ears"}, {"py_fruit.pears"}),
        ({"catalog_filter": "lake", "table_name_filter": "app%"}, {"py_fruit.apples"}),
        ({"db_schema_filter": "py_fruit", "table_types_filter": ["TABLE"]}, {"py_fruit.apples", "py_fruit.pears"}),
    ],
)
def test_tables_with_a_filter(conn, filters, want):
    assert listed(conn, depth="tables", **filters) == want


def test_columns(conn):
    assert listed(conn, depth="all", db_schema_filter="py_fruit") == {
        "py_fruit.apples.id", "py_fruit.apples.name", "py_fruit.pears.id"}
    assert listed(conn, depth="all", db_schema_filter="py_%", column_name_filter="h%") >= {"py_trees.oaks.height"}


def test_table_schema(conn):
    schema = conn.adbc_get_table_schema("apples", db_schema_filter="py_fruit")
    assert [(f.name, f.type) for f in schema] == [("id", pa.int64()), ("name", pa.string())]
    with pytest.raises(adbc_driver_manager.ProgrammingError, match="(?i)no table found"):
        conn.adbc_get_table_schema("plums", db_schema_filter="py_fruit")


def test_info_and_table_types(conn):
    assert conn.adbc_get_info()["vendor_name"] == "Lake"
    assert conn.adbc_get_table_types() == ["TABLE"]
    assert conn.adbc_current_catalog == "lake"


def test_information_schema(rows):
    got = rows("SELECT table_name FROM information_schema.tables WHERE table_schema = 'py_fruit' ORDER BY 1")
    assert got.column(0).to_pylist() == ["apples", "pears"]
