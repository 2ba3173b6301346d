// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/proto"

	"github.com/lakeplane/lake/lance/lancepb"
	"github.com/lakeplane/lake/lance/lancepb/containerpb"
	"github.com/lakeplane/lake/lance/lancepb/enc20pb"
	"github.com/lakeplane/lake/lance/schema"
)

// The encodings below were written by old releases; stock LanceDB 0.31.0 writes
// none of them, so that the pages are put together here.

func flat20(bits uint64, buffer uint32) *enc20pb.ArrayEncoding {
	return &enc20pb.ArrayEncoding{ArrayEncoding: &enc20pb.ArrayEncoding_Flat{Flat: &enc20pb.Flat{BitsPerValue: bits, Buffer: &enc20pb.Buffer{BufferIndex: buffer}}}}
}

func valid20(e *enc20pb.ArrayEncoding) *enc20pb.ArrayEncoding {
	return &enc20pb.ArrayEncoding{ArrayEncoding: &enc20pb.ArrayEncoding_Nullable{Nullable: &enc20pb.Nullable{
		Nullability: &enc20pb.Nullable_NoNulls{NoNulls: &enc20pb.Nullable_NoNull{Values: e}},
	}}}
}

// packBits packs the lowest bits of values one behind the other.
func packBits(width int, values ...int64) []byte {
	out := make([]byte, (len(values)*width+7)/8)
	for i, v := range values {
		for b := range width {
			if v>>b&1 == 1 {
				at := i*width + b
				out[at/8] |= 1 << (at % 8)
			}
		}
	}
	return out
}

// transposed packs a block of up to 1,024 values as later versions do.
func transposed(width int, values ...int64) []byte {
	var in [packBlock]uint32
	for i, v := range values {
		in[i] = uint32(v)
	}
	out := make([]uint32, packedBytes(width)/4)
	pack(width, &in, out)
	return bytesOf(out)
}

func ends(values ...uint64) []byte {
	var out []byte
	for _, v := range values {
		out = binary.LittleEndian.AppendUint64(out, v)
	}
	return out
}

func TestEncodingsOfOldFiles(t *testing.T) {
	bitpacked := func(signed bool) *enc20pb.ArrayEncoding {
		return &enc20pb.ArrayEncoding{ArrayEncoding: &enc20pb.ArrayEncoding_Bitpacked{Bitpacked: &enc20pb.Bitpacked{
			CompressedBitsPerValue: 5, UncompressedBitsPerValue: 32, Signed: signed, Buffer: &enc20pb.Buffer{},
		}}}
	}
	nonNegative := &enc20pb.ArrayEncoding{ArrayEncoding: &enc20pb.ArrayEncoding_BitpackedForNonNeg{BitpackedForNonNeg: &enc20pb.BitpackedForNonNeg{
		CompressedBitsPerValue: 5, UncompressedBitsPerValue: 32, Buffer: &enc20pb.Buffer{},
	}}}
	fixedBinary := &enc20pb.ArrayEncoding{ArrayEncoding: &enc20pb.ArrayEncoding_FixedSizeBinary{FixedSizeBinary: &enc20pb.FixedSizeBinary{ByteWidth: 3, Bytes: flat20(8, 0)}}}
	text := &enc20pb.ArrayEncoding{ArrayEncoding: &enc20pb.ArrayEncoding_Binary{Binary: &enc20pb.Binary{
		Indices: valid20(flat20(64, 0)), Bytes: flat20(8, 1), NullAdjustment: 100,
	}}}
	symbols := fsstTableOf("robot", "arm ")
	fsst := &enc20pb.ArrayEncoding{ArrayEncoding: &enc20pb.ArrayEncoding_Fsst{Fsst: &enc20pb.Fsst{Binary: text, SymbolTable: symbols}}}
	for _, c := range []struct {
		name, logical string
		encoding      *enc20pb.ArrayEncoding
		buffers       [][]byte
		want          string
	}{
		{"bitpacked", "int32", bitpacked(false), [][]byte{packBits(5, 1, 31, 7)}, "[1 31 7]"},
		{"bitpacked signed", "int32", bitpacked(true), [][]byte{packBits(5, -1, 15, -16)}, "[-1 15 -16]"},
		{"bitpacked, not negative", "int32", nonNegative, [][]byte{transposed(5, 1, 31, 7)}, "[1 31 7]"},
		{"fixed size binary for texts", "string", fixedBinary, [][]byte{[]byte("abcdefghi")}, `["abc" "def" "ghi"]`},
		{"fixed size binary", "fixed_size_binary:3", fixedBinary, [][]byte{[]byte("abcdefghi")}, `["abc" "def" "ghi"]`},
		{"FSST", "string", fsst, [][]byte{ends(2, 102, 5), {1, 0, 255, 'x', 0}}, `["arm robot" (null) "xrobot"]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := read20(t, c.logical, c.encoding, c.buffers, 3)
			if err != nil || got != c.want {
				t.Errorf("got %s, %v, want %s", got, err, c.want)
			}
			short := slices.Clone(c.buffers)
			last := len(short) - 1
			short[last] = short[last][:len(short[last])-1]
			if got, err := read20(t, c.logical, c.encoding, short, 3); err == nil || !typed(err) {
				t.Errorf("without its last byte: %s, %v", got, err)
			}
		})
	}
}

// fsstTableOf is a symbol table of two symbols of up to eight bytes.
func fsstTableOf(symbols ...string) []byte {
	out := make([]byte, fsstTableSize)
	binary.LittleEndian.PutUint64(out, fsstMagic<<32|1<<24|uint64(len(symbols)))
	for i, s := range symbols {
		copy(out[8+8*i:], s)
		out[8+8*len(symbols)+i] = byte(len(s))
	}
	return out
}

// read20 reads a page as the only one of a column.
func read20(t *testing.T, logical string, e *enc20pb.ArrayEncoding, buffers [][]byte, n uint64) (string, error) {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	roots, err := schema.Tree([]*lancepb.Field{{Name: "f", ParentId: -1, LogicalType: logical, Nullable: true}})
	if err != nil {
		t.Fatal(err)
	}
	page := &containerpb.ColumnMetadata_Page{Length: n}
	if page.Encoding, err = encodeAny(arrayEncodingURL, proto.CloneOf(e)); err != nil {
		t.Fatal(err)
	}
	var data []byte
	for _, b := range buffers {
		page.BufferOffsets = append(page.BufferOffsets, uint64(len(data)))
		page.BufferSizes = append(page.BufferSizes, uint64(len(b)))
		data = append(data, b...)
	}
	in, err := newInput(Bytes(data))
	if err != nil {
		t.Fatal(err)
	}
	r := &Reader{mem: mem, columns: map[int32]int{0: 0}, c: &container{
		major: 2, in: in, descriptor: &lancepb.FileDescriptor{Length: n},
		columns: []*containerpb.ColumnMetadata{{Pages: []*containerpb.ColumnMetadata_Page{page}}},
	}}
	col, err := newRootColumn20(r, roots[0])
	if err != nil {
		return "", err
	}
	defer col.close()
	a, err := col.read([]rows{{0, n}}, 0, 1<<20)
	if err != nil {
		return "", err
	}
	defer a.Release()
	return a.String(), nil
}
