// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package interop

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/uuid"

	"github.com/lakeplane/lake/lance"
	"github.com/lakeplane/lake/lance/file/filetest"
	"github.com/lakeplane/lake/lance/lancepb"
)

// table is what a version of a dataset must hold.
type table struct {
	fields []arrow.Field
	cols   []arrow.Array
}

func (t table) schema() *arrow.Schema { return arrow.NewSchema(t.fields, nil) }

func (t table) rows() int { return t.cols[0].Len() }

// history is a dataset that Lake and stock LanceDB change in turn, and what
// each of its versions must hold. Column 0, k, numbers the rows.
type history struct {
	t        *testing.T
	r        *rand.Rand
	g        *filetest.Generator
	stock    *Stock
	dir      string
	st       Folder
	m        *lance.Manifest
	now      table
	versions map[uint64]table
	nextKey  int64
	added    int
	log      []string
	write    lance.WriteOptions
}

// TestHistoriesReadTheSame makes random histories of appends, deletes,
// compactions and changes of columns, by Lake and by stock LanceDB, and reads
// every version with both.
func TestHistoriesReadTheSame(t *testing.T) {
	stock := startStock(t)
	n := max(1, seeds()/8)
	for seed := range n {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			h := newHistory(t, stock, uint64(seed))
			defer func() {
				if t.Failed() {
					t.Logf("history %d: %s", seed, strings.Join(h.log, "; "))
				}
			}()
			for range 10 {
				h.step()
			}
			h.check()
		})
	}
}

func newHistory(t *testing.T, stock *Stock, seed uint64) *history {
	r := rand.New(rand.NewPCG(seed, 21))
	h := &history{t: t, r: r, stock: stock, dir: t.TempDir(), versions: map[uint64]table{}, write: lance.WriteOptions{Compact: seed%2 == 0, PageBytes: 4096}}
	h.g = &filetest.Generator{R: r, Mem: memory.DefaultAllocator, MaxDepth: int(seed % 3), Relaxed: true, Leaves: historyLeaves}
	h.st = Folder(filepath.Join(h.dir, "t.lance"))
	fields := append([]arrow.Field{{Name: "k", Type: arrow.PrimitiveTypes.Int64}}, h.g.Schema(3).Fields()...)
	h.now = table{fields: fields}
	for _, f := range fields {
		h.now.cols = append(h.now.cols, array.NewBuilder(memory.DefaultAllocator, f.Type).NewArray())
	}
	m, err := lance.NewManifest(h.now.schema(), h.commit())
	h.publish(m, err)
	h.append()
	return h
}

// historyLeaves are the types that JavaScript's Arrow carries without loss in
// any state; see nullBooleans.
var historyLeaves = slices.DeleteFunc(slices.Clone(filetest.Leaves), func(dt arrow.DataType) bool { return dt.ID() == arrow.BOOL })

func (h *history) commit() lance.Commit {
	return lance.Commit{UUID: uuid.NewString(), Time: time.Now()}
}

// publish makes a manifest the newest version.
func (h *history) publish(m *lance.Manifest, err error) {
	h.t.Helper()
	if err == nil {
		err = m.Write(h.t.Context(), h.st)
	}
	if err == nil {
		m, err = lance.ReadManifest(h.t.Context(), h.st, m.Version())
	}
	if err != nil {
		h.t.Fatal(err)
	}
	h.m = m
	h.versions[m.Version()] = h.now
}

// reload takes the version stock LanceDB made.
func (h *history) reload() {
	h.t.Helper()
	all, err := lance.Versions(h.t.Context(), h.st)
	if err != nil {
		h.t.Fatal(err)
	}
	if h.m, err = lance.ReadManifest(h.t.Context(), h.st, all[len(all)-1]); err != nil {
		h.t.Fatal(err)
	}
	for _, v := range all {
		if _, ok := h.versions[v]; !ok {
			h.versions[v] = h.now // none of its steps in between changes rows
		}
	}
}

func (h *history) open(m *lance.Manifest) *lance.Dataset {
	h.t.Helper()
	d, err := lance.Open(h.t.Context(), h.st, m, lance.Options{Write: h.write})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = d.Close() })
	return d
}

