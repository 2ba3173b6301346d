#!/usr/bin/env bash
# fuzz.sh TIME DIR... runs every fuzz target below the folders for TIME each.
#
# Go's fuzzer sometimes ends a run whose time is up with "context deadline
# exceeded" and no failing input. Such a target
# is run once more; a failing input always fails.
set -uo pipefail
cd "$(dirname "$0")/.."
time=$1
shift

# Minimizing an interesting input may use up the whole time: one step is enough.
try() { go test "./$1" -run '^$' -fuzz "^$2\$" -fuzztime "$time" -fuzzminimizetime 1x >"$log" 2>&1; }

log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed=0 targets=0
for pkg in $(grep -rl --include='*_test.go' '^func Fuzz' "$@" | grep -v node_modules | xargs -n1 dirname | sort -u); do
  for target in $(grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$pkg"/*_test.go | sed 's/func //' | sort -u); do
    targets=$((targets + 1))
    if try "$pkg" "$target" || { grep -q 'context deadline exceeded' "$log" && ! grep -q 'Failing input' "$log" && try "$pkg" "$target"; }; then
      printf 'fuzz %s %s: %s\n' "$pkg" "$target" "$(grep -oE 'execs: [0-9]+' "$log" | tail -n 1)"
    else
      failed=$((failed + 1))
      printf 'fuzz %s %s: FAIL\n' "$pkg" "$target"
      cat "$log"
    fi
  done
done
printf 'fuzzed %d targets, %d failed\n' "$targets" "$failed"
[ "$failed" = 0 ]
