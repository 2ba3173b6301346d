// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package directory

import "unicode/utf8"

// Pattern is a compiled SQL search pattern, as the metadata calls of Flight
// SQL take it: '%' matches any run of characters, '_' exactly one, and '\'
// takes the next character literally. Matching takes time proportional to the
// product of the lengths at worst, never exponential.
type Pattern struct{ parts []part }

type part struct {
	kind byte // 'c' a character, '_' any one, '%' any run
	char rune
}

// Compile reads a pattern. Every string is one; a '\' at the end stands for
// itself.
func Compile(pattern string) Pattern {
	var p Pattern
	escaped := false
	for _, r := range pattern {
		switch {
		case escaped:
			p.parts, escaped = append(p.parts, part{'c', r}), false
		case r == '\\':
			escaped = true
		case r == '%':
			if n := len(p.parts); n == 0 || p.parts[n-1].kind != '%' {
				p.parts = append(p.parts, part{kind: '%'})
			}
		case r == '_':
			p.parts = append(p.parts, part{kind: '_'})
		default:
			p.parts = append(p.parts, part{'c', r})
		}
	}
	if escaped {
		p.parts = append(p.parts, part{'c', '\\'})
	}
	return p
}

// Match reports whether the pattern covers the whole of s.
func (p Pattern) Match(s string) bool {
	i, at := 0, 0
	star, resume := -1, 0 // the last '%', and where in s to go on after it
	for at < len(s) {
		r, size := utf8.DecodeRuneInString(s[at:])
		switch {
		case i < len(p.parts) && p.parts[i].kind == '%':
			star, resume = i, at
			i++
		case i < len(p.parts) && (p.parts[i].kind == '_' || p.parts[i].char == r):
			i++
			at += size
		case star >= 0: // let the last '%' take one character more
			_, size := utf8.DecodeRuneInString(s[resume:])
			resume += size
			i, at = star+1, resume
		default:
			return false
		}
	}
	return i == len(p.parts) || i == len(p.parts)-1 && p.parts[i].kind == '%'
}
