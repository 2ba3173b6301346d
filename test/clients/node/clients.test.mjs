// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// The Rust client of Arrow Flight SQL, by its Node binding, against the
// servers that test/blackbox started; see suites_test.go there.

import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import test from 'node:test';

const require = createRequire(import.meta.url);
const { createFlightSqlClient } = require('@lakehouse-rs/flight-sql-client');
const { tableFromIPC } = require('apache-arrow');

const env = process.env;

function connect(address, options = {}) {
  const [host, port] = address.split(':');
  return createFlightSqlClient({ host, port: Number(port), tls: false, headers: [], ...options });
}

async function rows(client, sql) {
  return tableFromIPC(await client.query(sql)).toArray().map((row) => row.toJSON());
}

const names = (buffer, column) => tableFromIPC(buffer).toArray().map((row) => row[column]);

test('a query without credentials on loopback', async () => {
  const client = await connect(env.LAKE_QUERY);
  assert.deepEqual(await rows(client, "SELECT 42 AS answer, 'grün' AS s, NULL AS n"), [{ answer: 42, s: 'grün', n: null }]);
});

test('a bearer token', async () => {
  const client = await connect(env.LAKE_SECURED, { token: env.LAKE_TOKEN });
  assert.deepEqual(await rows(client, 'SELECT 42 AS answer'), [{ answer: 42 }]);
});

test('a user and the token as its password', async () => {
  const client = await connect(env.LAKE_SECURED, { username: 'ann', password: env.LAKE_TOKEN });
  assert.deepEqual(await rows(client, 'SELECT 42 AS answer'), [{ answer: 42 }]);
});

test('wrong credentials are refused', async () => {
  // A wrong password is not tried: the binding panics in its own thread and
  // never settles the promise.
  const client = await connect(env.LAKE_SECURED, { token: 'wrong' });
  await assert.rejects(client.query('SELECT 42'), Error);
  await assert.rejects(client.getTables({}), Error);
});

test('the columns of a wide table', async () => {
  const client = await connect(env.LAKE_QUERY);
  const table = tableFromIPC(await client.query(`SELECT * FROM ${env.LAKE_WIDE} ORDER BY id`));
  assert.equal(table.numRows, 2);
  const [first, second] = table.toArray();
  assert.equal(first.u64, 18446744073709551615n);
  assert.equal(first.s, 'grün');
  assert.deepEqual([...first.bin], [0, 255]);
  assert.equal(first.tz, Date.UTC(2024, 1, 29, 12, 34, 56, 789) + 0.012, 'milliseconds');
  assert.equal(String(table.schema.fields.find((f) => f.name === 'tz').type), 'Timestamp<MICROSECOND, UTC>');
  assert.deepEqual([...first.l], ['a', null, 'c']);
  assert.deepEqual(first.st.toJSON(), { x: 7n, y: 'z' });
  assert.deepEqual(Object.keys(second.toJSON()).filter((k) => second[k] !== null), ['id']);
});

test('a large result', async () => {
  const client = await connect(env.LAKE_QUERY);
  const table = tableFromIPC(await client.query("SELECT i, repeat('x', 80) || i AS s FROM range(300000) t(i)"));
  assert.equal(table.numRows, 300000);
});

test('an empty result', async () => {
  const client = await connect(env.LAKE_QUERY);
  assert.equal(tableFromIPC(await client.query('SELECT i FROM range(3) t(i) WHERE i > 5')).numRows, 0);
});

test('catalogs, schemas and tables', async () => {
  const client = await connect(env.LAKE_QUERY);
  const [schema, table] = env.LAKE_WIDE.split('.');
  assert.deepEqual(names(await client.getCatalogs(), 'catalog_name'), ['lake']);
  assert.ok(names(await client.getDbSchemas({}), 'db_schema_name').includes(schema));
  assert.deepEqual(names(await client.getDbSchemas({ dbSchemaFilterPattern: 'absent%' }), 'db_schema_name'), []);
  const filters = { catalog: 'lake', dbSchemaFilterPattern: schema, tableNameFilterPattern: 'w_de', tableTypes: ['TABLE'] };
  assert.deepEqual(names(await client.getTables(filters), 'table_name'), [table]);
  assert.equal(tableFromIPC(await client.getTables({ ...filters, includeSchema: true })).toArray()[0].table_schema.length > 0, true);
  assert.ok(names(await client.getTables({}), 'table_name').includes(table), 'no filter, so every namespace');
});

test('errors reject the promise and leave the client usable', async () => {
  const client = await connect(env.LAKE_QUERY);
  for (const sql of ['SELEC 1', 'SELECT * FROM node.missing', 'DROP TABLE node.wide', "SELECT 'a'::INT"]) {
    // The binding keeps the server's text to itself: its own is all there is.
    await assert.rejects(client.query(sql), (err) => err instanceof Error && err.message.length > 0, sql);
  }
  assert.deepEqual(await rows(client, 'SELECT 1 AS x'), [{ x: 1 }]);
});

test('the recipe of docs/clients.md', async () => {
  const [, program] = (await readFile(env.LAKE_DOC, 'utf8')).match(/```js\n(.*?)```/s);
  const [host, port] = env.LAKE_QUERY.split(':');
  const file = new URL(`./node_modules/.recipe-${process.pid}.mjs`, import.meta.url);
  const changed = program.replace("host: '127.0.0.1', port: 50051", `host: '${host}', port: ${port}`);
  assert.notEqual(changed, program);
  await writeFile(file, `${changed}\nexport { table };\n`);
  try {
    const { table } = await import(file);
    assert.equal(String(table.toArray()[0].total), '45');
  } finally {
    await rm(file);
  }
});

test('all endpoints of a large scan', async () => {
  for (const endpoints of ['1', '4']) {
    const client = await connect(env.LAKE_SECURED, { token: env.LAKE_TOKEN, headers: [{ key: 'x-lake-endpoints', value: endpoints }] });
    const ids = (await rows(client, `SELECT id FROM ${env.LAKE_LONG}`)).map((row) => Number(row.id)).sort((a, b) => a - b);
    assert.deepEqual(ids, [...Array(2000).keys()], `${endpoints} endpoints`);
  }
  const wrong = await connect(env.LAKE_SECURED, { token: env.LAKE_TOKEN, headers: [{ key: 'x-lake-endpoints', value: 'many' }] });
  await assert.rejects(wrong.query(`SELECT id FROM ${env.LAKE_LONG}`), Error, 'the header reaches the server');
});
