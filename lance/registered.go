// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/lakeplane/lake/lance/lancepb"
	"github.com/lakeplane/lake/lance/schema"
)

// registeredKey is the entry of the table metadata that says, in JSON, what of
// the schema as the creator gave it the Lance fields cannot: the item field of
// a vector has no name, metadata has no order, and below what may be null
// everything is stored as nullable. It is written only where
// something would be lost, and honoured only while the fields still are the
// ones it was written for, so a writer that changes the columns need not know
// about it.
//
// An Arrow IPC message would say the same, but decoding one that is damaged can
// exhaust memory: the Arrow library allocates what its counts ask for.
const registeredKey = "lake.arrow_schema"

// annotations are the value under registeredKey.
type annotations struct {
	// Of identifies the fields; see fieldsDigest.
	Of string `json:"of"`
	annotation
}

// annotation says of a field, or of the schema, what its Lance field does not.
type annotation struct {
	// Metadata holds keys and values in turn.
	Metadata []string `json:"metadata,omitempty"`
	// Required says that the field, below one that may be null, must not be.
	Required bool `json:"required,omitempty"`
	// Item is the item field of a fixed size list.
	Item *item `json:"item,omitempty"`
	// Children are in the order of the fields.
	Children []annotation `json:"children,omitempty"`
}

type item struct {
	Name     string   `json:"name"`
	Nullable bool     `json:"nullable,omitempty"`
	Metadata []string `json:"metadata,omitempty"`
	// Item is that of the list which the items are.
	Item *item `json:"item,omitempty"`
}

func schemaMetadata(s *arrow.Schema) map[string][]byte {
	md := s.Metadata()
	if md.Len() == 0 {
		return nil
	}
	out := make(map[string][]byte, md.Len())
	for i, k := range md.Keys() {
		out[k] = []byte(md.Values()[i])
	}
	return out
}

// registeredSchema returns the table metadata that keeps what the fields and
// the schema metadata do not.
func registeredSchema(s *arrow.Schema, fields []*lancepb.Field, metadata map[string][]byte) (map[string]string, error) {
	plain, err := schema.ToArrow(fields, metadata)
	if err != nil {
		return nil, err
	}
	if identical(s, plain) {
		return nil, nil
	}
	a := annotations{Of: fieldsDigest(fields), annotation: annotation{Metadata: pairs(s.Metadata()), Children: annotateAll(s.Fields(), false)}}
	text, err := json.Marshal(a)
	if err != nil {
		return nil, invalid("encode schema: %w", err)
	}
	return map[string]string{registeredKey: string(text)}, nil
}

