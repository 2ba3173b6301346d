// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Runs commands for stock LanceDB. Each line of standard input is a command in
// JSON; each gets one line of JSON in answer, {"ok":true,...} or {"error":"…"}.
// Tables travel as Arrow IPC files, since JSON would lose types.
//
//   {"op":"write","dir":D,"table":T,"ipc":F,"version":"2.1"}   create a table
//   {"op":"read","dir":D,"table":T,"ipc":F,"columns":[…],"at":V}
//                                      all rows to F, of version V or the newest
//   {"op":"add","dir":D,"table":T,"ipc":F}                     append rows
//   {"op":"delete","dir":D,"table":T,"where":P}                delete rows
//   {"op":"optimize","dir":D,"table":T}                        compact
//   {"op":"index","columns":[…]}, {"op":"update","where":P,"set":{C:SQL}},
//   {"op":"merge","ipc":F,"columns":[…]}                       the same on tables
//   {"op":"list","ns":U,"namespace":N}                         of a namespace
//   {"op":"create",…,"ipc":F,"mode":"create|overwrite|exist_ok|empty"}
//   {"op":"drop",…}                                            tables in one
//   {"op":"numbers","ns":U,"namespace":N,"table":T,"from":A,"count":C}
//   {"op":"take","dir":D,"table":T,"ipc":F,"offsets":[…]}      rows to F
//   {"op":"timetake","dir":D,"table":T,"offsets":[…],"rounds":N}
//                                      time takes of an equal share each
//   {"op":"bench","dir":D,"table":T,"columns":[…],"rounds":N}  time reads
//   {"op":"benchadd","dir":D,"ipc":F,"writers":N,"seconds":S}
//                                      count adds of the rows of F to one table
//   {"op":"benchwrite","dir":D,"ipc":F,"version":V,"rounds":N} time writes
//
// LAKE_NODE_MODULES names the directory with the packages.

