// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package directory keeps a query replica's picture of which tables exist: one
// immutable generation at a time, replaced as a whole.
package directory

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeplane/lake/internal/untrusted"
	"github.com/lakeplane/lake/lake"
)

// Entry is one table. Its schema is decoded when first asked for, and kept
// through the generations that follow.
type Entry struct {
	Name        lake.TableName
	Incarnation string
	raw         []byte
	decoded     func() (*arrow.Schema, error)
	encoded     func() ([]byte, error)
}

func newEntry(name lake.TableName, incarnation string, raw []byte) *Entry {
	e := &Entry{Name: name, Incarnation: incarnation, raw: raw}
	e.decoded = sync.OnceValues(func() (*arrow.Schema, error) {
		s, err := untrusted.DecodeSchema(raw)
		if err != nil {
			return nil, lake.Errorf(lake.Corrupt, "schema of %s: %w", name, err)
		}
		return s, nil
	})
	e.encoded = sync.OnceValues(func() ([]byte, error) {
		s, err := e.decoded()
		if err != nil {
			return nil, err
		}
		return flight.SerializeSchema(s, memory.DefaultAllocator), nil
	})
	return e
}

// Schema returns the registered schema; a schema that cannot be decoded is
// lake.Corrupt.
func (e *Entry) Schema() (*arrow.Schema, error) { return e.decoded() }

// SchemaIPC returns the schema as Flight carries it: an Arrow IPC stream
// without batches.
func (e *Entry) SchemaIPC() ([]byte, error) { return e.encoded() }

// Snapshot is one generation of the directory. It is immutable.
type Snapshot struct {
	// Generation is opaque and never shown to clients. It is empty while the
	// authority cannot vouch for one; such a directory is read again each time.
	Generation string
	// Entries are sorted by name.
	Entries []*Entry
}

// Find returns the entry with exactly this name, or nil.
func (s *Snapshot) Find(name lake.TableName) *Entry {
	i, ok := slices.BinarySearchFunc(s.Entries, name, func(e *Entry, n lake.TableName) int { return e.Name.Compare(n) })
	if !ok {
		return nil
	}
	return s.Entries[i]
}

// FindFold returns the entry with this name when letter case is ignored, if
// there is exactly one, else nil.
func (s *Snapshot) FindFold(name lake.TableName) *Entry {
	var found *Entry
	for _, e := range s.Entries {
		if strings.EqualFold(e.Name.Namespace, name.Namespace) && strings.EqualFold(e.Name.Name, name.Name) {
			if found != nil {
				return nil
			}
			found = e
		}
	}
	return found
}

// inherit replaces entries that did not change by those of an older
// generation, so that decoded schemas are kept.
func (s *Snapshot) inherit(old *Snapshot) {
	if old == nil {
		return
	}
	for i, e := range s.Entries {
		if o := old.Find(e.Name); o != nil && o.Incarnation == e.Incarnation && bytes.Equal(o.raw, e.raw) {
			s.Entries[i] = o
		}
	}
}
