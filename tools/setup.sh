#!/usr/bin/env bash
# Installs what the tests need beyond Go and is safe to repeat. What cannot be
# had is said here once; the tests that need it then skip with their reason.
set -u
cd "$(dirname "$0")/.."

say() { printf 'setup: %s\n' "$*"; }

need_go() {
  command -v go >/dev/null || { say "Go 1.26 or newer is needed"; exit 1; }
  command -v cc >/dev/null || command -v gcc >/dev/null || debian gcc libc6-dev g++ || { say "a C compiler is needed to link DuckDB"; exit 1; }
}

# debian PACKAGE... installs Debian packages where that is possible.
debian() {
  command -v apt-get >/dev/null || { say "no apt-get: not installing $*"; return 1; }
  [ "$(id -u)" = 0 ] || { say "not root: not installing $*"; return 1; }
  say "installing $*"
  { DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@" || { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@"; }; } >/dev/null 2>&1 </dev/null
}

node_modules() {
  [ -f test/interop/package.json ] || return 0
  command -v npm >/dev/null || debian nodejs npm || { say "no npm: the LanceDB interop tests will be skipped"; return 0; }
  [ test/interop/node_modules/.package-lock.json -nt test/interop/package-lock.json ] && return 0
  say "installing stock LanceDB for the interop tests"
  (cd test/interop && npm ci --no-audit --no-fund --loglevel=error </dev/null) || say "npm ci failed: the LanceDB interop tests will be skipped"
}

postgres() {
  compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null && return 0
  # Without create_main_cluster=false the package would start a server of its own.
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    mkdir -p /etc/postgresql-common
    [ -e /etc/postgresql-common/createcluster.conf ] || echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
  fi
  debian postgresql || say "no PostgreSQL: its tests will be skipped"
}

need_go
node_modules
case " $* " in *" postgres "*) postgres ;; esac
exit 0
