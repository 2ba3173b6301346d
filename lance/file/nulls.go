// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// checkNulls refuses nulls in fields that are not nullable, where their parent
// is valid. Other implementations refuse such files, or show the nulls as
// values.
func checkNulls(a arrow.Array, f arrow.Field, path string) error {
	if !f.Nullable && a.NullN() > 0 {
		return invalid("column %s is not nullable and has %d nulls", path, a.NullN())
	}
	switch x := a.(type) {
	case *array.Struct:
		for i, cf := range x.DataType().(*arrow.StructType).Fields() {
			if err := checkChild(x, x.Field(i), cf, path+"."+cf.Name); err != nil {
				return err
			}
		}
	case *array.FixedSizeList:
		return checkInnerLists(x, path)
	case array.ListLike:
		return checkItems(x, path)
	}
	return nil
}

// checkInnerLists refuses null lists inside a fixed size list, which cannot be
// stored. Below a null list anything may lie.
func checkInnerLists(l *array.FixedSizeList, path string) error {
	inner, nested := l.ListValues().(*array.FixedSizeList)
	if !nested {
		return nil
	}
	if inner.NullN() > 0 {
		for i := range l.Len() {
			from, to := l.ValueOffsets(i)
			for at := from; l.IsValid(i) && at < to; at++ {
				if inner.IsNull(int(at)) {
					return invalid("column %s: a fixed size list holds a null list, which cannot be stored", path)
				}
			}
		}
	}
	return checkInnerLists(inner, path+".item")
}

// checkChild checks a field of a struct: below a null struct anything may lie.
func checkChild(parent *array.Struct, child arrow.Array, f arrow.Field, path string) error {
	if f.Nullable || child.NullN() == 0 || parent.NullN() == 0 {
		return checkNulls(child, f, path)
	}
	for i := range child.Len() {
		if child.IsNull(i) && parent.IsValid(i) {
			return invalid("column %s is not nullable and has a null", path)
		}
	}
	f.Nullable = true
	return checkNulls(child, f, path)
}

// checkItems checks the items that lists refer to.
func checkItems(l array.ListLike, path string) error {
	f := l.DataType().(arrow.ListLikeType).ElemField()
	path += "." + f.Name
	for i := range l.Len() {
		if l.IsNull(i) {
			continue
		}
		from, to := l.ValueOffsets(i)
		if from == to {
			continue
		}
		_, end := l.ValueOffsets(l.Len() - 1)
		part := array.NewSlice(l.ListValues(), from, end)
		defer part.Release()
		return checkNulls(part, f, path)
	}
	return nil
}
