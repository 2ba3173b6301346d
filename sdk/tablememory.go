// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"context"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sync/singleflight"

	"github.com/lakeplane/lake/lake"
)

const (
	// defaultSchemaTTL is how long a table's schema is believed.
	defaultSchemaTTL = 30 * time.Second
	// maxRemembered bounds the tables a client remembers.
	maxRemembered = 1024
	// lookupTimeout bounds a shared lookup, which no single caller can cancel.
	lookupTimeout = 10 * time.Second
)

// tableMemory is what a client knows of the tables it deals with: incarnation and
// schema, each for a limited time.
//
// It is filled by what passes anyway: tables that were created, resolved or
// undropped, and appends that were acknowledged, whose rows had the table's
// schema. An append never asks for a table to fill it. What the memory is good
// for is refusing early and pinning appends to the table the caller knows;
// the first append knows of none, and the authority checks every one. So the
// first append costs one round trip, not two, as do all others.
//
// A table is forgotten when something says that the memory may be wrong: a
// create, drop or undrop of its name, or an append refused as Invalid,
// Precondition or NotFound. A lookup that was under way then is not believed.
type tableMemory struct {
	ttl time.Duration // 0 remembers nothing
	now func() time.Time

	mu      sync.Mutex
	changes uint64 // counts what was forgotten
	tables  map[lake.TableName]remembered

	lookups singleflight.Group
}

type remembered struct {
	incarnation lake.Incarnation
	schema      *arrow.Schema
	until       time.Time
}

func newMemory(ttl time.Duration) *tableMemory {
	return &tableMemory{ttl: ttl, now: time.Now, tables: map[lake.TableName]remembered{}}
}

// recall returns what is known of a table.
func (m *tableMemory) recall(name lake.TableName) (remembered, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.tables[name]
	if ok && !m.now().Before(r.until) {
		delete(m.tables, name)
		return remembered{}, false
	}
	return r, ok
}

// moment is passed to learn, so that what was asked before something was
// forgotten is not learned after it.
func (m *tableMemory) moment() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.changes
}

// learn remembers a table as it was at some moment.
func (m *tableMemory) learn(asked uint64, name lake.TableName, inc lake.Incarnation, schema *arrow.Schema) {
	if schema == nil || inc.IsZero() {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ttl <= 0 || asked != m.changes {
		return
	}
	if _, ok := m.tables[name]; !ok && len(m.tables) >= maxRemembered {
		m.makeRoom()
	}
	m.tables[name] = remembered{inc, schema, m.now().Add(m.ttl)}
}

// makeRoom forgets the table that would be forgotten first.
func (m *tableMemory) makeRoom() {
	var oldest lake.TableName
	var until time.Time
	for name, r := range m.tables {
		if until.IsZero() || r.until.Before(until) {
			oldest, until = name, r.until
		}
	}
	delete(m.tables, oldest)
}

// forget says that what is known of a table may be wrong.
func (m *tableMemory) forget(name lake.TableName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changes++
	delete(m.tables, name)
	m.lookups.Forget(name.Path())
}

// forget says that the name may stand for another table.
func (c *Client) forget(name lake.TableName) {
	c.memory.forget(name)
	c.writes.forget(name)
}

// Schema returns the schema of a table, from the client's memory when it is
// not older than the TTL of [WithSchemaTTL], else from the server. Concurrent
// callers share one call. The schema must not be modified. It fails as
// [Client.Table] does.
func (c *Client) Schema(ctx context.Context, name lake.TableName) (*arrow.Schema, error) {
	r, err := c.known(ctx, name)
	return r.schema, err
}

// known is the table as remembered, or looked up.
func (c *Client) known(ctx context.Context, name lake.TableName) (remembered, error) {
	if r, ok := c.memory.recall(name); ok {
		return r, nil
	}
	return c.lookup(ctx, name)
}

// lookup asks the server for a table, once for all who ask at the same time. A
// caller who gives up leaves the others their answer. A failure of somebody else's
// call may be about what was before this one, such as a table that did not exist
// yet, so it asks again.
func (c *Client) lookup(ctx context.Context, name lake.TableName) (remembered, error) {
	for late := false; ; late = true {
		if err := ctx.Err(); err != nil {
			return remembered{}, lake.Wrap("table "+name.String(), err)
		}
		begun := false
		found := c.memory.lookups.DoChan(name.Path(), func() (any, error) {
			begun = true
			shared, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTimeout)
			defer cancel()
			return c.Table(shared, name)
		})
		select {
		case <-ctx.Done():
			return remembered{}, lake.Wrap("table "+name.String(), context.Cause(ctx))
		case r := <-found:
			if r.Err == nil {
				t := r.Val.(Table)
				return remembered{incarnation: t.Snapshot.Incarnation, schema: t.Schema}, nil
			}
			if begun || late {
				return remembered{}, r.Err
			}
			if r, ok := c.memory.recall(name); ok {
				return r, nil // somebody else has asked again
			}
		}
	}
}
