// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package untrusted

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeplane/lake/lake"
)

// maxNestedValues bounds the values of one nested column in a batch. Lengths
// are only as large as the buffers behind them, except for types without
// buffers.
const maxNestedValues = lake.MaxAppendBytes

// Check validates everything in an array: lengths, offsets, null counts and
// strings, also of its children and dictionaries. What does not hold is lake.Invalid. It may panic on data that no
// validation reaches; callers that must live recover.
func Check(c arrow.Array) error {
	if err := checkLengths(c.Data()); err != nil {
		return err
	}
	whole := array.MakeFromData(nullsWithBuffers(c.Data()))
	defer whole.Release()
	err := array.ValidateFull(whole)
	switch {
	case err == nil:
		return nil
	case strings.Contains(err.Error(), "not valid utf8"): // its text has the value
		return lake.Errorf(lake.Invalid, "a string is not UTF-8")
	}
	return lake.Errorf(lake.Invalid, "%w", err)
}

func checkLengths(d arrow.ArrayData) error {
	if d.Len() > maxNestedValues {
		return lake.Errorf(lake.Invalid, "%d values: at most %d", d.Len(), int64(maxNestedValues))
	}
	for _, child := range d.Children() {
		if err := checkLengths(child); err != nil {
			return err
		}
	}
	if dict, ok := d.Dictionary().(*array.Data); ok && dict != nil {
		return checkLengths(dict)
	}
	return nil
}

// nullsWithBuffers returns the data with the one absent buffer that validation
// wants of arrays of nulls and that the IPC decoder leaves out.
func nullsWithBuffers(d arrow.ArrayData) arrow.ArrayData {
	if d.DataType().ID() == arrow.NULL {
		return array.NewData(d.DataType(), d.Len(), []*memory.Buffer{nil}, nil, d.NullN(), d.Offset())
	}
	if len(d.Children()) == 0 {
		return d
	}
	children := make([]arrow.ArrayData, len(d.Children()))
	for i, c := range d.Children() {
		children[i] = nullsWithBuffers(c)
	}
	return array.NewData(d.DataType(), d.Len(), d.Buffers(), children, d.NullN(), d.Offset())
}
