// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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
	"github.com/lakeplane/lake/services/query/engine/pool"
	"github.com/lakeplane/lake/services/query/engine/slot"
	"github.com/lakeplane/lake/services/query/gate"
)

// cpu is the processor time of the process so far, of server and client, and
// of its slots.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	used := time.Duration(u.Utime.Nano() + u.Stime.Nano())
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, stat := range stats {
		text, _ := os.ReadFile(stat)
		_, rest, _ := strings.Cut(string(text), ") ")
		if f := strings.Fields(rest); len(f) > 12 && f[1] == strconv.Itoa(os.Getpid()) {
			for _, ticks := range f[11:13] {
				n, _ := strconv.Atoi(ticks)
				used += time.Duration(n) * 10 * time.Millisecond
			}
		}
	}
	return used
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

// modes are the two places where a statement can run.
var modes = []struct {
	name      string
	inProcess bool
}{{"in-process", true}, {"slots", false}}

// modeEngines opens an engine of each kind, so that one run compares them.
func modeEngines(b *testing.B) map[string]slot.Engine {
	engines := map[string]slot.Engine{}
	for _, m := range modes {
		if !m.inProcess && pool.Supported() != nil {
			continue
		}
		e, err := openSQL(m.inProcess, 2)
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, e.Close()) })
		engines[m.name] = e
	}
	return engines
}

func using(e slot.Engine) func(*query.Options) {
	return func(o *query.Options) {
		o.SQL, o.Gate = e, gate.New(e, gate.DefaultLimits())
		o.Admission = admission.Options{Queue: time.Second}
	}
}

// BenchmarkServe reads 5 million rows through a replica, with statements in the
// replica and in slots, and as a peer through a bare Flight server with ready
// batches of 64 Ki rows.
func BenchmarkServe(b *testing.B) {
	const rowsTotal = 5_000_000
	l := newLake(b)
	name := l.authority.create(b, "lab.wide", wideSchema)
	rec := measured(rowsTotal, wideSchema)
	defer rec.Release()
	l.authority.insert(b, name, rec)
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
	engines := modeEngines(b)
	for _, q := range []struct{ name, sql string }{
		{"select", "SELECT * FROM lab.wide"},
		{"filter", "SELECT * FROM lab.wide WHERE bucket < 500"},
		{"sum", "SELECT sum(x), sum(id) FROM lab.wide"},
		{"group", "SELECT bucket, sum(x) FROM lab.wide GROUP BY bucket"},
		{"texts", "SELECT episode, count(*) FROM lab.wide GROUP BY episode"},
	} {
		for _, m := range modes {
			e, ok := engines[m.name]
			if !ok {
				continue
			}
			b.Run(q.name+"/"+m.name, func(b *testing.B) {
				c := l.replica(using(e)).client("ann-token")
				info, err := c.Execute(b.Context(), q.sql)
				require.NoError(b, err)
				drain(b, c, info.GetEndpoint()[0].GetTicket()) // warm
				start, bytes := cpu(), int64(0)
				for b.Loop() {
					bytes += drain(b, c, info.GetEndpoint()[0].GetTicket())
				}
				report(b, bytes, cpu()-start)
			})
		}
	}
	l.copying = true
	b.Run("select-copying", func(b *testing.B) {
		c := l.replica(using(engines["in-process"])).client("ann-token")
		info, err := c.Execute(b.Context(), "SELECT * FROM lab.wide")
		require.NoError(b, err)
		start, bytes := cpu(), int64(0)
		for b.Loop() {
			bytes += drain(b, c, info.GetEndpoint()[0].GetTicket())
		}
		report(b, bytes, cpu()-start)
	})
}

// BenchmarkSmallQuery is the latency of one small statement, both calls: the
// median, since the mean is that of the neighbours.
func BenchmarkSmallQuery(b *testing.B) {
	l := newLake(b)
	name := l.authority.create(b, "lab.notes", simple)
	l.authority.insert(b, name, rows(b, simple, `[{"id":1},{"id":2}]`))
	engines := modeEngines(b)
	for _, m := range modes {
		e, ok := engines[m.name]
		if !ok {
			continue
		}
		b.Run(m.name, func(b *testing.B) {
			c := l.replica(using(e)).client("ann-token")
			var took []time.Duration
			start := cpu()
			for b.Loop() {
				at := time.Now()
				require.EqualValues(b, 1, mustRunB(b, c, "SELECT id FROM lab.notes WHERE id = 1"))
				took = append(took, time.Since(at))
			}
			report(b, 0, cpu()-start)
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-us")
			b.ReportMetric(float64(took[len(took)*95/100].Microseconds()), "p95-us")
		})
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
