// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"time"

	"github.com/lakeplane/lake/lake"
)

// Options configure an engine. The zero value of a field means its default.
type Options struct {
	// Slots is the number of DuckDB instances, and so of queries that run at
	// once. Default: 2.
	Slots int
	// Threads is how many threads one query may use. Default: GOMAXPROCS.
	Threads int
	// Memory is DuckDB's memory limit for one slot, in bytes. Resident memory
	// has been seen at 1.3 to 2.2 times the limit, so give budget/Slots/1.5.
	// Default: 1 GiB.
	Memory int64
	// SpillDir is where queries that outgrow Memory write; each slot makes and
	// removes a directory of its own inside. Empty: queries never spill.
	SpillDir string
	// SpillBytes bounds one slot's spill files. Default: 8 GiB.
	SpillBytes int64
	// ReadAhead is passed to the tables' scans: how many goroutines a scan may
	// use to read ahead of DuckDB's threads. Default: 0.
	ReadAhead int
	// Parsers is how many statements may be parsed at once. Default: 2.
	Parsers int
	// BatchRows bounds the rows of a result batch. Default: 65,536.
	BatchRows int
	// BatchBytes is about how large a result batch becomes. Default: 2 MiB,
	// half of the message size stock gRPC clients accept.
	BatchBytes int
	// MaxRowBytes is the largest row the engine delivers: a row cannot be
	// split over messages. Default: 4 MiB less 64 KiB for headers, which is also
	// the largest row that can be appended by bulk ingestion.
	MaxRowBytes int
	// FirstBatchRows bounds the rows of the first batch, so that a client sees
	// rows early. Default: 2,048.
	FirstBatchRows int
	// BatchDelay is how long rows may wait for their batch to fill while the
	// query makes more. Default: 100 ms.
	BatchDelay time.Duration
	// Catalog is the name of the SQL catalog that holds the tables.
	// Default: "lake".
	Catalog string
	// Grace is how long a stopped query may take to end before its slot is
	// given up and replaced. Default: 1 s.
	Grace time.Duration
}

func (o Options) withDefaults() Options {
	o.Slots = cmp.Or(o.Slots, 2)
	o.Threads = cmp.Or(o.Threads, runtime.GOMAXPROCS(0))
	o.Memory = cmp.Or(o.Memory, 1<<30)
	o.SpillBytes = cmp.Or(o.SpillBytes, 8<<30)
	o.Parsers = cmp.Or(o.Parsers, 2)
	o.BatchRows = cmp.Or(o.BatchRows, 65_536)
	o.BatchBytes = cmp.Or(o.BatchBytes, 2<<20)
	o.MaxRowBytes = cmp.Or(o.MaxRowBytes, 4<<20-64<<10)
	o.FirstBatchRows = cmp.Or(o.FirstBatchRows, 2_048)
	o.BatchDelay = cmp.Or(o.BatchDelay, 100*time.Millisecond)
	o.Catalog = cmp.Or(o.Catalog, "lake")
	o.Grace = cmp.Or(o.Grace, time.Second)
	return o
}

var catalogPattern = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)

// Validate reports every field that is out of range.
func (o Options) Validate() error {
	o = o.withDefaults()
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(o.Slots >= 1 && o.Slots <= 256, "Slots is %d: want 1..256", o.Slots)
	check(o.Threads >= 1 && o.Threads <= 256, "Threads is %d: want 1..256", o.Threads)
	check(o.Memory >= 32<<20, "Memory is %d: want at least 32 MiB", o.Memory)
	check(o.SpillBytes > 0, "SpillBytes is %d: want more than 0", o.SpillBytes)
	check(o.ReadAhead >= 0 && o.ReadAhead <= 256, "ReadAhead is %d: want 0..256", o.ReadAhead)
	check(o.Parsers >= 1 && o.Parsers <= 64, "Parsers is %d: want 1..64", o.Parsers)
	check(o.BatchRows >= 1 && o.FirstBatchRows >= 1, "BatchRows and FirstBatchRows must be at least 1")
	check(o.BatchBytes >= 1, "BatchBytes is %d: want more than 0", o.BatchBytes)
	check(o.MaxRowBytes >= o.BatchBytes, "MaxRowBytes is %d: want at least BatchBytes, %d", o.MaxRowBytes, o.BatchBytes)
	check(catalogPattern.MatchString(o.Catalog), "Catalog is %q: want %s", o.Catalog, catalogPattern)
	check(!reservedCatalogs[o.Catalog], "Catalog is %q: DuckDB reserves that name", o.Catalog)
	check(o.Grace > 0 && o.BatchDelay > 0, "Grace and BatchDelay must be more than 0")
	if o.SpillDir != "" {
		info, err := os.Stat(o.SpillDir)
		check(err == nil && info.IsDir(), "SpillDir %q is not a directory", o.SpillDir)
	}
	if err := errors.Join(errs...); err != nil {
		return lake.Errorf(lake.Invalid, "query engine options: %w", err)
	}
	return nil
}

// reservedCatalogs are databases every DuckDB instance has.
var reservedCatalogs = map[string]bool{"memory": true, "system": true, "temp": true, "main": true}
