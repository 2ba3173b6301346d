// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"encoding/binary"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/lakeplane/lake/lance/lancepb/enc21pb"
)

const (
	zstdMagic = 0xFD2FB528
	// maxInflate bounds what one compressed buffer may expand to, whatever it
	// claims: a page of another writer has tens of megabytes.
	maxInflate = 1 << 30
	// maxRatio bounds the claim by the compressed size, beyond freeInflate: LZ4
	// cannot exceed 255, and zstd on values worth storing stays far below this.
	maxRatio    = 1 << 14
	freeInflate = 1 << 20
)

// scheme is a general compression of one buffer.
type scheme uint8

const (
	schemeLZ4 scheme = iota + 1
	schemeZstd
)

func parseScheme(c *enc21pb.BufferCompression) (scheme, error) {
	switch c.GetScheme() {
	case enc21pb.CompressionScheme_COMPRESSION_ALGORITHM_LZ4:
		return schemeLZ4, nil
	case enc21pb.CompressionScheme_COMPRESSION_ALGORITHM_ZSTD:
		return schemeZstd, nil
	}
	return 0, unsupported("compression %v", c.GetScheme())
}

// inflate decompresses a buffer; the result is on the Go heap. LZ4 buffers
// start with their size in 4 bytes, zstd buffers in 8 bytes or, from older
// writers, not at all.
func (s scheme) inflate(b []byte) ([]byte, error) {
	if len(b) == 0 {
		return nil, nil
	}
	if s == schemeLZ4 {
		return inflateLZ4(b)
	}
	return inflateZstd(b)
}

func inflateLZ4(b []byte) ([]byte, error) {
	if len(b) < 4 {
		return nil, corrupt("LZ4 buffer of %d bytes", len(b))
	}
	size := uint64(binary.LittleEndian.Uint32(b))
	if err := checkInflate(size, len(b)); err != nil || size == 0 {
		return nil, err
	}
	out := make([]byte, size)
	n, err := lz4.UncompressBlock(b[4:], out)
	if err != nil || n != len(out) {
		return nil, corrupt("LZ4: %d of %d bytes, %v", n, size, err)
	}
	return out, nil
}

func checkInflate(size uint64, compressed int) error {
	if size > maxInflate || size > max(freeInflate, uint64(compressed)*maxRatio) {
		return corrupt("%d compressed bytes claim to hold %d", compressed, size)
	}
	return nil
}

var zstdReader = sync.OnceValue(func() *zstd.Decoder {
	// Concurrency bounds the decoders kept, not the callers.
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxMemory(maxInflate))
	if err != nil {
		panic(err) // only wrong options fail
	}
	return d
})

func inflateZstd(b []byte) ([]byte, error) {
	var size uint64
	if !rawZstd(b) {
		size = binary.LittleEndian.Uint64(b)
		b = b[8:]
		if err := checkInflate(size, len(b)); err != nil {
			return nil, err
		}
	}
	out, err := zstdReader().DecodeAll(b, make([]byte, 0, size))
	if err != nil {
		return nil, corrupt("zstd: %v", err)
	}
	if size != 0 && uint64(len(out)) != size {
		return nil, corrupt("zstd: %d of %d bytes", len(out), size)
	}
	return out, nil
}

// rawZstd tells a bare frame from one behind its size: the frame header has a
// reserved bit that must be zero.
func rawZstd(b []byte) bool {
	if len(b) < 8 {
		return true
	}
	return binary.LittleEndian.Uint32(b) == zstdMagic && b[4]&0x10 == 0
}
