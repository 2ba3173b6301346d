// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package robustness

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTableModelBites shows that the model accepts what is right and nothing
// else: a model that accepts everything would find nothing.
func TestTableModelBites(t *testing.T) {
	create, get := request{verb: createVerb}, request{verb: getVerb}
	put := func(op string) request { return request{verb: appendVerb, operation: op} }
	drop := func(inc string) request { return request{verb: dropVerb, incarnation: inc} }
	ok := func(inc string, v uint64) reply { return reply{outcome: "ok", incarnation: inc, version: v} }
	lost := func(inc string, v uint64) reply {
		return reply{outcome: "ok", incarnation: inc, version: v, foreign: true}
	}
	absent, refused, unknown := reply{outcome: "absent"}, reply{outcome: "refused"}, reply{outcome: "unknown"}

	for label, steps := range map[string][]any{
		"plain":                 {create, ok("i", 1), put("a"), ok("i", 2), get, ok("i", 2), drop("i"), ok("", 0), get, absent},
		"group":                 {create, ok("i", 1), put("a"), ok("i", 2), put("b"), ok("i", 2), get, ok("i", 2)},
		"replay":                {create, ok("i", 1), put("a"), ok("i", 2), put("b"), ok("i", 3), put("a"), ok("i", 2)},
		"unknown append landed": {create, ok("i", 1), put("a"), unknown, get, ok("i", 2), put("a"), ok("i", 2)},
		"unknown append lost":   {create, ok("i", 1), put("a"), unknown, get, ok("i", 1), put("a"), ok("i", 2)},
		"unknown create landed": {create, unknown, get, lost("j", 1), put("a"), lost("j", 2)},
		"unknown create lost":   {create, unknown, get, absent, create, ok("i", 1)},
		"replay after recreate": {create, ok("i", 1), put("a"), ok("i", 2), drop("i"), ok("", 0), create, ok("j", 1), put("a"), refused, get, ok("j", 1)},
		"drop again":            {create, ok("i", 1), drop("i"), ok("", 0), drop("i"), ok("", 0)},
	} {
		require.True(t, linear(steps...), label)
	}
	for label, steps := range map[string][]any{
		"lost append":              {create, ok("i", 1), put("a"), ok("i", 2), get, ok("i", 1)},
		"doubled append":           {create, ok("i", 1), put("a"), ok("i", 2), put("a"), ok("i", 3)},
		"version skipped":          {create, ok("i", 1), put("a"), ok("i", 3)},
		"joined a version seen":    {create, ok("i", 1), put("a"), ok("i", 2), get, ok("i", 2), put("b"), ok("i", 2)},
		"landed and again":         {create, ok("i", 1), put("a"), unknown, get, ok("i", 2), put("a"), ok("i", 3)},
		"incarnation from nowhere": {create, ok("i", 1), get, ok("k", 1)},
		"applied to the recreated": {create, ok("i", 1), put("a"), ok("i", 2), drop("i"), ok("", 0), create, ok("j", 1), put("a"), ok("j", 2)},
		"rose from the dead":       {create, ok("i", 1), drop("i"), ok("", 0), get, ok("i", 1)},
		"two tables of a name":     {create, ok("i", 1), create, ok("j", 1)},
		"refused for no reason":    {create, ok("i", 1), put("a"), refused},
	} {
		require.False(t, linear(steps...), label)
	}
}
