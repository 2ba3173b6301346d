// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

import (
	"encoding/hex"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/lakeplane/lake/lake"
)

// newAppender makes the appender that turns vectors of type l into arrays of
// type dt. It fails when dt is no faithful form of l.
func newAppender(l logical, dt arrow.DataType) (appender, error) {
	if ext, ok := dt.(arrow.ExtensionType); ok {
		a, err := newAppender(l, ext.StorageType())
		return &extended{appender: a, dt: dt}, err
	}
	if dt.ID() == arrow.NULL {
		return &nothings{dt: dt}, nil
	}
	if a := newTextAppender(l, dt); a != nil {
		return a, nil
	}
	if a := newNumberAppender(l, dt); a != nil {
		return a, nil
	}
	if a := newTimeAppender(l, dt); a != nil {
		return a, nil
	}
	return newNestedAppender(l, dt)
}

// extended delivers the storage under the extension type.
type extended struct {
	appender
	dt arrow.DataType
}

func (a *extended) finish() arrow.ArrayData { return retyped(a.appender.finish(), a.dt) }

func newTextAppender(l logical, dt arrow.DataType) appender {
	switch l.id {
	case tVarchar, tBlob:
		switch t := dt.(type) {
		case *arrow.StringType, *arrow.BinaryType:
			return &stringsOf[int32]{dt: dt}
		case *arrow.LargeStringType, *arrow.LargeBinaryType:
			return &stringsOf[int64]{dt: dt}
		case *arrow.FixedSizeBinaryType:
			return &fixedBlobs{dt: dt, width: t.ByteWidth}
		}
	case tUUID:
		return &formatted[huge]{dt: dt, format: appendUUID}
	case tEnum:
		return newEnumAppender(l, dt)
	}
	return nil
}

// newEnumAppender writes an ENUM as the text of its value.
func newEnumAppender(l logical, dt arrow.DataType) appender {
	switch n := len(l.values); {
	case n <= math.MaxUint8:
		return &formatted[uint8]{dt: dt, format: func(b []byte, i uint8) []byte { return append(b, l.values[i]...) }}
	case n <= math.MaxUint16:
		return &formatted[uint16]{dt: dt, format: func(b []byte, i uint16) []byte { return append(b, l.values[i]...) }}
	}
	return &formatted[uint32]{dt: dt, format: func(b []byte, i uint32) []byte { return append(b, l.values[i]...) }}
}

// huge is DuckDB's HUGEINT.
type huge struct {
	lower uint64
	upper int64
}

// appendUUID writes the usual text. DuckDB flips the top bit so that UUIDs
// sort as signed numbers.
func appendUUID(b []byte, u huge) []byte {
	upper := uint64(u.upper) ^ 1<<63
	var raw [16]byte
	for i := range 8 {
		raw[i] = byte(upper >> (56 - 8*i))
		raw[8+i] = byte(u.lower >> (56 - 8*i))
	}
	for i, part := range [][]byte{raw[:4], raw[4:6], raw[6:8], raw[8:10], raw[10:]} {
		if i > 0 {
			b = append(b, '-')
		}
		b = hex.AppendEncode(b, part)
	}
	return b
}

func newNumberAppender(l logical, dt arrow.DataType) appender {
	switch l.id {
	case tBoolean:
		return &bools{dt: dt}
	case tHugeint:
		return &converted[huge, decimal128.Num]{dt: dt, convert: hugeDecimal}
	case tUHugeint:
		return &converted[huge, decimal128.Num]{dt: dt, convert: unsignedHugeDecimal}
	case tDecimal:
		return newDecimalAppender(l, dt)
	case tSQLNull:
		return &copied{dt: dt, width: 4}
	}
	for _, f := range fixedTypes {
		if f.id == l.id && l.id != tDate {
			return &copied{dt: dt, width: int(f.width)}
		}
	}
	return nil
}

func newDecimalAppender(l logical, dt arrow.DataType) appender {
	switch decimalBytes(l.width) {
	case 2:
		return &converted[int16, decimal128.Num]{dt: dt, convert: widen[int16]}
	case 4:
		return &converted[int32, decimal128.Num]{dt: dt, convert: widen[int32]}
	case 8:
		return &converted[int64, decimal128.Num]{dt: dt, convert: widen[int64]}
	}
	return &copied{dt: dt, width: 16}
}

