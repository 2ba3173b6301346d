// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/pierrec/lz4/v4"
)

// The Parquet codec LZ4 is deprecated because two layouts go by its name: plain
// blocks, and Hadoop's, in which every block has two lengths before it. Old
// files hold either.
func init() { compress.RegisterCodec(compress.Codecs.Lz4, lz4Codec{}) }

// lz4Codec decodes both layouts. It panics on damaged input, as the interface
// offers no error and the readers recover.
type lz4Codec struct{}

var errLZ4 = errors.New("damaged LZ4 data")

// Decode implements compress.Codec.
func (lz4Codec) Decode(dst, src []byte) []byte {
	if n, ok := decodeHadoop(dst, src); ok {
		return dst[:n]
	}
	n, err := lz4.UncompressBlock(src, dst)
	if err != nil {
		panic(errLZ4)
	}
	return dst[:n]
}

// decodeHadoop reads [uncompressed length][compressed length][block] until src
// ends; ok is false when src is something else.
func decodeHadoop(dst, src []byte) (n int, ok bool) {
	for len(src) >= 8 {
		plain, packed := binary.BigEndian.Uint32(src), binary.BigEndian.Uint32(src[4:])
		src = src[8:]
		if int64(packed) > int64(len(src)) || int64(plain) > int64(len(dst)-n) {
			return 0, false
		}
		got, err := lz4.UncompressBlock(src[:packed], dst[n:n+int(plain)])
		if err != nil || got != int(plain) {
			return 0, false
		}
		n, src = n+got, src[packed:]
	}
	return n, len(src) == 0 && n == len(dst)
}

// NewReader implements compress.Codec. Pages are decoded whole.
func (lz4Codec) NewReader(io.Reader) io.ReadCloser { panic(errLZ4) }

// NewWriter implements compress.Codec. Nothing is written.
func (lz4Codec) NewWriter(io.Writer) io.WriteCloser { panic(errLZ4) }

// NewWriterLevel implements compress.Codec. Nothing is written.
func (lz4Codec) NewWriterLevel(io.Writer, int) (io.WriteCloser, error) { return nil, errLZ4 }

// Encode implements compress.Codec. Nothing is written.
func (lz4Codec) Encode(dst, src []byte) []byte { panic(errLZ4) }

// EncodeLevel implements compress.Codec. Nothing is written.
func (lz4Codec) EncodeLevel(dst, src []byte, level int) []byte { panic(errLZ4) }

// CompressBound implements compress.Codec.
func (lz4Codec) CompressBound(n int64) int64 { return int64(lz4.CompressBlockBound(int(n))) }