// identical compares schemas in every detail, names of list items and the
// order of metadata included.
func identical(a, b *arrow.Schema) bool {
	var x, y bytes.Buffer
	errX := ipc.NewWriter(&x, ipc.WithSchema(a)).Close()
	errY := ipc.NewWriter(&y, ipc.WithSchema(b)).Close()
	return errX == nil && errY == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

func pairs(md arrow.Metadata) []string {
	var out []string
	for i, k := range md.Keys() {
		out = append(out, k, md.Values()[i])
	}
	return out
}

// annotateAll describes fields, below one that may be null or not.
func annotateAll(fields []arrow.Field, below bool) []annotation {
	out := make([]annotation, len(fields))
	for i, f := range fields {
		out[i] = annotation{Metadata: pairs(f.Metadata), Required: below && !f.Nullable}
		switch t := f.Type.(type) {
		case *arrow.FixedSizeListType:
			out[i].Item = itemOf(t)
		case arrow.NestedType:
			out[i].Children = annotateAll(t.Fields(), below || f.Nullable)
		}
	}
	return out
}

// itemOf describes the items of a fixed size list, and those inside them.
func itemOf(t *arrow.FixedSizeListType) *item {
	e := t.ElemField()
	out := &item{Name: e.Name, Nullable: e.Nullable, Metadata: pairs(e.Metadata)}
	if inner, ok := e.Type.(*arrow.FixedSizeListType); ok {
		out.Item = itemOf(inner)
	}
	return out
}

// apply returns the list with what is said of its items.
func (i *item) apply(t *arrow.FixedSizeListType) arrow.DataType {
	if i == nil {
		return t
	}
	e := t.ElemField()
	e.Name, e.Nullable, e.Metadata = i.Name, i.Nullable, metadataOf(i.Metadata)
	if inner, ok := e.Type.(*arrow.FixedSizeListType); ok {
		e.Type = i.Item.apply(inner)
	}
	return arrow.FixedSizeListOfField(t.Len(), e)
}

// fieldsDigest identifies names, nesting, types and nullability; ids and
// metadata may differ.
func fieldsDigest(fields []*lancepb.Field) string {
	at := map[int32]int64{-1: -1} // position of a field by its id
	var b []byte
	for i, f := range fields {
		at[f.GetId()] = int64(i)
		for _, s := range []string{f.GetName(), f.GetLogicalType()} {
			b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
		}
		b = binary.AppendVarint(b, at[f.GetParentId()])
		if f.GetNullable() {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
	}
	sum := sha256.Sum256(b)
	return base64.RawStdEncoding.EncodeToString(sum[:])
}

// arrowSchemas returns the schema the files are read with and the one that
// batches are handed out with.
func (m *Manifest) arrowSchemas() (stored, registered *arrow.Schema, err error) {
	stored, err = schema.ToArrow(m.pb.GetFields(), m.pb.GetSchemaMetadata())
	if err != nil {
		return nil, nil, err
	}
	a, ok := m.annotations()
	if !ok {
		return stored, stored, nil
	}
	md := ordered(stored.Metadata(), a.Metadata)
	return stored, arrow.NewSchema(applyAll(stored.Fields(), a.Children), &md), nil
}

// annotations returns what the table metadata say of the fields, if they do.
func (m *Manifest) annotations() (a annotations, ok bool) {
	text, ok := m.pb.GetTableMetadata()[registeredKey]
	if ok {
		ok = json.Unmarshal([]byte(text), &a) == nil && a.Of == fieldsDigest(m.pb.GetFields())
	}
	return a, ok
}

// applyAll returns the fields with what the annotations say. Annotations that
// do not fit change nothing.
func applyAll(fields []arrow.Field, as []annotation) []arrow.Field {
	if len(as) != len(fields) {
		return fields
	}
	out := make([]arrow.Field, len(fields))
	for i, f := range fields {
		f.Metadata = ordered(f.Metadata, as[i].Metadata)
		f.Nullable = f.Nullable && !as[i].Required
		f.Type = as[i].apply(f.Type)
		out[i] = f
	}
	return out
}

func (a annotation) apply(dt arrow.DataType) arrow.DataType {
	switch t := dt.(type) {
	case *arrow.FixedSizeListType:
		return a.Item.apply(t)
	case *arrow.ListType:
		return arrow.ListOfField(applyAll(t.Fields(), a.Children)[0])
	case *arrow.LargeListType:
		return arrow.LargeListOfField(applyAll(t.Fields(), a.Children)[0])
	case *arrow.StructType:
		return arrow.StructOf(applyAll(t.Fields(), a.Children)...)
	}
	return dt
}

// ordered returns the metadata in the order of the pairs, which must hold the
// same, else as it is.
func ordered(md arrow.Metadata, as []string) arrow.Metadata {
	want := metadataOf(as)
	if want.Len() == md.Len() && want.Equal(md) {
		return want
	}
	return md
}

func metadataOf(as []string) arrow.Metadata {
	var keys, values []string
	for i := 0; i+1 < len(as); i += 2 {
		keys, values = append(keys, as[i]), append(values, as[i+1])
	}
	return arrow.NewMetadata(keys, values)
}
