// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// errBatchTooLarge says that a batch exceeds its limit; the scan answers it with
// a smaller batch.
var errBatchTooLarge = errors.New("the values of a batch exceed its limit of bytes")

// maxBatchBytes is the limit for the values of one leaf in a batch: what 32-bit
// offsets can say.
const maxBatchBytes = math.MaxInt32

// sink collects the values of one leaf for one batch. Nulls have a slot with
// undefined content.
type sink struct {
	t     valueType
	mem   memory.Allocator
	limit int // bytes of variable values, at most

	n    int            // values
	buf  *memory.Buffer // fixed and bool values, or the bytes of variable ones
	used int            // bytes of buf in use
	view []byte         // instead of buf: values that were not copied
	own  *memory.Buffer // what view is a part of, or nil for a mapped source

	offsets *memory.Buffer // n+1 offsets of variable values

	fields []*sink // of packed values

	// itemValid are the bits of the items of fixed size lists, by level; nil for
	// all valid.
	itemValid []*memory.Buffer
}

func newSink(t valueType, mem memory.Allocator, limit int) *sink {
	s := &sink{t: t, mem: mem, limit: limit, itemValid: make([]*memory.Buffer, len(t.dims))}
	for _, f := range t.fields {
		s.fields = append(s.fields, newSink(f, mem, limit))
	}
	return s
}

// release frees what finish did not hand out.
func (s *sink) release() {
	for _, b := range []**memory.Buffer{&s.buf, &s.offsets} {
		if *b != nil {
			(*b).Release()
			*b = nil
		}
	}
	releaseBuffers(s.itemValid)
	clear(s.itemValid)
	for _, f := range s.fields {
		f.release()
	}
	s.n, s.used, s.view, s.own = 0, 0, nil, nil
}

// expect prepares for that many more values, and bytes of variable ones, to
// save growing step by step.
func (s *sink) expect(values, bytes int) {
	switch s.t.kind {
	case boolValues:
		bytes = int(bitutil.BytesForBits(int64(values)*int64(s.t.bits()))) + 1
	case fixedValues:
		bytes = values * s.t.width
		if s.view != nil {
			bytes += len(s.view)
		}
	case variableValues:
		s.growOffsets(0)
		prepare(s.offsets, (s.n+1+values)*s.offsetSize())
	default:
		return
	}
	if s.buf == nil {
		s.buf = memory.NewResizableBuffer(s.mem)
	}
	prepare(s.buf, s.used+bytes)
}

// prepare makes the capacity of b at least n, more than that when it had some
// already, so that preparing for one row after the other stays linear.
func prepare(b *memory.Buffer, n int) {
	if c := b.Cap(); n > c {
		b.Reserve(max(n, min(2*c, c+64<<20)))
	}
}

// growBuf makes room for need more bytes and returns them; they count as used.
func (s *sink) growBuf(need int) []byte {
	if s.buf == nil {
		s.buf = memory.NewResizableBuffer(s.mem)
	}
	grow(s.buf, s.used+need)
	return s.buf.Buf()[s.used : s.used+need]
}

// grow resizes b to at least n bytes, doubling, so that appending is linear.
func grow(b *memory.Buffer, n int) {
	if n <= b.Len() {
		return
	}
	prepare(b, n)
	b.Resize(n)
}

// fixed returns room for n more fixed values, to be filled by the caller.
func (s *sink) fixed(n int) []byte {
	s.copyView()
	size := n * s.t.width
	out := s.growBuf(size)
	s.used += size
	s.n += n
	return out
}

// borrow appends fixed values that may stay where they are. They are a part of
// own, if that is not nil, and else outlive the batch.
func (s *sink) borrow(n int, b []byte, own *memory.Buffer) {
	aligned := s.t.align() <= 1 || len(b) == 0 || uintptr(unsafe.Pointer(&b[0]))%uintptr(s.t.align()) == 0
	if s.n == 0 && aligned {
		s.view, s.n, s.own = b, n, own
		return
	}
	copy(s.fixed(n), b)
}

func (s *sink) copyView() {
	if s.view == nil {
		return
	}
	v := s.view
	s.view, s.own = nil, nil
	copy(s.growBuf(len(v)), v)
	s.used = len(v)
}

// bits appends n values of one bit, or of one an item, from value off of b.
func (s *sink) bits(b []byte, off, n int) {
	w := s.t.bits()
	s.zeroBits(n)
	bitutil.CopyBitmap(b, off*w, n*w, s.buf.Buf(), s.n*w)
	s.n += n
}

