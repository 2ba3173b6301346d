// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/lance/lancepb"
)

// leafTypes are the types whose logical name is written down in the
// specification, with that name.
var leafTypes = map[string]arrow.DataType{
	"bool": arrow.FixedWidthTypes.Boolean, "int8": arrow.PrimitiveTypes.Int8, "uint64": arrow.PrimitiveTypes.Uint64,
	"halffloat": arrow.FixedWidthTypes.Float16, "float": arrow.PrimitiveTypes.Float32, "double": arrow.PrimitiveTypes.Float64,
	"string": arrow.BinaryTypes.String, "large_binary": arrow.BinaryTypes.LargeBinary, "null": arrow.Null,
	"date32:day": arrow.FixedWidthTypes.Date32, "date64:ms": arrow.FixedWidthTypes.Date64,
	"time32:s": arrow.FixedWidthTypes.Time32s, "time64:ns": arrow.FixedWidthTypes.Time64ns,
	"duration:us":                               arrow.FixedWidthTypes.Duration_us,
	"timestamp:ms:-":                            &arrow.TimestampType{Unit: arrow.Millisecond},
	"timestamp:ns:UTC":                          &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"},
	"timestamp:us:Asia/Tokyo":                   &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "Asia/Tokyo"},
	"decimal:128:20:4":                          &arrow.Decimal128Type{Precision: 20, Scale: 4},
	"decimal:256:70:-3":                         &arrow.Decimal256Type{Precision: 70, Scale: -3},
	"fixed_size_binary:7":                       &arrow.FixedSizeBinaryType{ByteWidth: 7},
	"fixed_size_list:float:768":                 arrow.FixedSizeListOf(768, arrow.PrimitiveTypes.Float32),
	"fixed_size_list:fixed_size_list:float:4:3": arrow.FixedSizeListOf(3, arrow.FixedSizeListOf(4, arrow.PrimitiveTypes.Float32)),
	"fixed_size_list:decimal:128:20:4:2":        arrow.FixedSizeListOf(2, &arrow.Decimal128Type{Precision: 20, Scale: 4}),
}

func TestLeafTypesHaveTheNamesOfTheSpecification(t *testing.T) {
	for name, dt := range leafTypes {
		fields, err := FromArrow(arrow.NewSchema([]arrow.Field{{Name: "c", Type: dt}}, nil))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := fields[0].GetLogicalType(); got != name {
			t.Errorf("%s is named %q, want %q", dt, got, name)
		}
		back, err := ToArrow(fields, nil)
		if err != nil || !arrow.TypeEqual(back.Field(0).Type, dt) {
			t.Errorf("%s came back as %v, %v", name, back, err)
		}
	}
}

func TestFieldsAreInPreOrder(t *testing.T) {
	item := arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int32}, arrow.Field{Name: "y", Type: arrow.BinaryTypes.String, Nullable: true})
	s := arrow.NewSchema([]arrow.Field{
		{Name: "l", Type: arrow.ListOfField(arrow.Field{Name: "element", Type: item, Nullable: true}), Nullable: true},
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
	}, nil)
	fields, err := FromArrow(s)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range fields {
		got = append(got, fmt.Sprintf("%d/%d %s %s %t", f.GetId(), f.GetParentId(), f.GetName(), f.GetLogicalType(), f.GetNullable()))
	}
	want := "0/-1 l list.struct true|1/0 element struct true|2/1 x int32 false|3/1 y string true|4/-1 id int64 false"
	if s := strings.Join(got, "|"); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
}

