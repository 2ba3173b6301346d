// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package tree

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func read(t *testing.T, text string) (v any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	require.NoError(t, d.Decode(&v))
	return v
}

func TestBlank(t *testing.T) {
	for text, want := range map[string]bool{
		`null`: true, `false`: true, `""`: true, `[]`: true, `{}`: true, `{"a":null,"b":{"c":[]}}`: true,
		`true`: false, `"x"`: false, `[null]`: false, `0`: false, `1`: false, `{"a":{"b":"x"}}`: false,
	} {
		require.Equal(t, want, Blank(read(t, text)), text)
	}
	n := read(t, `{"known":1,"empty":[],"new":"x"}`).(Object)
	require.False(t, NothingBut(n, "known"))
	require.True(t, NothingBut(n, "known", "new"))
	require.True(t, NothingBut(nil))
}

func TestConstants(t *testing.T) {
	constant := func(value string) any { return read(t, `{"class":"CONSTANT","value":`+value+`}`) }
	for value, want := range map[string]any{
		`{"type":{"id":"INTEGER","type_info":null},"is_null":false,"value":-5}`:                int64(-5),
		`{"type":{"id":"BIGINT"},"is_null":false,"value":9223372036854775807}`:                 int64(9223372036854775807),
		`{"type":{"id":"VARCHAR","type_info":null},"is_null":false,"value":"x"}`:               "x",
		`{"type":{"id":"BIGINT"},"is_null":false,"value":9223372036854775808}`:                 nil,
		`{"type":{"id":"INTEGER"},"is_null":true}`:                                             nil,
		`{"type":{"id":"INTEGER"},"is_null":false,"value":1.5}`:                                nil,
		`{"type":{"id":"VARCHAR","type_info":{"collation":"de"}},"is_null":false,"value":"x"}`: nil,
		`{"type":{"id":"DECIMAL"},"is_null":false,"value":15}`:                                 nil,
		`{}`: nil,
	} {
		got, ok := Constant(constant(value))
		require.Equal(t, want != nil, ok, value)
		if ok {
			require.Equal(t, want, got)
		}
	}
	_, ok := Constant(read(t, `{"class":"PARAMETER"}`))
	require.False(t, ok)
	_, ok = Count(constant(`{"type":{"id":"INTEGER"},"is_null":false,"value":-5}`))
	require.False(t, ok)
	_, ok = Count(constant(`{"type":{"id":"VARCHAR"},"is_null":false,"value":"5"}`))
	require.False(t, ok)
	n, ok := Count(constant(`{"type":{"id":"INTEGER"},"is_null":false,"value":0}`))
	require.True(t, ok)
	require.Zero(t, n)
	_, ok = Count(nil)
	require.False(t, ok)
}

func TestTablesAndStars(t *testing.T) {
	table := `"type":"BASE_TABLE","schema_name":"ns","table_name":"t","alias":"u","sample":null,"column_name_alias":[]`
	require.True(t, IsTable(read(t, `{`+table+`}`)))
	require.False(t, IsTable(read(t, `{`+table+`,"at_clause":{"unit":"version"}}`)))
	require.False(t, IsTable(read(t, `{"type":"JOIN"}`)))
	require.False(t, IsTable(nil))
	require.True(t, IsStar(read(t, `{"class":"STAR","type":"STAR","query_location":7,"exclude_list":[]}`)))
	require.False(t, IsStar(read(t, `{"class":"STAR","exclude_list":["id"]}`)))
	require.False(t, IsStar(read(t, `{"class":"COLUMN_REF"}`)))
}

func TestNames(t *testing.T) {
	require.Equal(t, map[string]bool{"upper": true, "#": true}, Names("# of a list\nupper\n\n # more\n#\n"))
}

func TestSameName(t *testing.T) {
	for _, same := range [][2]string{{"", ""}, {"id", "ID"}, {"aZ_9", "Az_9"}, {"ä", "ä"}, {"Täg", "täG"}} {
		require.True(t, SameName(same[0], same[1]), same)
	}
	for _, other := range [][2]string{{"a", "b"}, {"a", "aa"}, {"ä", "Ä"}, {"k", "\u212a"}, {"s", "ſ"}, {"[", "{"}, {"@", "`"}} {
		require.False(t, SameName(other[0], other[1]), other)
	}
}
