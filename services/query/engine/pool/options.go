// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package pool

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakeplane/lake/lake"
)

// Options configure an engine. The zero value of a field means its default.
type Options struct {
	// Name tells the pools of a process apart, in metrics and in the log.
	// Default: "query".
	Name string
	// Slots is how many statements run at once. Default: 2.
	Slots int
	// Warm is how many idle slots are kept ready, so that a statement does not
	// wait for a process to start. Default: 2, at most Slots.
	Warm int
	// Threads is how many threads one statement may use. Default: GOMAXPROCS.
	Threads int
	// Memory is the engine's own memory limit of one slot, in bytes: beyond it a
	// statement spills or fails in good order. Default: 1 GiB.
	Memory int64
	// Resident is how much more than an idle slot's a slot's memory may be
	// before it is killed, in bytes: the last resort against statements that
	// the engine does not account for. Default: twice Memory and 64 MiB, since
	// up to 2.2 times the limit have been seen in good order.
	Resident int64
	// SpillDir is where statements that outgrow Memory write; each slot has a
	// directory of its own inside, which goes with it. Empty: they never spill.
	SpillDir string
	// SpillBytes bounds one slot's spill files. Default: 8 GiB.
	SpillBytes int64
	// Catalog is the name of the SQL catalog that holds the tables.
	// Default: "lake".
	Catalog string
	// Grace is how long a stopped statement may take to end before its slot is
	// killed. Default: 750 ms, so that all is over within a second.
	Grace time.Duration
	// Silence is how long a slot may show no sign of life. Default: 10 s.
	Silence time.Duration
	// PlanTimeout bounds planning and parsing, which the engine cannot always
	// interrupt and nothing else bounds. Default: 10 s.
	PlanTimeout time.Duration
	// Statements is how many a slot runs before a new one takes its place,
	// against what an engine leaks. Default: 10,000.
	Statements int
	// Command starts a slot. Default: this program, with slot.Argument.
	Command []string
	// Metrics is where the pool's metrics are registered; nil means nowhere.
	Metrics prometheus.Registerer
	// Log receives what happens to slots; nil means slog.Default().
	Log *slog.Logger
}

func (o Options) withDefaults() Options {
	o.Name = cmp.Or(o.Name, "query")
	o.Slots = cmp.Or(o.Slots, 2)
	o.Warm = min(cmp.Or(o.Warm, 2), o.Slots)
	o.Threads = cmp.Or(o.Threads, runtime.GOMAXPROCS(0))
	o.Memory = cmp.Or(o.Memory, 1<<30)
	o.Resident = cmp.Or(o.Resident, 2*o.Memory+64<<20)
	o.SpillBytes = cmp.Or(o.SpillBytes, 8<<30)
	o.Catalog = cmp.Or(o.Catalog, "lake")
	o.Grace = cmp.Or(o.Grace, 750*time.Millisecond)
	o.Silence = cmp.Or(o.Silence, 10*time.Second)
	o.PlanTimeout = cmp.Or(o.PlanTimeout, 10*time.Second)
	o.Statements = cmp.Or(o.Statements, 10_000)
	o.Log = cmp.Or(o.Log, slog.Default())
	return o
}

var namePattern = regexp.MustCompile("^[a-z][a-z0-9_]{0,62}$")

// Validate reports every field that is out of range.
func (o Options) Validate() error {
	o = o.withDefaults()
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(namePattern.MatchString(o.Name), "Name is %q: want %s", o.Name, namePattern)
	check(namePattern.MatchString(o.Catalog), "Catalog is %q: want %s", o.Catalog, namePattern)
	check(o.Slots >= 1 && o.Slots <= 256, "Slots is %d: want 1..256", o.Slots)
	check(o.Warm >= 0, "Warm is %d: want 0 or more", o.Warm)
	check(o.Threads >= 1 && o.Threads <= 256, "Threads is %d: want 1..256", o.Threads)
	check(o.Memory >= 32<<20, "Memory is %d: want at least 32 MiB", o.Memory)
	check(o.Resident >= o.Memory, "Resident is %d: want at least Memory, %d", o.Resident, o.Memory)
	check(o.SpillBytes > 0, "SpillBytes is %d: want more than 0", o.SpillBytes)
	check(o.Grace > 0 && o.Silence > 0 && o.PlanTimeout > 0, "Grace, Silence and PlanTimeout must be more than 0")
	check(o.Statements > 0, "Statements is %d: want more than 0", o.Statements)
	if o.SpillDir != "" {
		info, err := os.Stat(o.SpillDir)
		check(err == nil && info.IsDir(), "SpillDir %q is not a directory", o.SpillDir)
	}
	if err := errors.Join(errs...); err != nil {
		return lake.Errorf(lake.Invalid, "engine slots: %w", err)
	}
	return nil
}
