// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/services/query/engine"
)

// peers is one unlocked instance that holds the same rows three times: as our
// table, as DuckDB's own, and as a Parquet file.
type peers struct {
	slot *slot
	from map[string]string // what to put for "ns.t" in a statement
}

func newPeers(t testing.TB, tab *memTable, threads int) *peers {
	t.Helper()
	s := &slot{opts: Options{Threads: threads, Memory: 4 << 30}.withDefaults()}
	var err error
	s.db, err = openDatabase(map[string]string{"threads": fmt.Sprint(threads), "preserve_insertion_order": "false", "memory_limit": "4GB"})
	require.NoError(t, err)
	s.conn, err = s.db.connect()
	require.NoError(t, err)
	s.id = slots.add(s)
	t.Cleanup(s.close)
	require.NoError(t, s.conn.registerScan(s.id))
	q := newQuery(context.Background(), engine.Request{Tables: tables("t", tab)}, false)
	bound, err := q.bindTables("lake", func() uint64 { return tableIDs.Add(1) })
	require.NoError(t, err)
	s.setQuery(q)
	s.opts.Catalog = "memory"
	views, err := s.views(bound)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "t.parquet")
	require.NoError(t, s.conn.exec(views+fmt.Sprintf("CREATE TABLE native AS FROM ns.t; COPY native TO '%s' (FORMAT parquet)", file)))
	return &peers{slot: s, from: map[string]string{"lake": "ns.t", "native": "native", "parquet": "read_parquet('" + file + "')"}}
}

// run executes a statement over one copy and returns the values as text.
func (p *peers) run(t testing.TB, peer, sql string) []string {
	t.Helper()
	stmt, err := p.slot.conn.prepare(strings.ReplaceAll(sql, "ns.t", p.from[peer]))
	require.NoError(t, err, sql)
	defer stmt.close()
	cur, err := stmt.start()
	require.NoError(t, err)
	defer cur.close()
	var out collector
	require.NoError(t, p.slot.stream(cur, nil, nil, out.add))
	return out.values
}

// TestSameAnswers compares our table with DuckDB's own over the same rows.
func TestSameAnswers(t *testing.T) {
	p := newPeers(t, numbers(60_000, 7_000), 2)
	for _, sql := range []string{
		"SELECT count(*), sum(id), min(txt), max(val), avg(val), count(val) FROM ns.t",
		"SELECT grp, count(*), sum(val), min(txt) FROM ns.t GROUP BY grp ORDER BY grp",
		"SELECT * FROM ns.t WHERE val IS NULL AND id % 1000 = 3 ORDER BY id",
		"SELECT * FROM ns.t WHERE txt LIKE '%9999' OR grp = 5 ORDER BY id DESC LIMIT 100",
		"SELECT a.id, b.txt FROM ns.t a JOIN ns.t b ON a.id = b.id + 1 WHERE a.grp < 3 ORDER BY a.id",
		"SELECT count(*) FROM ns.t a LEFT JOIN ns.t b ON a.id = b.id * 2 WHERE b.id IS NULL",
		"SELECT grp, txt FROM (SELECT *, row_number() OVER (PARTITION BY grp ORDER BY val DESC, id) rn FROM ns.t) WHERE rn = 1 ORDER BY grp",
		"SELECT id, lag(val) OVER (ORDER BY id) FROM ns.t ORDER BY id LIMIT 5000",
		"SELECT DISTINCT grp FROM ns.t WHERE id IN (SELECT id * 3 FROM ns.t) ORDER BY 1",
		"SELECT grp, list(id ORDER BY id)[1:3], string_agg(txt, ',' ORDER BY id)[1:40] FROM ns.t GROUP BY grp ORDER BY grp",
		"SELECT grp % 7 AS g, quantile_cont(val, 0.5), approx_count_distinct(txt) > 100 FROM ns.t GROUP BY ROLLUP (g) ORDER BY g",
		"SELECT max(length(txt)), max(strlen(txt || txt)), count(DISTINCT txt) FROM ns.t",
		"SELECT x, count(*) FROM (SELECT unnest([grp, grp + 1]) x FROM ns.t) GROUP BY x ORDER BY x",
		"SELECT id FROM ns.t POSITIONAL JOIN (SELECT range r FROM range(10)) ORDER BY id LIMIT 5",
	} {
		want := p.run(t, "native", sql)
		require.NotEmpty(t, want, sql)
		require.Equal(t, want, p.run(t, "lake", sql), sql)
	}
}

