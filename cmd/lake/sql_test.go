// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
)

func TestDecimalsKeepTheirScale(t *testing.T) {
	b := array.NewDecimal128Builder(memory.DefaultAllocator, &arrow.Decimal128Type{Precision: 15, Scale: 2})
	defer b.Release()
	b.AppendValues([]decimal128.Num{decimal128.FromI64(1250), decimal128.FromI64(-5), decimal128.FromI64(100)}, nil)
	arr := b.NewArray()
	defer arr.Release()
	want := []string{"12.50", "-0.05", "1.00"}
	var got []string
	for i := range arr.Len() {
		got = append(got, valueCell(arr, i).text)
	}
	require.Equal(t, want, got)
	for _, format := range []string{"json", "csv", "table"} {
		var out strings.Builder
		w := rowsTo(&out, format, []heading{{name: "price"}})
		require.NoError(t, w.Row([]cell{valueCell(arr, 0)}))
		require.NoError(t, w.Close())
		require.Contains(t, out.String(), "12.50", format)
	}
}

// TestNestedValuesArePrintedExactly holds what is inside of lists, structs and maps
// to the forms that the same values have on their own.
func TestNestedValuesArePrintedExactly(t *testing.T) {
	const query = "SELECT [12.50::DECIMAL(9,2), NULL] AS l, {'p': 0.10::DECIMAL(9,2), 'q': '<a>'} AS s, map {'k': 7.00::DECIMAL(9,2)} AS m, ['nan'::DOUBLE] AS f, [1::UTINYINT] AS n"
	require.Equal(t, `{"l":["12.50",null],"s":{"p":"0.10","q":"<a>"},"m":[{"key":"k","value":"7.00"}],"f":["NaN"],"n":[1]}`+"\n",
		must(t, "sql", query, "--format", "json"))
	require.Equal(t, "l,s,m,f,n\n"+`"[""12.50"",null]","{""p"":""0.10"",""q"":""<a>""}","[{""key"":""k"",""value"":""7.00""}]","[""NaN""]",[1]`+"\n",
		must(t, "sql", query, "--format", "csv"))
}
