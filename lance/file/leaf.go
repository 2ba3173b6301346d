// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"math"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lance/schema"
)

// valueKind is how the values of a leaf lie in memory.
type valueKind uint8

const (
	fixedValues    valueKind = iota // whole bytes per value
	boolValues                      // one bit per value
	variableValues                  // offsets and bytes
	nullValues                      // no values at all
	packedValues                    // the values of several fields, side by side
)

// valueType describes the values of a leaf, nullability aside.
type valueType struct {
	kind valueKind
	// width is the number of bytes of a fixed value; for a fixed size list it
	// is items * itemWidth, for packed values the sum of the fixed fields. It is
	// 0 for bits.
	width int
	items int // items of a fixed size list, else 0; of nested ones, the innermost
	// dims are the sizes of nested fixed size lists, outer first; items is their
	// product.
	dims      []int
	itemWidth int // bytes of one item or of the value itself
	wide      bool
	fields    []valueType // of packed values
}

// bits is the width of a value, of fixed ones and those that are bits.
func (v valueType) bits() int {
	switch v.kind {
	case boolValues:
		return max(1, v.items)
	case packedValues:
		return 8 * v.width * max(1, v.items)
	}
	return 8 * v.width
}

// itemBits is the width of one item of a fixed size list.
func (v valueType) itemBits() int {
	if v.kind == boolValues {
		return 1
	}
	return 8 * v.itemWidth
}

// itemsAt is how many items the lists of a level have in one value.
func (v valueType) itemsAt(level int) int {
	n := 1
	for _, d := range v.dims[:level+1] {
		n *= d
	}
	return n
}

// maxValueBytes bounds the width of a fixed value: a corrupt type must not ask
// for gigabytes per row.
const maxValueBytes = 64 << 20

func valueTypeOf(dt arrow.DataType) (valueType, error) {
	switch dt := dt.(type) {
	case *arrow.NullType:
		return valueType{kind: nullValues}, nil
	case *arrow.BooleanType:
		return valueType{kind: boolValues}, nil
	case *arrow.StringType, *arrow.BinaryType:
		return valueType{kind: variableValues}, nil
	case *arrow.LargeStringType, *arrow.LargeBinaryType:
		return valueType{kind: variableValues, wide: true}, nil
	case *arrow.FixedSizeListType:
		return listValueType(dt)
	case arrow.FixedWidthDataType:
		w := dt.BitWidth() / 8
		if w < 1 || w > maxValueBytes || dt.BitWidth()%8 != 0 {
			return valueType{}, unsupported("type %s", dt)
		}
		return valueType{width: w, itemWidth: w}, nil
	}
	return valueType{}, unsupported("type %s", dt)
}

func listValueType(dt *arrow.FixedSizeListType) (valueType, error) {
	item, err := valueTypeOf(dt.Elem())
	sized := item.kind == fixedValues || item.kind == boolValues
	if err != nil || !sized || dt.Len() < 1 || int64(dt.Len())*int64(item.bits()) > maxValueBytes*8 {
		return valueType{}, unsupported("type %s", dt)
	}
	n := int(dt.Len())
	return valueType{kind: item.kind, width: n * item.width, items: n * max(1, item.items), itemWidth: item.itemWidth, dims: append([]int{n}, item.dims...)}, nil
}

// packedTypeOf is the type of a packed struct or, in version 2.0, of a fixed
// size list of them.
func packedTypeOf(dt arrow.DataType) (valueType, error) {
	switch dt := dt.(type) {
	case *arrow.StructType:
		t := valueType{kind: packedValues}
		for _, f := range dt.Fields() {
			field, err := packedTypeOf(f.Type)
			if err != nil {
				return t, err
			}
			if field.kind == nullValues || t.width+field.width > maxValueBytes {
				return t, unsupported("a packed struct with field %s of type %s", f.Name, f.Type)
			}
			t.fields, t.width = append(t.fields, field), t.width+field.width
		}
		return t, nil
	case *arrow.FixedSizeListType:
		if dt.Elem().ID() != arrow.STRUCT {
			return valueTypeOf(dt)
		}
		t, err := packedTypeOf(dt.Elem())
		if t.items = int(dt.Len()); err == nil && (t.items < 1 || t.width > maxValueBytes/t.items) {
			err = unsupported("type %s", dt)
		}
		return t, err
	}
	return valueTypeOf(dt)
}

// align is the alignment the values need in memory.
func (v valueType) align() int {
	switch v.itemWidth {
	case 2, 4, 8:
		return v.itemWidth
	case 16, 32:
		return 8
	}
	return 1
}

