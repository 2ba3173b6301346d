# Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0
"""How a client proves who it is, and what it is refused."""

import os

import adbc_driver_flightsql.dbapi as flightsql
import adbc_driver_manager
import pytest
from adbc_driver_flightsql import DatabaseOptions

BEARER = DatabaseOptions.AUTHORIZATION_HEADER.value


def answer(uri, **options):
    with flightsql.connect(uri, db_kwargs=options, autocommit=True) as conn, conn.cursor() as cur:
        cur.execute("SELECT 42")
        return cur.fetchone()[0]


def secured():
    return f"grpc+tcp://{os.environ['LAKE_SECURED']}"


def tls():
    # The certificate names this machine, so the address will do.
    return f"grpc+tls://{os.environ['LAKE_TLS']}"


def roots():
    with open(os.environ["LAKE_CA"]) as f:
        return {DatabaseOptions.TLS_ROOT_CERTS.value: f.read()}


def test_no_credentials_on_loopback(conn):
    with conn.cursor() as cur:
        cur.execute("SELECT 42")
        assert cur.fetchone() == (42,)


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_bearer(scheme):
    assert answer(secured(), **{BEARER: f"{scheme} {os.environ['LAKE_TOKEN']}"}) == 42


def test_basic_handshake_with_the_token_as_password():
    assert answer(secured(), username="ann", password=os.environ["LAKE_TOKEN"]) == 42


def test_bearer_over_tls():
    assert answer(tls(), **{BEARER: f"Bearer {os.environ['LAKE_TOKEN']}"}, **roots()) == 42


def test_basic_over_tls():
    assert answer(tls(), username="ann", password=os.environ["LAKE_TOKEN"], **roots()) == 42


def test_a_certificate_that_is_not_trusted_is_refused():
    with pytest.raises(adbc_driver_manager.Error, match="certificate"):
        answer(tls(), **{BEARER: f"Bearer {os.environ['LAKE_TOKEN']}"})


@pytest.mark.parametrize(
    "options",
    [{}, {BEARER: "Bearer wrong"}, {BEARER: "wrong"}, {"username": "ann", "password": "wrong"}],
    ids=["nothing", "wrong token", "no scheme", "wrong password"],
)
def test_wrong_credentials_are_refused(options):
    with pytest.raises(adbc_driver_manager.Error, match="(?i)unauthenticated") as failed:
        answer(secured(), **options)
    assert failed.value.status_code == adbc_driver_manager.AdbcStatusCode.UNAUTHENTICATED


def test_a_foreign_namespace_looks_as_if_it_did_not_exist():
    import pyarrow as pa

    ann = {BEARER: f"Bearer {os.environ['LAKE_TOKEN']}"}
    bob = {BEARER: f"Bearer {os.environ['LAKE_BOB_TOKEN']}"}
    with flightsql.connect(secured(), db_kwargs=ann, autocommit=True) as conn, conn.cursor() as cur:
        cur.adbc_ingest("secret", pa.table({"n": [1]}), mode="create_append", db_schema_name="anns")
    with flightsql.connect(secured(), db_kwargs=bob, autocommit=True) as conn:
        texts = []
        for name in "anns.secret", "anns.absent":
            with conn.cursor() as cur, pytest.raises(adbc_driver_manager.Error) as failed:
                cur.execute(f"SELECT * FROM {name}")
            texts.append(str(failed.value).replace(name, "it"))
        assert texts[0] == texts[1]
        objects = conn.adbc_get_objects(depth="tables").read_all().to_pylist()
        assert "secret" not in str(objects)