// zeroBits makes room for the bits of n more values.
func (s *sink) zeroBits(n int) {
	total := int(bitutil.BytesForBits(int64(s.n+n) * int64(s.t.bits())))
	if total > s.used {
		clear(s.growBuf(total - s.used))
		s.used = total
	}
}

// skip appends n values of no content: they are null.
func (s *sink) skip(n int) {
	switch s.t.kind {
	case fixedValues:
		s.appendItemsValid(nil, nil, 0, n)
		clear(s.fixed(n))
	case boolValues:
		s.appendItemsValid(nil, nil, 0, n)
		s.zeroBits(n)
		s.n += n
	case packedValues:
		for _, f := range s.fields {
			f.skip(n * max(1, s.t.items))
		}
		s.n += n
	case variableValues:
		s.sameOffset(n)
	default:
		s.n += n
	}
}

// skipItems appends n fixed size lists of which all items are null below the
// levels that valid has the bits of, from list off on.
func (s *sink) skipItems(n int, valid [][]byte, off int) {
	for level := range s.t.dims {
		switch {
		case level < len(valid):
			s.appendItemValid(level, valid[level], off, n)
		case level == len(valid):
			s.appendItemValid(level, make([]byte, (n*s.t.itemsAt(level)+7)/8), 0, n)
		default:
			s.appendItemValid(level, nil, 0, n)
		}
	}
	if s.t.kind == boolValues {
		s.zeroBits(n)
		s.n += n
		return
	}
	clear(s.fixed(n))
}

// appendItemsValid appends the validity of the items of n fixed size lists. bits
// are those of some levels; the others are all valid.
func (s *sink) appendItemsValid(levels []int, bits [][]byte, off, n int) {
	for level := range s.t.dims {
		var b []byte
		if i := slices.Index(levels, level); i >= 0 {
			b = bits[i]
		}
		s.appendItemValid(level, b, off, n)
	}
}

// appendItemValid appends the validity of the items of one level of n fixed size
// lists; nil stands for all valid.
func (s *sink) appendItemValid(level int, b []byte, off, n int) {
	valid := s.itemValid[level]
	if b == nil && valid == nil {
		return
	}
	items := s.t.itemsAt(level)
	have := s.n * items // items before these lists, all valid if none recorded
	need := int(bitutil.BytesForBits(int64(have + n*items)))
	if valid == nil {
		valid = memory.NewResizableBuffer(s.mem)
		s.itemValid[level] = valid
		grow(valid, need)
		clear(valid.Buf()[:need])
		bitutil.SetBitsTo(valid.Buf(), 0, int64(have), true)
	}
	if old := valid.Len(); need > old {
		grow(valid, need)
		clear(valid.Buf()[old:need])
	}
	if b == nil {
		bitutil.SetBitsTo(valid.Buf(), int64(have), int64(n*items), true)
		return
	}
	bitutil.CopyBitmap(b, off*items, n*items, valid.Buf(), have)
}

// varRun is a run of variable values as chunks and dictionaries store them:
// n+1 little-endian positions relative to data.
type varRun struct {
	pos  []byte
	wide bool // positions of 8 bytes, else 4
	data []byte
}

func (r varRun) at(i int) uint64 {
	if r.wide {
		return binary.LittleEndian.Uint64(r.pos[i*8:])
	}
	return uint64(binary.LittleEndian.Uint32(r.pos[i*4:]))
}

// check tells whether the run has n values inside its data.
func (r varRun) check(n int) error {
	size := 4
	if r.wide {
		size = 8
	}
	if len(r.pos)/size < n+1 {
		return corrupt("%d bytes of offsets for %d values", len(r.pos), n)
	}
	return nil
}

// append adds values [from, from+n) of a run. Positions are checked here, so
// that they are read once.
func (s *sink) append(r varRun, from, n int) error {
	if n == 0 {
		return nil
	}
	first, last := r.at(from), r.at(from+n)
	if first > last || last > uint64(len(r.data)) {
		return corrupt("value offsets %d to %d in %d bytes", first, last, len(r.data))
	}
	if err := s.room(int(last - first)); err != nil {
		return err
	}
	if err := s.shiftOffsets(r, from, n, first, last); err != nil {
		return err
	}
	copy(s.growBuf(int(last-first)), r.data[first:last])
	s.used += int(last - first)
	s.n += n
	return nil
}

