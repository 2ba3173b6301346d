// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package untrusted_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	flatbuffers "github.com/google/flatbuffers/go"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/internal/untrusted"
	"github.com/lakeplane/lake/lake"
)

// rows is a batch with nulls, a dictionary, views and nesting.
func rows(t testing.TB) arrow.RecordBatch {
	t.Helper()
	field := func(name string, dt arrow.DataType) arrow.Field {
		return arrow.Field{Name: name, Type: dt, Nullable: true}
	}
	schema := arrow.NewSchema([]arrow.Field{
		field("id", arrow.PrimitiveTypes.Int64),
		field("kind", &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}),
		field("view", arrow.BinaryTypes.StringView),
		field("at", &arrow.TimestampType{Unit: arrow.Second, TimeZone: "UTC"}),
		field("list", arrow.ListOf(arrow.PrimitiveTypes.Float32)),
	}, nil)
	long := strings.Repeat("long enough to be a view ", 100)
	b, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(
		`[{"id":1,"kind":"a","view":"`+long+`","list":[1,2]},{"kind":"b"},{"id":3,"kind":"a","view":"x","list":[]}]`))
	require.NoError(t, err)
	return b
}

func asStream(t testing.TB, b arrow.RecordBatch, opts ...ipc.Option) []byte {
	t.Helper()
	var out bytes.Buffer
	w := ipc.NewWriter(&out, append(opts, ipc.WithSchema(b.Schema()))...)
	require.NoError(t, w.Write(b))
	require.NoError(t, w.Close())
	return out.Bytes()
}

func asFile(t testing.TB, b arrow.RecordBatch, opts ...ipc.Option) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := ipc.NewFileWriter(&out, append(opts, ipc.WithSchema(b.Schema()))...)
	require.NoError(t, err)
	require.NoError(t, w.Write(b))
	require.NoError(t, w.Close())
	return out.Bytes()
}

// readStream returns the rows of a stream, and what stopped it.
func readStream(data []byte) (n int64, err error) {
	r, err := untrusted.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return 0, err
	}
	defer r.Release()
	for r.Next() {
		for _, c := range r.RecordBatch().Columns() {
			if err := untrusted.Check(c); err != nil {
				return n, err
			}
		}
		n += r.RecordBatch().NumRows()
	}
	return n, r.Err()
}

// readFile does the same for a file.
func readFile(data []byte) (n int64, err error) {
	if err := untrusted.CheckFile(bytes.NewReader(data), int64(len(data))); err != nil {
		return 0, err
	}
	r, err := ipc.NewFileReader(bytes.NewReader(data), ipc.WithBodySizeLimit(untrusted.MaxBody))
	if err != nil {
		return 0, err
	}
	for i := range r.NumRecords() {
		b, err := r.RecordBatchAt(i)
		if err != nil {
			return n, err
		}
		n += b.NumRows()
	}
	return n, r.Close()
}

func TestGoodDataPass(t *testing.T) {
	b := rows(t)
	for name, opts := range map[string][]ipc.Option{"plain": nil, "lz4": {ipc.WithLZ4()}, "zstd": {ipc.WithZstd()}} {
		t.Run(name, func(t *testing.T) {
			n, err := readStream(asStream(t, b, opts...))
			require.NoError(t, err)
			require.EqualValues(t, 3, n)
			n, err = readFile(asFile(t, b, opts...))
			require.NoError(t, err)
			require.EqualValues(t, 3, n)
		})
	}
	stream := asStream(t, b)
	schema, err := untrusted.DecodeSchema(stream)
	require.NoError(t, err)
	require.True(t, schema.Equal(b.Schema()))
	n, err := readStream(stream[:len(stream)-8]) // an end without its mark
	require.NoError(t, err)
	require.EqualValues(t, 3, n)
}

// A value compressed to next to nothing is not taken for a lie.
func TestWellCompressedDataPass(t *testing.T) {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	b.AppendValues(make([]int64, 1<<18), nil)
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)
	zeros := array.NewRecordBatch(schema, []arrow.Array{b.NewArray()}, 1<<18)
	for name, opt := range map[string]ipc.Option{"lz4": ipc.WithLZ4(), "zstd": ipc.WithZstd()} {
		data := asStream(t, zeros, opt)
		n, err := readStream(data)
		require.NoError(t, err, name)
		require.EqualValues(t, 1<<18, n)
		t.Logf("%s: %d bytes", name, len(data))
	}
}

