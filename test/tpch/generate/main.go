// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Command generate writes a Parquet file of TPC-H-like line items.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/lakeplane/lake/test/tpch"
)

func main() {
	rows := flag.Int("rows", 300_000, "number of rows")
	seed := flag.Uint64("seed", 1, "the same seed gives the same rows")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: generate [-rows N] [-seed N] FILE.parquet")
		os.Exit(2)
	}
	if err := tpch.WriteParquet(flag.Arg(0), *rows, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}
