// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/lakeplane/lake/lake"
)

// csvRecords reads records with bounds and with errors that say where.
//
// encoding/csv is not used because it changes what a file says: it makes a \n
// of each \r\n inside of quotes, leaves out the empty lines that are the nulls
// of a file with one column, tells no empty text ("") from no text, and takes a
// file whose lines end with \r for one record.
type csvRecords struct {
	in    *bufio.Reader
	comma []byte
	end   byte // of a line: \n, before which there may be a \r, or \r

	line  int    // lines read so far
	ended bool   // the text ended
	taken int    // bytes of the record so far
	raw   []byte // a line longer than the buffer of in

	width  int // fields of the first record, 0 before it
	fields []string
	quoted []bool
	lines  []int // where each field began
	text   []byte
	ends   []int // of the fields in text
}

// newCSVRecords reads text whose fields are separated by comma and whose lines
// are ended by end, which is \n or \r.
func newCSVRecords(text *bufio.Reader, comma rune, end byte) *csvRecords {
	return &csvRecords{in: text, comma: utf8.AppendRune(nil, comma), end: end}
}

// lineEnd is what ends the lines of a text that begins with head: \r if no line
// ends with \n and one with \r, as in files of old Macintosh programs.
func lineEnd(head []byte) byte {
	quoted, end := false, byte('\n')
	for _, c := range head {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '\n':
			return '\n'
		case c == '\r':
			end = '\r'
		}
	}
	return end
}

// lineOf is where field i of the last record began.
func (r *csvRecords) lineOf(i int) int { return r.lines[i] }

// read returns the next record, good until the next call, or io.EOF. Empty
// lines are no records, except where there is one column: there they are its
// empty fields.
func (r *csvRecords) read() ([]string, error) {
	r.text, r.ends, r.quoted, r.lines = r.text[:0], r.ends[:0], r.quoted[:0], r.lines[:0]
	r.taken = 0
	for {
		line, err := r.readLine()
		if err != nil {
			return nil, err
		}
		body := r.trim(line)
		if len(body) == 0 && r.width != 1 {
			r.taken = 0
			continue
		}
		if err := r.split(line, body); err != nil {
			return nil, err
		}
		return r.record()
	}
}

// readLine returns the next line with its end, good until the next call.
func (r *csvRecords) readLine() ([]byte, error) {
	line, err := r.in.ReadSlice(r.end)
	r.raw = r.raw[:0]
	for errors.Is(err, bufio.ErrBufferFull) {
		if r.raw = append(r.raw, line...); r.taken+len(r.raw) > maxRecordBytes {
			return nil, errLongRecord
		}
		line, err = r.in.ReadSlice(r.end)
	}
	if len(r.raw) > 0 {
		r.raw = append(r.raw, line...)
		line = r.raw
	}
	if r.taken += len(line); r.taken > maxRecordBytes {
		return nil, errLongRecord
	}
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, lake.Errorf(lake.Invalid, "the CSV text is damaged or cut off: %w", err)
	case err != nil && len(line) == 0:
		r.ended = true
		return nil, io.EOF
	}
	r.ended = err != nil
	r.line++
	return line, nil
}

var errLongRecord = lake.Errorf(lake.Invalid, "a record is longer than %d MiB: a quote may not be closed", maxRecordBytes>>20)

// trim takes the end off a line.
func (r *csvRecords) trim(line []byte) []byte {
	body, _ := bytes.CutSuffix(line, []byte{r.end})
	if r.end == '\n' {
		body, _ = bytes.CutSuffix(body, []byte{'\r'})
	}
	return body
}

// split finds the fields of a record that begins with line, whose part before
// the end is body.
func (r *csvRecords) split(line, body []byte) error {
	at := 0
	for {
		r.lines = append(r.lines, r.line)
		quoted := at < len(body) && body[at] == '"'
		var err error
		if quoted {
			line, body, at, err = r.quotedField(line, body, at+1)
		} else {
			at, err = r.plainField(body, at)
		}
		if err != nil {
			return err
		}
		r.ends, r.quoted = append(r.ends, len(r.text)), append(r.quoted, quoted)
		if at == len(body) {
			return nil
		}
		at += len(r.comma)
	}
}

// plainField takes a field without quotes and returns where it ends.
func (r *csvRecords) plainField(body []byte, at int) (int, error) {
	field := body[at:]
	if n := bytes.Index(field, r.comma); n >= 0 {
		field = field[:n]
	}
	if n := bytes.IndexByte(field, '"'); n >= 0 {
		return 0, lake.Errorf(lake.Invalid, "line %d, byte %d: bare \" in non-quoted-field", r.line, at+n+1)
	}
	r.text = append(r.text, field...)
	return at + len(field), nil
}

// quotedField takes what is behind an opening quote, over as many lines as it
// has, and returns the line it ends in and where.
func (r *csvRecords) quotedField(line, body []byte, at int) (lastLine, lastBody []byte, end int, err error) {
	for {
		n := bytes.IndexByte(body[at:], '"')
		if n < 0 {
			r.text = append(r.text, line[at:]...)
			column := len(line) + 1
			if line, err = r.readLine(); errors.Is(err, io.EOF) {
				err = r.badQuote(column)
			}
			if err != nil {
				return nil, nil, 0, err
			}
			body, at = r.trim(line), 0
			continue
		}
		r.text = append(r.text, body[at:at+n]...)
		at += n + 1
		switch rest := body[at:]; {
		case len(rest) == 0 || bytes.HasPrefix(rest, r.comma):
			return line, body, at, nil
		case rest[0] == '"':
			r.text = append(r.text, '"')
			at++
		default:
			return nil, nil, 0, r.badQuote(at)
		}
	}
}

func (r *csvRecords) badQuote(column int) error {
	return lake.Errorf(lake.Invalid, "line %d, byte %d: extraneous or missing \" in quoted-field", r.line, column)
}

// record makes strings of the fields and checks them.
func (r *csvRecords) record() ([]string, error) {
	r.fields = r.fields[:0]
	whole, start := string(r.text), 0
	for i, end := range r.ends {
		field := whole[start:end]
		if start = end; !utf8.ValidString(field) {
			return nil, lake.Errorf(lake.Invalid, "line %d: field %d is not UTF-8 text: convert the file to UTF-8", r.lines[i], i+1)
		}
		r.fields = append(r.fields, field)
	}
	if r.width == 0 {
		r.width = len(r.fields)
	}
	if len(r.fields) != r.width {
		return nil, lake.Errorf(lake.Invalid, "line %d: %d fields where the first record has %d", r.lines[0], len(r.fields), r.width)
	}
	return r.fields, nil
}
