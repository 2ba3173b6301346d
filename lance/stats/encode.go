// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package stats

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"math/big"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/lake/predicate"
)

// MaxBytes is how large an encoded sidecar may be.
const MaxBytes = 1 << 20

const (
	magic = "LKST"
	// version is of the layout. A reader takes one that it does not know for no
	// statistics at all.
	version    = 1
	headBytes  = 4 + 2 + 2 + 8 + 8
	tailBytes  = 4
	hasMin     = 1
	hasMax     = 2
	columnHead = 4 + 1 + 1 + 8
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Encode returns the sidecar's bytes, at most [MaxBytes].
func Encode(f File) []byte {
	columns := f.Columns[:min(len(f.Columns), MaxColumns)]
	b := append(make([]byte, 0, 256), magic...)
	b = binary.LittleEndian.AppendUint16(b, version)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(columns)))
	b = binary.LittleEndian.AppendUint64(b, f.Rows)
	b = binary.LittleEndian.AppendUint64(b, f.Size)
	for _, c := range columns {
		b = appendColumn(b, c)
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func appendColumn(b []byte, c Column) []byte {
	low, high := c.Stats.Min, c.Stats.Max
	k := max(kindOf(low), kindOf(high))
	flags := byte(0)
	if k != onlyNulls && kindOf(low) == k {
		flags |= hasMin
	}
	if k != onlyNulls && kindOf(high) == k {
		flags |= hasMax
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(c.Field))
	b = append(b, byte(k), flags)
	b = binary.LittleEndian.AppendUint64(b, c.Stats.Nulls)
	if flags&hasMin != 0 {
		b = appendValue(b, low)
	}
	if flags&hasMax != 0 {
		b = appendValue(b, high)
	}
	return b
}

// kindOf returns onlyNulls for what cannot be stored.
func kindOf(v any) kind {
	switch v := v.(type) {
	case int64:
		return integers
	case uint64:
		return naturals
	case float64:
		return floats
	case string:
		if len(v) <= maxText {
			return texts
		}
	case *big.Int:
		if fits(v) {
			return decimals
		}
	}
	return onlyNulls
}

func appendValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case int64:
		return binary.LittleEndian.AppendUint64(b, uint64(v))
	case uint64:
		return binary.LittleEndian.AppendUint64(b, v)
	case float64:
		return binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	case string:
		return append(append(b, byte(len(v))), v...)
	case *big.Int:
		var raw [decimalBytes]byte
		n := v
		if v.Sign() < 0 {
			n = new(big.Int).Add(v, twoTo128)
		}
		return append(b, n.FillBytes(raw[:])...)
	}
	return b
}

var (
	twoTo127 = new(big.Int).Lsh(big.NewInt(1), 127)
	twoTo128 = new(big.Int).Lsh(big.NewInt(1), 128)
)

// Decode reads a sidecar. Whatever is wrong with it is lake.Corrupt, and a
// layout of another version lake.Unsupported; a reader goes on without
// statistics then.
func Decode(b []byte) (File, error) {
	if len(b) < headBytes+tailBytes || len(b) > MaxBytes || string(b[:4]) != magic {
		return File{}, lake.Errorf(lake.Corrupt, "statistics: %d bytes that are no sidecar", len(b))
	}
	body, sum := b[:len(b)-tailBytes], binary.LittleEndian.Uint32(b[len(b)-tailBytes:])
	if v := binary.LittleEndian.Uint16(b[4:]); v != version {
		return File{}, lake.Errorf(lake.Unsupported, "statistics: layout %d, only %d is read", v, version)
	}
	if got := crc32.Checksum(body, castagnoli); got != sum {
		return File{}, lake.Errorf(lake.Corrupt, "statistics: checksum %08x, the sidecar says %08x", got, sum)
	}
	f := File{Rows: binary.LittleEndian.Uint64(b[8:]), Size: binary.LittleEndian.Uint64(b[16:])}
	d := decoder{rest: body[headBytes:]}
	n := int(binary.LittleEndian.Uint16(b[6:]))
	for range min(n, MaxColumns) {
		f.Columns = append(f.Columns, d.column(f.Rows))
	}
	if d.bad || n > MaxColumns || len(d.rest) > 0 {
		return File{}, lake.Errorf(lake.Corrupt, "statistics: the columns do not fit the sidecar")
	}
	return f, nil
}

// decoder takes values off the front of rest until one is bad.
type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) take(n int) []byte {
	if d.bad || n > len(d.rest) {
		d.bad = true
		return make([]byte, n)
	}
	out := d.rest[:n]
	d.rest = d.rest[n:]
	return out
}

func (d *decoder) column(rows uint64) Column {
	head := d.take(columnHead)
	k, flags := kind(head[4]), head[5]
	c := Column{Field: int32(binary.LittleEndian.Uint32(head)), Stats: predicate.Stats{Rows: rows, Nulls: binary.LittleEndian.Uint64(head[6:])}}
	if flags&^(hasMin|hasMax) != 0 || c.Stats.Nulls > rows {
		d.bad = true
	}
	if flags&hasMin != 0 {
		c.Stats.Min = d.value(k)
	}
	if flags&hasMax != 0 {
		c.Stats.Max = d.value(k)
	}
	return c
}

func (d *decoder) value(k kind) any {
	switch k {
	case integers:
		return int64(binary.LittleEndian.Uint64(d.take(8)))
	case naturals:
		return binary.LittleEndian.Uint64(d.take(8))
	case floats:
		return math.Float64frombits(binary.LittleEndian.Uint64(d.take(8)))
	case texts:
		return string(d.take(int(d.take(1)[0])))
	case decimals:
		n := new(big.Int).SetBytes(d.take(decimalBytes))
		if n.Cmp(twoTo127) >= 0 {
			n.Sub(n, twoTo128)
		}
		return n
	}
	d.bad = true
	return nil
}