// room reports whether more bytes fit the limit, and so the offset type.
func (s *sink) room(more int) error {
	if s.used+more > s.limit {
		return errBatchTooLarge
	}
	return nil
}

// shiftOffsets writes the ends of values [from, from+n), moved from their run
// to the end of the sink's bytes. Ends must not decrease.
func (s *sink) shiftOffsets(r varRun, from, n int, first, last uint64) error {
	s.growOffsets(n)
	out := s.offsets.Buf()
	base := uint64(s.used) - first
	prev := first
	if !s.t.wide && !r.wide {
		pos := r.pos[(from+1)*4 : (from+1+n)*4]
		dst := out[(s.n+1)*4 : (s.n+1+n)*4]
		bad := false
		for i := 0; i+4 <= len(pos); i += 4 {
			p := uint64(binary.LittleEndian.Uint32(pos[i:]))
			bad = bad || p < prev
			prev = p
			binary.LittleEndian.PutUint32(dst[i:], uint32(p+base))
		}
		if bad || prev > last {
			return corrupt("value offsets decrease")
		}
		return nil
	}
	for i := range n {
		p := r.at(from + 1 + i)
		if p < prev || p > last {
			return corrupt("value offsets decrease")
		}
		prev = p
		s.putOffset(s.n+1+i, p+base)
	}
	return nil
}

// growOffsets makes room for n more offsets behind the n+1 in use.
func (s *sink) growOffsets(n int) {
	size := s.offsetSize()
	if s.offsets == nil {
		s.offsets = memory.NewResizableBuffer(s.mem)
		grow(s.offsets, (n+1)*size)
		clear(s.offsets.Buf()[:size])
		return
	}
	grow(s.offsets, (s.n+1+n)*size)
}

func (s *sink) offsetSize() int {
	if s.t.wide {
		return 8
	}
	return 4
}

func (s *sink) putOffset(i int, v uint64) {
	if s.t.wide {
		binary.LittleEndian.PutUint64(s.offsets.Buf()[i*8:], v)
		return
	}
	binary.LittleEndian.PutUint32(s.offsets.Buf()[i*4:], uint32(v))
}

// sameOffset appends n empty variable values.
func (s *sink) sameOffset(n int) {
	s.growOffsets(n)
	for i := range n {
		s.putOffset(s.n+1+i, uint64(s.used))
	}
	s.n += n
}

// value appends one variable value.
func (s *sink) value(b []byte) error {
	if err := s.room(len(b)); err != nil {
		return err
	}
	copy(s.growBuf(len(b)), b)
	s.used += len(b)
	s.growOffsets(1)
	s.putOffset(s.n+1, uint64(s.used))
	s.n++
	return nil
}

// finish hands out the value buffers in Arrow's order, without validity. The
// caller owns one reference of each.
func (s *sink) finish() []*memory.Buffer {
	switch s.t.kind {
	case nullValues:
		return nil
	case variableValues:
		s.growOffsets(0)
		s.growBuf(0)
		out := []*memory.Buffer{trim(s.offsets, (s.n+1)*s.offsetSize()), trim(s.buf, s.used)}
		s.offsets, s.buf = nil, nil
		return out
	}
	if s.view != nil {
		b := partOf(s.own, s.view)
		s.view, s.own = nil, nil
		return []*memory.Buffer{b}
	}
	s.growBuf(0)
	b := trim(s.buf, s.used)
	s.buf = nil
	return []*memory.Buffer{b}
}

// partOf returns a buffer over b that keeps own alive.
func partOf(own *memory.Buffer, b []byte) *memory.Buffer {
	if own == nil || len(b) == 0 {
		return memory.NewBufferBytes(b)
	}
	off := uintptr(unsafe.Pointer(&b[0])) - uintptr(unsafe.Pointer(&own.Bytes()[0]))
	return memory.SliceBuffer(own, int(off), len(b))
}

// finishItemValid hands out the item validity of a level of fixed size lists, or
// nil.
func (s *sink) finishItemValid(level int) *memory.Buffer {
	b := s.itemValid[level]
	s.itemValid[level] = nil
	if b != nil {
		b = trim(b, int(bitutil.BytesForBits(int64(s.n*s.t.itemsAt(level)))))
	}
	return b
}

// trim cuts a buffer to the bytes in use without moving it.
func trim(b *memory.Buffer, n int) *memory.Buffer {
	b.ResizeNoShrink(n)
	return b
}
