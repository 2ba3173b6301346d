// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package interop

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeplane/lake/lance/file"
	"github.com/lakeplane/lake/lance/file/filetest"
)

func column(name string, dt arrow.DataType) arrow.Field { return arrow.Field{Name: name, Type: dt} }

func nullable(name string, dt arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: dt, Nullable: true}
}

// packedOf is a packed struct of fields p0, p1, ….
func packedOf(name string, types ...arrow.DataType) arrow.Field {
	fields := make([]arrow.Field, len(types))
	for i, dt := range types {
		fields[i] = column(fmt.Sprintf("p%d", i), dt)
	}
	f := column(name, arrow.StructOf(fields...))
	f.Metadata = arrow.MetadataFrom(map[string]string{"lance-encoding:packed": "true"})
	return f
}

// unwritten are columns of types that Lake reads and does not write, as stock
// LanceDB writes them in a version.
func unwritten(version string) []arrow.Field {
	boolean, f32, i16 := arrow.FixedWidthTypes.Boolean, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Int16
	fixed := func(n int32, dt arrow.DataType) arrow.DataType { return arrow.FixedSizeListOf(n, dt) }
	fields := []arrow.Field{
		packedOf("packed", f32, i16, &arrow.Decimal128Type{Precision: 20}, &arrow.FixedSizeBinaryType{ByteWidth: 3}),
		nullable("packed_in_list", arrow.ListOfField(packedOf("item", f32, i16))),
		nullable("bools", fixed(5, boolean)),
		nullable("bools_in_list", arrow.ListOf(fixed(3, boolean))),
		nullable("bools_nested", fixed(2, fixed(3, fixed(2, boolean)))),
		nullable("numbers_nested", fixed(2, fixed(3, fixed(2, i16)))),
	}
	point := arrow.StructOf(nullable("x", f32), nullable("s", arrow.BinaryTypes.String), nullable("b", fixed(3, boolean)))
	switch version {
	case "2.0":
		fields = append(fields, packedOf("packed_vector", f32, arrow.FixedSizeListOfNonNullable(3, f32)),
			// Stock LanceDB does not read this one itself.
			column("structs", arrow.FixedSizeListOfNonNullable(3, arrow.StructOf(column("x", f32), column("y", i16)))))
	case "2.2":
		fields = append(fields,
			packedOf("packed_text", f32, arrow.BinaryTypes.String, i16, arrow.BinaryTypes.LargeString),
			packedOf("packed_text_nested", arrow.BinaryTypes.String, packedOf("", f32, arrow.BinaryTypes.Binary).Type),
			packedOf("packed_vector", f32, fixed(3, f32), arrow.FixedSizeListOfNonNullable(8, boolean)),
			nullable("packed_text_in_list", arrow.ListOfField(packedOf("item", f32, arrow.BinaryTypes.String))),
			nullable("structs", fixed(3, point)),
			nullable("structs_nested", fixed(2, arrow.StructOf(nullable("v", fixed(3, point)), nullable("w", f32)))),
			nullable("structs_in_struct", arrow.StructOf(nullable("v", fixed(3, point)), nullable("w", f32))),
			column("structs_packed", arrow.FixedSizeListOfField(2, packedOf("item", f32, i16))),
			nullable("map", arrow.MapOf(arrow.BinaryTypes.String, f32)),
			nullable("map_nested", arrow.MapOf(arrow.PrimitiveTypes.Int32, arrow.ListOf(arrow.MapOf(arrow.PrimitiveTypes.Int32, point)))),
		)
	}
	return fields
}

// unwrittenRows makes a column of random values.
func unwrittenRows(f arrow.Field, rows int) (*arrow.Schema, arrow.RecordBatch) {
	s := arrow.NewSchema([]arrow.Field{f}, nil)
	for seed := uint64(1); ; seed++ {
		g := &filetest.Generator{R: rand.New(rand.NewPCG(seed, uint64(len(f.Name)))), Mem: memory.DefaultAllocator, Unwritten: "2.2", LongValues: rows > 100}
		if rec := g.Batch(s, rows); !nullBooleans(rec.Column(0)) && hasValues(rec.Column(0)) {
			return s, rec
		}
	}
}

// hasValues tells whether most rows are not null, and most lists not empty.
func hasValues(a arrow.Array) bool {
	if l, ok := a.(*array.List); ok && l.ListValues().Len() < a.Len() {
		return false
	}
	return a.NullN()*2 < a.Len()
}

