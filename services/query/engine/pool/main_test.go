// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build linux

package pool_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	storage "github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/services/query/engine"
	"github.com/lakeplane/lake/services/query/engine/duck"
	"github.com/lakeplane/lake/services/query/engine/pool"
	"github.com/lakeplane/lake/services/query/engine/slot"
	"github.com/lakeplane/lake/services/query/engine/slotwire"
)

// The test binary is also the program of the slots, with an engine that can be
// asked to misbehave.
func TestMain(m *testing.M) {
	slot.RunIfAsked(func(s slotwire.Setup) (slot.Engine, error) {
		e, err := duck.OpenSlot(s)
		return bombs{e}, err
	})
	if dir := os.Getenv(parentEnv); dir != "" {
		beParent(dir)
	}
	goleak.VerifyTestMain(m)
}

// parentEnv makes the test binary a replica, which spills into the directory
// it names until it is killed.
const parentEnv = "LAKE_TEST_SLOT_PARENT"

func beParent(dir string) {
	e, err := pool.New(pool.Options{Slots: 1, Memory: 48 << 20, Threads: 1, SpillDir: dir})
	if err != nil {
		panic(err)
	}
	panic(e.Execute(context.Background(), request(spillForever), func(arrow.RecordBatch) error { return nil }))
}

const spillForever = "SELECT max(s) FROM (SELECT range::VARCHAR || 'some padding so that it does not fit' AS s FROM range(100000000) ORDER BY hash(range))"

// bombs does, for statements that begin with BOMB, what an engine might do at
// its worst or an intruder in it would try.
type bombs struct{ slot.Engine }

// hoard keeps what a bomb allocated.
var hoard [][]byte

func (b bombs) Execute(ctx context.Context, req engine.Request, emit func(arrow.RecordBatch) error) error {
	what, ok := strings.CutPrefix(req.SQL, "BOMB ")
	if !ok {
		return b.Engine.Execute(ctx, req, emit)
	}
	word, arg, _ := strings.Cut(what, " ")
	switch word {
	case "abort":
		_ = syscall.Tgkill(os.Getpid(), syscall.Gettid(), syscall.SIGABRT)
		select {}
	case "exit":
		os.Exit(7)
	case "panic":
		panic("a bug")
	case "hang":
		select {}
	case "internal":
		return fmt.Errorf("rotten: %w", engine.ErrBroken)
	case "hoard": // memory the engine does not account for
		for {
			b := make([]byte, 8<<20)
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
			hoard = append(hoard, b)
			time.Sleep(5 * time.Millisecond)
		}
	case "noise":
		for range 1000 {
			fmt.Fprintln(os.Stderr, strings.Repeat("noise ", 100))
		}
		os.Exit(1)
	}
	return emitText(emit, attempt(word, arg))
}

// attempt tries what a slot must not be able to do and says what came of it.
func attempt(what, arg string) string {
	var err error
	switch what {
	case "environ":
		return fmt.Sprintf("%q", os.Environ())
	case "socket":
		_, err = net.Listen("tcp", "127.0.0.1:0")
	case "dial":
		_, err = net.Dial("tcp", arg)
	case "unix":
		_, err = net.Dial("unix", arg)
	case "exec":
		_, err = os.StartProcess("/bin/true", []string{"true"}, &os.ProcAttr{})
	case "read":
		var b []byte
		if b, err = os.ReadFile(arg); err == nil {
			return fmt.Sprintf("read %d bytes", len(b))
		}
	case "write":
		err = os.WriteFile(arg, []byte("x"), 0o600)
	case "kill":
		var pid int
		_, _ = fmt.Sscan(arg, &pid)
		err = syscall.Kill(pid, 0)
	case "raise":
		err = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{Cur: 1 << 20, Max: 1 << 20})
	}
	if err == nil {
		return "done"
	}
	return err.Error()
}

