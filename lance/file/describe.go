// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/lakeplane/lake/lance/lancepb/enc20pb"
	"github.com/lakeplane/lake/lance/lancepb/enc21pb"
)

// Encodings counts the page layouts and encodings of all pages by name, such as
// "mini_block_layout", "fsst" or "dictionary". Tools show it, and tests use it
// to know what they covered.
func (r *Reader) Encodings() (map[string]int, error) {
	out := make(map[string]int)
	for _, c := range r.c.columns {
		for _, p := range c.GetPages() {
			var layout enc21pb.PageLayout
			var array enc20pb.ArrayEncoding
			m, url := layout.ProtoReflect(), pageLayoutURL
			if r.c.minor == 0 {
				m, url = array.ProtoReflect(), arrayEncodingURL
			}
			if err := r.c.decodeEncoding(p.GetEncoding(), url, m.Interface()); err != nil {
				return nil, err
			}
			countEncodings(m, out)
		}
	}
	return out, nil
}

// countEncodings counts the fields that are set and hold a message, at any
// depth, and those that hold levels or constants.
func countEncodings(m protoreflect.Message, out map[string]int) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsList() && f.Message() != nil:
			for i := range v.List().Len() {
				countEncodings(v.List().Get(i).Message(), out)
			}
		case f.Message() != nil && !f.IsMap():
			out[string(f.Name())]++
			countEncodings(v.Message(), out)
		case f.Name() == "inline_value" || f.Name() == "has_large_chunk" || f.Name() == "has_validity":
			out[string(f.Name())]++
		}
		return true
	})
}
