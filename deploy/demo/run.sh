#!/usr/bin/env bash
# The demonstration behind `make demo`: a whole Lake on this machine, from a
# file to SQL to a durable drop. Each step prints the command it runs, so that
# it can be repeated by hand. Leaves nothing behind.
set -euo pipefail
cd "$(dirname "$0")/../.."

file=${1:-}
work=$(mktemp -d "${TMPDIR:-/tmp}/lake-demo.XXXXXX")
lake=$PWD/bin/lake
dev_pid=

step() { printf '\n\033[1m▸ %s\033[0m\n' "$*"; }
run() { printf '  $ lake %s\n' "$*"; "$lake" "$@"; }

stop() {
  status=$?
  if [ -n "$dev_pid" ] && kill -0 "$dev_pid" 2>/dev/null; then
    step "Stopping (SIGINT, as Ctrl-C would)"
    kill -INT "$dev_pid"
    wait "$dev_pid" || { status=$?; tail -n 20 "$work/dev.log"; }
  fi
  rm -rf "$work"
  [ "$status" = 0 ] && printf '\nDone. `make run` starts the same and keeps it running; `bin/lake --help` shows the rest.\n'
  exit "$status"
}
trap stop EXIT

if [ -z "$file" ]; then
  file=$work/lineitem.parquet
  step "Making a TPC-H-like Parquet file of 300,000 rows (FILE=your.parquet make demo brings your own)"
  go run ./test/tpch/generate -rows 300000 "$file"
fi
ls -lh "$file" | awk '{print "  " $NF ", " $5}'

step "Starting lake dev: metasrv, query, worker, Temporal and its UI"
echo "  (the first start on a machine compiles nothing more: make demo has built both binaries)"
"$lake" dev --data-dir "$work/data" --port-base 0 >"$work/dev.log" 2>&1 &
dev_pid=$!
for _ in $(seq 600); do
  [ -s "$work/data/dev.json" ] && break
  kill -0 "$dev_pid" 2>/dev/null || { cat "$work/dev.log"; dev_pid=; exit 1; }
  sleep 0.1
done
[ -s "$work/data/dev.json" ] || { echo "lake dev did not come up in 60 s"; cat "$work/dev.log"; exit 1; }
sed 's/^/  /' "$work/dev.log"
LAKE_ADDR=$(sed -n 's/.*"query": *"\([^"]*\)".*/\1/p' "$work/data/dev.json")
export LAKE_ADDR

step "Ingesting it as demo.lineitem: idempotent appends, each one metastore commit"
run ingest demo.lineitem "$file"
run table describe demo.lineitem

step "SQL over Arrow Flight SQL"
if [ "$#" = 0 ] || [ -z "${1:-}" ]; then
  run sql 'SELECT l_returnflag, l_linestatus, count(*) AS lines, sum(l_quantity) AS quantity, avg(l_discount) AS discount FROM demo.lineitem GROUP BY ALL ORDER BY ALL'
else
  run sql 'SELECT count(*) AS rows FROM demo.lineitem'
  run sql 'SELECT * FROM demo.lineitem LIMIT 5'
fi

step "Dropping it: gone for readers at once, its objects deleted by a durable procedure"
run table drop demo.lineitem --yes --reason demo | tee "$work/drop.txt"
run procedure watch "$(sed -n 's/.*\(drop-table\/[^ ]*\).*/\1/p' "$work/drop.txt" | head -n 1)"
left=$(find "$work/data/objects" -type f -path '*demo/lineitem*' | wc -l)
echo "  objects left under the table's location: $left"
[ "$left" = 0 ]