// TestLakeReadsWhatOnlyStockWrites reads whole columns and some of their rows.
func TestLakeReadsWhatOnlyStockWrites(t *testing.T) {
	stock := startStock(t)
	want := map[string][]string{
		"2.0": {"packed_struct", "fixed_size_list"},
		"2.1": {"packed_struct", "fixed_size_list", "has_validity"},
		"2.2": {"packed_struct", "variable_packed_struct", "fixed_size_list", "has_validity", "fsst"},
	}
	for version, names := range want {
		clear(seen)
		for _, f := range unwritten(version) {
			t.Run(version+"/"+f.Name, func(t *testing.T) {
				s, rec := unwrittenRows(f, specialRows)
				dir := writeStock(t, stock, version, s, rec)
				gotSchema, got := readOwn(t, dir)
				compare(t, gotSchema, got, s, rec.Columns())
				r := openOnly(t, dir)
				offsets := []uint64{0, 1, 17, 1023, 1024, 2047, 2999}
				taken, err := r.Take(context.Background(), offsets, nil)
				if err != nil {
					t.Fatal(err)
				}
				defer taken.Release()
				compare(t, taken.Schema(), taken.Columns(), s, []arrow.Array{pick(t, rec.Column(0), offsets)})
			})
		}
		for _, name := range names {
			if seen[version][name] == 0 {
				t.Errorf("stock LanceDB did not use %s in version %s; used: %v", name, version, seen[version])
			}
		}
	}
}

// writeStock has stock LanceDB write a table and returns its folder.
func writeStock(t *testing.T, stock *Stock, version string, s *arrow.Schema, rec arrow.RecordBatch) string {
	t.Helper()
	dir := t.TempDir()
	in := filepath.Join(dir, "in.arrow")
	writeIPC(t, in, s, rec)
	if _, err := stock.Do(Command{Op: "write", Dir: dir, Table: "t", IPC: in, Version: version}); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "t.lance")
}

// openOnly opens the only data file of a table.
func openOnly(t *testing.T, dir string) *file.Reader {
	t.Helper()
	m, err := ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	df := m.GetFragments()[0].GetFiles()[0]
	b, err := os.ReadFile(filepath.Join(dir, "data", df.GetPath()))
	if err != nil {
		t.Fatal(err)
	}
	r, err := file.Open(context.Background(), file.Bytes(b), file.Options{Schema: m.GetFields(), Fields: df.GetFields(), Columns: df.GetColumnIndices()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// pick returns the values at some offsets.
func pick(t *testing.T, a arrow.Array, offsets []uint64) arrow.Array {
	t.Helper()
	var parts []arrow.Array
	for _, o := range offsets {
		parts = append(parts, array.NewSlice(a, int64(o), int64(o+1)))
	}
	out, err := array.Concatenate(parts, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestFieldsOfPackedStructs reads some fields of a packed struct: they are one
// column, but asked for one by one.
func TestFieldsOfPackedStructs(t *testing.T) {
	stock := startStock(t)
	for _, version := range []string{"2.0", "2.1", "2.2"} {
		t.Run(version, func(t *testing.T) {
			f := packedOf("c", arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Int16, arrow.FixedWidthTypes.Date32)
			s, rec := unwrittenRows(f, 50)
			r := openOnly(t, writeStock(t, stock, version, s, rec))
			for _, id := range []int32{0, 1, 2, 3} {
				if !r.Has(id) {
					t.Errorf("field %d is not held", id)
				}
			}
			got, err := r.Take(context.Background(), []uint64{3, 40}, []int32{3, 2})
			if err != nil {
				t.Fatal(err)
			}
			defer got.Release()
			whole := rec.Column(0).(*array.Struct)
			part, ok := got.Column(0).(*array.Struct)
			if !ok || part.NumField() != 2 || part.DataType().(*arrow.StructType).Field(0).Name != "p1" {
				t.Fatalf("got %s", got.Schema())
			}
			for i := range 2 {
				if d := filetest.Difference(part.Field(i), pick(t, whole.Field(i+1), []uint64{3, 40})); d != "" {
					t.Errorf("field p%d: %s", i+1, d)
				}
			}
		})
	}
}

// writeUnwritten writes a sample of the types that only stock LanceDB writes in
// a version. Its rows have the types that Lake reads them with: items of fixed
// size lists may be null there.
func writeUnwritten(t *testing.T, stock *Stock, to, version string) {
	t.Helper()
	name := filepath.Join(to, "unwritten-"+version)
	if _, err := os.Stat(name + ".lance"); err == nil {
		return // remove a sample to have it written anew
	}
	fields := unwritten(version)
	columns := make([]arrow.Array, len(fields))
	for i, f := range fields {
		_, rec := unwrittenRows(f, 12)
		columns[i] = rec.Column(0)
	}
	s := arrow.NewSchema(fields, nil)
	dir := writeStock(t, stock, version, s, array.NewRecordBatch(s, columns, 12))
	read, _ := readOwn(t, dir)
	for i, f := range read.Fields() {
		columns[i] = withType(columns[i], f.Type)
	}
	writeIPC(t, name+".arrow", read, array.NewRecordBatch(read, columns, 12))
	files, err := filepath.Glob(filepath.Join(dir, "data", "*.lance"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%d data files, %v", len(files), err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name+".lance", b, 0o644); err != nil {
		t.Fatal(err)
	}
}
