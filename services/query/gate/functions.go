// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package gate

import (
	_ "embed" // the lists of functions
	"maps"
	"slices"
	"strings"
)

//go:embed functions.txt
var functionsText string

//go:embed denied.txt
var deniedText string

// functions are the scalar, aggregate, window and macro functions that
// statements may call, in lower case.
var functions = readFunctions(functionsText)

// denied are the functions they may not, with the reason, in order.
var denied = readDenied(deniedText)

type denial struct {
	name   string
	prefix bool
	reason string
}

func (d denial) matches(name string) bool {
	if d.prefix {
		return strings.HasPrefix(name, d.name)
	}
	return name == d.name
}

func lines(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return out
}

func readFunctions(text string) map[string]bool {
	set := map[string]bool{}
	for _, name := range lines(text) {
		set[strings.ToLower(name)] = true
	}
	return set
}

func readDenied(text string) []denial {
	var out []denial
	for _, line := range lines(text) {
		name, reason, _ := strings.Cut(line, "\t")
		bare := strings.TrimSuffix(name, "*")
		out = append(out, denial{name: bare, prefix: bare != name, reason: reason})
	}
	return out
}

// Functions lists what statements may call, in no order: the functions of
// expressions, and those that may stand in FROM.
func Functions() (expressions, tables []string) {
	return slices.Collect(maps.Keys(functions)), slices.Collect(maps.Keys(tableFunctions))
}

// Classify says whether statements may call the function, and if not whether
// that was decided: a function in neither list is new to us.
func Classify(name string) (callable, known bool) {
	name = strings.ToLower(name)
	if functions[name] {
		return true, true
	}
	return false, deniedReason(name) != ""
}

func deniedReason(name string) string {
	for _, d := range denied {
		if d.matches(name) {
			return d.reason
		}
	}
	return ""
}

// whichFunctions tells where the allowed ones are listed.
const whichFunctions = "SELECT routine_name FROM information_schema.routines lists those that are"

func allowed(name string, at int) error {
	if functions[name] {
		return nil
	}
	if tableFunctions[name] {
		return refuse(at, "function %s belongs in FROM: write FROM %s(…)", name, name)
	}
	if reason := deniedReason(name); reason != "" {
		return refuse(at, "function %s is not allowed: it %s; %s", name, reason, whichFunctions)
	}
	return refuse(at, "function %s is not known, or not allowed: %s", clip(name), whichFunctions)
}
