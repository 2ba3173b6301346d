// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metastoretest

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/metastore"
)

var segment255 = strings.Repeat("s", metastore.MaxSegmentBytes)

var limitCases = []namedCase{
	{"limit/longest key", func(t *testing.T, s *fixture) {
		longest := strings.Repeat("abcdefg/", metastore.MaxKeyBytes/8-1) + "abcdefgh"
		require.Len(t, longest, metastore.MaxKeyBytes)
		s.put(longest, "1", segment255, "2")
		s.holds(longest, "1")
		require.Len(t, s.all(longest, 1), 1)
		require.Len(t, s.all(longest[:metastore.MaxKeyBytes-10], 1), 1)
	}},
	{"limit/bad keys are refused everywhere", func(t *testing.T, s *fixture) {
		for name, key := range map[string]string{
			"empty": "", "leading slash": "/a", "trailing slash": "a/", "double slash": "a//b", "dot": "a/./b", "dots": "..",
			"not utf8": "a\xff", "long": strings.Repeat("x/", 512) + "x", "long segment": segment255 + "s",
		} {
			for call, err := range map[string]error{
				"get":    getErr(t.Context(), s, key),
				"create": s.Commit(t.Context(), txn(metastore.Create(key, nil))),
				"guard":  s.Commit(t.Context(), txn(metastore.Create("ok", nil), metastore.GuardAbsent(key))),
			} {
				refused(t, err, name+" "+call)
			}
		}
		s.absent("ok")
	}},
	{"limit/largest value", func(t *testing.T, s *fixture) {
		big := bytes.Repeat([]byte{0, 1, 0xfe, 0xff}, metastore.MaxValueBytes/4)
		s.put("a", string(big))
		s.holds("a", string(big))
		s.commit(metastore.Update("a", big, []byte("small")))
		err := s.Commit(t.Context(), txn(metastore.Create("b", append(big, 0))))
		require.ErrorIs(t, err, metastore.ErrTooLarge)
		s.absent("b")
	}},
	{"limit/transaction size", func(t *testing.T, s *fixture) {
		var ops []metastore.Op
		for i := range 8 {
			ops = append(ops, metastore.Create(fmt.Sprint("k", i), make([]byte, metastore.MaxValueBytes)))
		}
		s.commit(ops...) // 2.7 MiB
		ops = append(ops, metastore.Create("k8", make([]byte, metastore.MaxValueBytes)))
		require.ErrorIs(t, s.Commit(t.Context(), txn(ops...)), metastore.ErrTooLarge)
		s.absent("k8")
	}},
	{"limit/malformed transactions", func(t *testing.T, s *fixture) {
		ok := metastore.Create("ok", nil)
		var many []metastore.Op
		for i := range metastore.MaxOps + 1 {
			many = append(many, metastore.Create(fmt.Sprint("k", i), nil))
		}
		for name, bad := range map[string]metastore.Txn{
			"no operations":    {},
			"33 operations":    txn(many...),
			"same key twice":   txn(ok, metastore.GuardAbsent("ok")),
			"put of nothing":   txn(ok, metastore.Op{Key: "a", Effect: metastore.Put}),
			"keep with value":  txn(ok, metastore.Op{Key: "a", Value: []byte("x")}),
			"delete of absent": txn(ok, metastore.Op{Key: "a", Effect: metastore.Delete}),
			"unknown effect":   txn(ok, metastore.Op{Key: "a", Effect: 9}),
			"long token":       {Ops: []metastore.Op{ok}, Token: strings.Repeat("t", metastore.MaxTokenBytes+1)},
		} {
			refused(t, s.Commit(t.Context(), bad), name)
		}
		require.Empty(t, s.all("", 10))
	}},
	{"limit/malformed scans", func(t *testing.T, s *fixture) {
		for _, limit := range []int{-1, 0, metastore.MaxPage + 1} {
			_, err := s.Scan(t.Context(), "a/", "", limit)
			require.ErrorIs(t, err, metastore.ErrInvalid, "limit %d", limit)
		}
		for _, prefix := range []string{"/", "a//", "a/../", "\xff", strings.Repeat("x", metastore.MaxKeyBytes+1)} {
			_, err := s.Scan(t.Context(), prefix, "", 1)
			refused(t, err, fmt.Sprintf("prefix %.20q", prefix))
		}
	}},
}

