// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lake

import (
	"crypto/rand"
	"encoding/hex"
	"sync"
	"time"
)

// ID is a UUIDv7 (RFC 9562): 48 bits of Unix milliseconds, then random bits.
// IDs made by one process sort in the order they were made.
type ID [16]byte

// idClock is the time and counter of the latest ID of this process.
var idClock struct {
	sync.Mutex
	milli int64
	count uint16
}

// NewID makes an ID for now. It is safe for concurrent use. IDs of the same
// millisecond carry a 12-bit counter, so that they sort in the order they were
// made; when it overflows, or the wall clock steps back, the IDs' time runs
// ahead of the clock until that has caught up (RFC 9562, section 6.2).
func NewID() ID {
	now := time.Now().UnixMilli()
	idClock.Lock()
	defer idClock.Unlock()
	switch {
	case now > idClock.milli:
		idClock.milli, idClock.count = now, 0
	case idClock.count < maxCount:
		idClock.count++
	default:
		idClock.milli, idClock.count = idClock.milli+1, 0
	}
	return makeID(idClock.milli, idClock.count)
}

// maxCount is the largest value of the 12 bits beside the version.
const maxCount = 0xfff

// NewIDAt makes an ID whose time is t. Its other bits are random, so IDs of
// the same millisecond are in no particular order.
func NewIDAt(t time.Time) ID {
	var count [2]byte
	_, _ = rand.Read(count[:])
	return makeID(t.UnixMilli(), (uint16(count[0])<<8|uint16(count[1]))&maxCount)
}

func makeID(milli int64, count uint16) ID {
	var id ID
	_, _ = rand.Read(id[8:]) // crypto/rand.Read never fails: it ends the process instead
	for i := range 6 {
		id[i] = byte(milli >> (40 - 8*i))
	}
	id[6] = 0x70 | byte(count>>8)
	id[7] = byte(count)
	id[8] = id[8]&0x3f | 0x80
	return id
}

// IsZero reports whether the ID is unset.
func (id ID) IsZero() bool { return id == ID{} }

// Time returns the ID's time, with millisecond precision.
func (id ID) Time() time.Time {
	var milli int64
	for _, b := range id[:6] {
		milli = milli<<8 | int64(b)
	}
	return time.UnixMilli(milli)
}

// idTextBytes is the length of an ID's text.
const idTextBytes = 36

// AppendTo appends the canonical 36-character form.
func (id ID) AppendTo(out []byte) []byte {
	out = append(hex.AppendEncode(out, id[:4]), '-')
	out = append(hex.AppendEncode(out, id[4:6]), '-')
	out = append(hex.AppendEncode(out, id[6:8]), '-')
	out = append(hex.AppendEncode(out, id[8:10]), '-')
	return hex.AppendEncode(out, id[10:])
}

// String returns the canonical 36-character form.
func (id ID) String() string { return string(id.AppendTo(make([]byte, 0, idTextBytes))) }

// MarshalText implements [encoding.TextMarshaler].
func (id ID) MarshalText() ([]byte, error) { return id.AppendTo(make([]byte, 0, idTextBytes)), nil }

// UnmarshalText implements [encoding.TextUnmarshaler] by [ParseID].
func (id *ID) UnmarshalText(b []byte) error {
	parsed, err := ParseID(string(b))
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}

// ParseID reads the canonical lower-case form of a UUIDv7. Any other version
// or spelling is refused, so that one ID has one text.
func ParseID(s string) (ID, error) {
	var id ID
	refuse := func(why string) (ID, error) {
		return ID{}, Errorf(Invalid, "id %q: %s: want a lower-case UUIDv7 such as 0198c0de-0000-7000-8000-000000000000", clip(s), why)
	}
	if len(s) != idTextBytes || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return refuse("not in 8-4-4-4-12 form")
	}
	digits := s[:8] + s[9:13] + s[14:18] + s[19:23] + s[24:]
	if _, err := hex.Decode(id[:], []byte(digits)); err != nil || hex.EncodeToString(id[:]) != digits {
		return refuse("not lower-case hexadecimal")
	}
	if id[6]>>4 != 7 || id[8]>>6 != 2 {
		return refuse("not version 7")
	}
	return id, nil
}

// Incarnation tells two tables that carried the same name apart: each create
// makes a new one.
type Incarnation = ID

// OperationID identifies one logical append of one tenant to one table. The
// client makes it once and repeats it in every retry.
type OperationID = ID

// Version numbers the snapshots of one incarnation, densely, from 1.
type Version uint64

// Digest is the SHA-256 of an append's Flight payload.
type Digest [32]byte

// String returns the digest in lower-case hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// MarshalText implements [encoding.TextMarshaler].
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler] by [ParseDigest].
func (d *Digest) UnmarshalText(b []byte) error {
	parsed, err := ParseDigest(string(b))
	if err != nil {
		return err
	}
	*d = parsed
	return nil
}

// ParseDigest reads 64 hexadecimal digits.
func ParseDigest(s string) (Digest, error) {
	var d Digest
	if len(s) != 64 {
		return Digest{}, Errorf(Invalid, "digest %q: want 64 hexadecimal digits of a SHA-256", clip(s))
	}
	if _, err := hex.Decode(d[:], []byte(s)); err != nil {
		return Digest{}, Errorf(Invalid, "digest %q: want 64 hexadecimal digits of a SHA-256", clip(s))
	}
	return d, nil
}
