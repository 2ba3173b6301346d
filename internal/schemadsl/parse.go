// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package schemadsl

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake"
)

const (
	// maxDepth bounds the nesting of types, and with it the recursion of the
	// parser. It is what the storage engine can hold.
	maxDepth = 32
	// maxPrecision is the most digits of a 128-bit decimal.
	maxPrecision = 38
)

// ParseSchema reads one column an argument. Every mistake is lake.Invalid and
// names the column and the position; so is a name that occurs twice or an
// empty list of columns.
func ParseSchema(columns []string) (*arrow.Schema, error) {
	if len(columns) == 0 {
		return nil, lake.Errorf(lake.Invalid, "a table needs at least one column, such as robot_id:utf8")
	}
	fields := make([]arrow.Field, len(columns))
	seen := make(map[string]bool, len(columns))
	for i, text := range columns {
		f, err := ParseColumn(text)
		if err != nil {
			return nil, err
		}
		if seen[f.Name] {
			return nil, lake.Errorf(lake.Invalid, "column %q occurs twice", f.Name)
		}
		seen[f.Name], fields[i] = true, f
	}
	return arrow.NewSchema(fields, nil), nil
}

// ParseColumn reads "name:type". A mistake is lake.Invalid with the position
// in bytes, counted from 1.
func ParseColumn(text string) (arrow.Field, error) {
	p := parser{text: text}
	f, err := p.column(0)
	if err == nil {
		err = p.end()
	}
	return f, p.explain("column", err)
}

// ParseType reads a type alone and whether it is nullable.
func ParseType(text string) (dt arrow.DataType, nullable bool, err error) {
	p := parser{text: text}
	dt, nullable, err = p.nullableType(0)
	if err == nil {
		err = p.end()
	}
	return dt, nullable, p.explain("type", err)
}

// parser is a recursive descent over text.
type parser struct {
	text string
	pos  int
}

// mistake is an error at a place.
type mistake struct {
	pos int
	msg string
}

func (m *mistake) Error() string { return m.msg }

func (p *parser) fail(pos int, format string, args ...any) error {
	return &mistake{pos, fmt.Sprintf(format, args...)}
}

func (p *parser) explain(what string, err error) error {
	if err == nil {
		return nil
	}
	m := err.(*mistake) //nolint:errorlint // the parser makes no other error
	return lake.Errorf(lake.Invalid, "%s %q: at byte %d: %s", what, clip(p.text), m.pos+1, m.msg)
}

func clip(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

func (p *parser) skipSpace() {
	for p.pos < len(p.text) && p.text[p.pos] == ' ' {
		p.pos++
	}
}

func (p *parser) end() error {
	if p.skipSpace(); p.pos < len(p.text) {
		return p.fail(p.pos, "unexpected %s after the type", p.here())
	}
	return nil
}

// here describes what is at the position.
func (p *parser) here() string {
	if p.pos >= len(p.text) {
		return "end"
	}
	r, _ := utf8.DecodeRuneInString(p.text[p.pos:])
	return strconv.QuoteRune(r)
}

// take consumes c, or reports that it is not next.
func (p *parser) take(c byte) bool {
	p.skipSpace()
	if p.pos < len(p.text) && p.text[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

func (p *parser) expect(c byte, where string) error {
	if p.take(c) {
		return nil
	}
	return p.fail(p.pos, "want %q %s, found %s", c, where, p.here())
}

func (p *parser) column(depth int) (arrow.Field, error) {
	name, err := p.name()
	if err != nil {
		return arrow.Field{}, err
	}
	if err := p.expect(':', "between the name and the type"); err != nil {
		return arrow.Field{}, err
	}
	dt, nullable, err := p.nullableType(depth)
	return arrow.Field{Name: name, Type: dt, Nullable: nullable}, err
}

func (p *parser) name() (string, error) {
	p.skipSpace()
	if strings.HasPrefix(p.text[p.pos:], `"`) {
		return p.quotedName()
	}
	start := p.pos
	length := strings.IndexByte(p.text[start:], ':')
	if length < 0 {
		return "", p.fail(start, "want name:type, such as reward:f64?")
	}
	name := strings.TrimRight(p.text[start:start+length], " ")
	switch {
	case name == "":
		return "", p.fail(start, "the column name is empty")
	case !utf8.ValidString(name):
		return "", p.fail(start, "the column name is not valid UTF-8")
	}
	p.pos = start + length
	return name, nil
}

func (p *parser) quotedName() (string, error) {
	quoted, err := strconv.QuotedPrefix(p.text[p.pos:])
	if err != nil {
		return "", p.fail(p.pos, "the quoted name does not end or holds a bad escape")
	}
	name, err := strconv.Unquote(quoted)
	if err != nil || name == "" || !utf8.ValidString(name) {
		return "", p.fail(p.pos, "a quoted name must be non-empty valid UTF-8")
	}
	p.pos += len(quoted)
	return name, nil
}

func (p *parser) nullableType(depth int) (arrow.DataType, bool, error) {
	if depth > maxDepth {
		return nil, false, p.fail(p.pos, "types are nested deeper than %d levels", maxDepth)
	}
	dt, err := p.base(depth)
	if err != nil {
		return nil, false, err
	}
	return dt, p.take('?'), nil
}

// word consumes letters and digits.
func (p *parser) word() string {
	p.skipSpace()
	start := p.pos
	for p.pos < len(p.text) && isWord(p.text[p.pos]) {
		p.pos++
	}
	return p.text[start:p.pos]
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}
