// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package carry

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake"
)

const (
	// maxDigits is what SQL's DECIMAL holds.
	maxDigits = 38
	// maxArraySize is the largest fixed-size list in SQL.
	maxArraySize = 100_000
)

// carried is the type that stands for a stored one in SQL: the type itself
// where SQL has it. A type that SQL can neither have nor carry is
// lake.Unsupported.
func carried(dt arrow.DataType) (arrow.DataType, error) {
	switch t := dt.(type) {
	case *arrow.Float16Type:
		return arrow.PrimitiveTypes.Float32, nil
	case *arrow.DurationType:
		return arrow.PrimitiveTypes.Int64, nil
	case *arrow.Decimal256Type:
		if t.Precision < 1 || t.Scale < 0 || t.Scale > t.Precision || t.Scale > maxDigits {
			return nil, lake.Errorf(lake.Unsupported, "SQL has no type for %s: want scale 0..%d", t, min(t.Precision, maxDigits))
		}
		return &arrow.Decimal128Type{Precision: min(t.Precision, maxDigits), Scale: t.Scale}, nil
	case *arrow.Decimal128Type:
		if t.Precision < 1 || t.Precision > maxDigits || t.Scale < 0 || t.Scale > t.Precision {
			return nil, lake.Errorf(lake.Unsupported, "SQL has no type for %s: want scale 0..%d", t, t.Precision)
		}
		return t, nil
	}
	return carriedNested(dt)
}

func carriedNested(dt arrow.DataType) (arrow.DataType, error) {
	switch t := dt.(type) {
	case *arrow.ListType:
		f, err := carriedField(t.ElemField())
		return arrow.ListOfField(f), err
	case *arrow.LargeListType:
		f, err := carriedField(t.ElemField())
		return arrow.LargeListOfField(f), err
	case *arrow.FixedSizeListType:
		if t.Len() < 1 || t.Len() > maxArraySize {
			return nil, lake.Errorf(lake.Unsupported, "SQL has no type for %s: want 1..%d values", t, maxArraySize)
		}
		f, err := carriedField(t.ElemField())
		return arrow.FixedSizeListOfField(t.Len(), f), err
	case *arrow.StructType:
		return carriedStruct(t)
	case *arrow.ListViewType, *arrow.LargeListViewType, *arrow.RunEndEncodedType, arrow.UnionType, *arrow.StringViewType, *arrow.BinaryViewType,
		*arrow.MonthIntervalType, *arrow.DayTimeIntervalType, *arrow.MonthDayNanoIntervalType, *arrow.Decimal32Type, *arrow.Decimal64Type:
		return nil, lake.Errorf(lake.Unsupported, "SQL has no type for %s", dt)
	}
	return dt, nil
}

func carriedField(f arrow.Field) (arrow.Field, error) {
	dt, err := carried(f.Type)
	f.Type = dt
	return f, err
}

func carriedStruct(t *arrow.StructType) (arrow.DataType, error) {
	if t.NumFields() == 0 {
		return nil, lake.Errorf(lake.Unsupported, "SQL has no type for a struct without fields")
	}
	fields := make([]arrow.Field, t.NumFields())
	for i, f := range t.Fields() {
		var err error
		if fields[i], err = carriedField(f); err != nil {
			return nil, lake.Wrap("field "+f.Name, err)
		}
	}
	return arrow.StructOf(fields...), nil
}
