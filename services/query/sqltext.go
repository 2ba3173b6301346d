// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import "strings"

// renameInformationSchema writes a statement's qualifier information_schema
// as the internal name that the engine knows the views by. It works on tokens:
// texts and comments stay as they are. The statement has passed the gate, so
// it is well formed.
func renameInformationSchema(sql string) string {
	var out strings.Builder
	for at := 0; at < len(sql); {
		end := at + tokenLength(sql[at:])
		token := sql[at:end]
		if isInformationSchema(token) && qualifies(sql[end:]) {
			token = `"` + internalSchema + `"`
		}
		out.WriteString(token)
		at = end
	}
	return out.String()
}

// isInformationSchema reports whether a token is that identifier.
func isInformationSchema(token string) bool {
	if n := len(token); n > 2 && token[0] == '"' && token[n-1] == '"' {
		token = token[1 : n-1]
	}
	return strings.EqualFold(token, informationSchema)
}

// qualifies reports whether a dot follows, after blanks and comments.
func qualifies(rest string) bool {
	for rest != "" {
		n := tokenLength(rest)
		switch {
		case rest[0] == '.':
			return true
		case strings.TrimSpace(rest[:n]) == "", strings.HasPrefix(rest, "--"), strings.HasPrefix(rest, "/*"):
			rest = rest[n:]
		default:
			return false
		}
	}
	return false
}

// tokenLength is the length of the token that s begins with: a text, a quoted
// identifier, a comment, a word, or one byte of anything else.
func tokenLength(s string) int {
	switch c := s[0]; {
	case c == '\'':
		return quotedLength(s, '\'', false)
	case (c == 'e' || c == 'E') && len(s) > 1 && s[1] == '\'':
		return 1 + quotedLength(s[1:], '\'', true)
	case c == '"':
		return quotedLength(s, '"', false)
	case c == '$':
		return dollarLength(s)
	case strings.HasPrefix(s, "--"):
		return lengthTo(s, "\n")
	case strings.HasPrefix(s, "/*"):
		return commentLength(s)
	case isWordByte(c):
		n := 1
		for n < len(s) && (isWordByte(s[n]) || s[n] == '$') {
			n++
		}
		return n
	}
	return 1
}

func isWordByte(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80
}

// quotedLength is the length of a token between quotes; a doubled quote, and
// with escapes one behind a backslash, does not end it.
func quotedLength(s string, quote byte, escapes bool) int {
	for i := 1; i < len(s); i++ {
		switch {
		case escapes && s[i] == '\\':
			i++
		case s[i] == quote && i+1 < len(s) && s[i+1] == quote:
			i++
		case s[i] == quote:
			return i + 1
		}
	}
	return len(s)
}

// dollarLength is the length of a $tag$text$tag$, or 1 if there is none.
func dollarLength(s string) int {
	end := strings.IndexByte(s[1:], '$')
	if end < 0 {
		return 1
	}
	tag := s[:end+2]
	for _, c := range []byte(tag[1 : len(tag)-1]) {
		if !isWordByte(c) {
			return 1
		}
	}
	if len(tag) > 2 && tag[1] >= '0' && tag[1] <= '9' {
		return 1 // a placeholder such as $1
	}
	return len(tag) + lengthTo(s[len(tag):], tag)
}

// commentLength is the length of a comment, in which others may nest.
func commentLength(s string) int {
	depth := 0
	for i := 0; i+1 < len(s); i++ {
		switch s[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			depth--
			i++
			if depth == 0 {
				return i + 1
			}
		}
	}
	return len(s)
}

func lengthTo(s, end string) int {
	if i := strings.Index(s, end); i >= 0 {
		return i + len(end)
	}
	return len(s)
}
