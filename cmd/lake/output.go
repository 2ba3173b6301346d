// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"io"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// cell is one value to print.
type cell struct {
	text string
	null bool
	// value is for JSON; nil means that text is the value.
	value any
	// right aligns numbers in a table.
	right bool
}

func textCell(s string) cell { return cell{text: s} }

// heading is a column's name and type; the type may be empty.
type heading struct{ name, kind string }

// rowWriter prints rows in one format. Close ends the output.
type rowWriter interface {
	Row(cells []cell) error
	Close() error
}

// checkFormat knows the formats of every command, and of sql one more.
func checkFormat(format string, sql bool) error {
	switch {
	case format == "table" || format == "json" || format == "csv", sql && format == "arrow":
		return nil
	case sql:
		return usagef("format %q: want table, json, csv or arrow", format)
	}
	return usagef("format %q: want table, json or csv", format)
}

// listing prints rows of which the next one may fail to come.
type listing struct {
	rowWriter
	rows int
}

// rows returns the writer of the format asked for.
func (a *app) rows(columns []heading) *listing {
	return &listing{rowWriter: rowsTo(a.stdout, a.format, columns)}
}

// Row implements rowWriter.
func (l *listing) Row(cells []cell) error {
	l.rows++
	return l.rowWriter.Row(cells)
}

// broken ends a listing that failed, and returns why. What was found before is
// printed, in whole rows; where nothing was, nothing is.
func (l *listing) broken(err error) error {
	if l.rows > 0 {
		_ = l.Close() // the failure tells more
	}
	return err
}

func rowsTo(to io.Writer, format string, columns []heading) rowWriter {
	out := bufio.NewWriter(to)
	switch format {
	case "json":
		return &jsonWriter{out: out, columns: columns}
	case "csv":
		return newCSVWriter(out, columns)
	}
	return &tableWriter{out: out, columns: columns}
}

// jsonWriter prints one object a line, its members in the order of the columns.
type jsonWriter struct {
	out     *bufio.Writer
	columns []heading
}

// Row implements rowWriter.
func (w *jsonWriter) Row(cells []cell) error {
	_ = w.out.WriteByte('{')
	for i, c := range cells {
		if i > 0 {
			_ = w.out.WriteByte(',')
		}
		if err := writeJSON(w.out, w.columns[i].name); err != nil {
			return err
		}
		_ = w.out.WriteByte(':')
		var v any
		switch {
		case c.null:
		case c.value != nil:
			v = c.value
		default:
			v = c.text
		}
		if err := writeJSON(w.out, v); err != nil {
			return err
		}
	}
	_, err := w.out.WriteString("}\n")
	return err
}

// writeJSON leaves <, > and & as they are: the output is not HTML.
func writeJSON(out io.Writer, v any) error {
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(out, strings.TrimSuffix(text.String(), "\n"))
	return err
}

// Close implements rowWriter.
func (w *jsonWriter) Close() error { return w.out.Flush() }

// csvWriter prints RFC 4180 with \n. A null is an empty field and an empty text
// is "".
type csvWriter struct {
	out *bufio.Writer
	err error
}

func newCSVWriter(out *bufio.Writer, columns []heading) *csvWriter {
	w := &csvWriter{out: out}
	names := make([]cell, len(columns))
	for i, c := range columns {
		names[i] = textCell(c.name)
	}
	w.err = w.Row(names)
	return w
}

// Row implements rowWriter.
func (w *csvWriter) Row(cells []cell) error {
	for i, c := range cells {
		if i > 0 {
			_ = w.out.WriteByte(',')
		}
		if !c.null {
			_, _ = w.out.WriteString(csvField(c.text))
		}
	}
	return w.out.WriteByte('\n')
}

func csvField(s string) string {
	if s != "" && !strings.ContainsAny(s, ",\"\r\n") && s[0] != ' ' && s[len(s)-1] != ' ' {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

// Close implements rowWriter.
func (w *csvWriter) Close() error {
	if w.err != nil {
		return w.err
	}
	return w.out.Flush()
}

const (
	// widthRows is how many rows decide the widths of a table's columns; later
	// rows are printed as they come.
	widthRows = 1000
	// maxCellWidth bounds the cells of a table of rows; json and csv print
	// everything.
	maxCellWidth = 60
)

// tableWriter prints aligned columns. It holds back the first rows only.
type tableWriter struct {
	out     *bufio.Writer
	columns []heading
	held    [][]cell
	widths  []int // nil until the heading is printed
	// clip bounds the cells. Ids, which people copy, are printed whole.
	clip bool
}

// Row implements rowWriter.
func (w *tableWriter) Row(cells []cell) error {
	shown := make([]cell, len(cells))
	for i, c := range cells {
		if shown[i] = c; c.null {
			shown[i].text = "NULL"
		} else {
			shown[i].text = w.printable(c.text)
		}
	}
	if w.widths != nil {
		return w.print(shown)
	}
	w.held = append(w.held, shown)
	if len(w.held) < widthRows {
		return nil
	}
	return w.release()
}

// release prints the heading and what was held back.
func (w *tableWriter) release() error {
	w.widths = make([]int, len(w.columns))
	names, kinds := make([]cell, len(w.columns)), make([]cell, len(w.columns))
	typed := false
	for i, c := range w.columns {
		names[i], kinds[i] = textCell(w.printable(c.name)), textCell(w.printable(c.kind))
		w.widths[i] = max(width(names[i].text), width(kinds[i].text))
		typed = typed || c.kind != ""
		for _, row := range w.held {
			w.widths[i] = max(w.widths[i], width(row[i].text))
		}
	}
	lines := [][]cell{names}
	if typed {
		lines = append(lines, kinds)
	}
	for _, line := range lines {
		if err := w.print(line); err != nil {
			return err
		}
	}
	w.rule()
	for _, row := range w.held {
		if err := w.print(row); err != nil {
			return err
		}
	}
	w.held = nil
	return nil
}

func (w *tableWriter) rule() {
	for i, n := range w.widths {
		if i > 0 {
			_, _ = w.out.WriteString("┼")
		}
		_, _ = w.out.WriteString(strings.Repeat("─", n+2))
	}
	_ = w.out.WriteByte('\n')
}

func (w *tableWriter) print(cells []cell) error {
	var line strings.Builder
	for i, c := range cells {
		if i > 0 {
			line.WriteString("│")
		}
		pad := strings.Repeat(" ", max(0, w.widths[i]-width(c.text)))
		if c.right {
			line.WriteString(" " + pad + c.text + " ")
		} else {
			line.WriteString(" " + c.text + pad + " ")
		}
	}
	_, err := w.out.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	return err
}

// Close implements rowWriter.
func (w *tableWriter) Close() error {
	if w.widths == nil {
		if err := w.release(); err != nil {
			return err
		}
	}
	return w.out.Flush()
}

func width(s string) int { return utf8.RuneCountInString(s) }

func (w *tableWriter) printable(s string) string {
	most := math.MaxInt
	if w.clip {
		most = maxCellWidth
	}
	return printable(s, most)
}

// printable keeps a text on one line of bounded length and free of terminal
// control sequences.
func printable(s string, most int) string {
	var out strings.Builder
	n := 0
	for _, r := range s {
		if n++; n > most {
			out.WriteString("…")
			break
		}
		switch {
		case r == '\n':
			out.WriteString("⏎")
		case !unicode.IsPrint(r):
			out.WriteRune(utf8.RuneError)
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}