func (h *history) step() {
	steps := []struct {
		name string
		do   func()
	}{
		{"append", h.append},
		{"append by stock", h.appendByStock},
		{"delete", h.delete},
		{"delete by stock", h.deleteByStock},
		{"compact", h.compact},
		{"optimize by stock", h.optimizeByStock},
		{"add column", h.addColumn},
		{"drop column", h.dropColumn},
		{"rename column", h.renameColumn},
	}
	s := steps[h.r.IntN(len(steps))]
	h.log = append(h.log, s.name)
	s.do()
}

// batch makes new rows.
func (h *history) batch() arrow.RecordBatch {
	rec := h.g.Batch(h.now.schema(), 1+h.r.IntN(400))
	keys := array.NewInt64Builder(memory.DefaultAllocator)
	for range rec.NumRows() {
		keys.Append(h.nextKey)
		h.nextKey++
	}
	cols := append([]arrow.Array{keys.NewArray()}, rec.Columns()[1:]...)
	return array.NewRecordBatch(rec.Schema(), cols, rec.NumRows())
}

func (h *history) extend(rec arrow.RecordBatch) {
	cols := make([]arrow.Array, len(h.now.cols))
	for i, c := range h.now.cols {
		cols[i] = h.concat(c, rec.Column(i))
	}
	h.now.cols = cols
}

func (h *history) concat(parts ...arrow.Array) arrow.Array {
	h.t.Helper()
	out, err := array.Concatenate(parts, memory.DefaultAllocator)
	if err != nil {
		h.t.Fatal(err)
	}
	return out
}

func (h *history) append() {
	rec := h.batch()
	rows, err := array.NewRecordReader(rec.Schema(), []arrow.RecordBatch{rec})
	if err != nil {
		h.t.Fatal(err)
	}
	frag, err := h.write.WriteFragment(h.t.Context(), h.st, h.m.Fields(), rows)
	if err != nil {
		h.t.Fatal(err)
	}
	m, err := h.m.Append([]*lancepb.DataFragment{frag}, h.commit())
	h.extend(rec)
	h.publish(m, err)
}

func (h *history) appendByStock() {
	rec := h.batch()
	in := filepath.Join(h.dir, "add.arrow")
	writeIPC(h.t, in, rec.Schema(), rec)
	if _, err := h.stock.Do(Command{Op: "add", Dir: h.dir, Table: "t", IPC: in}); err != nil {
		h.t.Fatalf("%v\nschema %v", err, rec.Schema())
	}
	h.extend(rec)
	h.reload()
}

// keep drops all rows but those whose key has another remainder.
func (h *history) keep(div, rem int64) (deleted []uint64) {
	keys := h.now.cols[0].(*array.Int64)
	parts := make([][]arrow.Array, len(h.now.cols))
	for i := range h.now.rows() {
		if keys.Value(i)%div == rem {
			deleted = append(deleted, uint64(i))
			continue
		}
		for c, col := range h.now.cols {
			parts[c] = append(parts[c], array.NewSlice(col, int64(i), int64(i+1)))
		}
	}
	cols := make([]arrow.Array, len(parts))
	for c := range parts {
		cols[c] = h.concat(append(parts[c], array.NewSlice(h.now.cols[c], 0, 0))...)
	}
	h.now.cols = cols
	return deleted
}

func (h *history) delete() {
	d := h.open(h.m)
	rows := h.keep(h.modulus())
	if len(rows) == 0 {
		return
	}
	m, err := d.Delete(h.t.Context(), h.st, rows, "k", h.commit())
	h.publish(m, err)
}

func (h *history) modulus() (div, rem int64) {
	div = []int64{2, 3, 7, 50, 400}[h.r.IntN(5)]
	return div, h.r.Int64N(div)
}

func (h *history) deleteByStock() {
	div, rem := h.modulus()
	h.keep(div, rem)
	if _, err := h.stock.Do(Command{Op: "delete", Dir: h.dir, Table: "t", Where: fmt.Sprintf("k %% %d = %d", div, rem)}); err != nil {
		h.t.Fatal(err)
	}
	h.reload()
}

func (h *history) compact() {
	d := h.open(h.m)
	groups := d.PlanCompaction(lance.CompactOptions{TargetRows: 700})
	if len(groups) == 0 {
		return
	}
	m, err := d.Compact(h.t.Context(), h.st, groups, h.commit())
	h.publish(m, err)
}