// cpuTime is what the process has used so far, in user and system mode.
func cpuTime(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestSpeed compares the CPU time of scans over 5 M rows with DuckDB's own
// table and with Parquet, in one run on one machine. It is asked for by name:
//
//	LAKE_SPEED=1 go test -run TestSpeed -v ./services/query/engine/duck
//
// LAKE_SPEED_LIMIT is the ratio to the native table that fails the test.
func TestSpeed(t *testing.T) {
	if os.Getenv("LAKE_SPEED") == "" {
		t.Skip("set LAKE_SPEED=1 to run: it needs a quiet machine and a minute")
	}
	limit := 1.5
	if s := os.Getenv("LAKE_SPEED_LIMIT"); s != "" {
		_, err := fmt.Sscan(s, &limit)
		require.NoError(t, err)
	}
	p := newPeers(t, numbers(5_000_000, 65_536), 2)
	// DuckDB knows the extremes of its own columns and then groups small
	// integers without a hash table. A table function cannot tell it any.
	unfair := map[string]bool{"group": true}
	for _, q := range []struct{ name, sql string }{
		{"count", "SELECT count(*) FROM ns.t"},
		{"sum", "SELECT sum(id), sum(val) FROM ns.t"},
		{"filter", "SELECT count(*), sum(val) FROM ns.t WHERE grp = 42"},
		{"text", "SELECT max(txt), sum(strlen(txt)) FROM ns.t"},
		{"like", "SELECT count(*) FROM ns.t WHERE txt LIKE '%77%'"},
		{"group", "SELECT grp, count(*), avg(val) FROM ns.t GROUP BY grp"},
		{"group sum", "SELECT grp + id * 0 AS k, count(*), avg(val) FROM ns.t GROUP BY k"},
		{"group text", "SELECT txt[9:14] k, count(*) FROM ns.t GROUP BY k"},
		{"join", "SELECT count(*) FROM ns.t a JOIN ns.t b ON a.id = b.id WHERE b.grp < 10"},
		{"sort", "SELECT id, val FROM ns.t ORDER BY val DESC, id LIMIT 100"},
		{"stream", "SELECT id, val, txt FROM ns.t"},
	} {
		best := map[string]time.Duration{}
		for range 4 {
			for _, peer := range []string{"native", "lake", "parquet"} {
				d := p.cost(t, peer, q.sql)
				if b, ok := best[peer]; !ok || d < b {
					best[peer] = d
				}
			}
		}
		ratio := float64(best["lake"]) / float64(best["native"])
		t.Logf("%-10s lake %6.1f ms  native %6.1f ms (%.2fx)  parquet %6.1f ms (%.2fx)", q.name, ms(best["lake"]), ms(best["native"]), ratio,
			ms(best["parquet"]), float64(best["lake"])/float64(best["parquet"]))
		if best["native"] > 20*time.Millisecond && ratio > limit && !unfair[q.name] {
			t.Errorf("%s: %.2f times the CPU of the native table, want at most %.2f", q.name, ratio, limit)
		}
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// cost is the CPU time of one execution, results dropped.
func (p *peers) cost(t testing.TB, peer, sql string) time.Duration {
	t.Helper()
	before := cpuTime(t)
	stmt, err := p.slot.conn.prepare(strings.ReplaceAll(sql, "ns.t", p.from[peer]))
	require.NoError(t, err)
	cur, err := stmt.start()
	require.NoError(t, err)
	require.NoError(t, p.slot.stream(cur, nil, nil, discard))
	cur.close()
	stmt.close()
	return cpuTime(t) - before
}
