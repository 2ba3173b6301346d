// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package tpch makes data of the shape of the TPC-H benchmark's lineitem
// table: deterministic, of any size, in bounded memory. Values follow the
// specification's ranges; their distribution is simplified.
package tpch

import (
	"fmt"
	"math/rand/v2"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

var money = &arrow.Decimal128Type{Precision: 15, Scale: 2}

// LineItem is the schema of the table (TPC-H specification, section 1.4.1).
var LineItem = arrow.NewSchema([]arrow.Field{
	{Name: "l_orderkey", Type: arrow.PrimitiveTypes.Int64},
	{Name: "l_partkey", Type: arrow.PrimitiveTypes.Int64},
	{Name: "l_suppkey", Type: arrow.PrimitiveTypes.Int64},
	{Name: "l_linenumber", Type: arrow.PrimitiveTypes.Int32},
	{Name: "l_quantity", Type: money},
	{Name: "l_extendedprice", Type: money},
	{Name: "l_discount", Type: money},
	{Name: "l_tax", Type: money},
	{Name: "l_returnflag", Type: arrow.BinaryTypes.String},
	{Name: "l_linestatus", Type: arrow.BinaryTypes.String},
	{Name: "l_shipdate", Type: arrow.FixedWidthTypes.Date32},
	{Name: "l_commitdate", Type: arrow.FixedWidthTypes.Date32},
	{Name: "l_receiptdate", Type: arrow.FixedWidthTypes.Date32},
	{Name: "l_shipinstruct", Type: arrow.BinaryTypes.String},
	{Name: "l_shipmode", Type: arrow.BinaryTypes.String},
	{Name: "l_comment", Type: arrow.BinaryTypes.String, Nullable: true},
}, nil)

// Days since 1970-01-01.
const (
	firstOrder = 8035  // 1992-01-01
	lastOrder  = 10440 // 1998-08-02
	current    = 9298  // 1995-06-17, the specification's CURRENTDATE
)

var (
	instructions = []string{"DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"}
	modes        = []string{"REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"}
	words        = []string{"quickly", "final", "deposits", "sleep", "carefully", "ironic", "packages", "haggle", "among", "regular", "requests", "blithely"}
)

// LineItems calls emit with batches of at most batchRows rows, rows in all.
// The same seed gives the same rows. A batch is released when emit returns.
func LineItems(rows, batchRows int, seed uint64, emit func(arrow.RecordBatch) error) error {
	if rows < 0 || batchRows < 1 {
		return fmt.Errorf("tpch: %d rows in batches of %d", rows, batchRows)
	}
	g := &generator{rand: rand.New(rand.NewPCG(seed, 0x1a4e)), build: array.NewRecordBuilder(memory.DefaultAllocator, LineItem)}
	defer g.build.Release()
	for rows > 0 {
		n := min(rows, batchRows)
		for range n {
			g.row()
		}
		batch := g.build.NewRecordBatch()
		err := emit(batch)
		batch.Release()
		if err != nil {
			return err
		}
		rows -= n
	}
	return nil
}

// generator walks order by order, one to seven lines each.
type generator struct {
	rand  *rand.Rand
	build *array.RecordBuilder

	order, date int64
	line, lines int
}

func (g *generator) row() {
	if g.line == g.lines {
		g.order++
		g.date = firstOrder + g.rand.Int64N(lastOrder-firstOrder+1)
		g.line, g.lines = 0, 1+g.rand.IntN(7)
	}
	g.line++
	part := 1 + g.rand.Int64N(200_000)
	quantity := 1 + g.rand.Int64N(50)
	ship := g.date + 1 + g.rand.Int64N(121)
	receipt := ship + 1 + g.rand.Int64N(30)

	g.int64s(0, g.order, part, 1+g.rand.Int64N(10_000))
	g.build.Field(3).(*array.Int32Builder).Append(int32(g.line))
	g.money(4, quantity*100, quantity*(90_000+part%20_000+100*(part%1000))/10, g.rand.Int64N(11), g.rand.Int64N(9))
	g.strings(8, g.returnFlag(receipt), status(ship))
	g.dates(10, ship, g.date+30+g.rand.Int64N(61), receipt)
	g.strings(13, pick(g.rand, instructions), pick(g.rand, modes))
	g.comment()
}

func (g *generator) returnFlag(receipt int64) string {
	switch {
	case receipt > current:
		return "N"
	case g.rand.IntN(2) == 0:
		return "R"
	}
	return "A"
}

func status(ship int64) string {
	if ship > current {
		return "O"
	}
	return "F"
}

func (g *generator) comment() {
	b := g.build.Field(15).(*array.StringBuilder)
	if g.rand.IntN(50) == 0 {
		b.AppendNull()
		return
	}
	text := pick(g.rand, words)
	for range g.rand.IntN(4) {
		text += " " + pick(g.rand, words)
	}
	b.Append(text)
}

func (g *generator) int64s(first int, values ...int64) {
	for i, v := range values {
		g.build.Field(first + i).(*array.Int64Builder).Append(v)
	}
}

func (g *generator) money(first int, cents ...int64) {
	for i, v := range cents {
		g.build.Field(first + i).(*array.Decimal128Builder).Append(decimal128.FromI64(v))
	}
}

func (g *generator) strings(first int, values ...string) {
	for i, v := range values {
		g.build.Field(first + i).(*array.StringBuilder).Append(v)
	}
}

func (g *generator) dates(first int, days ...int64) {
	for i, v := range days {
		g.build.Field(first + i).(*array.Date32Builder).Append(arrow.Date32(v))
	}
}

func pick(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }
