// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sqltest

import "testing"

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

// loadSample makes the tables in the peer and in Lake.
func loadSample(t testing.TB, p *peer, server *process) {
	t.Helper()
	for _, sql := range sampleData {
		p.must(t, sql)
	}
	for table := range tables {
		p.copyTo(t, server, table)
	}
}
