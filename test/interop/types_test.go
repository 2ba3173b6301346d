// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/lance/file"
	"github.com/lakeplane/lake/lance/schema"
)

// typesDoc holds the table of types, which the test checks.
const typesDoc = "../../docs/formats/lance.md"

// TestTypesOfTheDocumentation writes and reads every type, and compares what
// happens with the table of the documentation. A refusal must be typed.
func TestTypesOfTheDocumentation(t *testing.T) {
	stock := startStock(t)
	doc, err := os.ReadFile(typesDoc)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range typeCases() {
		t.Run(c.name, func(t *testing.T) {
			line := fmt.Sprintf("| %s | %s | %s | %s | %s |", c.name, c.writes(t, stock), c.reads(t, stock, "2.0"), c.reads(t, stock, "2.1"), c.reads(t, stock, "2.2"))
			if !strings.Contains(string(doc), line+"\n") {
				t.Errorf("%s lacks the line\n%s", typesDoc, line)
			}
		})
	}
}

const (
	works   = "yes"
	refused = "refused"
	noStock = "–"        // stock LanceDB does not write it
	noScrpt = "untested" // JavaScript's Arrow does not know the type
)

// writes tells whether Lake writes the type, and checks it with stock LanceDB.
func (c typeCase) writes(t *testing.T, stock *Stock) string {
	t.Helper()
	rec, dir := c.rows(), t.TempDir()
	if _, err := tryWriteOwn(filepath.Join(dir, "t.lance"), rec); err != nil {
		if !lake.Is(err, lake.Invalid) || !strings.Contains(err.Error(), "column c") {
			t.Errorf("refusal without kind or column: %v", err)
		}
		return refused
	}
	s, got := readOwn(t, filepath.Join(dir, "t.lance"))
	compare(t, s, got, rec.Schema(), rec.Columns())
	out := filepath.Join(dir, "out.arrow")
	if _, err := stock.Do(Command{Op: "read", Dir: dir, Table: "t", IPC: out}); err != nil {
		if strings.Contains(err.Error(), "Unrecognized type") {
			return works
		}
		t.Error(err)
	}
	s, got = readIPC(t, out)
	compare(t, s, got, rec.Schema(), rec.Columns())
	return works
}

// reads tells whether Lake reads the type as stock LanceDB writes it.
func (c typeCase) reads(t *testing.T, stock *Stock, version string) string {
	t.Helper()
	rec, dir := c.rows(), t.TempDir()
	in := filepath.Join(dir, "in.arrow")
	writeIPC(t, in, rec.Schema(), rec)
	if _, err := stock.Do(Command{Op: "write", Dir: dir, Table: "t", IPC: in, Version: version}); err != nil {
		if strings.Contains(err.Error(), "Unrecognized type") {
			return noScrpt
		}
		return noStock
	}
	s, batches, err := scanDataset(filepath.Join(dir, "t.lance"))
	if err != nil {
		if !lake.Is(err, lake.Unsupported) {
			t.Errorf("version %s: refusal without kind: %v", version, err)
		}
		t.Logf("version %s: %v", version, err)
		return refused
	}
	if version == "2.0" && c.lossy20 {
		return "yes, without nulls of the struct"
	}
	compare(t, s, columns(t, s, batches), rec.Schema(), rec.Columns())
	return works
}

func tryWriteOwn(dir string, rec arrow.RecordBatch) (file.Written, error) {
	fields, err := schema.FromArrow(rec.Schema())
	if err != nil {
		return file.Written{}, err
	}
	var out bytes.Buffer
	w, err := file.NewWriter(&out, rec.Schema(), fields, file.WriterOptions{})
	if err != nil {
		return file.Written{}, err
	}
	if err := w.Write(rec); err != nil {
		return file.Written{}, err
	}
	written, err := w.Close()
	if err != nil {
		return file.Written{}, err
	}
	return written, WriteDataset(dir, fields, out.Bytes(), written)
}

type typeCase struct {
	name string
	typ  arrow.DataType
	meta map[string]string
	json string // two rows, the second mostly null
	// lossy20 says that version 2.0 does not keep the nulls.
	lossy20 bool
}

