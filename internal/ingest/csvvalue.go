// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/lakeplane/lake/lake"
)

// parseBool reads true and false, in any case.
func parseBool(s string) (bool, bool) {
	switch {
	case strings.EqualFold(s, "true"):
		return true, true
	case strings.EqualFold(s, "false"):
		return false, true
	}
	return false, false
}

// isCode says that s is written as numbers are not: with zeros in front, as
// postal codes, or as a whole number with a plus, as telephone numbers. As a
// number it would lose them.
func isCode(s string) bool {
	digits := strings.TrimPrefix(strings.TrimPrefix(s, "-"), "+")
	if len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9' {
		return true
	}
	return strings.HasPrefix(s, "+") && strings.Trim(digits, "0123456789") == ""
}

// parseInt reads a decimal integer of 64 bits.
func parseInt(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// exactDigits is how many decimal digits a float64 always keeps.
const exactDigits = 15

// parseFloat reads a decimal number, nan, inf or infinity. A whole number too
// long for a float64 to keep is not one: it is rather an identifier.
func parseFloat(s string) (float64, bool) {
	digits := strings.TrimLeft(s, "+-")
	switch {
	case digits == "":
		return 0, false
	case strings.Trim(digits, "0123456789") == "":
		if whole := strings.TrimLeft(digits, "0"); len(whole) > exactDigits {
			return 0, false
		}
	case strings.Trim(digits, "0123456789.eE+-") != "" && !isNonFinite(digits):
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}

func isNonFinite(s string) bool {
	return strings.EqualFold(s, "nan") || strings.EqualFold(s, "inf") || strings.EqualFold(s, "infinity")
}

// parseDate reads 2006-01-02 as days since 1970.
func parseDate(s string) (arrow.Date32, bool) {
	if len(s) != len(time.DateOnly) {
		return 0, false
	}
	t, err := time.Parse(time.DateOnly, s)
	return arrow.Date32FromTime(t), err == nil
}

// moment is a parsed date and time.
type moment struct {
	t     time.Time
	zoned bool // it had an offset
	nano  bool // it has digits below a microsecond
}

// far says that nanoseconds since 1970 do not reach the moment.
func (m moment) far() bool {
	_, err := arrow.TimestampFromTime(m.t, arrow.Nanosecond)
	return err != nil
}

// parseTime reads a date, or a date and a time separated by a space or T, with
// an optional fraction of up to nine digits and an optional offset (Z, +hh, +hhmm,
// +hh:mm).
func parseTime(s string) (moment, bool) {
	if d, ok := parseDate(s); ok {
		return moment{t: d.ToTime()}, true
	}
	if len(s) < len("2006-01-02T15:04") || s[10] != ' ' && s[10] != 'T' || fractionDigits(s) > 9 { // time.Parse drops further ones
		return moment{}, false
	}
	for _, layout := range []string{"15:04:05", "15:04", "15:04:05Z07:00", "15:04:05Z0700", "15:04:05Z07", "15:04Z07:00"} {
		t, err := time.Parse("2006-01-02"+s[10:11]+layout, s)
		if err == nil {
			return moment{t: t, zoned: len(layout) > len("15:04:05"), nano: t.Nanosecond()%1000 != 0}, true
		}
	}
	return moment{}, false
}

// fractionDigits is how many digits are behind the first point or comma.
func fractionDigits(s string) int {
	at := strings.IndexAny(s, ".,")
	if at < 0 {
		return 0
	}
	fraction := s[at+1:]
	return len(fraction) - len(strings.TrimLeft(fraction, "0123456789"))
}

// appendFunc parses a field that is not empty into a builder.
type appendFunc func(b array.Builder, text string) error

// appender returns how fields become values of dt, or nil when they cannot.
func appender(dt arrow.DataType) appendFunc {
	switch dt := dt.(type) {
	case *arrow.StringType:
		return func(b array.Builder, s string) error { b.(*array.StringBuilder).Append(s); return nil }
	case *arrow.BinaryType:
		return func(b array.Builder, s string) error { b.(*array.BinaryBuilder).Append([]byte(s)); return nil }
	case *arrow.BooleanType:
		return appendParsed(dt, parseBool, func(b array.Builder, v bool) { b.(*array.BooleanBuilder).Append(v) })
	case *arrow.Date32Type:
		return appendParsed(dt, parseDate, func(b array.Builder, v arrow.Date32) { b.(*array.Date32Builder).Append(v) })
	case *arrow.Float64Type:
		return appendParsed(dt, anyFloat, func(b array.Builder, v float64) { b.(*array.Float64Builder).Append(v) })
	case *arrow.Float32Type:
		return appendParsed(dt, parseFloat32, func(b array.Builder, v float32) { b.(*array.Float32Builder).Append(v) })
	case *arrow.TimestampType:
		return appendTimestamp(dt)
	case *arrow.Decimal128Type:
		return appendDecimal(dt)
	}
	return appendInteger(dt)
}

// appendParsed makes an appender of a parser.
func appendParsed[T any](dt arrow.DataType, parse func(string) (T, bool), add func(array.Builder, T)) appendFunc {
	return func(b array.Builder, text string) error {
		v, ok := parse(strings.TrimSpace(text))
		if !ok {
			return notA(text, dt)
		}
		add(b, v)
		return nil
	}
}

func notA(text string, dt arrow.DataType) error {
	const most = 60
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return lake.Errorf(lake.Invalid, "%q is not a value of type %s", text, dt)
}

// anyFloat reads any number; a table that asks for floats gets them rounded.
func anyFloat(s string) (float64, bool) {
	if f, ok := parseFloat(s); ok {
		return f, true
	}
	if strings.Trim(s, "+-0123456789") != "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}

func parseFloat32(s string) (float32, bool) {
	f, ok := anyFloat(s)
	narrow := float32(f)
	return narrow, ok && (math.IsInf(f, 0) || !math.IsInf(float64(narrow), 0))
}

func appendTimestamp(dt *arrow.TimestampType) appendFunc {
	return appendParsed(dt, func(s string) (arrow.Timestamp, bool) {
		m, ok := parseTime(s)
		if !ok || m.zoned && dt.TimeZone == "" {
			return 0, false
		}
		v, err := arrow.TimestampFromTime(m.t, dt.Unit)
		return v, err == nil && v.ToTime(dt.Unit).Equal(m.t)
	}, func(b array.Builder, v arrow.Timestamp) { b.(*array.TimestampBuilder).Append(v) })
}

func appendDecimal(dt *arrow.Decimal128Type) appendFunc {
	return appendParsed(dt, func(s string) (decimal128.Num, bool) {
		_, fraction, _ := strings.Cut(s, ".")
		if len(strings.TrimRight(fraction, "0")) > int(dt.Scale) || strings.Trim(s, "+-0123456789.") != "" {
			return decimal128.Num{}, false
		}
		v, err := decimal128.FromString(s, dt.Precision, dt.Scale)
		return v, err == nil
	}, func(b array.Builder, v decimal128.Num) { b.(*array.Decimal128Builder).Append(v) })
}

func appendInteger(dt arrow.DataType) appendFunc {
	switch dt.ID() {
	case arrow.INT8:
		return appendSigned(dt, func(b array.Builder, v int8) { b.(*array.Int8Builder).Append(v) })
	case arrow.INT16:
		return appendSigned(dt, func(b array.Builder, v int16) { b.(*array.Int16Builder).Append(v) })
	case arrow.INT32:
		return appendSigned(dt, func(b array.Builder, v int32) { b.(*array.Int32Builder).Append(v) })
	case arrow.INT64:
		return appendSigned(dt, func(b array.Builder, v int64) { b.(*array.Int64Builder).Append(v) })
	case arrow.UINT8:
		return appendUnsigned(dt, func(b array.Builder, v uint8) { b.(*array.Uint8Builder).Append(v) })
	case arrow.UINT16:
		return appendUnsigned(dt, func(b array.Builder, v uint16) { b.(*array.Uint16Builder).Append(v) })
	case arrow.UINT32:
		return appendUnsigned(dt, func(b array.Builder, v uint32) { b.(*array.Uint32Builder).Append(v) })
	case arrow.UINT64:
		return appendUnsigned(dt, func(b array.Builder, v uint64) { b.(*array.Uint64Builder).Append(v) })
	}
	return nil
}

func appendSigned[T int8 | int16 | int32 | int64](dt arrow.DataType, add func(array.Builder, T)) appendFunc {
	return appendParsed(dt, func(s string) (T, bool) {
		n, ok := parseInt(s)
		return T(n), ok && int64(T(n)) == n
	}, add)
}

func appendUnsigned[T uint8 | uint16 | uint32 | uint64](dt arrow.DataType, add func(array.Builder, T)) appendFunc {
	return appendParsed(dt, func(s string) (T, bool) {
		n, err := strconv.ParseUint(strings.TrimPrefix(s, "+"), 10, 64)
		return T(n), err == nil && uint64(T(n)) == n
	}, add)
}
