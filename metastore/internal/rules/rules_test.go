// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/internal/rules"
)

func TestCursorRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prefix := rapid.StringMatching(`[a-c%_]{0,3}`).Draw(t, "prefix")
		last := prefix + rapid.StringMatching(`[a-c][a-c/]{0,5}[a-c]`).Draw(t, "rest")
		if metastore.CheckKey(last) != nil {
			return
		}
		after, err := rules.DecodeCursor(prefix, rules.EncodeCursor(prefix, last))
		require.NoError(t, err)
		require.Equal(t, last, after)

		other := prefix + "z"
		_, err = rules.DecodeCursor(other, rules.EncodeCursor(prefix, last))
		require.ErrorIs(t, err, metastore.ErrInvalid)
	})
}

func TestCursorRefusals(t *testing.T) {
	good := rules.EncodeCursor("a/", "a/b")
	raw, err := base64.RawURLEncoding.DecodeString(good)
	require.NoError(t, err)
	future := append([]byte{2}, raw[1:]...)
	for name, cursor := range map[string]string{
		"not base64":     "!!",
		"padding":        good + "=",
		"too short":      good[:8],
		"future version": base64.RawURLEncoding.EncodeToString(future),
		"foreign key":    rules.EncodeCursor("a/", "b/b"),
		"bad key":        rules.EncodeCursor("a/", "a//b"),
	} {
		_, err := rules.DecodeCursor("a/", cursor)
		require.ErrorIs(t, err, metastore.ErrInvalid, name)
	}
	after, err := rules.DecodeCursor("a/", "")
	require.NoError(t, err)
	require.Empty(t, after)
}

func FuzzDecodeCursor(f *testing.F) {
	f.Add("a/", rules.EncodeCursor("a/", "a/b"))
	f.Add("", rules.EncodeCursor("", "x"))
	f.Fuzz(func(t *testing.T, prefix, cursor string) {
		after, err := rules.DecodeCursor(prefix, cursor)
		if err != nil {
			require.ErrorIs(t, err, metastore.ErrInvalid)
			return
		}
		require.True(t, strings.HasPrefix(after, prefix) || cursor == "")
		if cursor != "" {
			require.Equal(t, cursor, rules.EncodeCursor(prefix, after))
		}
	})
}

func TestPrefixEnd(t *testing.T) {
	for prefix, want := range map[string]string{"a/": "a0", "a": "b", "a\xff": "b", "\U0010ffff": "\xf4\x8f\xbf\xc0"} {
		end, ok := rules.PrefixEnd(prefix)
		require.True(t, ok)
		require.Equal(t, want, end)
	}
	for _, prefix := range []string{"", "\xff\xff"} {
		_, ok := rules.PrefixEnd(prefix)
		require.False(t, ok)
	}
}

func TestDigest(t *testing.T) {
	a, b := metastore.Create("a", []byte("1")), metastore.Guard("b", nil)
	base := rules.Digest(metastore.Txn{Ops: []metastore.Op{a, b}})
	require.Equal(t, base, rules.Digest(metastore.Txn{Ops: []metastore.Op{b, a}, Token: "t"}), "order and token do not matter")

	for name, ops := range map[string][]metastore.Op{
		"fewer":             {a},
		"other value":       {metastore.Create("a", []byte("2")), b},
		"absent, not empty": {a, metastore.GuardAbsent("b")},
		"delete, not keep":  {a, metastore.Remove("b", nil)},
		"shifted bytes":     {metastore.Create("a1", nil), b},
	} {
		require.NotEqual(t, base, rules.Digest(metastore.Txn{Ops: ops}), name)
	}
}

// TestDigestsAreStored pins the encoding: stores keep digests across releases.
func TestDigestsAreStored(t *testing.T) {
	txn := metastore.Txn{Ops: []metastore.Op{
		metastore.Create("b/1", []byte("one")), metastore.Update("a", []byte{}, bytes.Repeat([]byte{7}, 5000)),
		metastore.Remove("c", []byte("x")), metastore.GuardAbsent("d"), metastore.Guard("e", nil),
	}}
	require.Equal(t, "02db2839a1cabd216c2b082d11cf098e74146bcda01f633e19fabe8abeb417c9", fmt.Sprintf("%x", rules.Digest(txn)))
}

func TestAlive(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	require.NoError(t, rules.Alive(ctx))
	cancel()
	err := rules.Alive(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, metastore.ErrRetryable)
}
