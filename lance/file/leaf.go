// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"math"

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
)

// valueType describes the values of a leaf, nullability aside.
type valueType struct {
	kind valueKind
	// width is the number of bytes of a fixed value; for a fixed size list it
	// is items * itemWidth.
	width int
	items int // items of a fixed size list, else 0; of nested ones, the innermost
	// dims are the sizes of nested fixed size lists, outer first; items is their
	// product.
	dims      []int
	itemWidth int // bytes of one item or of the value itself
	wide      bool
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
		item, err := valueTypeOf(dt.Elem())
		if err != nil || item.kind != fixedValues || dt.Len() < 1 || int64(dt.Len())*int64(item.width) > maxValueBytes {
			return valueType{}, unsupported("type %s", dt)
		}
		n := int(dt.Len())
		return valueType{width: n * item.width, items: n * max(1, item.items), itemWidth: item.itemWidth, dims: append([]int{n}, item.dims...)}, nil
	case arrow.FixedWidthDataType:
		w := dt.BitWidth() / 8
		if w < 1 || w > maxValueBytes || dt.BitWidth()%8 != 0 {
			return valueType{}, unsupported("type %s", dt)
		}
		return valueType{width: w, itemWidth: w}, nil
	}
	return valueType{}, unsupported("type %s", dt)
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
}

// leavesOf returns the leaves below the roots, in pre-order.
func leavesOf(roots []*schema.Node) ([]*leaf, error) {
	var out []*leaf
	for _, n := range roots {
		var err error
		if out, err = appendLeaves(out, n, n.Field.GetName(), nil); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// appendLeaves adds the leaves below n; outer are the layers above n, outer
// first.
func appendLeaves(out []*leaf, n *schema.Node, path string, outer []*schema.Node) ([]*leaf, error) {
	outer = append(outer[:len(outer):len(outer)], n)
	if len(n.Children) == 0 && n.Type.ID() != arrow.STRUCT {
		l, err := newLeaf(n, path, outer)
		return append(out, l), err
	}
	for _, c := range n.Children {
		var err error
		if out, err = appendLeaves(out, c, path+"."+c.Field.GetName(), outer); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func newLeaf(n *schema.Node, path string, outer []*schema.Node) (*leaf, error) {
	v, err := valueTypeOf(n.Type)
	if err != nil {
		return nil, inColumn(path, err)
	}
	l := &leaf{node: n, path: path, value: v}
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
