// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package fold

import "github.com/apache/arrow-go/v18/arrow"

// newNumberer is that of a type that can be grouped by.
func newNumberer(dt arrow.DataType) numberer {
	switch dt.ID() {
	case arrow.BOOL:
		return &integerKeys[uint8]{source: &booleans{}}
	case arrow.INT8:
		return &integerKeys[int8]{source: &stored[int8]{}}
	case arrow.INT16:
		return &integerKeys[int16]{source: &stored[int16]{}}
	case arrow.INT32, arrow.DATE32:
		return &integerKeys[int32]{source: &stored[int32]{}}
	case arrow.UINT8:
		return &integerKeys[uint8]{source: &stored[uint8]{}}
	case arrow.UINT16:
		return &integerKeys[uint16]{source: &stored[uint16]{}}
	case arrow.UINT32:
		return &integerKeys[uint32]{source: &stored[uint32]{}}
	case arrow.UINT64:
		return &integerKeys[uint64]{source: &stored[uint64]{}}
	case arrow.STRING:
		return newTextKeys[int32]()
	case arrow.LARGE_STRING:
		return newTextKeys[int64]()
	default: // int64, timestamps
		return &integerKeys[int64]{source: &stored[int64]{}}
	}
}

// newAccumulator is that of a basis over a type that it is known for.
func newAccumulator(f Func, dt arrow.DataType) accumulator {
	switch dt.ID() {
	case arrow.BOOL:
		return newExtreme[uint8](&booleans{}, f == Max)
	case arrow.STRING:
		return &extremeText{largest: f == Max}
	case arrow.DECIMAL128:
		return &decimals{most: powerOfTen(dt.(*arrow.Decimal128Type).Precision)}
	case arrow.FLOAT32:
		return ofReals[float32](f)
	case arrow.FLOAT64:
		return ofReals[float64](f)
	case arrow.INT8:
		return ofIntegers[int8](f)
	case arrow.INT16:
		return ofIntegers[int16](f)
	case arrow.INT32, arrow.DATE32:
		return ofIntegers[int32](f)
	case arrow.UINT8:
		return ofIntegers[uint8](f)
	case arrow.UINT16:
		return ofIntegers[uint16](f)
	case arrow.UINT32:
		return ofIntegers[uint32](f)
	case arrow.UINT64:
		return ofIntegers[uint64](f)
	default: // int64, timestamps
		return ofIntegers[int64](f)
	}
}

func ofIntegers[T integer](f Func) accumulator {
	if f == Sum {
		return &integers[T]{source: &stored[T]{}}
	}
	return ofNumbers[T](f)
}

func ofReals[T float32 | float64](f Func) accumulator {
	if f == Sum {
		return &reals[T]{}
	}
	return ofNumbers[T](f)
}

func ofNumbers[T number](f Func) accumulator {
	if f == VarPop {
		return &deviations[T]{source: &stored[T]{}}
	}
	return newExtreme[T](&stored[T]{}, f == Max)
}
