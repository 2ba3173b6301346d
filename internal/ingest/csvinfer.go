// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake"
)

const (
	// sampleBytes is how much of a file decides its delimiter.
	sampleBytes = 64 << 10
	// sampleRecords bounds the records of the sample.
	sampleRecords = 50

	byteOrderMark = "\xef\xbb\xbf"
)

// checkText refuses text in 16 bit encodings, whose bytes would pass for odd
// columns.
func checkText(head []byte) error {
	if bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) {
		return lake.Errorf(lake.Invalid, "the text is UTF-16: convert the file to UTF-8")
	}
	if bytes.HasPrefix(head, []byte("\x1f\x8b")) {
		return lake.Errorf(lake.Invalid, "it is compressed by gzip: name it .csv.gz")
	}
	return nil
}

// findDelimiter takes the delimiter that splits every record of the sample into
// the same, largest number of fields.
func findDelimiter(sample []byte, end byte, tabs bool) rune {
	best, most := ',', 1
	if tabs {
		best = '\t'
	}
	for _, comma := range []rune{',', ';', '\t', '|'} {
		if n := evenFields(sample, comma, end); n > most {
			best, most = comma, n
		}
	}
	return best
}

// evenFields is the number of fields in each record, or 0 when it varies. The
// last record of a sample is left out where the sample may cut it off, unless
// it is the only one.
func evenFields(sample []byte, comma rune, end byte) int {
	r := newCSVRecords(bufio.NewReader(bytes.NewReader(sample)), comma, end)
	for i := range sampleRecords {
		_, err := r.read()
		switch {
		case r.ended && len(sample) == sampleBytes && i > 0, errors.Is(err, io.EOF):
			return r.width
		case r.ended && len(sample) == sampleBytes:
			return len(r.lines)
		case err != nil:
			return 0
		}
	}
	return r.width
}

// chooseTypes decides the type of each column: the table's where there is one,
// else what every value of the file allows.
func (r *csvReader) chooseTypes(ctx context.Context, names []string) error {
	renamed, _ := tableNames(names)
	types := make([]arrow.DataType, len(names))
	if r.opts.Target != nil {
		for i, name := range renamed {
			if at := r.opts.Target.FieldIndices(name); len(at) == 1 {
				types[i] = r.opts.Target.Field(at[0]).Type
			}
		}
	} else if err := r.infer(ctx, types); err != nil {
		return err
	}
	for i, dt := range types {
		if dt == nil || r.opts.Columns != nil && !slices.Contains(r.opts.Columns, renamed[i]) {
			dt = arrow.BinaryTypes.String
		}
		parse := appender(dt)
		if parse == nil {
			return lake.Errorf(lake.Invalid, "column %q: a CSV field cannot become %s", names[i], dt)
		}
		r.columns = append(r.columns, csvColumn{names[i], dt, parse, isText(dt.ID()) || isBytes(dt.ID())})
	}
	return nil
}

// infer reads the whole file.
func (r *csvReader) infer(ctx context.Context, types []arrow.DataType) error {
	if err := r.restart(); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	guesses := make([]guess, len(types))
	for r.total = 0; ; r.total++ {
		if r.total%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		record, err := r.records.read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		for i, text := range record {
			if text != "" {
				guesses[i].see(text)
			}
		}
	}
	for i := range guesses {
		types[i] = guesses[i].dataType()
	}
	return nil
}

// guess collects what the values of a column rule out.
type guess struct {
	seen                                                    bool
	notBool, notInt, notFloat, notDate, notMoment, notLocal bool
	nano                                                    bool // one needs nanoseconds
	far                                                     bool // one is out of their range
}

func (g *guess) see(text string) {
	g.seen = true
	text = strings.TrimSpace(text)
	if isCode(text) {
		g.notInt, g.notFloat = true, true
	}
	if !g.notBool {
		_, ok := parseBool(text)
		g.notBool = !ok
	}
	if !g.notInt {
		_, ok := parseInt(text)
		g.notInt = !ok
	}
	if !g.notFloat {
		_, ok := parseFloat(text)
		g.notFloat = !ok
	}
	if !g.notDate {
		_, ok := parseDate(text)
		g.notDate = !ok
	}
	if !g.notMoment || !g.notLocal {
		t, ok := parseTime(text)
		g.notMoment = g.notMoment || !ok || !t.zoned
		g.notLocal = g.notLocal || !ok || t.zoned
		g.nano, g.far = g.nano || t.nano, g.far || t.far()
	}
}

func (g *guess) dataType() arrow.DataType {
	unit := arrow.Microsecond
	if g.nano {
		unit = arrow.Nanosecond
	}
	switch {
	case !g.seen:
		return arrow.BinaryTypes.String
	case !g.notBool:
		return arrow.FixedWidthTypes.Boolean
	case !g.notInt:
		return arrow.PrimitiveTypes.Int64
	case !g.notFloat:
		return arrow.PrimitiveTypes.Float64
	case !g.notDate:
		return arrow.FixedWidthTypes.Date32
	case g.nano && g.far: // no unit holds all of them
		return arrow.BinaryTypes.String
	case !g.notLocal:
		return &arrow.TimestampType{Unit: unit}
	case !g.notMoment:
		return &arrow.TimestampType{Unit: unit, TimeZone: "UTC"}
	}
	return arrow.BinaryTypes.String
}
