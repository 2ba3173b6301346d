// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sqltest

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakeplane/lake/sdk"
)

// rows are a result as text, one line a row.
type rows []string

// add appends the rows of a batch.
func (r *rows) add(b arrow.RecordBatch) error {
	for i := range int(b.NumRows()) {
		cells := make([]string, b.NumCols())
		for c, col := range b.Columns() {
			cells[c] = text(col, i)
		}
		_ = r.line(cells)
	}
	return nil
}

// line appends a row of texts.
func (r *rows) line(cells []string) error {
	*r = append(*r, strings.Join(cells, " | "))
	return nil
}

// text writes one value so that equal values have equal texts, whatever Arrow
// type carries them. Floats have nine digits: sums depend on the order of the
// rows.
func text(arr arrow.Array, i int) string {
	if arr.IsNull(i) || arr.DataType().ID() == arrow.NULL {
		return "NULL"
	}
	switch a := arr.(type) {
	case *array.Float32:
		return float(float64(a.Value(i)))
	case *array.Float64:
		return float(a.Value(i))
	case *array.Decimal128:
		return a.Value(i).ToString(a.DataType().(*arrow.Decimal128Type).Scale)
	case *array.String:
		return strconv.Quote(a.Value(i))
	case *array.LargeString:
		return strconv.Quote(a.Value(i))
	case *array.Timestamp:
		t := a.DataType().(*arrow.TimestampType)
		return timeText(a.Value(i).ToTime(t.Unit))
	case *array.Time64:
		return clockText(int64(a.Value(i)) * int64(a.DataType().(*arrow.Time64Type).Unit.Multiplier()))
	case *array.Date32:
		return dateText(int64(a.Value(i)))
	case *array.Binary:
		return blobText(a.Value(i))
	case *array.Dictionary:
		return text(a.Dictionary(), a.GetValueIndex(i))
	case *array.Struct:
		return structText(a, i)
	case *array.Map:
		return listText(a, i, true)
	case array.ListLike:
		return listText(a, i, false)
	}
	return arr.ValueStr(i)
}

func float(f float64) string {
	if math.IsNaN(f) {
		return "NaN"
	}
	if f == 0 {
		return "0"
	}
	return strconv.FormatFloat(f, 'g', 9, 64)
}

func structText(a *array.Struct, i int) string {
	parts := make([]string, a.NumField())
	for f := range parts {
		parts[f] = member(a.DataType().(*arrow.StructType).Field(f).Name, text(a.Field(f), i))
	}
	return braces(parts)
}

func listText(a array.ListLike, i int, sorted bool) string {
	from, to := a.ValueOffsets(i)
	var parts []string
	for j := from; j < to; j++ {
		parts = append(parts, text(a.ListValues(), int(j)))
	}
	return brackets(parts, sorted)
}

func member(name, value string) string { return name + ": " + value }

func braces(parts []string) string { return "{" + strings.Join(parts, ", ") + "}" }

// brackets writes a list, or with sorted a map, whose entries have no order.
func brackets(parts []string, sorted bool) string {
	if sorted {
		slices.Sort(parts)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func timeText(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.999999999") }

func clockText(nanos int64) string { return time.Duration(nanos).String() }

func dateText(days int64) string { return time.Unix(days*86_400, 0).UTC().Format(time.DateOnly) }

func blobText(b []byte) string { return fmt.Sprintf("x%x", b) }

// ask runs a statement on Lake.
func ask(ctx context.Context, c *sdk.Client, sql string, params ...any) (rows, error) {
	r, err := c.Query(ctx, sql, params...)
	if err != nil {
		return nil, err
	}
	var out rows
	for b, err := range r.Batches() {
		if err != nil {
			return out, err
		}
		if !b.Schema().Equal(r.Schema()) {
			return out, fmt.Errorf("announced %s, sent %s", r.Schema(), b.Schema())
		}
		if err := out.add(b); err != nil {
			return out, err
		}
	}
	return out, nil
}

// sorted forgets the order of the rows, which a statement without ORDER BY
// does not promise.
func (r rows) sorted() rows {
	out := slices.Clone(r)
	slices.Sort(out)
	return out
}
