// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package untrusted

import (
	"encoding/binary"
	"io"

	"github.com/lakeplane/lake/lake"
)

// Bounds of what is read from files.
const (
	// maxHeader bounds the metadata of one message and the footer of a file.
	maxHeader = 64 << 20
	// MaxBody bounds the body of one message of a stream or file, in bytes,
	// also once decompressed.
	MaxBody = 2 << 30
	// maxRows bounds the rows one message claims: those of columns without
	// buffers cost a file nothing.
	maxRows = maxNestedValues
)

// The most that one byte decompresses to: LZ4 extends a match by 255 a byte,
// Zstandard repeats a byte for a block of 128 KiB with a header of 3 bytes.
const (
	lz4Ratio  = 255
	zstdRatio = 128 << 10 / 4
)

// checkMessage decides on one message of a stream or a file, of which room
// bytes follow its metadata.
func checkMessage(m Message, room int64) error {
	switch {
	case m.Kind < KindSchema || m.Kind > KindRecordBatch:
		return lake.Errorf(lake.Invalid, "a message of type %d: want a schema, dictionaries and record batches", m.Kind)
	case m.Body < 0 || m.Body > room:
		return lake.Errorf(lake.Invalid, "a message claims a body of %d bytes where %d are left", m.Body, max(room, 0))
	case m.Body > MaxBody:
		return lake.Errorf(lake.Invalid, "a message of %d bytes: at most %d: write smaller record batches", m.Body, int64(MaxBody))
	case m.Rows < 0 || m.Rows > maxRows:
		return lake.Errorf(lake.Invalid, "a batch of %d rows: at most %d: write smaller record batches", m.Rows, int64(maxRows))
	case m.Delta: // the decoder joins it to the dictionary before that can be checked
		return lake.Errorf(lake.Invalid, "a dictionary that adds to an earlier one is not supported: write whole dictionaries")
	}
	return nil
}

// checkCompressed bounds what the buffers of a batch claim to decompress to,
// which the decoder allocates before it reads them: by what their bytes can
// hold, and altogether. header was inspected.
func checkCompressed(header []byte, m Message, body io.ReaderAt) (err error) {
	defer damaged(&err)
	if !m.Compressed {
		return nil
	}
	batch, _ := root(header).child(messageHeader)
	if m.Kind == KindDictionary {
		batch, _ = batch.child(dictionaryData)
	}
	ratio, left := ratioOf(batch), int64(MaxBody)
	for i, b := range buffersOf(batch) {
		size, err := decompressed(b, body)
		switch {
		case err != nil:
			return err
		case size < 0 || size/ratio > b.length:
			return lake.Errorf(lake.Invalid, "compressed buffer %d of %d bytes claims to hold %d", i, b.length, size)
		}
		if left -= size; left < 0 {
			return lake.Errorf(lake.Invalid, "a batch decompresses to more than %d bytes: write smaller record batches", int64(MaxBody))
		}
	}
	return nil
}

func ratioOf(batch fbTable) int64 {
	const zstd = 1
	compression, _ := batch.child(recordBatchCompressed)
	if o := compression.at(compressionCodec); o != 0 && compression.GetByte(o) == zstd {
		return zstdRatio
	}
	return lz4Ratio
}

// decompressed reads the size that a compressed buffer begins with; -1 there
// says that this one is not compressed.
func decompressed(b extent, body io.ReaderAt) (int64, error) {
	const prefix = 8
	if b.length == 0 {
		return 0, nil
	}
	if b.length < prefix {
		return 0, lake.Errorf(lake.Invalid, "a compressed buffer of %d bytes: want its size first", b.length)
	}
	var raw [prefix]byte
	if _, err := body.ReadAt(raw[:], b.offset); err != nil {
		return 0, lake.Errorf(lake.Invalid, "a body is cut off: %w", err)
	}
	if size := int64(binary.LittleEndian.Uint64(raw[:])); size != -1 {
		return size, nil
	}
	return b.length - prefix, nil
}
