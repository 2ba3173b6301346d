// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// value is the target of a setting.
type value interface {
	// set reads the texts given in one place; several where a list was given.
	set(texts []string) error
	// redacted is the text of the value, without secrets.
	redacted() string
	// kind is the type's name in --help.
	kind() string
}

// single reads one text.
func single(texts []string, read func(string) error) error {
	if len(texts) != 1 {
		return fmt.Errorf("want one value, not %d", len(texts))
	}
	return read(strings.TrimSpace(texts[0]))
}

type stringValue struct{ p *string }

func (v stringValue) kind() string     { return "string" }
func (v stringValue) redacted() string { return *v.p }
func (v stringValue) set(texts []string) error {
	return single(texts, func(s string) error { *v.p = s; return nil })
}

// choice is a string of a few.
type choice struct {
	stringValue
	of []string
}

func (v choice) kind() string { return strings.TrimPrefix(strings.Join(v.of, "|"), "|") }
func (v choice) set(texts []string) error {
	return single(texts, func(s string) error {
		for _, one := range v.of {
			if s == one {
				*v.p = s
				return nil
			}
		}
		return fmt.Errorf("%q: want %s", s, strings.Join(v.of, " or "))
	})
}

// urlValue is an address that may hold a password.
type urlValue struct{ p *string }

func (v urlValue) kind() string { return "url" }

func (v urlValue) redacted() string { return Redact(*v.p) }

func (v urlValue) set(texts []string) error {
	return single(texts, func(s string) error {
		if scheme, _, ok := strings.Cut(s, "://"); !ok || scheme == "" {
			return errors.New("not a URL: want scheme://…") // the text may hold a password
		}
		*v.p = s
		return nil
	})
}

// A URL of several hosts, such as postgres://u:p@a:5432,b:5432/db, is none for
// package net/url, so the secrets are found by hand.
var (
	userPassword  = regexp.MustCompile(`^([^:/?#]+://[^:/?#@]*):[^/?#]*@`)
	queryPassword = regexp.MustCompile(`([?&](?:password|sslpassword)=)[^&#]*`)
)

// Redact returns a URL without its passwords.
func Redact(text string) string {
	text = userPassword.ReplaceAllString(text, "$1:xxxxx@")
	return queryPassword.ReplaceAllString(text, "${1}xxxxx")
}

// HoldsSecret reports whether a URL carries a password.
func HoldsSecret(text string) bool { return Redact(text) != text }

type boolValue struct{ p *bool }

func (v boolValue) kind() string     { return "bool" }
func (v boolValue) redacted() string { return strconv.FormatBool(*v.p) }
func (v boolValue) set(texts []string) error {
	return single(texts, func(s string) (err error) {
		if *v.p, err = strconv.ParseBool(s); err != nil {
			return fmt.Errorf("%q: want true or false", s)
		}
		return nil
	})
}

// intValue is a whole number between two others.
type intValue struct {
	p        *int
	min, max int
}

func (v intValue) kind() string     { return "int" }
func (v intValue) redacted() string { return strconv.Itoa(*v.p) }
func (v intValue) set(texts []string) error {
	return single(texts, func(s string) error {
		n, err := strconv.Atoi(s)
		if err != nil || n < v.min || n > v.max {
			return fmt.Errorf("%q: want a whole number, %d to %d", s, v.min, v.max)
		}
		*v.p = n
		return nil
	})
}

// bytesValue is a size: a number of bytes, or with a unit such as MiB.
type bytesValue struct {
	p        *int64
	min, max int64
}

var byteUnits = []struct {
	name string
	size int64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

func (v bytesValue) kind() string     { return "bytes" }
func (v bytesValue) redacted() string { return formatBytes(*v.p) }

func formatBytes(n int64) string {
	for _, u := range byteUnits[:4] {
		if n != 0 && n%u.size == 0 {
			return strconv.FormatInt(n/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}

func (v bytesValue) set(texts []string) error {
	return single(texts, func(s string) error {
		digits, size := s, int64(1)
		for _, u := range byteUnits {
			if rest, ok := strings.CutSuffix(s, u.name); ok {
				digits, size = strings.TrimSpace(rest), u.size
				break
			}
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n < 0 || n > v.max/size || n*size < v.min {
			return fmt.Errorf("%q: want a size such as 64MiB, %s to %s", s, formatBytes(v.min), formatBytes(v.max))
		}
		*v.p = n * size
		return nil
	})
}

// durationValue is a time. unit is what a bare number in the environment
// counts, after the variable's name; 0 means that a number needs its unit.
type durationValue struct {
	p        *time.Duration
	unit     time.Duration
	min, max time.Duration
}

func (v durationValue) kind() string     { return "duration" }
func (v durationValue) redacted() string { return formatDuration(*v.p) }

// formatDuration leaves out what is zero: 30m0s is 30m.
func formatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func (v durationValue) set(texts []string) error {
	return single(texts, func(s string) error {
		d, err := v.parse(s)
		if err != nil || d < v.min || d > v.max {
			return fmt.Errorf("%q: want a time such as 300s, %s to %s", s, formatDuration(v.min), formatDuration(v.max))
		}
		*v.p = d
		return nil
	})
}

func (v durationValue) parse(s string) (time.Duration, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	switch {
	case err != nil:
		return time.ParseDuration(s)
	case n == 0:
		return 0, nil
	case v.unit == 0 || n > int64(v.max/v.unit):
		return 0, errors.New("a number without a unit")
	}
	return time.Duration(n) * v.unit, nil
}

// listValue is several texts: a YAML list, a repeated flag, or commas.
type listValue struct{ p *[]string }

func (v listValue) kind() string     { return "list" }
func (v listValue) redacted() string { return strings.Join(*v.p, ",") }
func (v listValue) set(texts []string) error {
	var out []string
	for _, text := range texts {
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part == "" {
				return errors.New("an entry of the list is empty")
			}
			out = append(out, part)
		}
	}
	*v.p = out
	return nil
}