func TestRefusalsNameTheColumnAndTheReason(t *testing.T) {
	deep := arrow.PrimitiveTypes.Int8
	for range MaxDepth + 1 {
		deep = arrow.ListOf(deep)
	}
	i32 := arrow.PrimitiveTypes.Int32
	cases := map[string]struct {
		field arrow.Field
		want  string
	}{
		"map":          {arrow.Field{Name: "m", Type: arrow.MapOf(i32, i32)}, "column m: type map"},
		"dictionary":   {arrow.Field{Name: "d", Type: &arrow.DictionaryType{IndexType: i32, ValueType: arrow.BinaryTypes.String}}, "column d"},
		"view":         {arrow.Field{Name: "v", Type: arrow.BinaryTypes.StringView}, "column v"},
		"interval":     {arrow.Field{Name: "i", Type: arrow.FixedWidthTypes.MonthDayNanoInterval}, "column i"},
		"nested":       {arrow.Field{Name: "s", Type: arrow.StructOf(arrow.Field{Name: "inner", Type: arrow.MapOf(i32, i32)})}, "column s.inner"},
		"offset zone":  {arrow.Field{Name: "t", Type: &arrow.TimestampType{Unit: arrow.Second, TimeZone: "+05:30"}}, "IANA"},
		"empty struct": {arrow.Field{Name: "e", Type: arrow.StructOf()}, "at least one field"},
		"list of text": {arrow.Field{Name: "f", Type: arrow.FixedSizeListOf(2, arrow.BinaryTypes.String)}, "lists of numbers"},
		"no name":      {arrow.Field{Type: i32}, "needs a name"},
		"dot":          {arrow.Field{Name: "a.b", Type: i32}, "must not contain '.'"},
		"bad utf8":     {arrow.Field{Name: "\xff", Type: i32}, "UTF-8"},
		"deep":         {arrow.Field{Name: "x", Type: deep}, "nested deeper"},
		"blob":         {arrow.Field{Name: "b", Type: arrow.BinaryTypes.LargeBinary, Metadata: arrow.MetadataFrom(map[string]string{"lance-encoding:blob": "true"})}, "lance-encoding:blob"},
	}
	for name, c := range cases {
		err := Check(arrow.NewSchema([]arrow.Field{{Name: "ok", Type: i32}, c.field}, nil))
		if !lake.Is(err, lake.Invalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an invalid error with %q", name, err, c.want)
		}
	}
	twice := []arrow.Field{{Name: "a", Type: i32}, {Name: "a", Type: i32}}
	if err := Check(arrow.NewSchema(twice, nil)); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("duplicate name: %v", err)
	}
}

func TestToArrowRefusesMalformedLists(t *testing.T) {
	leaf := func(id, parent int32, typ string) *lancepb.Field {
		return &lancepb.Field{Name: "f", Id: id, ParentId: parent, LogicalType: typ}
	}
	cases := map[string]struct {
		fields []*lancepb.Field
		kind   lake.Kind
	}{
		"two ids":        {[]*lancepb.Field{leaf(1, -1, "int8"), leaf(1, -1, "int8")}, lake.Corrupt},
		"negative id":    {[]*lancepb.Field{leaf(-1, -1, "struct")}, lake.Corrupt},
		"orphan":         {[]*lancepb.Field{leaf(1, 9, "int8")}, lake.Corrupt},
		"cycle":          {[]*lancepb.Field{leaf(1, 2, "struct"), leaf(2, 1, "struct")}, lake.Corrupt},
		"empty list":     {[]*lancepb.Field{leaf(1, -1, "list")}, lake.Corrupt},
		"child of leaf":  {[]*lancepb.Field{leaf(1, -1, "int8"), leaf(2, 1, "int8")}, lake.Corrupt},
		"unknown type":   {[]*lancepb.Field{leaf(1, -1, "geo")}, lake.Unsupported},
		"bad decimal":    {[]*lancepb.Field{leaf(1, -1, "decimal:128:99:1")}, lake.Unsupported},
		"bad list size":  {[]*lancepb.Field{leaf(1, -1, "fixed_size_list:float:-1")}, lake.Unsupported},
		"bad time unit":  {[]*lancepb.Field{leaf(1, -1, "timestamp:h:-")}, lake.Unsupported},
		"nested fsl":     {[]*lancepb.Field{leaf(1, -1, "fixed_size_list:fixed_size_list:string:2:2")}, lake.Unsupported},
		"deep fsl":       {[]*lancepb.Field{leaf(1, -1, strings.Repeat("fixed_size_list:", 40)+"float"+strings.Repeat(":1", 40))}, lake.Unsupported},
		"fixed binary 0": {[]*lancepb.Field{leaf(1, -1, "fixed_size_binary:0")}, lake.Unsupported},
	}
	for name, c := range cases {
		if _, err := ToArrow(c.fields, nil); !lake.Is(err, c.kind) {
			t.Errorf("%s: got %v, want kind %s", name, err, c.kind)
		}
	}
}

