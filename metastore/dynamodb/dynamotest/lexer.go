// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package dynamotest

import (
	"strings"
)

// tokenKind is the kind of a token of an expression.
type tokenKind uint8

const (
	tokenEnd tokenKind = iota
	// tokenName is a bare word: an attribute name, a function or a keyword.
	tokenName
	// tokenNameRef is #name.
	tokenNameRef
	// tokenValueRef is :value.
	tokenValueRef
	// tokenIndex is the number in a[0].
	tokenIndex
	// tokenSign is an operator, a bracket, a comma or a dot.
	tokenSign
)

type token struct {
	kind tokenKind
	text string
	at   int
}

// is tells whether the token is the sign, or the keyword in any case.
func (t token) is(word string) bool {
	return (t.kind == tokenSign && t.text == word) || (t.kind == tokenName && strings.EqualFold(t.text, word))
}

// signs of expressions; longer ones first.
var signs = []string{"<>", "<=", ">=", "<", ">", "=", "(", ")", ",", ".", "[", "]"}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isWord(c byte) bool   { return isLetter(c) || isDigit(c) || c == '_' }

// lex cuts an expression into tokens. ok is false with the position of what is
// none.
func lex(text string) (tokens []token, bad int, ok bool) {
	for at := 0; at < len(text); {
		if strings.IndexByte(" \t\r\n", text[at]) >= 0 {
			at++
			continue
		}
		t := nextToken(text, at)
		if t.kind == tokenEnd {
			return nil, at, false
		}
		tokens = append(tokens, t)
		at += len(t.text)
	}
	return append(tokens, token{kind: tokenEnd, text: "<EOF>", at: len(text)}), 0, true
}

// nextToken reads the token at a position; its kind is tokenEnd if there is none.
func nextToken(text string, at int) token {
	rest := text[at:]
	switch c := rest[0]; {
	case c == '#' || c == ':':
		kind := tokenNameRef
		if c == ':' {
			kind = tokenValueRef
		}
		if n := wordLength(rest[1:]); n > 0 {
			return token{kind, rest[:1+n], at}
		}
	case isLetter(c):
		return token{tokenName, rest[:wordLength(rest)], at}
	case isDigit(c):
		return token{tokenIndex, rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))], at}
	}
	for _, sign := range signs {
		if strings.HasPrefix(rest, sign) {
			return token{tokenSign, sign, at}
		}
	}
	return token{}
}

func wordLength(text string) int {
	n := 0
	for n < len(text) && isWord(text[n]) {
		n++
	}
	return n
}
