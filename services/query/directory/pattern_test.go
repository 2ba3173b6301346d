// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package directory

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, s string
		want       bool
	}{
		{"", "", true},
		{"", "a", false},
		{"%", "", true},
		{"%", "anything", true},
		{"_", "a", true},
		{"_", "", false},
		{"_", "ab", false},
		{"_", "é", true},
		{"a%", "abc", true},
		{"a%", "ba", false},
		{"%c", "abc", true},
		{"%b%", "abc", true},
		{"a_c", "abc", true},
		{"a_c", "ac", false},
		{`a\_c`, "a_c", true},
		{`a\_c`, "abc", false},
		{`100\%`, "100%", true},
		{`100\%`, "1000", false},
		{`a\\b`, `a\b`, true},
		{`a\bc`, "abc", true},
		{`tail\`, `tail\`, true},
		{"%a%b%", "xxaxxb", true},
		{"%%%", "", true},
		{"%ab", "aab", true},
		{"Case", "case", false},
	} {
		require.Equal(t, c.want, Compile(c.pattern).Match(c.s), "%q LIKE %q", c.s, c.pattern)
	}
}

func TestAHostilePatternIsNotSlow(t *testing.T) {
	start := time.Now()
	require.False(t, Compile(strings.Repeat("%a", 100)+"b").Match(strings.Repeat("a", 20_000)))
	require.Less(t, time.Since(start), 5*time.Second)
}

// model translates a pattern into a regular expression.
func model(pattern string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	runes := []rune(pattern)
	for i := 0; i < len(runes); i++ {
		switch r := runes[i]; {
		case r == '\\' && i+1 < len(runes):
			i++
			b.WriteString(regexp.QuoteMeta(string(runes[i])))
		case r == '%':
			b.WriteString(`.*`)
		case r == '_':
			b.WriteString(`.`)
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	return regexp.MustCompile(b.String() + `\z`)
}

func FuzzPattern(f *testing.F) {
	f.Add(`a\_%b`, "a_xxb")
	f.Add("%a%b%c%", "abcabc")
	f.Add("__%__", "abcd")
	f.Fuzz(func(t *testing.T, pattern, s string) {
		if len(pattern) > 60 || strings.ToValidUTF8(pattern+s, "") != pattern+s {
			return
		}
		if got, want := Compile(pattern).Match(s), model(pattern).MatchString(s); got != want {
			t.Fatalf("%q LIKE %q: got %v, want %v", s, pattern, got, want)
		}
	})
}