func TestMetadataAndKeysArePreserved(t *testing.T) {
	md := arrow.MetadataFrom(map[string]string{"unit": "m/s", "ARROW:extension:name": "x.y", "lance-schema:unenforced-primary-key": "true"})
	in := arrow.NewSchema([]arrow.Field{{Name: "v", Type: arrow.PrimitiveTypes.Float32, Nullable: true, Metadata: md}}, nil)
	fields, err := FromArrow(in)
	if err != nil {
		t.Fatal(err)
	}
	if fields[0].GetExtensionName() != "x.y" || !fields[0].GetUnenforcedPrimaryKey() {
		t.Errorf("field %v", fields[0])
	}
	out, err := ToArrow(fields, map[string][]byte{"owner": []byte("arm-7")})
	if err != nil {
		t.Fatal(err)
	}
	smd := out.Metadata()
	if v, _ := smd.GetValue("owner"); v != "arm-7" || !out.Field(0).Equal(in.Field(0)) {
		t.Errorf("came back as %v", out)
	}
}

// drawType draws a type Check accepts. Fixed size list items are nullable and
// called "item", which is all the format can say.
func drawType(rt *rapid.T, depth int) arrow.DataType {
	if depth == 0 || rapid.IntRange(0, 2).Draw(rt, "leaf") > 0 {
		names := rapid.SampledFrom([]string{"bool", "int8", "uint64", "double", "string", "large_binary", "timestamp:us:Asia/Tokyo", "decimal:128:20:4", "fixed_size_list:float:768", "fixed_size_list:fixed_size_list:float:4:3"})
		return leafTypes[names.Draw(rt, "type")]
	}
	if rapid.Bool().Draw(rt, "list") {
		f := arrow.Field{Name: "it", Type: drawType(rt, depth-1), Nullable: rapid.Bool().Draw(rt, "null")}
		if rapid.Bool().Draw(rt, "large") {
			return arrow.LargeListOfField(f)
		}
		return arrow.ListOfField(f)
	}
	return arrow.StructOf(drawFields(rt, depth-1)...)
}

func drawFields(rt *rapid.T, depth int) []arrow.Field {
	n := rapid.IntRange(1, 4).Draw(rt, "fields")
	out := make([]arrow.Field, n)
	for i := range out {
		out[i] = arrow.Field{Name: fmt.Sprintf("f%d", i), Type: drawType(rt, depth), Nullable: rapid.Bool().Draw(rt, "null")}
	}
	return out
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		in := arrow.NewSchema(drawFields(rt, 3), nil)
		fields, err := FromArrow(in)
		if err != nil {
			rt.Fatal(err)
		}
		out, err := ToArrow(fields, nil)
		if err != nil || !out.Equal(in) {
			rt.Fatalf("in %v\nout %v\nerr %v", in, out, err)
		}
		again, err := FromArrow(out)
		if err != nil || len(again) != len(fields) {
			rt.Fatal(err)
		}
		for i := range fields {
			if !proto.Equal(fields[i], again[i]) {
				rt.Fatalf("field %d changed: %v, %v", i, fields[i], again[i])
			}
		}
	})
}

func TestStoredFieldsAreLooseBelowNullableOnesOnly(t *testing.T) {
	i32 := arrow.PrimitiveTypes.Int32
	inner := func(null bool) arrow.DataType {
		return arrow.ListOfField(arrow.Field{Name: "item", Type: arrow.StructOf(arrow.Field{Name: "x", Type: i32, Nullable: null}), Nullable: null})
	}
	in := arrow.NewSchema([]arrow.Field{
		{Name: "required", Type: inner(false)},
		{Name: "optional", Type: inner(false), Nullable: true},
		{Name: "plain", Type: i32},
	}, nil)
	want := arrow.NewSchema([]arrow.Field{in.Field(0), {Name: "optional", Type: inner(true), Nullable: true}, in.Field(2)}, nil)
	for _, s := range []*arrow.Schema{in, want} {
		fields, err := Stored(s)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ToArrow(fields, nil); err != nil || !got.Equal(want) {
			t.Errorf("got %v, %v", got, err)
		}
	}
	if _, err := Stored(arrow.NewSchema([]arrow.Field{{Name: "", Type: i32}}, nil)); !lake.Is(err, lake.Invalid) {
		t.Errorf("%v", err)
	}
}
