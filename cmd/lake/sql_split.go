// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import "strings"

// cutStatement takes the first statement, up to a semicolon outside of texts
// and comments, off a text. complete is false when no such semicolon is there.
func cutStatement(text string) (statement, rest string, complete bool) {
	for at := 0; at < len(text); {
		if text[at] == ';' {
			return text[:at], text[at+1:], true
		}
		at += sqlToken(text[at:])
	}
	return text, "", false
}

// sqlToken is the length of the text, name, comment or sign that s begins with.
func sqlToken(s string) int {
	switch {
	case s[0] == '\'' || s[0] == '"':
		return sqlQuoted(s, s[:1])
	case strings.HasPrefix(s, "--"):
		return through(s, 2, "\n")
	case strings.HasPrefix(s, "/*"):
		return sqlComment(s)
	case s[0] == '$':
		if end := strings.IndexByte(s[1:], '$'); end >= 0 && !strings.ContainsAny(s[1:end+1], " \t\r\n'\"();,") && (end == 0 || s[1] < '0' || s[1] > '9') {
			return through(s, end+2, s[:end+2])
		}
	}
	return 1
}

// sqlQuoted is the length of a token in quotes, in which two stand for one.
func sqlQuoted(s, quote string) int {
	n := through(s, 1, quote)
	for strings.HasPrefix(s[n:], quote) {
		n = through(s, n+1, quote)
	}
	return n
}

func sqlComment(s string) int {
	depth := 0
	for at := 0; at < len(s); at++ {
		switch {
		case strings.HasPrefix(s[at:], "/*"):
			depth++
			at++
		case strings.HasPrefix(s[at:], "*/"):
			at++
			if depth--; depth == 0 {
				return at + 1
			}
		}
	}
	return len(s)
}

// through is the length of s up to and with the next mark from a place on, or
// all of it.
func through(s string, from int, mark string) int {
	if i := strings.Index(s[from:], mark); i >= 0 {
		return from + i + len(mark)
	}
	return len(s)
}

// saysNothing reports whether a text is blanks and comments only.
func saysNothing(text string) bool {
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		if !strings.HasPrefix(text, "--") && !strings.HasPrefix(text, "/*") {
			return false
		}
		text = text[sqlToken(text):]
	}
	return true
}
