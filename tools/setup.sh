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

# newer A B: A is there and was made after B. The clients below are pinned by B.
newer() { [ -e "$1" ] && [ "$1" -nt "$2" ]; }

clients() {
  client_python || say "no ADBC driver for Python: its tests will be skipped"
  client_node || say "no Rust client for Node: its tests will be skipped"
  client_jdbc || say "no JDBC driver: its tests will be skipped"
}

client_python() (
  cd test/clients/python || return 1
  newer .venv/.installed requirements.txt && return 0
  command -v python3 >/dev/null || debian python3 python3-venv || return 1
  say "installing the ADBC driver for Python"
  python3 -m venv .venv || { debian python3-venv && python3 -m venv .venv; } || return 1
  .venv/bin/pip install -q --disable-pip-version-check -r requirements.txt </dev/null && touch .venv/.installed
)

client_node() (
  cd test/clients/node || return 1
  newer node_modules/.package-lock.json package-lock.json && return 0
  command -v npm >/dev/null || debian nodejs npm || return 1
  say "installing the Rust client for Node"
  # npm ci refuses the lock: it lacks a platform that was never published.
  npm install --no-save --no-audit --no-fund --loglevel=error </dev/null
)

client_jdbc() (
  cd test/clients/jdbc || return 1
  newer lib/.installed pom.xml && return 0
  { command -v javac && command -v mvn; } >/dev/null || debian default-jdk-headless maven || return 1
  say "installing the JDBC driver"
  mvn -q -B -Dmaven.repo.local="$PWD/.m2" dependency:copy-dependencies -DoutputDirectory=lib </dev/null && touch lib/.installed
)

postgres() {
  server
  { [ -x /usr/sbin/pgbouncer ] || type -P pgbouncer; } >/dev/null || unstarted pgbouncer || say "no PgBouncer: the tests behind a pooler will be skipped"
}

# unstarted installs Debian packages without the services that they would start.
unstarted() (
  policy=/usr/sbin/policy-rc.d
  if [ "$(id -u)" = 0 ] && [ ! -e $policy ]; then
    trap 'rm -f $policy' EXIT
    printf '#!/bin/sh\nexit 101\n' >$policy && chmod 755 $policy || return 1
  fi
  debian "$@"
)

server() {
  compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null && return 0
  # Without create_main_cluster=false the package would start a server of its own.
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    mkdir -p /etc/postgresql-common
    [ -e /etc/postgresql-common/createcluster.conf ] || echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
  fi
  debian postgresql || say "no PostgreSQL: its tests will be skipped"
}

# The S3 server of the tests; a version of its own makes it be built again.
versitygw=v1.8.0

s3() {
  [ -x bin/versitygw ] && [ "$(cat bin/versitygw.version 2>/dev/null)" = $versitygw ] && return 0
  say "building the S3 server of the tests, once, about 3 minutes on 2 cores"
  mkdir -p bin
  if (cd bin && GOFLAGS= GOWORK=off GOBIN="$PWD" go install github.com/versity/versitygw/cmd/versitygw@$versitygw); then
    echo $versitygw >bin/versitygw.version
  else
    say "no S3 server: its tests will be skipped"
  fi
}

# promtool only, for the tests of the alert rules: the package would start a server.
promtool() {
  { [ -x bin/promtool ] || type -P promtool; } >/dev/null && return 0 # -P: not this function
  say "fetching promtool for the tests of the alert rules, once"
  mkdir -p bin
  debian_promtool || say "no promtool: the unit tests of the alert rules will be skipped"
}

debian_promtool() (
  { command -v apt-get && command -v dpkg-deb; } >/dev/null || return 1
  dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT || return 1
  fetch() (cd "$dir" && apt-get download -qq prometheus)
  { fetch || { [ "$(id -u)" = 0 ] && apt-get update -qq && fetch; }; } >/dev/null 2>&1 </dev/null || return 1
  dpkg-deb -x "$dir"/prometheus_*.deb "$dir/files" && "$dir/files/usr/bin/promtool" --version >/dev/null 2>&1 && mv "$dir/files/usr/bin/promtool" bin/promtool
)

need_go
node_modules
case " $* " in *" clients "*) clients ;; esac
case " $* " in *" postgres "*) postgres ;; esac
case " $* " in *" s3 "*) s3 ;; esac
case " $* " in *" promtool "*) promtool ;; esac
exit 0