func widen[T int16 | int32 | int64](v T) (decimal128.Num, error) {
	return decimal128.FromI64(int64(v)), nil
}

func hugeDecimal(h huge) (decimal128.Num, error) {
	n := decimal128.New(h.upper, h.lower)
	if !n.FitsInPrecision(38) {
		return n, errHuge
	}
	return n, nil
}

func unsignedHugeDecimal(h huge) (decimal128.Num, error) {
	if h.upper < 0 {
		return decimal128.Num{}, errHuge
	}
	return hugeDecimal(h)
}

var errHuge = lake.Errorf(lake.Invalid, "an integer result has more than 38 digits: cast it to DOUBLE or VARCHAR")

func newTimeAppender(l logical, dt arrow.DataType) appender {
	switch l.id {
	case tDate:
		if dt.ID() == arrow.DATE64 {
			return &converted[int32, int64]{dt: dt, convert: func(d int32) (int64, error) { return int64(d) * 86_400_000, nil }}
		}
		return &copied{dt: dt, width: 4}
	case tTime, tTimeNS:
		if t, ok := dt.(*arrow.Time32Type); ok {
			return &converted[int64, int32]{dt: dt, convert: divide[int32](t.Unit)}
		}
		return &copied{dt: dt, width: 8}
	case tTimestamp, tTimestampS, tTimestampMS, tTimestampNS:
		return &copied{dt: dt, width: 8}
	case tTimestampTZ:
		if t, ok := dt.(*arrow.TimestampType); ok && t.Unit != arrow.Microsecond {
			return &converted[int64, int64]{dt: dt, convert: divide[int64](t.Unit)}
		}
		return &copied{dt: dt, width: 8}
	case tInterval:
		return &converted[interval, arrow.MonthDayNanoInterval]{dt: dt, convert: interval.arrow}
	}
	return nil
}

// divide undoes the scaling of scanType, which is exact.
func divide[D int32 | int64](unit arrow.TimeUnit) func(int64) (D, error) {
	by := int64(unit.Multiplier()) / int64(arrow.Microsecond.Multiplier())
	return func(us int64) (D, error) { return D(us / by), nil }
}

// interval is duckdb_interval.
type interval struct {
	months, days int32
	micros       int64
}

func (v interval) arrow() (arrow.MonthDayNanoInterval, error) {
	if v.micros > math.MaxInt64/1000 || v.micros < math.MinInt64/1000 {
		return arrow.MonthDayNanoInterval{}, lake.Errorf(lake.Invalid, "an interval exceeds 292 years of nanoseconds: cast it to VARCHAR")
	}
	return arrow.MonthDayNanoInterval{Months: v.months, Days: v.days, Nanoseconds: v.micros * 1000}, nil
}

func newNestedAppender(l logical, dt arrow.DataType) (appender, error) {
	switch t := dt.(type) {
	case *arrow.ListType:
		child, err := newAppender(l.children[0], t.Elem())
		return &lists[int32]{dt: dt, child: child}, err
	case *arrow.LargeListType:
		child, err := newAppender(l.children[0], t.Elem())
		return &lists[int64]{dt: dt, child: child}, err
	case *arrow.MapType:
		child, err := newAppender(mapEntry(l), t.Elem())
		return &lists[int32]{dt: dt, child: child}, err
	case *arrow.FixedSizeListType:
		child, err := newAppender(l.children[0], t.Elem())
		return &arrays{dt: dt, size: l.size, child: child}, err
	case *arrow.StructType:
		return newStructAppender(l, t)
	}
	return nil, lake.Errorf(lake.Unknown, "no conversion from %s to %s", typeNames[l.id], dt)
}

func newStructAppender(l logical, t *arrow.StructType) (appender, error) {
	a := &structs{dt: t}
	at := 1
	for i, c := range l.children {
		child, err := newAppender(c, t.Field(i).Type)
		if err != nil {
			return nil, err
		}
		a.children = append(a.children, child)
		a.at = append(a.at, at)
		at += vectorCount(c)
	}
	return a, nil
}

// vectorCount is the number of vectors a value of type l is spread over.
func vectorCount(l logical) int {
	n := 1
	if l.id == tMap {
		n = 2
	}
	for _, c := range l.children {
		n += vectorCount(c)
	}
	return n
}
