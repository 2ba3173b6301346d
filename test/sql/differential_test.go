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

// sampleData make the tables of the generated statements in the peer.
var sampleData = []string{
	`CREATE SCHEMA lab`,
	`CREATE MACRO h(x) AS (hash(x) >> 8)::BIGINT`,
	`CREATE TABLE lab.robots AS SELECT i AS id, 'robot-' || i AS name,
		CASE WHEN i % 7 = 0 THEN NULL ELSE 'r' || (i % 5) END AS model, ((h(i) % 800) / 8)::DOUBLE AS weight,
		DATE '2020-01-01' + (h(i + 1) % 2000)::INTEGER AS born,
		CASE WHEN i % 11 = 0 THEN NULL ELSE [(i % 9)::INTEGER, (i % 4)::INTEGER, NULL][1:(i % 4)] END AS tags,
		{'x': ((h(i + 2) % 80) / 8)::DOUBLE, 'y': (i % 13)::INTEGER, 'frame': 'f' || (i % 3)} AS pose
		FROM range(200) t(i)`,
	`CREATE TABLE lab.episodes AS SELECT i AS id, CASE WHEN i % 17 = 0 THEN NULL ELSE h(i) % 220 END::BIGINT AS robot_id,
		['pick', 'place', 'push', 'naïve', ''][1 + h(i + 1) % 5] AS task,
		CASE WHEN i % 5 = 0 THEN NULL ELSE ((h(i + 2) % 2000000)::BIGINT - 1000000) / 1000 END::DECIMAL(10,3) AS reward,
		(h(i + 3) % 1000)::INTEGER AS steps, CASE h(i + 4) % 3 WHEN 0 THEN NULL WHEN 1 THEN true ELSE false END AS ok,
		TIMESTAMP '2026-01-01' + INTERVAL (h(i + 5) % 30000000) SECOND AS started,
		CASE WHEN i % 13 = 0 THEN NULL ELSE DATE '2026-01-01' + (h(i + 6) % 365)::INTEGER END AS day,
		CASE WHEN i % 19 = 0 THEN NULL ELSE list_transform(range((i % 5)), lambda x: (h(x + i) % 10)::INTEGER) END AS scores,
		(i % 100)::SMALLINT AS small, CASE WHEN i % 6 = 0 THEN NULL ELSE ((h(i + 7) % 8000)::BIGINT - 4000) / 8 END::DOUBLE AS f,
		{'a': CASE WHEN i % 8 = 0 THEN NULL ELSE (i % 150)::INTEGER END, 'b': {'c': 'c' || (i % 21), 'd': [(i % 6)::INTEGER, 3]}} AS info,
		[{'key': 'k' || (i % 4), 'value': (i % 50)::INTEGER}, {'key': 'z', 'value': 1}] AS attrs,
		TIMESTAMPTZ '2026-03-01 12:00:00+00' + INTERVAL (i) MINUTE AS seen
		FROM range(20000) t(i)`,
	`CREATE TABLE lab.events AS SELECT i AS id, (h(i) % 21000)::BIGINT AS episode_id, (i % 40)::INTEGER AS seq,
		['start', 'grasp', 'slip', 'end'][1 + h(i + 1) % 4] AS kind, CASE WHEN i % 3 = 0 THEN NULL ELSE h(i + 2) % 100000 END::BIGINT AS value,
		TIMESTAMP '2026-01-01' + INTERVAL (i * 7) SECOND AS at, ('\x00\xFF' || (i % 10))::BLOB AS payload
		FROM range(50000) t(i)`,
}

// generated is how many statements the differential test makes.
const generated = 360

// TestGeneratedStatementsAnswerAsDuckDBDoes makes statements of every shape
// and compares rows. LAKE_SQL_SEED and LAKE_SQL_COUNT ask for others.
func TestGeneratedStatementsAnswerAsDuckDBDoes(t *testing.T) {
	p, l := newPeer(t), startLake(t)
	server := l.query(t)
	c := client(t, server)
	for _, sql := range sampleData {
		p.must(t, sql)
	}
	for _, table := range []string{"lab.robots", "lab.episodes", "lab.events"} {
		p.copyTo(t, server, table)
	}
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
