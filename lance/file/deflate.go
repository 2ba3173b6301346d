// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"encoding/binary"
	"runtime"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/lakeplane/lake/lance/lancepb/enc21pb"
)

// describe names the scheme in an encoding.
func (s scheme) describe() *enc21pb.BufferCompression {
	c := &enc21pb.BufferCompression{Scheme: enc21pb.CompressionScheme_COMPRESSION_ALGORITHM_LZ4}
	if s == schemeZstd {
		c.Scheme = enc21pb.CompressionScheme_COMPRESSION_ALGORITHM_ZSTD
	}
	return c
}

// deflate appends a compressed buffer with its size in front, as inflate reads
// it.
func (s scheme) deflate(dst, b []byte) []byte {
	if s == schemeZstd {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(len(b)))
		return zstdWriter().EncodeAll(b, dst)
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(b)))
	return appendLZ4(dst, b)
}

var zstdWriter = sync.OnceValue(func() *zstd.Encoder {
	// Buffers are a few tens of kilobytes: a small window saves memory, and the
	// checksum that frames may have is of no use. Entropy coding of literals is
	// what makes identifiers of hexadecimal digits small.
	w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(128<<10),
		zstd.WithEncoderConcurrency(runtime.GOMAXPROCS(0)), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false), zstd.WithAllLitEntropyCompression(true))
	if err != nil {
		panic(err) // only wrong options fail
	}
	return w
})

var lz4Writers = sync.Pool{New: func() any { return new(lz4.Compressor) }}

// appendLZ4 appends one LZ4 block. Room for the worst case means that it
// compresses always.
func appendLZ4(dst, b []byte) []byte {
	c := lz4Writers.Get().(*lz4.Compressor)
	defer lz4Writers.Put(c)
	at := len(dst)
	dst = sizedAppend(dst, lz4.CompressBlockBound(len(b)))
	n, err := c.CompressBlock(b, dst[at:])
	if err != nil || n == 0 && len(b) > 0 {
		panic("lz4: no room in a buffer of the worst case") // cannot happen, see above
	}
	return dst[:at+n]
}

// sizedAppend extends b by n bytes of any content.
func sizedAppend(b []byte, n int) []byte {
	if cap(b)-len(b) < n {
		b = append(make([]byte, 0, len(b)+n), b...)
	}
	return b[:len(b)+n]
}
