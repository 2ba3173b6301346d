// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/lakeplane/lake/lake"
)

// packAbove is the size from which a schema is compressed in its record. The
// record is written again by every append, so it should stay small; small
// schemas stay as they are, so that the common record is easy to read.
const packAbove = 2 << 10

// packedSchema is a schema as a record holds it: one of the two is set.
type packedSchema struct {
	Plain []byte `json:"schema,omitempty"`
	Zstd  []byte `json:"schema_zstd,omitempty"`
}

var codec = sync.OnceValues(func() (*zstd.Encoder, *zstd.Decoder) {
	// Neither constructor fails with these options, and EncodeAll and
	// DecodeAll are safe for concurrent use.
	enc, _ := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	dec, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(lake.MaxSchemaBytes))
	return enc, dec
})

func packSchema(schema []byte) packedSchema {
	if len(schema) <= packAbove {
		return packedSchema{Plain: schema}
	}
	enc, _ := codec()
	return packedSchema{Zstd: enc.EncodeAll(schema, nil)}
}

// unpack returns the schema. It never makes more than [lake.MaxSchemaBytes].
func (p packedSchema) unpack() ([]byte, error) {
	if p.Zstd == nil {
		return p.Plain, nil
	}
	_, dec := codec()
	return dec.DecodeAll(p.Zstd, nil)
}