func getErr(ctx context.Context, s metastore.Store, key string) error {
	_, err := s.Get(ctx, key)
	return err
}

func refused(t *testing.T, err error, what string) {
	t.Helper()
	if err == nil {
		t.Fatalf("%s: accepted", what)
	}
	for _, kind := range []error{metastore.ErrInvalid, metastore.ErrTooLarge} {
		if isErr(err, kind) {
			return
		}
	}
	t.Fatalf("%s: want ErrInvalid or ErrTooLarge: %v", what, err)
}

var keyCases = []namedCase{
	{"keys/reserved words and odd characters", func(t *testing.T, s *fixture) {
		keys := []string{
			"bucket", "val", "pk", "key", "value", "token", "select", "table/drop", "null", "true", "__lake_internal/x", "root", "root#00",
			"ttl", "status", "name", "data", "d", "t", "mlayout", "mtokens", "'; drop table records; --", `"quoted"`, `back\slash`, "$1", ":b", "#n", "%s", "{}", "a b", " a", "a ",
			"tab\tkey", "new\nline", "\x01", "é", "e\u0301", "日本", "🙂", "...", ".a", "a.", "-", "0", "00", "1e3", "0x0",
		}
		s.fill(keys)
		for _, key := range keys {
			s.holds(key, key)
		}
		require.Len(t, s.all("", 9), len(keys))
	}},
	{"keys/differing only in case, accents or length", func(t *testing.T, s *fixture) {
		keys := []string{"key", "Key", "KEY", "kéy", "ke\u0301y", "key/k", "key0", "ke"}
		s.fill(keys)
		for _, key := range keys {
			s.holds(key, key)
		}
	}},
	{"keys/nul", func(t *testing.T, s *fixture) {
		s.put("a\x00b", "1", "a", "2")
		s.holds("a\x00b", "1")
		require.Equal(t, []string{"a", "a\x00b"}, keysOf(s.all("a", 1)))
		require.Equal(t, []string{"a\x00b"}, keysOf(s.all("a\x00", 1)))
	}},
}

var lifeCases = []namedCase{
	{"context/an ended one does nothing", func(t *testing.T, s *fixture) {
		s.put("a", "1")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, getErr(ctx, s, "a"), context.Canceled)
		_, err := s.Scan(ctx, "", "", 1)
		require.ErrorIs(t, err, context.Canceled)
		err = s.Commit(ctx, txn(metastore.Create("b", nil)))
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, metastore.ErrRetryable)
		s.absent("b")
	}},
	{"context/cancelled under load leaves a known state", cancelledUnderLoad},
	{"close/calls afterwards fail", func(t *testing.T, s *fixture) {
		s.put("a", "1")
		require.NoError(t, s.Close())
		require.ErrorIs(t, getErr(t.Context(), s, "a"), metastore.ErrClosed)
		_, err := s.Scan(t.Context(), "", "", 1)
		require.ErrorIs(t, err, metastore.ErrClosed)
		require.ErrorIs(t, s.Commit(t.Context(), txn(metastore.Create("b", nil))), metastore.ErrClosed)
		require.NoError(t, s.Close(), "a second close does nothing")
	}},
	{"stores/do not share records", func(t *testing.T, s *fixture) {
		s.put("a", "1")
		other := &fixture{Store: s.open(t), t: t}
		other.absent("a")
	}},
}

// cancelledUnderLoad cancels commits at random moments. Each ends applied,
// certainly not applied, or unknown; never "not applied" and there.
func cancelledUnderLoad(t *testing.T, s *fixture) {
	for i := range 60 {
		key := fmt.Sprint("k", i)
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i*20)*time.Microsecond)
		err := s.Commit(ctx, txn(metastore.Create(key, nil)))
		cancel()
		switch {
		case err == nil:
			s.holds(key, "")
		case isErr(err, metastore.ErrRetryable):
			s.absent(key)
		default:
			require.ErrorIs(t, err, metastore.ErrUnknownOutcome)
		}
	}
}
