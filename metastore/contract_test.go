// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metastore_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

func TestCheckKey(t *testing.T) {
	segment := strings.Repeat("s", metastore.MaxSegmentBytes)
	for key, want := range map[string]error{
		"a": nil, "a/b": nil, "...": nil, ".a": nil, "é/日本": nil, "a b": nil, "a\x00b": nil, segment + "/x": nil,
		"": metastore.ErrInvalid, "/": metastore.ErrInvalid, "/a": metastore.ErrInvalid, "a/": metastore.ErrInvalid, "a//b": metastore.ErrInvalid,
		".": metastore.ErrInvalid, "a/..": metastore.ErrInvalid, "\xff": metastore.ErrInvalid, "a\xc3": metastore.ErrInvalid,
		segment + "s":                           metastore.ErrTooLarge,
		strings.Repeat("abcdefg/", 128) + "abc": metastore.ErrTooLarge,
	} {
		err := metastore.CheckKey(key)
		require.ErrorIs(t, err, want, "%.40q", key)
		if want != nil {
			require.True(t, lake.Is(err, lake.Invalid))
		}
	}
}

func TestCheckScan(t *testing.T) {
	longest := strings.Repeat("abcdefg/", 127) + "abcdefgh"
	for _, prefix := range []string{"", "a", "a/", "a/b", "a/.", longest, longest[:1020]} {
		require.NoError(t, metastore.CheckScan(prefix, 1), "%.40q", prefix)
	}
	for _, prefix := range []string{"/", "a//", "a/../", "\xff", longest + "x"} {
		require.Error(t, metastore.CheckScan(prefix, 1), "%.40q", prefix)
	}
	for limit, ok := range map[int]bool{-1: false, 0: false, 1: true, metastore.MaxPage: true, metastore.MaxPage + 1: false} {
		require.Equal(t, ok, metastore.CheckScan("a/", limit) == nil, limit)
	}
}

// A prefix that a scan accepts begins some valid key, and the other way round.
func FuzzCheckScan(f *testing.F) {
	for _, prefix := range []string{"a/", "a", ".", "..", "a/..", "é"} {
		f.Add(prefix)
	}
	f.Fuzz(func(t *testing.T, prefix string) {
		begins := false
		for _, rest := range []string{"", "x", "/x"} {
			begins = begins || metastore.CheckKey(prefix+rest) == nil
		}
		if got := metastore.CheckScan(prefix, 1) == nil; prefix != "" && utf8.ValidString(prefix) && got != begins {
			t.Fatalf("prefix %q: accepted %v, begins a key %v", prefix, got, begins)
		}
	})
}

func TestOps(t *testing.T) {
	for _, c := range []struct {
		op                          metastore.Op
		absent, empty, same, longer bool
	}{
		{metastore.Create("k", nil), true, false, false, false},
		{metastore.GuardAbsent("k"), true, false, false, false},
		{metastore.Update("k", nil, nil), false, true, false, false},
		{metastore.Guard("k", []byte("v")), false, false, true, false},
		{metastore.Remove("k", []byte("v")), false, false, true, false},
	} {
		require.Equal(t, c.absent, c.op.Holds(nil))
		require.Equal(t, c.empty, c.op.Holds([]byte{}))
		require.Equal(t, c.same, c.op.Holds([]byte("v")))
		require.Equal(t, c.longer, c.op.Holds([]byte("v\x00")))
		require.NoError(t, metastore.CheckTxn(metastore.Txn{Ops: []metastore.Op{c.op}}))
	}
	require.NotNil(t, metastore.Create("k", nil).Value)
	require.NotNil(t, metastore.Remove("k", nil).Expect)
}

func TestConflictError(t *testing.T) {
	err := fmt.Errorf("advance table: %w", &metastore.ConflictError{Key: "tbl/a/b", Known: true, Current: []byte("x")})
	require.True(t, lake.Is(err, lake.Conflict))
	require.ErrorContains(t, err, `"tbl/a/b"`)
	require.NotContains(t, err.Error(), "x\"", "values stay out of messages")
}

func TestErrorKinds(t *testing.T) {
	for err, kind := range map[error]lake.Kind{
		metastore.ErrNotFound: lake.NotFound, metastore.ErrInvalid: lake.Invalid, metastore.ErrTooLarge: lake.Invalid,
		metastore.ErrRetryable: lake.Unavailable, metastore.ErrUnknownOutcome: lake.Undetermined, metastore.ErrClosed: lake.Unavailable,
	} {
		require.Equal(t, kind, lake.KindOf(fmt.Errorf("wrapped: %w", err)))
		for other := range map[error]bool{metastore.ErrNotFound: true, metastore.ErrRetryable: true, metastore.ErrUnknownOutcome: true} {
			require.Equal(t, err == other, errors.Is(err, other)) //nolint:errorlint // identity is what errors.Is is compared with
		}
	}
}
