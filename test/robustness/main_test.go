// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

// Package robustness kills, stops and replaces real processes of the authority
// at named places of an append, and at random, and then reads everything to
// see that no acknowledged append was lost or applied twice.
//
// The test binary is also the process under test: with [memberEnv] in its
// environment it is a metasrv over a real metastore, a real object store and
// the Lance engine, each behind a thin wrapper that says on standard output
// where it is and stops there when it was told to on standard input. The
// production packages know nothing of it.
//
// The named windows run in every test run; random loops, clean-ups, histories and load
// need the build tag "robustness" (make test-robustness). In the environment,
// LAKE_ROBUSTNESS_LOOPS is the number of random loops, LAKE_ROBUSTNESS_FULL=1
// makes the load twenty times as long, and LAKE_ROBUSTNESS_LOG=1 shows what the
// members log. The flags -loops and -seed are those of the random loops.
package robustness

import (
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/internal/pgtest"
)

func TestMain(m *testing.M) {
	if config := os.Getenv(memberEnv); config != "" {
		if err := beMember(config); err != nil {
			fmt.Fprintln(os.Stderr, "member:", err)
			os.Exit(1)
		}
		return
	}
	if config := os.Getenv(cleanerEnv); config != "" {
		if err := beCleaner(config); err != nil {
			fmt.Fprintln(os.Stderr, "cleaner:", err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	// Most of the time is spent waiting for leases to run out, so more tests
	// run beside each other than there are processors.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	// What speaks DynamoDB's protocol here takes everybody who has a name.
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		if err := os.Setenv(name, "robustness"); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	if database.server != nil {
		_ = database.server.Stop()
	}
	os.Exit(code)
}

// database is the PostgreSQL server that the tests share; each cluster has a
// schema of its own in it.
var database struct {
	once   sync.Once
	server *pgtest.Server
	err    error
}

// postgresDSN starts the server at the first call. Its durability is not what
// is tested here: nobody kills it.
func postgresDSN(t *testing.T) string {
	t.Helper()
	database.once.Do(func() {
		database.server, database.err = pgtest.Start("fsync=off", "max_connections=300")
	})
	if os.Getenv("CI") == "" && database.err != nil {
		t.Skipf("no PostgreSQL: %v", database.err)
	}
	require.NoError(t, database.err)
	return database.server.DSN()
}
