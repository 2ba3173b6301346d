// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package untrusted

import (
	"encoding/binary"
	"io"
	"strconv"

	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/lakeplane/lake/lake"
)

// fileMagic begins and ends an Arrow IPC file.
const fileMagic = "ARROW1"

// CheckFile decides whether an Arrow IPC file of size bytes may be decoded: it
// reads the footer and the metadata of every message. The arrays are not
// checked: see [Check]. Decode the file with the body limit [MaxBody]. What is
// wrong is lake.Invalid.
func CheckFile(r io.ReaderAt, size int64) (err error) {
	defer damaged(&err)
	footer, end, err := readFooter(r, size)
	if err != nil {
		return err
	}
	sizes := newSizer()
	var inspector Inspector
	if err := sizes.metadata(footer, footerMetadata); err != nil {
		return err
	}
	if schema, ok := footer.child(footerSchema); !ok {
		return lake.Errorf(lake.Invalid, "the footer has no schema")
	} else if err := inspector.schema(schema, sizes); err != nil {
		return err
	}
	if err := checkBlocks(&inspector, r, end, footer, footerDictionaries, KindDictionary); err != nil {
		return err
	}
	return checkBlocks(&inspector, r, end, footer, footerBatches, KindRecordBatch)
}

// readFooter returns the footer and the place where it begins.
func readFooter(r io.ReaderAt, size int64) (fbTable, int64, error) {
	const tail = 4 + int64(len(fileMagic)) // the footer's length, then the magic
	if size < tail {
		return fbTable{}, 0, lake.Errorf(lake.Invalid, "a file of %d bytes has no footer", size)
	}
	last, err := readAt(r, size-tail, tail)
	if err != nil {
		return fbTable{}, 0, err
	}
	if string(last[4:]) != fileMagic {
		return fbTable{}, 0, lake.Errorf(lake.Invalid, "it does not end with %q", fileMagic)
	}
	length := int64(binary.LittleEndian.Uint32(last))
	start := size - tail - length
	if length < 4 || length > maxHeader || start < 0 {
		return fbTable{}, 0, lake.Errorf(lake.Invalid, "it claims a footer of %d bytes and has %d", length, size)
	}
	footer, err := readAt(r, start, length)
	if err != nil {
		return fbTable{}, 0, err
	}
	return root(footer), start, nil
}

// checkBlocks checks the messages a footer points to, which lie before end.
func checkBlocks(in *Inspector, r io.ReaderAt, end int64, footer fbTable, slot flatbuffers.VOffsetT, kind byte) error {
	const blockSize = 24
	start, count := footer.vector(slot, blockSize)
	for i := range count {
		at := start + flatbuffers.UOffsetT(blockSize*i)
		b := block{footer.GetInt64(at), int64(footer.GetInt32(at + 8)), footer.GetInt64(at + 16)}
		if err := b.check(in, r, end, kind); err != nil {
			return lake.Wrap(blockName(kind, i), err)
		}
	}
	return nil
}

// block is File.fbs' Block: a message's place, the length of its metadata with
// what comes before them, and the length of its body.
type block struct{ offset, meta, body int64 }

func (b block) check(in *Inspector, r io.ReaderAt, end int64, kind byte) error {
	const least = 8
	if b.offset < 0 || b.meta < least || b.meta > maxHeader || b.body < 0 ||
		b.offset > end || b.meta > end-b.offset || b.body > end-b.offset-b.meta {
		return lake.Errorf(lake.Invalid, "bytes %d+%d+%d of a file with %d before the footer", b.offset, b.meta, b.body, end)
	}
	header, err := readAt(r, b.offset, b.meta)
	if err != nil {
		return err
	}
	prefix := 4
	if binary.LittleEndian.Uint32(header) == continuation {
		prefix = 8
	}
	info, err := in.Inspect(header[prefix:])
	switch {
	case err != nil:
		return err
	case info.Kind != kind:
		return lake.Errorf(lake.Invalid, "a message of type %d: want %d", info.Kind, kind)
	case info.Body != b.body:
		return lake.Errorf(lake.Invalid, "a body of %d bytes in the footer and of %d in the message", b.body, info.Body)
	}
	if err := checkMessage(info, b.body); err != nil {
		return err
	}
	return checkCompressed(header[prefix:], info, io.NewSectionReader(r, b.offset+b.meta, b.body))
}

func readAt(r io.ReaderAt, at, n int64) ([]byte, error) {
	b := make([]byte, n)
	if read, err := r.ReadAt(b, at); int64(read) < n {
		return nil, lake.Errorf(lake.Invalid, "bytes %d+%d cannot be read: %w", at, n, err)
	}
	return b, nil
}

func blockName(kind byte, i int) string {
	if kind == KindDictionary {
		return "dictionary " + strconv.Itoa(i)
	}
	return "record batch " + strconv.Itoa(i)
}
