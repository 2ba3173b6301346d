// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package divide

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What statements are answered in parts is tested with the parser of the engine,
// by TestWhichStatementsComeInParts in services/query. Here is what no parser
// writes.
func TestAnUnknownTreeIsNotDivided(t *testing.T) {
	require.False(t, Statement(nil))
	require.False(t, Statement(object{"type": "SELECT_NODE"}))
	good := object{
		"type": "SELECT_NODE", "aggregate_handling": "STANDARD_HANDLING",
		"from_table": object{"type": "BASE_TABLE", "schema_name": "ns", "table_name": "t"},
	}
	require.True(t, Statement(good))
	for key, v := range map[string]any{
		"modifiers": "one", "cte_map": object{"map": []any{object{}}}, "group_sets": []any{0}, "having": object{}, "sample": object{}, "qualify": false,
		"from_table": object{"type": "BASE_TABLE", "table_name": "t"}, "select_list": []any{object{"class": "NEW"}},
		"where_clause": object{"class": "OPERATOR", "children": []any{object{"type": "SELECT_NODE"}}},
	} {
		bad := object{}
		for k, old := range good {
			bad[k] = old
		}
		bad[key] = v
		require.False(t, Statement(bad), key)
	}
}