import { createRequire } from "node:module";
import { readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { join } from "node:path";

// The packages must be the same CommonJS instances, or LanceDB does not
// recognise Arrow tables.
const require = createRequire(join(process.env.LAKE_NODE_MODULES, "index.js"));
const lancedb = require("@lancedb/lancedb");
const arrow = require("apache-arrow");

async function write({ dir, table, ipc, version }) {
  const db = await lancedb.connect(dir);
  const data = arrow.tableFromIPC(readFileSync(ipc));
  const storageOptions = { new_table_data_storage_version: version };
  await db.createTable(table, data, { mode: "overwrite", storageOptions });
  return {};
}

// With "ns", the address of a Lance REST namespace, tables are opened there, in
// the namespace "namespace", and else in the folder "dir".
const connections = new Map();

async function connect({ ns, token, storage }) {
  const key = JSON.stringify([ns, token]);
  if (!connections.has(key)) {
    const headers = token ? { Authorization: "Bearer " + token } : {};
    const options = { storageOptions: storage, readConsistencyInterval: 0 };
    connections.set(key, await lancedb.connectNamespace("rest", { uri: ns, headers }, options));
  }
  return connections.get(key);
}

async function open(command) {
  if (command.ns) {
    const db = await connect(command);
    return db.openTable(command.table, [command.namespace]);
  }
  const db = await lancedb.connect(command.dir);
  return db.openTable(command.table);
}

function save(result, ipc) {
  writeFileSync(ipc, arrow.tableToIPC(result, "file"));
  return { rows: result.numRows };
}

async function read({ ipc, columns, at, ...where }) {
  const t = await open(where);
  if (at) await t.checkout(at);
  let q = t.query();
  if (columns) q = q.select(columns);
  return save(await q.toArrow(), ipc);
}

async function add({ ipc, ...where }) {
  const t = await open(where);
  await t.add(arrow.tableFromIPC(readFileSync(ipc)));
  return {};
}

async function remove({ where, ...rest }) {
  const t = await open(rest);
  await t.delete(where);
  return {};
}

async function optimize(where) {
  const t = await open(where);
  await t.optimize({ cleanupOlderThan: new Date(0) });
  return {};
}

async function index({ columns, ...where }) {
  const t = await open(where);
  for (const c of columns) await t.createIndex(c, { config: lancedb.Index.btree() });
  return {};
}

async function update({ where, set, ...rest }) {
  const t = await open(rest);
  await t.update({ where, valuesSql: set });
  return {};
}

async function merge({ ipc, columns, ...where }) {
  const t = await open(where);
  const data = arrow.tableFromIPC(readFileSync(ipc));
  await t.mergeInsert(columns).whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(data);
  return {};
}

async function list({ namespace, ...rest }) {
  const db = await connect(rest);
  const { namespaces } = await db.listNamespaces();
  return { names: [...namespaces, ...(namespace ? await db.tableNames([namespace]) : [])] };
}

async function create({ table, ipc, namespace, mode, options, ...rest }) {
  const db = await connect(rest);
  const data = arrow.tableFromIPC(readFileSync(ipc));
  if (mode === "empty") {
    await db.createEmptyTable(table, data.schema, [namespace]);
    return {};
  }
  const how = mode === "exist_ok" ? { existOk: true } : mode ? { mode } : {};
  if (options) how.storageOptions = { ...rest.storage, ...options };
  const t = await db.createTable(table, data, [namespace], how);
  return { rows: await t.countRows() };
}

async function drop({ table, namespace, ...rest }) {
  const db = await connect(rest);
  await db.dropTable(table, [namespace]);
  return {};
}

// Appends the numbers from..from+count-1, one a version, and every tenth time
// deletes the one before. A commit that was refused is tried again, as programs do.
async function numbers({ from = 0, count, ...where }) {
  const t = await open(where);
  const again = async (f) => {
    for (;;) {
      try {
        return await f();
      } catch (e) {
        if (!/conflict|concurrent|retry/i.test(String(e))) throw e;
      }
    }
  };
  for (let n = from; n < from + count; n++) {
    await again(() => t.add([{ n: BigInt(n) }]));
    if (n % 10 === 9) await again(() => t.delete(`n = ${n - 1}`));
  }
  return { rows: count };
}

async function take({ ipc, offsets, ...where }) {
  const t = await open(where);
  return save(await t.takeOffsets(offsets).toArrow(), ipc);
}

async function timed(rounds, f) {
  const out = [];
  for (let i = 0; i < rounds; i++) {
    const cpu = process.cpuUsage();
    const wall = process.hrtime.bigint();
    await f();
    const used = process.cpuUsage(cpu);
    out.push({
      cpuMs: (used.user + used.system) / 1000,
      wallMs: Number(process.hrtime.bigint() - wall) / 1e6,
    });
  }
  return { rounds: out };
}

async function bench({ columns, rounds, ...where }) {
  const t = await open(where);
  return timed(rounds, async () => {
    let q = t.query();
    if (columns) q = q.select(columns);
    await q.toArrow();
  });
}

// Each round takes other rows of the same set.
async function timetake({ offsets, rounds, ...where }) {
  const t = await open(where);
  const per = offsets.length / rounds;
  let round = 0;
  return timed(rounds, () => {
    const some = offsets.slice(round * per, ++round * per);
    return t.takeOffsets(some).toArrow();
  });
}

async function benchwrite({ dir, ipc, version, rounds }) {
  const data = arrow.tableFromIPC(readFileSync(ipc));
  const db = await lancedb.connect(dir);
  const storageOptions = { new_table_data_storage_version: version };
  return timed(rounds, () => db.createTable("bench", data, { mode: "overwrite", storageOptions }));
}

// Each writer has a handle of its own, as programs have. A conflict is tried
// again, as the library tells its users to do.
async function benchadd({ dir, ipc, writers, seconds }) {
  const data = arrow.tableFromIPC(readFileSync(ipc));
  const db = await lancedb.connect(dir);
  await db.createTable("adds", data, { mode: "overwrite" });
  const handles = await Promise.all(Array.from({ length: writers }, () => db.openTable("adds")));
  const end = Date.now() + seconds * 1000;
  let rows = 0;
  await Promise.all(handles.map(async (t) => {
    while (Date.now() < end) {
      try {
        await t.add(data);
        rows++;
      } catch (e) {
        if (!/conflict|concurrent|retry/i.test(String(e))) throw e;
      }
    }
  }));
  return { rows };
}

const ops = { write, read, add, delete: remove, optimize, index, update, merge, list, create, drop, numbers, take, timetake, bench, benchadd, benchwrite };

for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    const command = JSON.parse(line);
    answer = { ok: true, ...(await ops[command.op](command)) };
  } catch (e) {
    answer = { error: String((e && e.stack) || e) };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}