// header is a message of a kind around a table that build makes.
func header(kind byte, body int64, build func(*flatbuffers.Builder) flatbuffers.UOffsetT) []byte {
	b := flatbuffers.NewBuilder(0)
	head := build(b)
	b.StartObject(5)
	b.PrependInt64Slot(3, body, 0)
	b.PrependUOffsetTSlot(2, head, 0)
	b.PrependByteSlot(1, kind, 0)
	b.PrependInt16Slot(0, 4, 0)
	b.Finish(b.EndObject())
	return b.FinishedBytes()
}

// framed puts a marker and the length before a header.
func framed(header []byte) []byte {
	out := binary.LittleEndian.AppendUint32([]byte("\xff\xff\xff\xff"), uint32(len(header)))
	return append(out, header...)
}

// claims is a record batch with one buffer and one count of further buffers.
func claims(rows, offset, length, variadic int64, compressed bool) func(*flatbuffers.Builder) flatbuffers.UOffsetT {
	return func(b *flatbuffers.Builder) flatbuffers.UOffsetT {
		b.StartVector(16, 1, 8)
		b.Prep(8, 16)
		b.PrependInt64(length)
		b.PrependInt64(offset)
		buffers := b.EndVector(1)
		b.StartVector(8, 1, 8)
		b.PrependInt64(variadic)
		counts := b.EndVector(1)
		b.StartObject(1)
		codec := b.EndObject()
		b.StartObject(5)
		b.PrependInt64Slot(0, rows, 0)
		b.PrependUOffsetTSlot(2, buffers, 0)
		if compressed {
			b.PrependUOffsetTSlot(3, codec, 0)
		}
		b.PrependUOffsetTSlot(4, counts, 0)
		return b.EndObject()
	}
}

// zones is a schema of many timestamps that share one long name of a zone.
func zones(b *flatbuffers.Builder) flatbuffers.UOffsetT {
	const count = 1000
	zone := b.CreateString(strings.Repeat("z", 1<<16))
	b.StartObject(2)
	b.PrependUOffsetTSlot(1, zone, 0)
	dt := b.EndObject()
	b.StartObject(7)
	b.PrependByteSlot(2, 10, 0)
	b.PrependUOffsetTSlot(3, dt, 0)
	field := b.EndObject()
	b.StartVector(4, count, 4)
	for range count {
		b.PrependUOffsetT(field)
	}
	fields := b.EndVector(count)
	b.StartObject(4)
	b.PrependUOffsetTSlot(1, fields, 0)
	return b.EndObject()
}

// A stream of a few bytes that claims more than memory holds is refused in
// words; without the checks the process would end.
func TestClaimsAreRefused(t *testing.T) {
	schema := func(b *flatbuffers.Builder) flatbuffers.UOffsetT { b.StartObject(4); return b.EndObject() }
	start := framed(header(untrusted.KindSchema, 0, schema))
	batch := func(body []byte, build func(*flatbuffers.Builder) flatbuffers.UOffsetT) []byte {
		message := framed(header(untrusted.KindRecordBatch, int64(len(body)), build))
		return append(append(bytes.Clone(start), message...), body...)
	}
	const huge = 1 << 40
	big := binary.LittleEndian.AppendUint64(nil, huge)
	for name, test := range map[string]struct {
		data []byte
		want string
	}{
		"metadata":    {[]byte("\xff\xff\xff\xff\xff\xff\xff\x7f"), "metadata of 2147483647 bytes"},
		"old framing": {[]byte("\xf0\xff\xff\x7f"), "metadata of 2147483632 bytes"},
		"body":        {framed(header(untrusted.KindSchema, huge, schema)), "a body of 1099511627776 bytes where 0 are left"},
		"negative":    {framed(header(untrusted.KindSchema, -1, schema)), "a body of -1 bytes"},
		"zones":       {framed(header(untrusted.KindSchema, 0, zones)), "decode to more than"},
		"kind":        {framed(header(4, 0, schema)), "a message of type 4"},
		"rows":        {batch(nil, claims(huge, 0, 0, 0, false)), "a batch of 1099511627776 rows"},
		"buffer":      {batch(nil, claims(1, 0, huge, 0, false)), "buffer 0 of a batch is bytes 0+1099511627776 of a body of 0"},
		"offset":      {batch(big, claims(1, 1<<62, 1<<62, 0, false)), "buffer 0 of a batch"},
		"views":       {batch(nil, claims(1, 0, 0, huge, false)), "counts 1099511627776 in one column"},
		"compressed":  {batch(big, claims(1, 0, 8, 0, true)), "compressed buffer 0 of 8 bytes claims to hold 1099511627776"},
		"too short":   {batch(big, claims(1, 0, 4, 0, true)), "a compressed buffer of 4 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readStream(test.data)
			require.ErrorContains(t, err, test.want)
			require.Equal(t, lake.Invalid, lake.KindOf(err), "%v", err)
		})
	}
}

