// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package ticket

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/internal/keyring"
	"github.com/lakeplane/lake/internal/watchfile"
	"github.com/lakeplane/lake/lake"
)

func sample() Claims {
	return Claims{
		Principal: "ann", Tenant: "robots", SQL: "SELECT 1",
		Snapshots: []Pin{{
			Name: lake.TableName{Namespace: "a", Name: "b.c"},
			Snapshot: lake.Snapshot{
				Engine: "lance", Location: "a/b.c/x.lance", Incarnation: lake.NewID(), Version: 7,
				Manifest: lake.Manifest{Path: "_versions/1.manifest", Size: 99, SHA256: lake.Digest{1, 2, 3}},
			},
		}},
		Parameters: []byte{9}, Schema: bytes.Repeat([]byte{4}, 32), Query: NewQueryID(),
	}
}

func secret(b byte) []byte { return bytes.Repeat([]byte{b}, 32) }

func static(t *testing.T, active []byte, verify ...[]byte) Keys {
	t.Helper()
	k, err := Static(active, verify...)
	require.NoError(t, err)
	return k
}

func TestSealedClaimsComeBackAsTheyWere(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	s := NewSealer(Statement, Ephemeral(), DefaultTTL, func() time.Time { return now })
	want := sample()
	b, expires, err := s.Seal(want)
	require.NoError(t, err)
	require.Equal(t, "LQTK\x01", string(b[:5]))
	require.NotContains(t, string(b), "SELECT")
	got, err := s.Open(b)
	require.NoError(t, err)
	want.IssuedAt, want.ExpiresAt = now, now.Add(DefaultTTL)
	require.Equal(t, want, *got)
	require.Equal(t, want.ExpiresAt, expires)

	again, _, err := s.Seal(want)
	require.NoError(t, err)
	require.NotEqual(t, b, again, "equal claims must not have equal envelopes")
}

func requireRefused(t *testing.T, s *Sealer, b []byte, why string) {
	t.Helper()
	c, err := s.Open(b)
	require.Nil(t, c, why)
	require.True(t, lake.Is(err, lake.Unauthenticated), "%s: %v", why, err)
	require.Equal(t, s.kind.invalid, err.Error(), why)
}

func TestEveryFlippedBitIsRefused(t *testing.T) {
	s := NewSealer(Statement, Ephemeral(), DefaultTTL, nil)
	b, _, err := s.Seal(sample())
	require.NoError(t, err)
	for i := range b {
		for _, bit := range []byte{1, 128} {
			b[i] ^= bit
			requireRefused(t, s, b, fmt.Sprintf("bit %d of byte %d", bit, i))
			b[i] ^= bit
		}
	}
	for n := range b {
		requireRefused(t, s, b[:n], fmt.Sprintf("cut to %d bytes", n))
	}
	requireRefused(t, s, append(bytes.Clone(b), 0), "one byte too many")
	requireRefused(t, s, make([]byte, maxEnvelopeBytes+1), "too large")
	_, err = s.Open(b)
	require.NoError(t, err, "the untouched ticket must still open")
}

func TestAnotherAudienceOrKeyIsRefused(t *testing.T) {
	keys := Ephemeral()
	statement := NewSealer(Statement, keys, DefaultTTL, nil)
	prepared := NewSealer(Prepared, keys, DefaultTTL, nil)
	b, _, err := statement.Seal(sample())
	require.NoError(t, err)
	requireRefused(t, prepared, b, "a ticket is not a handle")
	relabelled := bytes.Clone(b)
	copy(relabelled, "LQPS")
	requireRefused(t, prepared, relabelled, "a relabelled ticket is not a handle")
	otherAudience := NewSealer(Kind{magic: Statement.magic, audience: "lake.query.other.v1", invalid: "no"}, keys, DefaultTTL, nil)
	requireRefused(t, otherAudience, b, "the audience is authenticated, not only the magic")
	requireRefused(t, NewSealer(Statement, Ephemeral(), DefaultTTL, nil), b, "another replica's ephemeral key")
}

