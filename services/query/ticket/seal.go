// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package ticket

import (
	"crypto/rand"
	"time"

	"github.com/lakeplane/lake/internal/keyring"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/retention"
)

const (
	envelopeVersion = 1
	magicBytes      = 4
	nonceBytes      = 12
	headerBytes     = magicBytes + 1 + keyIDBytes
	// maxEnvelopeBytes is above anything validate lets through, and below what
	// a gRPC message may be.
	maxEnvelopeBytes = 3<<20 + 512<<10

	// FutureSkew is how far ahead of this replica's clock the replica that
	// issued a ticket may be.
	FutureSkew = 30 * time.Second
	// DefaultTTL is how long a statement ticket can be redeemed.
	DefaultTTL = 300 * time.Second
	// MinTTL and MaxTTL bound what an operator may choose for it.
	MinTTL, MaxTTL = time.Second, retention.LongestTicket
)

// Kind is one use of a sealed value: what it looks like, and what it is for.
type Kind struct {
	magic    [magicBytes]byte
	audience string
	// part says that values of the kind are good for a part of a result.
	part bool
	// invalid is all a caller learns about a value that does not open.
	invalid string
}

var (
	// Statement is the ticket of a planned statement, redeemed by DoGet.
	Statement = Kind{magic: [4]byte{'L', 'Q', 'T', 'K'}, audience: "lake.query.statement.v1", invalid: invalidTicket}
	// Part is the ticket of a part of a statement's result, redeemed by DoGet
	// like that of the whole.
	Part = Kind{magic: [4]byte{'L', 'Q', 'P', 'T'}, audience: "lake.query.part.v1", part: true, invalid: invalidTicket}
	// Prepared is the handle of a prepared statement.
	Prepared = Kind{magic: [4]byte{'L', 'Q', 'P', 'S'}, audience: "lake.query.prepared.v1", invalid: "invalid prepared statement handle"}
)

// invalidTicket is the same for whole results and parts.
const invalidTicket = "invalid statement ticket"

// Is reports whether a value says that it is of the kind. Whether that is true,
// Open finds out.
func (k Kind) Is(b []byte) bool { return len(b) >= magicBytes && [magicBytes]byte(b) == k.magic }

// Sealer makes and opens the values of one kind. It is safe for concurrent
// use.
type Sealer struct {
	kind Kind
	keys Keys
	ttl  time.Duration
	now  func() time.Time
}

// NewSealer returns a sealer whose values live for ttl. now is the clock; nil
// means time.Now.
func NewSealer(kind Kind, keys Keys, ttl time.Duration, now func() time.Time) *Sealer {
	if now == nil {
		now = time.Now
	}
	return &Sealer{kind: kind, keys: keys, ttl: ttl, now: now}
}

// Seal sets the times of a copy of c and encrypts it. It returns the envelope
// and when it expires. Claims over a limit are lake.Invalid.
func (s *Sealer) Seal(c Claims) ([]byte, time.Time, error) {
	if err := c.validate(); err != nil {
		return nil, time.Time{}, err
	}
	if s.kind.part != (c.Part != nil) {
		return nil, time.Time{}, lake.Errorf(lake.Unknown, "ticket: a part of a result belongs into a ticket of its own kind")
	}
	c.IssuedAt = s.now().Truncate(time.Millisecond)
	c.ExpiresAt = c.IssuedAt.Add(s.ttl)
	plain, err := c.marshal()
	if err != nil {
		return nil, time.Time{}, err
	}
	k := s.keys.ring().Active()
	out := make([]byte, 0, headerBytes+nonceBytes+len(plain)+k.AEAD.Overhead())
	out = append(out, s.kind.magic[:]...)
	out = append(out, envelopeVersion)
	out = append(out, k.ID[:]...)
	var nonce [nonceBytes]byte
	_, _ = rand.Read(nonce[:]) // never fails; random nonces are safe for 2^32 tickets a key
	out = append(out, nonce[:]...)
	return k.AEAD.Seal(out, nonce[:], plain, s.kind.authenticated(out[:headerBytes])), c.ExpiresAt, nil
}

// Open returns the claims of a value sealed by any replica with a common key.
// A value that is malformed, forged, of another kind, expired or from the
// future is lake.Unauthenticated, always with the same message.
func (s *Sealer) Open(b []byte) (*Claims, error) { return s.OpenLate(b, 0) }

// OpenLate is Open for a value that may have expired, at most so long ago. It is
// for what a value may still be used for when it cannot be redeemed.
func (s *Sealer) OpenLate(b []byte, late time.Duration) (*Claims, error) {
	refused := s.Refuse()
	if len(b) < headerBytes+nonceBytes || len(b) > maxEnvelopeBytes ||
		[magicBytes]byte(b) != s.kind.magic || b[magicBytes] != envelopeVersion {
		return nil, refused
	}
	k, ok := s.keys.ring().Find(keyring.ID(b[magicBytes+1:]))
	if !ok {
		return nil, refused
	}
	plain, err := k.AEAD.Open(nil, b[headerBytes:headerBytes+nonceBytes], b[headerBytes+nonceBytes:], s.kind.authenticated(b[:headerBytes]))
	if err != nil {
		return nil, refused
	}
	c, err := unmarshal(plain)
	if err != nil || s.kind.part != (c.Part != nil) || !s.live(c, late) {
		return nil, refused
	}
	return c, nil
}

func (s *Sealer) live(c *Claims, late time.Duration) bool {
	now := s.now()
	return now.Before(c.ExpiresAt.Add(late)) && !c.IssuedAt.After(now.Add(FutureSkew)) && c.ExpiresAt.After(c.IssuedAt)
}

// authenticated returns the additional data: the audience, then the header.
func (k Kind) authenticated(header []byte) []byte {
	out := make([]byte, 0, len(k.audience)+1+len(header))
	out = append(out, k.audience...)
	out = append(out, 0)
	return append(out, header...)
}

// NewQueryID returns a random id.
func NewQueryID() QueryID {
	var id QueryID
	_, _ = rand.Read(id[:]) // crypto/rand.Read never returns an error since Go 1.24
	return id
}

// Refuse returns the error of a value that does not open, for a caller that
// found another reason not to accept it.
func (s *Sealer) Refuse() error {
	return &lake.Error{Kind: lake.Unauthenticated, Message: s.kind.invalid}
}
