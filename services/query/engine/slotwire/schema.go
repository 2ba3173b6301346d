// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package slotwire

import (
	"bytes"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/lakeplane/lake/internal/untrusted"
	"github.com/lakeplane/lake/lake"
)

// maxSchemas and maxSchemaBytes bound what a [Schemas] remembers. Beyond them
// everything is forgotten: the point is the statement that is repeated all day.
const (
	maxSchemas     = 64
	maxSchemaBytes = 64 << 10
)

// Schemas remembers the bytes of schemas, because the same few cross again and
// again. The zero value is ready; it is safe for concurrent use.
type Schemas struct {
	mu      sync.Mutex
	encoded map[*arrow.Schema][]byte
	decoded map[string]*arrow.Schema
}

// Encode writes a schema as an IPC stream without batches. The result is
// shared: nobody may change it.
func (s *Schemas) Encode(schema *arrow.Schema) []byte {
	if schema == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if b, ok := s.encoded[schema]; ok {
		return b
	}
	b := EncodeSchema(schema)
	if s.encoded == nil || len(s.encoded) >= maxSchemas {
		s.encoded = map[*arrow.Schema][]byte{}
	}
	s.encoded[schema] = b
	return b
}

// EncodeSchema writes a schema as an IPC stream without batches; no schema is
// no bytes.
func EncodeSchema(schema *arrow.Schema) []byte {
	if schema == nil {
		return nil
	}
	var buf bytes.Buffer
	if err := ipc.NewWriter(&buf, ipc.WithSchema(schema)).Close(); err != nil {
		panic(err) // a buffer takes everything
	}
	return buf.Bytes()
}

// Decode reads a schema, which may be hostile. No bytes are no schema.
func (s *Schemas) Decode(b []byte) (*arrow.Schema, error) {
	if len(b) == 0 {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if schema, ok := s.decoded[string(b)]; ok {
		return schema, nil
	}
	schema, err := untrusted.DecodeSchema(b)
	if err != nil {
		return nil, lake.Errorf(lake.Corrupt, "a schema between the replica and its engine: %w", err)
	}
	if len(b) > maxSchemaBytes {
		return schema, nil
	}
	if s.decoded == nil || len(s.decoded) >= maxSchemas {
		s.decoded = map[string]*arrow.Schema{}
	}
	s.decoded[string(b)] = schema
	return schema, nil
}
