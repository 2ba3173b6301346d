// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"encoding/binary"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/internal/untrusted"
	"github.com/lakeplane/lake/lake"
)

// readSchema reads the schema of a create from an Arrow IPC stream that holds
// nothing else, and checks what every engine and SQL need: columns, with names
// that differ in more than their case.
func readSchema(wire []byte) (*arrow.Schema, error) {
	if len(wire) == 0 || len(wire) > lake.MaxSchemaBytes {
		return nil, lake.Errorf(lake.Invalid, "schema of %d bytes: want an Arrow IPC stream of 1..%d", len(wire), lake.MaxSchemaBytes)
	}
	schema, err := decodeSchema(wire)
	if err != nil {
		return nil, err
	}
	if schema.NumFields() == 0 {
		return nil, lake.Errorf(lake.Invalid, "the schema has no columns: at least one is needed")
	}
	return schema, checkColumnNames(schema)
}

func checkColumnNames(schema *arrow.Schema) error {
	seen := make(map[string]string, schema.NumFields())
	for i, f := range schema.Fields() {
		if f.Name == "" {
			return lake.Errorf(lake.Invalid, "column %d has no name", i)
		}
		key := strings.ToLower(f.Name)
		if other, twice := seen[key]; twice {
			return lake.Errorf(lake.Invalid, "columns %q and %q: SQL could not tell them apart", other, f.Name)
		}
		seen[key] = f.Name
	}
	return nil
}

// decodeSchema reads a schema from bytes that may hold anything.
func decodeSchema(wire []byte) (schema *arrow.Schema, err error) {
	refused := lake.Errorf(lake.Invalid, "the schema is not an Arrow IPC stream with a schema")
	defer func() {
		if recover() != nil { // the decoder panics on malformed flatbuffers
			schema, err = nil, refused
		}
	}()
	if err := checkSchemaMessage(wire); err != nil {
		return nil, err
	}
	if schema, err = untrusted.DecodeSchema(wire); err != nil {
		return nil, refused
	}
	return schema, nil
}

// checkSchemaMessage bounds what the first message of an IPC stream decodes to:
// a marker of four bytes 0xff, the length of the metadata, the metadata.
func checkSchemaMessage(wire []byte) error {
	const prefix = 8
	if len(wire) < prefix || binary.LittleEndian.Uint32(wire) != 0xffffffff {
		return lake.Errorf(lake.Invalid, "the schema is not an Arrow IPC stream: it has no message marker")
	}
	size := int64(binary.LittleEndian.Uint32(wire[4:]))
	if size > int64(len(wire)-prefix) {
		return lake.Errorf(lake.Invalid, "the schema's Arrow IPC stream is cut off")
	}
	info, err := new(untrusted.Inspector).Inspect(wire[prefix : prefix+size])
	switch rest := wire[prefix+size:]; {
	case err != nil:
		return err
	case info.Kind != untrusted.KindSchema:
		return lake.Errorf(lake.Invalid, "the schema's Arrow IPC stream begins with a message of type %d, not with a schema", info.Kind)
	case len(rest) > 0 && string(rest) != endOfStream && string(rest) != oldEndOfStream:
		return lake.Errorf(lake.Invalid, "the schema's Arrow IPC stream goes on after the schema: want nothing else in it")
	}
	return nil
}

// The two ways to end an IPC stream.
const (
	endOfStream    = "\xff\xff\xff\xff\x00\x00\x00\x00"
	oldEndOfStream = "\x00\x00\x00\x00"
)

// schemaCacheSize bounds the decoded schemas kept.
const schemaCacheSize = 1024

// schemaCache keeps registered schemas decoded. An incarnation's never
// changes. The zero cache is ready.
type schemaCache struct {
	mu      sync.Mutex
	schemas map[lake.Incarnation]*arrow.Schema
}

// of returns the registered schema of a table.
func (c *schemaCache) of(t catalog.Table) (*arrow.Schema, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	inc := t.Snapshot.Incarnation
	if s := c.schemas[inc]; s != nil {
		return s, nil
	}
	s, err := decodeSchema(t.Schema)
	if err != nil {
		return nil, lake.Errorf(lake.Corrupt, "the registered schema of %s: %w", t.Name, err)
	}
	if c.schemas == nil || len(c.schemas) >= schemaCacheSize {
		c.schemas = map[lake.Incarnation]*arrow.Schema{}
	}
	c.schemas[inc] = s
	return s, nil
}
