// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package pool

import (
	"os"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/services/query/engine"
)

// shape is a table that is never read.
type shape struct {
	engine.Table
	schema *arrow.Schema
	rows   uint64
}

func (s shape) Schema() *arrow.Schema { return s.schema }
func (s shape) Rows() uint64          { return s.rows }

var _ engine.Table = shape{}

func TestAffinity(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int64}}, nil)
	request := func(tables map[string]engine.Table) engine.Request {
		req := engine.Request{Steady: true, Tables: map[engine.Name]engine.Table{}}
		for name, table := range tables {
			req.Tables[engine.Name{Namespace: "ns", Table: name}] = table
		}
		return req
	}
	ab := request(map[string]engine.Table{"a": shape{schema: schema, rows: 1}, "b": shape{schema: schema, rows: 2}})
	require.Equal(t, affinity(ab), affinity(request(map[string]engine.Table{"b": shape{schema: schema, rows: 2}, "a": shape{schema: schema, rows: 1}})))
	for _, other := range []engine.Request{
		request(map[string]engine.Table{"a": shape{schema: schema, rows: 1}}),
		request(map[string]engine.Table{"a": shape{schema: schema, rows: 2}, "b": shape{schema: schema, rows: 1}}),
		request(map[string]engine.Table{"a": shape{schema: schema, rows: 1}, "c": shape{schema: schema, rows: 2}}),
		request(map[string]engine.Table{"a": shape{schema: schema, rows: 1}, "b": shape{schema: arrow.NewSchema(nil, nil), rows: 2}}),
	} {
		require.NotEqual(t, affinity(ab), affinity(other))
	}
	ab.Steady = false
	require.Zero(t, affinity(ab), "it would find nothing it may use")
	require.Zero(t, affinity(engine.Request{Steady: true}))
}

// A slot that has the tables is taken; else the one whose tables were not asked
// for for longest, so that the others keep theirs.
func TestPopPrefersTheSlotWithTheTables(t *testing.T) {
	e := &Engine{opts: Options{}.withDefaults(), all: map[*process]bool{}}
	e.opts.Warm = 0
	var at [3]*process
	for i := range at {
		at[i] = &process{engine: e, os: &os.Process{}, seated: uint64(i + 1)}
	}
	take := func(of uint64) *process {
		p, _ := e.pop(of)
		require.NotNil(t, p)
		e.idle = append(e.idle, p)
		return p
	}
	e.idle = append(e.idle, at[:]...)
	e.life = t.Context()
	require.Same(t, at[1], take(2))
	require.Same(t, at[0], take(9), "unused for longest")
	at[0].seated = 9
	require.Same(t, at[0], take(9))
	require.Same(t, at[2], take(3))
	require.Same(t, at[2], take(0), "without tables: the one used last")
}