// leaf is one leaf field of a tree: what has a column in version 2.1.
type leaf struct {
	node *schema.Node
	path string
	// outer says that a struct that may be null lies around a list.
	outer  bool
	levels levelScheme
	value  valueType
	// packed is the struct whose fields are all in this column, or nil; node may
	// have only some of them.
	packed *schema.Node
	// perRow is the number of entries of a row: that of the items of the fixed
	// size lists of structs around the leaf.
	perRow uint64
}

// leavesOf returns the leaves below a root, in pre-order. Structs in packed, by
// field id, are leaves.
func leavesOf(root *schema.Node, packed map[int32]*schema.Node) ([]*leaf, error) {
	return appendLeaves(nil, root, root.Field.GetName(), nil, packed)
}

// appendLeaves adds the leaves below n; outer are the layers above n, outer
// first.
func appendLeaves(out []*leaf, n *schema.Node, path string, outer []*schema.Node, packed map[int32]*schema.Node) ([]*leaf, error) {
	outer = append(outer[:len(outer):len(outer)], n)
	whole := packed[n.Field.GetId()]
	if whole != nil || len(n.Children) == 0 && n.Type.ID() != arrow.STRUCT {
		l, err := newLeaf(n, path, outer, whole)
		return append(out, l), err
	}
	for _, c := range n.Children {
		var err error
		if out, err = appendLeaves(out, c, path+"."+c.Field.GetName(), outer, packed); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// blobExtension begins the extension types of blobs of the second sort. They are
// structs by the schema; their one column holds other fields, which say where the
// bytes are.
const blobExtension = "lance.blob."

// columnType is the type of the values of a column, which holds the fields of
// whole unless that is nil.
func columnType(n, whole *schema.Node) (valueType, error) {
	if whole == nil {
		return valueTypeOf(n.Type)
	}
	if name := string(whole.Field.GetMetadata()[schema.ExtensionKey]); strings.HasPrefix(name, blobExtension) {
		return valueType{}, unsupported("blobs of the type %s", name)
	}
	return packedTypeOf(whole.Type)
}

func newLeaf(n *schema.Node, path string, outer []*schema.Node, whole *schema.Node) (*leaf, error) {
	v, err := columnType(n, whole)
	if err != nil {
		return nil, inColumn(path, err)
	}
	l := &leaf{node: n, path: path, value: v, packed: whole}
	if l.perRow, err = entriesPerRow(outer); err == nil && l.perRow > maxValueBytes/uint64(max(8, v.width)) && l.perRow > 1 {
		err = unsupported("fixed size lists of structs with %d items of %d bytes in a row, at most %d bytes are read", l.perRow, v.width, maxValueBytes)
	}
	if err != nil {
		return nil, inColumn(path, err)
	}
	s := levelScheme{lists: make([]bool, len(outer)), nullable: make([]bool, len(outer))}
	mayBeNull := false
	for i, o := range outer {
		list := isList(o)
		s.lists[len(outer)-1-i], s.nullable[len(outer)-1-i] = list, o.Field.GetNullable()
		l.outer = l.outer || list && mayBeNull
		mayBeNull = mayBeNull || !list && o.Field.GetNullable()
	}
	l.levels = s.number()
	return l, nil
}

// entriesPerRow multiplies the sizes of fixed size lists of structs. Beside lists
// of other sizes their items are not a multiple of anything; no implementation
// reads those.
func entriesPerRow(outer []*schema.Node) (uint64, error) {
	n, structs, lists := uint64(1), false, false
	for _, o := range outer {
		lists = lists || isList(o)
		if t, ok := o.Type.(*arrow.FixedSizeListType); ok && len(o.Children) > 0 {
			n, structs = n*uint64(t.Len()), true
		}
		if n > maxValueBytes {
			return 0, unsupported("fixed size lists of structs with more than %d items in a row", maxValueBytes)
		}
	}
	if structs && lists {
		return 0, unsupported("fixed size lists of structs inside or around lists or maps")
	}
	return n, nil
}

func isList(n *schema.Node) bool {
	id := n.Type.ID()
	return id == arrow.LIST || id == arrow.LARGE_LIST || id == arrow.MAP
}

// mulRows multiplies a row count by a size and reports overflow.
func mulRows(n uint64, size int) (uint64, bool) {
	if size != 0 && n > math.MaxInt64/uint64(size) {
		return 0, false
	}
	return n * uint64(size), true
}