// A batch with fewer buffers or counts than its schema needs would make the
// decoder read some that are not there.
func TestShortListsAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		dt   arrow.DataType
		want string
	}{
		"buffers":    {arrow.BinaryTypes.String, "a batch of 1 buffers: its schema needs 3"},
		"union":      {arrow.SparseUnionOf([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int8}}, []int8{0}), "its schema needs 3"},
		"dictionary": {&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, "its schema needs 2"},
		"views":      {arrow.StructOf(arrow.Field{Name: "v", Type: arrow.BinaryTypes.BinaryView}, arrow.Field{Name: "w", Type: arrow.BinaryTypes.StringView}), "counts the buffers of 1 columns: want 2"},
	} {
		var out bytes.Buffer
		require.NoError(t, ipc.NewWriter(&out, ipc.WithSchema(arrow.NewSchema([]arrow.Field{{Name: "c", Type: test.dt}}, nil))).Close())
		wire := out.Bytes()
		var in untrusted.Inspector
		_, err := in.Inspect(wire[8 : 8+binary.LittleEndian.Uint32(wire[4:])])
		require.NoError(t, err, name)
		_, err = in.Inspect(header(untrusted.KindRecordBatch, 0, claims(1, 0, 0, 0, false)))
		require.ErrorContains(t, err, test.want, name)
	}
}

func TestDeltasAreRefused(t *testing.T) {
	delta := func(b *flatbuffers.Builder) flatbuffers.UOffsetT {
		data := claims(1, 0, 0, 0, false)(b)
		b.StartObject(3)
		b.PrependUOffsetTSlot(1, data, 0)
		b.PrependBoolSlot(2, true, false)
		return b.EndObject()
	}
	info, err := new(untrusted.Inspector).Inspect(header(untrusted.KindDictionary, 0, delta))
	require.NoError(t, err)
	require.True(t, info.Delta)
	_, err = readStream(framed(header(untrusted.KindDictionary, 0, delta)))
	require.ErrorContains(t, err, "adds to an earlier one")
}

// safely does what callers do about the panics of what no check reaches.
func safely(read func([]byte) (int64, error), data []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = lake.Errorf(lake.Invalid, "%v", p)
		}
	}()
	_, err = read(data)
	return err
}

// Every cut and every flipped byte is read or refused. A cut between messages
// is an end that is not marked.
func TestDamageIsSurvived(t *testing.T) {
	for name, data := range map[string][]byte{"plain": asStream(t, rows(t)), "zstd": asStream(t, rows(t), ipc.WithZstd())} {
		passed, step := 0, 3 // so that every place in a word has its turn
		for i := 0; i < len(data); i += step {
			if safely(readStream, data[:i]) == nil {
				passed++
			}
			flipped := bytes.Clone(data)
			flipped[i] ^= 0xff
			_ = safely(readStream, flipped)
		}
		require.LessOrEqual(t, passed, 8, name) // the messages, and the mark's halves
	}
}

func TestFooterClaimsAreRefused(t *testing.T) {
	good := asFile(t, rows(t))
	footer := bytes.Clone(good)
	binary.LittleEndian.PutUint32(footer[len(footer)-10:], 0xfffffff0)
	for name, data := range map[string][]byte{"footer": footer, "short": good[:9], "cut": good[:len(good)-1], "empty": nil} {
		require.Equal(t, lake.Invalid, lake.KindOf(untrusted.CheckFile(bytes.NewReader(data), int64(len(data)))), name)
	}
}

func FuzzFile(f *testing.F) {
	f.Add(asFile(f, rows(f)))
	f.Add(asFile(f, rows(f), ipc.WithZstd()))
	f.Add(asFile(f, rows(f), ipc.WithLZ4()))
	f.Fuzz(func(_ *testing.T, data []byte) { _ = safely(readFile, data) })
}

func FuzzStream(f *testing.F) {
	f.Add(asStream(f, rows(f)))
	f.Add(asStream(f, rows(f), ipc.WithZstd()))
	f.Add(asStream(f, rows(f), ipc.WithLZ4()))
	f.Fuzz(func(_ *testing.T, data []byte) { _ = safely(readStream, data) })
}