func TestTimes(t *testing.T) {
	start := time.UnixMilli(1_700_000_000_000)
	keys := Ephemeral()
	b, _, err := NewSealer(Statement, keys, DefaultTTL, func() time.Time { return start }).Seal(sample())
	require.NoError(t, err)
	for _, c := range []struct {
		name string
		at   time.Duration
		ok   bool
	}{
		{"when issued", 0, true},
		{"just before the end", DefaultTTL - time.Millisecond, true},
		{"at the end", DefaultTTL, false},
		{"a clock 30 s behind", -FutureSkew, true},
		{"a clock more than 30 s behind", -FutureSkew - time.Millisecond, false},
	} {
		s := NewSealer(Statement, keys, DefaultTTL, func() time.Time { return start.Add(c.at) })
		if c.ok {
			_, err := s.Open(b)
			require.NoError(t, err, c.name)
		} else {
			requireRefused(t, s, b, c.name)
		}
	}
}

func TestLimits(t *testing.T) {
	s := NewSealer(Statement, Ephemeral(), DefaultTTL, nil)
	c := sample()
	for len(c.Snapshots) <= MaxSnapshots {
		c.Snapshots = append(c.Snapshots, c.Snapshots[0])
	}
	_, _, err := s.Seal(c)
	require.True(t, lake.Is(err, lake.Invalid))
	require.ErrorContains(t, err, "reads 65 tables: at most 64")
	c.Snapshots = c.Snapshots[:MaxSnapshots]
	b, _, err := s.Seal(c)
	require.NoError(t, err)
	got, err := s.Open(b)
	require.NoError(t, err)
	require.Len(t, got.Snapshots, MaxSnapshots)
	c.Parameters = make([]byte, MaxParameterBytes+1)
	_, _, err = s.Seal(c)
	require.ErrorContains(t, err, "parameters")
	c = sample()
	c.SQL = string(make([]byte, lake.MaxSQLBytes+1))
	_, _, err = s.Seal(c)
	require.ErrorContains(t, err, "statement has")
}

func TestRotationKeepsTicketsOfTheOldKey(t *testing.T) {
	old := NewSealer(Statement, static(t, secret(1)), DefaultTTL, nil)
	b, _, err := old.Seal(sample())
	require.NoError(t, err)
	_, err = NewSealer(Statement, static(t, secret(2), secret(1)), DefaultTTL, nil).Open(b)
	require.NoError(t, err)
	requireRefused(t, NewSealer(Statement, static(t, secret(2)), DefaultTTL, nil), b, "the old key is gone")
}

func encode(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

func TestKeyFile(t *testing.T) {
	good := fmt.Sprintf(`{"active":%q,"verify":[%q]}`, encode(secret(1)), encode(secret(2)))
	for _, c := range []struct {
		name, content, want string
		mode                os.FileMode
	}{
		{"good", good, "", 0o600},
		{"read-only", good, "", 0o400},
		{"readable by the group", good, "mode 0640", 0o640},
		{"not JSON", "active: x", "not JSON", 0o600},
		{"unknown field", `{"active":"","spare":1}`, "not JSON", 0o600},
		{"two documents", good + good, "not JSON", 0o600},
		{"short secret", fmt.Sprintf(`{"active":%q}`, encode([]byte("short"))), "5 bytes: want 32..4096", 0o600},
		{"long secret", fmt.Sprintf(`{"active":%q}`, encode(make([]byte, 4097))), "4097 bytes", 0o600},
		{"bad base64", `{"active":"***"}`, "base64", 0o600},
		{"too many", fmt.Sprintf(`{"active":%q,"verify":["","","",""]}`, encode(secret(1))), "4 verification keys: at most 3", 0o600},
		{"repeated", fmt.Sprintf(`{"active":%q,"verify":[%q]}`, encode(secret(1)), encode(secret(1))), "repeats", 0o600},
		{"too large", good + string(bytes.Repeat([]byte{' '}, keyring.MaxFileBytes)), "more than 65536 bytes", 0o600},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "keys.json")
			require.NoError(t, os.WriteFile(path, []byte(c.content), c.mode))
			_, err := OpenFile(path, nil)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.True(t, lake.Is(err, lake.Invalid), "%v", err)
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), encode(secret(1)))
		})
	}
	_, err := OpenFile(filepath.Join(t.TempDir(), "none"), nil)
	require.ErrorContains(t, err, "no such file")
}

func TestKeyFileIsReloadedWhenItChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.json")
	write := func(s string) { require.NoError(t, os.WriteFile(path, []byte(s), 0o600)) }
	write(fmt.Sprintf(`{"active":%q}`, encode(secret(1))))
	f, err := OpenFile(path, nil)
	require.NoError(t, err)
	now := time.Now()
	f.value.SetClock(func() time.Time { return now })
	s := NewSealer(Statement, f, DefaultTTL, nil)
	before, _, err := s.Seal(sample())
	require.NoError(t, err)

	write(fmt.Sprintf(`{"active":%q,"verify":[%q]}`, encode(secret(2)), encode(secret(1))))
	now = now.Add(2 * watchfile.LookEvery)
	after, _, err := s.Seal(sample())
	require.NoError(t, err)
	require.NotEqual(t, before[5:21], after[5:21], "the new key seals")
	_, err = s.Open(before)
	require.NoError(t, err, "the old key still opens")

	write("broken")
	now = now.Add(2 * watchfile.LookEvery)
	_, err = s.Open(after)
	require.NoError(t, err, "a broken file keeps the last good ring")
	require.NoError(t, os.Remove(path))
	now = now.Add(2 * watchfile.LookEvery)
	_, err = s.Open(after)
	require.NoError(t, err, "a missing file keeps the last good ring")
}

func FuzzOpen(f *testing.F) {
	keys, err := Static(secret(1))
	require.NoError(f, err)
	s := NewSealer(Statement, keys, DefaultTTL, func() time.Time { return time.UnixMilli(1_700_000_000_000) })
	b, _, err := s.Seal(sample())
	require.NoError(f, err)
	f.Add(b)
	f.Add([]byte("LQTK\x01"))
	f.Fuzz(func(t *testing.T, in []byte) {
		if _, err := s.Open(in); err != nil && err.Error() != Statement.invalid {
			t.Fatalf("the error says too much: %v", err)
		}
	})
}

func FuzzKeyRing(f *testing.F) {
	f.Add([]byte(fmt.Sprintf(`{"active":%q}`, encode(secret(1)))))
	f.Fuzz(func(t *testing.T, in []byte) {
		if r, err := keyring.Parse(purpose, in); err == nil && r.Active().AEAD == nil {
			t.Fatal("a ring without a key")
		}
	})
}

// TestAPartIsNoWhole: neither opens as the other, whatever it calls itself.
func TestAPartIsNoWhole(t *testing.T) {
	keys := Ephemeral()
	whole, part := NewSealer(Statement, keys, DefaultTTL, nil), NewSealer(Part, keys, DefaultTTL, nil)
	c := sample()
	_, _, err := part.Seal(c)
	require.Error(t, err, "a part without pieces")
	c.Part = &Pieces{From: 3, To: 9}
	_, _, err = whole.Seal(c)
	require.Error(t, err, "a whole with pieces")
	b, _, err := part.Seal(c)
	require.NoError(t, err)
	require.Equal(t, "LQPT\x01", string(b[:5]))
	require.True(t, Part.Is(b))
	require.False(t, Statement.Is(b))
	got, err := part.Open(b)
	require.NoError(t, err)
	require.Equal(t, c.Part, got.Part)
	requireRefused(t, whole, b, "a part as the whole")
	copy(b, "LQTK")
	requireRefused(t, whole, b, "a part that says it is the whole")
	c.Part = nil
	b, _, err = whole.Seal(c)
	require.NoError(t, err)
	copy(b, "LQPT")
	requireRefused(t, part, b, "a whole that says it is a part")

	for _, p := range []Pieces{{3, 3}, {4, 3}, {-1, 3}, {0, MaxPieces + 1}} {
		c.Part = &p
		_, _, err = part.Seal(c)
		require.True(t, lake.Is(err, lake.Invalid), "%v: %v", p, err)
	}
	c.Part, c.Snapshots = &Pieces{0, 1}, append(c.Snapshots, c.Snapshots[0])
	_, _, err = part.Seal(c)
	require.ErrorContains(t, err, "of one table")
}
