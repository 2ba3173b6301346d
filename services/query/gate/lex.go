// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package gate

import "strings"

// lexed is what a glance at the text tells, before the parser sees it.
type lexed struct {
	// tokens counts words, literals and signs; comments are none.
	tokens int
	// junctions counts the words AND and OR, unions UNION, EXCEPT and
	// INTERSECT, and comments is how deep comments lie inside each other.
	// junction, union and comment are where the last (deepest) of them is.
	junctions, unions, comments int
	junction, union, comment    int
	// first is the first word in capitals, start where the first token is, and
	// rest where the text after the word begins.
	first       string
	start, rest int
	// second is where the token after the first semicolon is, or -1.
	second int
}

// lex splits a text as PostgreSQL and DuckDB do. It need not be exact: the
// counts only bound the parser's work, and an unclosed literal, which ends the
// text for us, is a syntax error for the parser.
func lex(sql string) lexed {
	l := lexed{second: -1}
	ended := false
	for i := 0; i < len(sql); {
		c := sql[i]
		next := i + 1
		switch {
		case c <= ' ':
			i = next
			continue
		case strings.HasPrefix(sql[i:], "--"):
			i += until(sql[i:], "\n")
			continue
		case strings.HasPrefix(sql[i:], "/*"):
			n, deepest := comment(sql[i:])
			if deepest > l.comments {
				l.comments, l.comment = deepest, i
			}
			i += n
			continue
		case isWordByte(c):
			next = i + wordLength(sql[i:])
			l.word(sql[i:next], i)
			if quoted := escapeString(sql, i, next); quoted > 0 {
				next = quoted
			}
		case c == '\'' || c == '"':
			next = i + quoted(sql[i:], c, false)
		case c == '$':
			next = i + dollar(sql[i:])
		}
		if l.tokens == 0 {
			l.start = i
		}
		if ended && l.second < 0 && c != ';' {
			l.second = i
		}
		ended = ended || c == ';'
		l.tokens++
		i = next
	}
	return l
}

func (l *lexed) word(w string, at int) {
	if l.tokens == 0 {
		l.first, l.rest = strings.ToUpper(w), at+len(w)
	}
	switch strings.ToLower(w[:min(len(w), len("intersect"))]) {
	case "and", "or":
		l.junctions++
		l.junction = at
	case "union", "except", "intersect":
		l.unions++
		l.union = at
	}
}

func isWordByte(c byte) bool {
	return c == '_' || c >= 0x80 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func isWord(s string) bool {
	return s != "" && wordLength(s) == len(s)
}

func wordLength(s string) int {
	n := 0
	for n < len(s) && isWordByte(s[n]) {
		n++
	}
	return n
}

// until is the length of s up to and with the mark.
func until(s, mark string) int {
	if i := strings.Index(s, mark); i >= 0 {
		return i + len(mark)
	}
	return len(s)
}

// comment is the length of a block comment, which may hold others, and how deep
// those lie.
func comment(s string) (length, deepest int) {
	depth := 0
	for i := 0; i+1 < len(s); {
		switch s[i : i+2] {
		case "/*":
			depth++
			deepest = max(deepest, depth)
			i += 2
		case "*/":
			depth--
			i += 2
		default:
			i++
		}
		if depth == 0 {
			return i, deepest
		}
	}
	return len(s), deepest
}

// escapeString is the end of the string that E'…' opens at word i..next, or 0.
func escapeString(sql string, i, next int) int {
	if next-i != 1 || sql[i]|0x20 != 'e' || next >= len(sql) || sql[next] != '\'' {
		return 0
	}
	return next + quoted(sql[next:], '\'', true)
}

// quoted is the length of a literal between quotes, where two quotes stand for
// one and, if escapes is set, a backslash takes the next byte's meaning.
func quoted(s string, quote byte, escapes bool) int {
	for i := 1; i < len(s); i++ {
		if escapes && s[i] == '\\' {
			i++
			continue
		}
		if s[i] != quote {
			continue
		}
		if i+1 < len(s) && s[i+1] == quote {
			i++
			continue
		}
		return i + 1
	}
	return len(s)
}

// dollar is the length of $tag$…$tag$, or 1 when this is no such literal.
func dollar(s string) int {
	tag := 1 + wordLength(s[1:])
	if tag >= len(s) || s[tag] != '$' || tag > 1 && s[1] >= '0' && s[1] <= '9' {
		return 1
	}
	mark := s[:tag+1]
	return len(mark) + until(s[len(mark):], mark)
}
