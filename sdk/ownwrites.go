// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/lakeplane/lake/lake"
)

const (
	// minVersionHeader asks a replica for at least a version of a table:
	// "namespace.table=7", separated by commas.
	minVersionHeader = "x-lake-min-version"
	// ownWriteAge is how long an own write is asked for. Replicas know every
	// version after seconds.
	ownWriteAge = time.Minute
	// maxOwnWrites bounds the tables of one request; servers take 64.
	maxOwnWrites = 32
)

// ownWrites are the latest versions this client's appends made. A query that
// names one of the tables asks for at least that version, so that a program
// reads its own writes also when another replica answers than took them, or
// the authority took them directly.
type ownWrites struct {
	mu     sync.Mutex
	tables map[lake.TableName]ownWrite
}

type ownWrite struct {
	version lake.Version
	at      time.Time
}

// note remembers a write.
func (w *ownWrites) note(name lake.TableName, v lake.Version) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tables == nil {
		w.tables = map[lake.TableName]ownWrite{}
	}
	if len(w.tables) >= maxRemembered {
		w.prune()
	}
	w.tables[name] = ownWrite{max(v, w.tables[name].version), time.Now()}
}

// prune forgets what is old, or everything when nothing is.
func (w *ownWrites) prune() {
	for name, own := range w.tables {
		if time.Since(own.at) > ownWriteAge {
			delete(w.tables, name)
		}
	}
	if len(w.tables) >= maxRemembered {
		clear(w.tables)
	}
}

// forget says that the name may stand for another table, whose versions begin
// anew.
func (w *ownWrites) forget(names ...lake.TableName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range names {
		delete(w.tables, name)
	}
}

// ask adds the versions of the tables that sql may read to the request, and
// returns their names.
func (w *ownWrites) ask(ctx context.Context, sql string) (context.Context, []lake.TableName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var names []lake.TableName
	var entries []string
	text := strings.ToLower(sql)
	for name, own := range w.tables {
		switch {
		case time.Since(own.at) > ownWriteAge:
			delete(w.tables, name)
		case len(names) < maxOwnWrites && strings.Contains(text, strings.ToLower(name.Name)):
			names, entries = append(names, name), append(entries, fmt.Sprintf("%s=%d", name, own.version))
		}
	}
	if len(names) > 0 {
		ctx = metadata.AppendToOutgoingContext(ctx, minVersionHeader, strings.Join(entries, ","))
	}
	return ctx, names
}