func emitText(emit func(arrow.RecordBatch) error, text string) error {
	schema := arrow.NewSchema([]arrow.Field{{Name: "text", Type: arrow.BinaryTypes.String}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	b.Field(0).(*array.StringBuilder).Append(text)
	rec := b.NewRecordBatch()
	defer rec.Release()
	return emit(rec)
}

func newPool(t testing.TB, opts pool.Options) *pool.Engine {
	t.Helper()
	if opts.Log == nil {
		opts.Log = slog.New(slog.NewTextHandler(testLog{t}, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	if opts.Slots == 0 {
		opts.Slots, opts.Warm = 1, 1
	}
	if opts.Memory == 0 {
		opts.Memory = 256 << 20
	}
	e, err := pool.New(opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

type testLog struct{ t testing.TB }

func (l testLog) Write(b []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(b)))
	return len(b), nil
}

// memTable is a table of ready batches.
type memTable struct {
	schema  *arrow.Schema
	batches []arrow.RecordBatch
	rows    uint64
	onNext  func(ctx context.Context, batch int) error
	served  atomic.Int64
	open    atomic.Int64
}

func (t *memTable) Schema() *arrow.Schema { return t.schema }
func (t *memTable) Rows() uint64          { return t.rows }

func (t *memTable) Scan(_ context.Context, opts storage.ScanOptions) (storage.Scan, error) {
	t.open.Add(1)
	return &memScan{table: t, columns: opts.Columns}, nil
}

type memScan struct {
	table   *memTable
	columns []int
	next    atomic.Int64
}

func (s *memScan) Next(ctx context.Context) (arrow.RecordBatch, error) {
	i := int(s.next.Add(1)) - 1
	if s.table.onNext != nil {
		if err := s.table.onNext(ctx, i); err != nil {
			return nil, err
		}
	}
	if i >= len(s.table.batches) {
		return nil, io.EOF
	}
	s.table.served.Add(1)
	b := s.table.batches[i]
	if s.columns == nil {
		b.Retain()
		return b, nil
	}
	fields, cols := []arrow.Field{}, []arrow.Array{}
	for _, c := range s.columns {
		fields, cols = append(fields, b.Schema().Field(c)), append(cols, b.Column(c))
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), cols, b.NumRows()), nil
}

func (s *memScan) Close() error { s.table.open.Add(-1); return nil }

var numbersSchema = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64},
	{Name: "x", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	{Name: "txt", Type: arrow.BinaryTypes.String},
	{Name: "tags", Type: arrow.ListOf(arrow.PrimitiveTypes.Int16), Nullable: true},
}, nil)

// numbers is a table of n rows.
func numbers(n, batchRows int) *memTable {
	t := &memTable{schema: numbersSchema, rows: uint64(n)}
	for from := 0; from < n; from += batchRows {
		b := array.NewRecordBuilder(memory.DefaultAllocator, numbersSchema)
		for i := from; i < min(n, from+batchRows); i++ {
			b.Field(0).(*array.Int64Builder).Append(int64(i))
			if i%10 == 3 {
				b.Field(1).AppendNull()
			} else {
				b.Field(1).(*array.Float64Builder).Append(float64(i%1000) / 4)
			}
			b.Field(2).(*array.StringBuilder).Append(fmt.Sprintf("episode-%09d", i))
			tags := b.Field(3).(*array.ListBuilder)
			tags.Append(i%5 != 0)
			for j := range i % 5 {
				tags.ValueBuilder().(*array.Int16Builder).Append(int16(j))
			}
		}
		t.batches = append(t.batches, b.NewRecordBatch())
		b.Release()
	}
	return t
}

func request(sql string, pairs ...any) engine.Request {
	r := engine.Request{SQL: sql, Tables: map[engine.Name]engine.Table{}}
	for i := 0; i < len(pairs); i += 2 {
		r.Tables[engine.Name{Namespace: "ns", Table: pairs[i].(string)}] = pairs[i+1].(engine.Table)
	}
	return r
}

// collect runs a statement; it fails the test when that fails.
func collect(t testing.TB, e engine.Engine, req engine.Request) []arrow.RecordBatch {
	t.Helper()
	batches, err := try(t, e, req)
	require.NoError(t, err, req.SQL)
	return batches
}

func try(t testing.TB, e engine.Engine, req engine.Request) (batches []arrow.RecordBatch, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err = e.Execute(ctx, req, func(b arrow.RecordBatch) error {
		b.Retain()
		batches = append(batches, b)
		return nil
	})
	return batches, err
}

func text(t testing.TB, batches []arrow.RecordBatch) string {
	t.Helper()
	var s strings.Builder
	for _, b := range batches {
		require.NoError(t, array.RecordToJSON(b, &s))
	}
	return strings.TrimSpace(s.String())
}
