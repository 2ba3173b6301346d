// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
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
	var got []string
	for i := range arr.Len() {
		got = append(got, valueCell(arr, i).text)
	}
	require.Equal(t, []string{"12.50", "-0.05", "1.00"}, got)
}