func (c typeCase) rows() arrow.RecordBatch {
	s := arrow.NewSchema([]arrow.Field{{Name: "c", Type: c.typ, Nullable: true, Metadata: arrow.MetadataFrom(c.meta)}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	for _, line := range strings.Split(c.json, "\n") {
		if err := b.UnmarshalJSON([]byte(`{"c":` + line + `}`)); err != nil {
			panic(fmt.Sprint(c.name, ": ", err))
		}
	}
	return b.NewRecordBatch()
}

func typeCases() []typeCase {
	f32 := arrow.PrimitiveTypes.Float32
	point := arrow.StructOf(arrow.Field{Name: "x", Type: f32, Nullable: true}, arrow.Field{Name: "y", Type: f32, Nullable: true})
	text := arrow.StructOf(arrow.Field{Name: "x", Type: f32, Nullable: true}, arrow.Field{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true})
	return []typeCase{
		{name: "bool", typ: arrow.FixedWidthTypes.Boolean, json: "true\nnull"},
		{name: "integers", typ: arrow.PrimitiveTypes.Uint64, json: "7\nnull"},
		{name: "floats", typ: f32, json: "1.5\nnull"},
		{name: "string", typ: arrow.BinaryTypes.String, json: "\"a\"\nnull"},
		{name: "binary", typ: arrow.BinaryTypes.Binary, json: "\"YQ==\"\nnull"},
		{name: "date32", typ: arrow.FixedWidthTypes.Date32, json: "\"2020-01-01\"\nnull"},
		{name: "timestamp", typ: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, json: "\"2020-01-01T00:00:00Z\"\nnull"},
		{name: "list", typ: arrow.ListOf(arrow.ListOf(f32)), json: "[[1],[],null]\nnull"},
		{name: "null", typ: arrow.Null, json: "null\nnull"},
		{name: "float16", typ: arrow.FixedWidthTypes.Float16, json: "1.5\nnull"},
		{name: "large string", typ: arrow.BinaryTypes.LargeString, json: "\"a\"\nnull"},
		{name: "large binary", typ: arrow.BinaryTypes.LargeBinary, json: "\"YQ==\"\nnull"},
		{name: "large list", typ: arrow.LargeListOf(f32), json: "[1,2]\nnull"},
		{name: "date64", typ: arrow.FixedWidthTypes.Date64, json: "\"2020-01-01\"\nnull"},
		{name: "time32", typ: arrow.FixedWidthTypes.Time32ms, json: "\"10:00:00\"\nnull"},
		{name: "time64", typ: arrow.FixedWidthTypes.Time64ns, json: "\"10:00:00\"\nnull"},
		{name: "duration", typ: arrow.FixedWidthTypes.Duration_us, json: "\"5us\"\nnull"},
		{name: "decimal128", typ: &arrow.Decimal128Type{Precision: 38, Scale: 3}, json: "\"1.5\"\nnull"},
		{name: "decimal256", typ: &arrow.Decimal256Type{Precision: 70, Scale: 3}, json: "\"1.5\"\nnull"},
		{name: "fixed size binary", typ: &arrow.FixedSizeBinaryType{ByteWidth: 3}, json: "\"YWJj\"\nnull"},
		{name: "fixed size list", typ: arrow.FixedSizeListOf(2, f32), json: "[1,null]\nnull"},
		{name: "fixed size list of bool", typ: arrow.FixedSizeListOf(2, arrow.FixedWidthTypes.Boolean), json: "[true,false]\nnull"},
		{name: "fixed size list of times", typ: arrow.FixedSizeListOf(2, &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}), json: "[\"2020-01-01T00:00:00Z\",null]\nnull"},
		{name: "fixed size list of fixed size binary", typ: arrow.FixedSizeListOf(2, &arrow.FixedSizeBinaryType{ByteWidth: 3}), json: "[\"YWJj\",null]\nnull"},
		{name: "nested fixed size list of bool", typ: arrow.FixedSizeListOf(2, arrow.FixedSizeListOf(3, arrow.FixedWidthTypes.Boolean)), json: "[[true,null,false],[true,true,true]]\nnull"},
		{name: "fixed size list of decimals", typ: arrow.FixedSizeListOf(2, &arrow.Decimal128Type{Precision: 9}), json: "[\"1\",\"2\"]\nnull"},
		{name: "nested fixed size list", typ: arrow.FixedSizeListOf(2, arrow.FixedSizeListOf(3, f32)), json: "[[1,2,3],[4,5,6]]\nnull"},
		{name: "fixed size list of strings", typ: arrow.FixedSizeListOf(2, arrow.BinaryTypes.String), json: "[\"a\",\"b\"]\nnull"},
		{name: "fixed size list of structs", typ: arrow.FixedSizeListOf(2, point), json: "[{\"x\":1,\"y\":2},{\"x\":3,\"y\":4}]\nnull"},
		{name: "list of fixed size lists", typ: arrow.ListOf(arrow.FixedSizeListOf(2, f32)), json: "[[1,2],[3,4]]\nnull"},
		{name: "struct", typ: point, json: "{\"x\":1}\nnull", lossy20: true},
		{name: "struct without fields", typ: arrow.StructOf(), json: "{}\n{}"},
		{name: "packed struct", typ: point, meta: map[string]string{"packed": "true"}, json: "{\"x\":1,\"y\":2}\n{\"x\":3,\"y\":4}"},
		{name: "packed struct with strings", typ: text, meta: map[string]string{"packed": "true"}, json: "{\"x\":1,\"s\":\"a\"}\n{\"x\":3,\"s\":\"\"}"},
		{name: "packed struct with bool", typ: arrow.StructOf(arrow.Field{Name: "b", Type: arrow.FixedWidthTypes.Boolean}), meta: map[string]string{"packed": "true"}, json: "{\"b\":true}\n{\"b\":false}"},
		{name: "fixed size list of structs with lists", typ: arrow.FixedSizeListOf(2, arrow.StructOf(arrow.Field{Name: "l", Type: arrow.ListOf(f32), Nullable: true})), json: "[{\"l\":[1]},{\"l\":[]}]\nnull"},
		{name: "map", typ: arrow.MapOf(arrow.BinaryTypes.String, f32), json: "[{\"key\":\"a\",\"value\":1}]\nnull"},
		{name: "dictionary", typ: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}, json: "\"a\"\nnull"},
		{name: "interval", typ: arrow.FixedWidthTypes.MonthDayNanoInterval, json: "null\nnull"},
		{name: "string view", typ: arrow.BinaryTypes.StringView, json: "\"a\"\nnull"},
		{name: "blob", typ: arrow.BinaryTypes.LargeBinary, meta: map[string]string{"lance-encoding:blob": "true"}, json: "\"YQ==\"\nnull"},
	}
}
