// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package schema

import (
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/lance/lancepb"
)

const (
	// MaxDepth is the deepest nesting of fields that is read or written. Levels
	// are stored in 16 bits, and recursion is bounded by it.
	MaxDepth = 32
	// MaxFields is the largest number of fields of a schema, nested included.
	MaxFields = 1 << 16

	// ExtensionKey is the entry of a field's metadata that names its Arrow
	// extension type.
	ExtensionKey = "ARROW:extension:name"

	primaryKeyKey = "lance-schema:unenforced-primary-key"
)

// refusedMetadata are field metadata keys that ask a Lance writer for a layout
// Lake does not write; keeping them on plain data would mislead readers.
var refusedMetadata = append([]string{"lance-encoding:blob"}, packedKeys...)

// packedKeys ask for a packed struct, by either name.
var packedKeys = []string{"lance-encoding:packed", "packed"}

// FromArrow returns the Lance fields of a schema, in pre-order, with ids from 0
// and parent -1 for root fields. Names, nullability and field metadata are
// kept; schema metadata is not part of the fields.
//
// It fails with a [lake.Invalid] error that names the column path for anything
// [Check] refuses.
func FromArrow(s *arrow.Schema) ([]*lancepb.Field, error) {
	if s == nil {
		return nil, lake.Errorf(lake.Invalid, "the schema is missing")
	}
	b := fieldBuilder{}
	if err := b.level(s.Fields(), nil, -1); err != nil {
		return nil, err
	}
	return b.fields, nil
}

// Check reports whether Lake can store the schema: null, bool, integers,
// floats, utf8, binary, their large variants, date, time, timestamp, duration,
// decimal, fixed size binary, fixed size lists of such values with one width of
// whole bytes or of such lists, lists and structs.
// It fails with a [lake.Invalid] error naming the column path and the reason.
func Check(s *arrow.Schema) error {
	_, err := FromArrow(s)
	return err
}

type fieldBuilder struct {
	fields []*lancepb.Field
}

// level appends the sibling fields fs and everything below them.
func (b *fieldBuilder) level(fs []arrow.Field, path []string, parent int32) error {
	if len(path) > MaxDepth {
		return refuse(path, "nested deeper than %d levels", MaxDepth)
	}
	seen := make(map[string]bool, len(fs))
	for _, f := range fs {
		at := append(path[:len(path):len(path)], f.Name)
		if err := checkName(f.Name, at, seen); err != nil {
			return err
		}
		if err := b.field(f, at, parent); err != nil {
			return err
		}
	}
	return nil
}

func checkName(name string, path []string, seen map[string]bool) error {
	switch {
	case name == "":
		return refuse(path, "a column needs a name")
	case !utf8.ValidString(name):
		return refuse(path, "a column name must be valid UTF-8")
	case len(path) == 1 && strings.Contains(name, "."):
		return refuse(path, "the name of a top-level column must not contain '.'")
	case seen[name]:
		return refuse(path, "the name occurs twice")
	}
	seen[name] = true
	return nil
}

func (b *fieldBuilder) field(f arrow.Field, path []string, parent int32) error {
	if len(b.fields) >= MaxFields {
		return refuse(path, "a schema has at most %d fields", MaxFields)
	}
	out := &lancepb.Field{Name: f.Name, Id: int32(len(b.fields)), ParentId: parent, Nullable: f.Nullable}
	if err := setMetadata(out, f.Metadata, path); err != nil {
		return err
	}
	b.fields = append(b.fields, out)
	children, err := setType(out, f.Type, path)
	if err != nil {
		return err
	}
	return b.level(children, path, out.Id)
}

func setMetadata(out *lancepb.Field, md arrow.Metadata, path []string) error {
	for _, key := range refusedMetadata {
		if v, ok := md.GetValue(key); ok && strings.EqualFold(v, "true") {
			return refuse(path, "metadata %q asks for a layout that is read but not written; leave it out", key)
		}
	}
	if md.Len() == 0 {
		return nil
	}
	out.Metadata = make(map[string][]byte, md.Len())
	for i, key := range md.Keys() {
		if !utf8.ValidString(key) {
			return refuse(path, "a metadata key must be valid UTF-8")
		}
		out.Metadata[key] = []byte(md.Values()[i])
	}
	out.ExtensionName = string(out.Metadata[ExtensionKey])
	switch strings.ToLower(string(out.Metadata[primaryKeyKey])) {
	case "true", "1", "yes":
		out.UnenforcedPrimaryKey = true
	}
	return nil
}

// setType sets the logical type and returns the child fields to append.
func setType(out *lancepb.Field, dt arrow.DataType, path []string) ([]arrow.Field, error) {
	switch dt := dt.(type) {
	case *arrow.StructType:
		out.LogicalType = "struct"
		if dt.NumFields() == 0 {
			return nil, refuse(path, "a struct needs at least one field")
		}
		return dt.Fields(), nil
	case *arrow.ListType:
		out.LogicalType, out.Encoding = listName("list", dt.Elem()), lancepb.Encoding_PLAIN
		return []arrow.Field{dt.ElemField()}, nil
	case *arrow.LargeListType:
		out.LogicalType, out.Encoding = listName("large_list", dt.Elem()), lancepb.Encoding_PLAIN
		return []arrow.Field{dt.ElemField()}, nil
	case *arrow.MapType, arrow.ExtensionType:
		return nil, refuse(path, "type %s cannot be stored", dt)
	}
	name, refusal := leafName(dt)
	if refusal != "" {
		return nil, refuse(path, "type %s: %s", dt, refusal)
	}
	out.LogicalType, out.Encoding = name, legacyEncoding(dt)
	return nil, nil
}

func listName(kind string, item arrow.DataType) string {
	if item.ID() == arrow.STRUCT {
		return kind + ".struct"
	}
	return kind
}

// legacyEncoding fills a field that version 2 readers ignore but other
// implementations always write.
func legacyEncoding(dt arrow.DataType) lancepb.Encoding {
	switch dt.ID() {
	case arrow.NULL:
		return lancepb.Encoding_NONE
	case arrow.STRING, arrow.BINARY, arrow.LARGE_STRING, arrow.LARGE_BINARY:
		return lancepb.Encoding_VAR_BINARY
	}
	return lancepb.Encoding_PLAIN
}

func refuse(path []string, format string, args ...any) error {
	e := lake.Errorf(lake.Invalid, format, args...)
	e.Op = "column " + strings.ToValidUTF8(strings.Join(path, "."), "\uFFFD")
	return e
}
