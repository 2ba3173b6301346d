// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0
//
// Drives the stock LanceDB client for the interop tests. Rows travel as Arrow
// IPC files, since JSON loses types.
//
//   node lancedb.cjs read <dir> <table> <outdir> <version, tag or latest>…
//   node lancedb.cjs change <dir> <table> <in.arrow> <step>…
//   node lancedb.cjs make <dir> <table> <in.arrow> <outdir> <file version> <step>…
//
// Steps: append:<from>:<to> adds rows of the input, delete:<predicate>,
// add:<column>:<expression>, drop:<column>, rename:<from>:<to>, compact. After
// each step of make the whole table goes to <outdir>/<version>.arrow.
"use strict";
const fs = require("fs");
const path = require("path");
const lancedb = require("@lancedb/lancedb");
const arrow = require("apache-arrow");

async function dump(table, out) {
  const rows = await table.query().toArrow();
  fs.writeFileSync(out, arrow.tableToIPC(rows, "file"));
}

// read dumps the table as of each version to <outdir>/<version>.arrow.
async function read([dir, name, outdir, ...versions]) {
  const db = await lancedb.connect(dir);
  const table = await db.openTable(name);
  const out = {};
  for (const version of versions) {
    if (version === "latest") await table.checkoutLatest();
    else await table.checkout(/^\d+$/.test(version) ? Number(version) : version);
    await dump(table, path.join(outdir, version + ".arrow"));
    out[version] = { version: await table.version(), rows: await table.countRows() };
  }
  console.log(JSON.stringify(out));
}

async function step(db, name, table, rows, text, fileVersion) {
  const [verb, ...args] = text.split(":");
  switch (verb) {
    case "append": {
      const part = rows.slice(Number(args[0]), Number(args[1]));
      if (!table) return db.createTable(name, part, { storageOptions: { new_table_data_storage_version: fileVersion } });
      await table.add(part);
      return table;
    }
    case "delete":
      await table.delete(args.join(":"));
      return table;
    case "add":
      await table.addColumns([{ name: args[0], valueSql: args.slice(1).join(":") }]);
      return table;
    case "drop":
      await table.dropColumns([args[0]]);
      return table;
    case "rename":
      await table.alterColumns([{ path: args[0], rename: args[1] }]);
      return table;
    case "compact":
      await table.optimize();
      return table;
  }
  throw new Error("unknown step " + text);
}

async function make([dir, name, input, outdir, fileVersion, ...steps]) {
  const rows = arrow.tableFromIPC(fs.readFileSync(input));
  const db = await lancedb.connect(dir);
  let table = null;
  const versions = [];
  for (const text of steps) {
    table = await step(db, name, table, rows, text, fileVersion);
    const version = await table.version();
    versions.push(version);
    await dump(table, path.join(outdir, version + ".arrow"));
  }
  console.log(JSON.stringify({ versions }));
}

async function change([dir, name, input, ...steps]) {
  const rows = arrow.tableFromIPC(fs.readFileSync(input));
  const db = await lancedb.connect(dir);
  let table = await db.openTable(name);
  for (const text of steps) table = await step(db, name, table, rows, text);
  console.log(JSON.stringify({ version: await table.version(), rows: await table.countRows() }));
}

const [command, ...args] = process.argv.slice(2);
({ read, make, change })[command](args).catch((err) => {
  console.error(err);
  process.exit(1);
});
