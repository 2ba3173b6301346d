// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"errors"
	"io"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/lakeplane/lake/services/query"
	"github.com/lakeplane/lake/services/query/admission"
)

// cpu is the processor time of the process so far, of server and client.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func measured(n int, schema *arrow.Schema) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for i := range n {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(1).(*array.Float64Builder).Append(float64(i) / 7)
		b.Field(2).(*array.Int32Builder).Append(int32(i % 1000))
		b.Field(3).(*array.StringBuilder).Append("episode-" + string(rune('a'+i%26)))
	}
	return b.NewRecordBatch()
}

var wideSchema = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64},
	{Name: "x", Type: arrow.PrimitiveTypes.Float64},
	{Name: "bucket", Type: arrow.PrimitiveTypes.Int32},
	{Name: "episode", Type: arrow.BinaryTypes.String},
}, nil)

// bare is arrow-go's own way to serve ready batches.
type bare struct {
	pb.UnimplementedFlightServiceServer
	rec   arrow.RecordBatch
	times int
}

func (s *bare) DoGet(_ *flight.Ticket, stream flight.FlightService_DoGetServer) error {
	w := flight.NewRecordWriter(stream, ipcSchema(s.rec))
	for range s.times {
		if err := w.Write(s.rec); err != nil {
			return err
		}
	}
	return w.Close()
}

// drain receives messages without decoding them, as the cheapest client would.
func drain(b *testing.B, c *flightsql.Client, ticket *flight.Ticket) (bytes int64) {
	s, err := c.Client.DoGet(b.Context(), ticket)
	require.NoError(b, err)
	for {
		m, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return bytes
		}
		require.NoError(b, err)
		bytes += int64(len(m.GetDataBody()) + len(m.GetDataHeader()))
	}
}

func report(b *testing.B, bytes int64, used time.Duration) {
	b.ReportMetric(float64(bytes)/1e6/used.Seconds(), "MB/cpu-s")
	b.ReportMetric(used.Seconds()/float64(b.N)*1e3, "cpu-ms/op")
}

// BenchmarkServe reads 2 million rows through a replica, and as a peer through
// a bare Flight server with ready batches of 64 Ki rows.
func BenchmarkServe(b *testing.B) {
	const rowsTotal = 2_000_000
	l := newLake(b)
	name := l.authority.create(b, "lab.wide", wideSchema)
	rec := measured(rowsTotal, wideSchema)
	defer rec.Release()
	l.authority.insert(b, name, rec)
	c := l.replica().client("ann-token")
	b.Run("bare", func(b *testing.B) {
		part := rec.NewSlice(0, 65536)
		defer part.Release()
		g := grpc.NewServer()
		pb.RegisterFlightServiceServer(g, &bare{rec: part, times: rowsTotal / 65536})
		peer, err := flightsql.NewClient(serve(b, g), nil, nil, dialInsecure("")...)
		require.NoError(b, err)
		defer func() { _ = peer.Close() }()
		start, bytes := cpu(), int64(0)
		for b.Loop() {
			bytes += drain(b, peer, &flight.Ticket{})
		}
		report(b, bytes, cpu()-start)
	})
	l.copying = true
	copying := l.replica().client("ann-token")
	for _, q := range []struct {
		name, sql string
		c         *flightsql.Client
	}{
		{"select", "SELECT * FROM lab.wide", c},
		{"select-copying", "SELECT * FROM lab.wide", copying},
		{"filter", "SELECT * FROM lab.wide WHERE bucket < 500", c},
		{"aggregate", "SELECT bucket, sum(x) FROM lab.wide GROUP BY bucket", c},
	} {
		b.Run(q.name, func(b *testing.B) {
			c := q.c
			info, err := c.Execute(b.Context(), q.sql)
			require.NoError(b, err)
			start, bytes := cpu(), int64(0)
			for b.Loop() {
				bytes += drain(b, c, info.GetEndpoint()[0].GetTicket())
			}
			report(b, bytes, cpu()-start)
		})
	}
}

// BenchmarkSmallQuery is the latency of one small statement, both calls.
func BenchmarkSmallQuery(b *testing.B) {
	l := newLake(b)
	name := l.authority.create(b, "lab.notes", simple)
	l.authority.insert(b, name, rows(b, simple, `[{"id":1},{"id":2}]`))
	c := l.replica(func(o *query.Options) { o.Admission = admission.Options{Queue: time.Second} }).client("ann-token")
	for b.Loop() {
		require.EqualValues(b, 1, mustRunB(b, c, "SELECT id FROM lab.notes WHERE id = 1"))
	}
}

func mustRunB(b *testing.B, c *flightsql.Client, sql string) (n int64) {
	info, err := c.Execute(b.Context(), sql)
	require.NoError(b, err)
	r, err := c.DoGet(b.Context(), info.GetEndpoint()[0].GetTicket())
	require.NoError(b, err)
	defer r.Release()
	for r.Next() {
		n += r.RecordBatch().NumRows()
	}
	require.NoError(b, r.Err())
	return n
}