func (h *history) optimizeByStock() {
	if _, err := h.stock.Do(Command{Op: "optimize", Dir: h.dir, Table: "t"}); err != nil {
		h.t.Fatal(err)
	}
	h.reload()
}

func (h *history) addColumn() {
	f := arrow.Field{Name: fmt.Sprintf("added%d", h.added), Type: arrow.PrimitiveTypes.Int64, Nullable: true}
	h.added++
	var fill *lance.Backfill
	col := h.nulls(f)
	if h.r.IntN(2) == 0 {
		fill = &lance.Backfill{Columns: []int{0}, Compute: func(in arrow.RecordBatch) (arrow.RecordBatch, error) {
			return array.NewRecordBatch(arrow.NewSchema([]arrow.Field{f}, nil), in.Columns(), in.NumRows()), nil
		}}
		col = h.now.cols[0]
	}
	m, err := h.open(h.m).AddColumns(h.t.Context(), h.st, []arrow.Field{f}, fill, h.commit())
	h.now = table{fields: append(slices.Clone(h.now.fields), f), cols: append(slices.Clone(h.now.cols), col)}
	h.publish(m, err)
}

func (h *history) nulls(f arrow.Field) arrow.Array {
	b := array.NewBuilder(memory.DefaultAllocator, f.Type)
	b.AppendNulls(h.now.rows())
	return b.NewArray()
}

func (h *history) dropColumn() {
	if len(h.now.fields) < 3 {
		return
	}
	at := 1 + h.r.IntN(len(h.now.fields)-1)
	m, err := h.open(h.m).DropColumns([]int{at}, h.commit())
	h.now = table{fields: slices.Delete(slices.Clone(h.now.fields), at, at+1), cols: slices.Delete(slices.Clone(h.now.cols), at, at+1)}
	h.publish(m, err)
}

func (h *history) renameColumn() {
	if len(h.now.fields) < 2 {
		return
	}
	at := 1 + h.r.IntN(len(h.now.fields)-1)
	name := fmt.Sprintf("renamed%d", h.added)
	h.added++
	m, err := h.open(h.m).RenameColumn(at, name, h.commit())
	fields := slices.Clone(h.now.fields)
	fields[at].Name = name
	h.now = table{fields: fields, cols: h.now.cols}
	h.publish(m, err)
}

// check reads every version with both.
func (h *history) check() {
	all, err := lance.Versions(h.t.Context(), h.st)
	if err != nil {
		h.t.Fatal(err)
	}
	if len(all) != len(h.versions) {
		h.t.Errorf("%d versions, want %d", len(all), len(h.versions))
	}
	for _, v := range all {
		h.checkStock(v)
		h.checkOwn(v)
	}
}

func (h *history) checkStock(v uint64) {
	want := h.versions[v]
	out := filepath.Join(h.dir, "out.arrow")
	if _, err := h.stock.Do(Command{Op: "read", Dir: h.dir, Table: "t", IPC: out, At: v}); err != nil {
		h.t.Fatalf("version %d: %v", v, err)
	}
	s, cols := readIPC(h.t, out)
	if want.rows() == 0 && s.NumFields() == 0 {
		return // what JavaScript's Arrow makes of no batches
	}
	if s.NumFields() != len(want.fields) {
		h.t.Errorf("version %d: columns %v, want %v", v, s, want.fields)
	}
	compare(h.t, s, cols, want.schema(), want.cols)
	if h.t.Failed() {
		h.t.Fatalf("stock LanceDB read version %d otherwise", v)
	}
	if err := os.Remove(out); err != nil {
		h.t.Fatal(err)
	}
}

func (h *history) checkOwn(v uint64) {
	h.t.Helper()
	m, err := lance.ReadManifest(h.t.Context(), h.st, v)
	if err != nil {
		h.t.Fatal(err)
	}
	s, err := h.open(m).Scan(h.t.Context(), lance.ScanOptions{Ordered: true})
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	var batches []arrow.RecordBatch
	for {
		b, err := s.Next(h.t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			h.t.Fatal(err)
		}
		batches = append(batches, b)
	}
	want := h.versions[v]
	compare(h.t, want.schema(), columns(h.t, want.schema(), batches), want.schema(), want.cols)
	if h.t.Failed() {
		h.t.Fatalf("Lake read version %d otherwise", v)
	}
}
