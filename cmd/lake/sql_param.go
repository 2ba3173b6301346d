// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"strconv"
	"strings"
)

// parameter reads the value of a placeholder as the command line gives it: a
// number, true, false or null is that, and all else is text. "text:" before it
// makes any of them text.
func parameter(text string) any {
	if rest, ok := strings.CutPrefix(text, "text:"); ok {
		return rest
	}
	switch strings.ToLower(text) {
	case "null":
		return nil
	case "true":
		return true
	case "false":
		return false
	}
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i
	}
	if text != "" && (text[0] == '-' || text[0] == '.' || text[0] >= '0' && text[0] <= '9') {
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return f
		}
	}
	return text
}

func parameters(texts []string) []any {
	out := make([]any, len(texts))
	for i, t := range texts {
		out[i] = parameter(t)
	}
	return out
}
