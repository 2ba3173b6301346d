// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package jsonobject builds the JSON of the records that every append writes, in
// the bytes of encoding/json, which takes several times as long. What is built
// this way is compared with encoding/json in a test of its package.
package jsonobject

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"

	"github.com/lakeplane/lake/lake"
)

// Object is a JSON text under construction. Its methods append to it, as append
// does, and return the longer one.
type Object []byte

// Begin returns an object without fields, with room for so many bytes.
func Begin(room int) Object { return append(make(Object, 0, room), '{') }

// Key begins the next field of the object that is open. The name needs no
// escapes.
func (o Object) Key(name string) Object {
	if len(o) > 0 && o[len(o)-1] != '{' {
		o = append(o, ',')
	}
	o = append(append(o, '"'), name...)
	return append(o, `":`...)
}

// Open begins a field that is an object.
func (o Object) Open(name string) Object { return append(o.Key(name), '{') }

// End ends the object that was begun last.
func (o Object) End() Object { return append(o, '}') }

// Each appends a field that is an array of n objects, whose fields are appended
// by fields.
func (o Object) Each(name string, n int, fields func(o Object, i int) Object) Object {
	o = append(o.Key(name), '[')
	for i := range n {
		if i > 0 {
			o = append(o, ',')
		}
		o = fields(append(o, '{'), i).End()
	}
	return append(o, ']')
}

// Text appends a string, with the escapes of encoding/json.
func (o Object) Text(name, value string) Object {
	o = o.Key(name)
	for i := range len(value) {
		if c := value[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			escaped, _ := json.Marshal(value) // no string fails
			return append(o, escaped...)
		}
	}
	return append(append(append(o, '"'), value...), '"')
}

// ID appends an id in its text form.
func (o Object) ID(name string, id lake.ID) Object {
	return append(id.AppendTo(append(o.Key(name), '"')), '"')
}

// Digest appends a digest in its text form.
func (o Object) Digest(name string, d lake.Digest) Object {
	o = append(o.Key(name), '"')
	return append(hex.AppendEncode(o, d[:]), '"')
}

// Number appends an unsigned number.
func (o Object) Number(name string, n uint64) Object {
	return strconv.AppendUint(o.Key(name), n, 10)
}

// Time appends a time, which must be of a year that encoding/json can write.
func (o Object) Time(name string, t time.Time) Object {
	o = append(o.Key(name), '"')
	return append(t.AppendFormat(o, time.RFC3339Nano), '"')
}

// Bytes appends bytes in base64 where there are any: a field with omitempty.
func (o Object) Bytes(name string, b []byte) Object {
	if len(b) == 0 {
		return o
	}
	o = append(o.Key(name), '"')
	return append(base64.StdEncoding.AppendEncode(o, b), '"')
}

// Snapshot appends the fields of a snapshot to the object that is open.
func (o Object) Snapshot(s lake.Snapshot) Object {
	o = o.Text("engine", s.Engine).Text("location", string(s.Location)).ID("incarnation", s.Incarnation).Number("version", uint64(s.Version))
	o = o.Open("manifest").Text("path", s.Manifest.Path)
	o = strconv.AppendInt(o.Key("size"), s.Manifest.Size, 10)
	return o.Digest("sha256", s.Manifest.SHA256).End()
}
