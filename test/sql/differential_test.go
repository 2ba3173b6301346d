// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sqltest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/sdk"
)

// generated is how many statements the differential test makes.
const generated = 420

// TestGeneratedStatementsAnswerAsDuckDBDoes makes statements of every shape
// and compares rows. LAKE_SQL_SEED and LAKE_SQL_COUNT ask for others.
func TestGeneratedStatementsAnswerAsDuckDBDoes(t *testing.T) {
	p, l := newPeer(t), startLake(t)
	server := l.query(t)
	c := client(t, server)
	loadSample(t, p, server)
	seed, count := setting(t, "LAKE_SQL_SEED", 1), int(setting(t, "LAKE_SQL_COUNT", generated))
	empty, failed := 0, map[string]int{}
	for i := range count {
		g := &generator{Rand: rand.New(rand.NewPCG(seed, uint64(i)))}
		shape := shapes[i%len(shapes)]
		sql := shape.make(g)
		n, err := compare(t.Context(), p, c, sql)
		require.NoError(t, err, "seed %d, statement %d (%s):\n%s", seed, i, shape.name, sql)
		if n == 0 {
			empty++
		}
		if n < 0 {
			failed[shape.name]++
		}
	}
	t.Logf("%d statements: %d without rows, refused by both engines: %v", count, empty, failed)
	require.Less(t, empty, count/3, "too many statements prove nothing")
	// Two shapes of all are mostly answered without the engine.
	require.Greater(t, server.gauge(t, "lake_query_direct_total"), float64(count/10), "what is answered directly has to be compared too")
	require.Less(t, sum(failed), count/10, "too many statements are wrong in themselves")
}

func sum(m map[string]int) (n int) {
	for _, v := range m {
		n += v
	}
	return n
}

func setting(t *testing.T, name string, otherwise uint64) uint64 {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	v, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err, name)
	return v
}

// compare runs a statement on both and returns how many rows it has, or -1
// when both refuse it.
func compare(ctx context.Context, p *peer, c *sdk.Client, sql string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var want rows
	wantErr := p.run(sql, want.line)
	got, err := ask(ctx, c, sql)
	switch {
	case wantErr != nil && err != nil:
		return -1, nil
	case wantErr != nil || err != nil:
		return 0, fmt.Errorf("DuckDB: %w; Lake: %w", orNone(wantErr), orNone(err))
	}
	if !strings.Contains(sql, " ORDER BY 1") {
		want, got = want.sorted(), got.sorted()
	}
	if len(want) != len(got) {
		return 0, fmt.Errorf("DuckDB has %d rows, Lake %d", len(want), len(got))
	}
	for i := range want {
		if want[i] != got[i] {
			return 0, fmt.Errorf("row %d of %d:\nDuckDB %s\nLake   %s", i, len(want), want[i], got[i])
		}
	}
	return len(want), nil
}

var errNone = fmt.Errorf("no error")

func orNone(err error) error {
	if err == nil {
		return errNone
	}
	return err
}
