// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package postgres

import (
	"fmt"
	"testing"

	"github.com/lakeplane/lake/metastore/metastoretest"
)

func BenchmarkStore(b *testing.B) {
	needServer(b)
	metastoretest.Bench(b, openTemp)
}

// BenchmarkRaw is the peer of BenchmarkStore/create: plain inserts of the same
// records, one transaction each, through the same pool.
func BenchmarkRaw(b *testing.B) {
	needServer(b)
	for _, writers := range metastoretest.BenchWriters {
		b.Run(fmt.Sprintf("create/writers=%d", writers), func(b *testing.B) {
			s := openWith(b, options(b))
			insert := inSchema(s.opts.Schema, `insert into {{schema}}.record (key, value) values ($1, $2)`)
			metastoretest.BenchCommits(b, writers, func(_, i int) error {
				_, err := s.pool.Exec(b.Context(), insert, fmt.Appendf(nil, "bench/%010d", i), metastoretest.BenchValue)
				return err
			})
		})
	}
}
