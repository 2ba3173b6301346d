// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metastoretest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/metastore"
)

var commitCases = []namedCase{
	{"create/absent key", func(_ *testing.T, s *fixture) {
		s.absent("a/b")
		s.put("a/b", "1")
		s.holds("a/b", "1")
	}},
	{"create/existing key conflicts", func(_ *testing.T, s *fixture) {
		s.put("a", "1")
		s.conflicts([]string{"a"}, metastore.Create("a", []byte("2")))
		s.conflicts([]string{"a"}, metastore.Create("a", []byte("1")))
		s.holds("a", "1")
	}},
	{"update/exact value", func(_ *testing.T, s *fixture) {
		s.put("a", "1")
		s.commit(metastore.Update("a", []byte("1"), []byte("2")))
		s.holds("a", "2")
	}},
	{"update/other value conflicts", func(_ *testing.T, s *fixture) {
		s.put("a", "1")
		for _, old := range []string{"0", "", "1 ", "11", "\x00"} {
			s.conflicts([]string{"a"}, metastore.Update("a", []byte(old), []byte("2")))
		}
		s.holds("a", "1")
	}},
	{"update/missing key conflicts", func(_ *testing.T, s *fixture) {
		s.conflicts([]string{"a"}, metastore.Update("a", []byte("1"), []byte("2")))
		s.conflicts([]string{"a"}, metastore.Update("a", nil, []byte("2")))
		s.absent("a")
	}},
	{"update/to the same value", func(_ *testing.T, s *fixture) {
		s.put("a", "1")
		s.commit(metastore.Update("a", []byte("1"), []byte("1")))
		s.holds("a", "1")
	}},
	{"delete/exact value", func(_ *testing.T, s *fixture) {
		s.put("a", "1")
		s.commit(metastore.Remove("a", []byte("1")))
		s.absent("a")
		s.put("a", "2") // a deleted key can be created again
		s.holds("a", "2")
	}},
	{"delete/other value conflicts", func(_ *testing.T, s *fixture) {
		s.put("a", "1")
		s.conflicts([]string{"a"}, metastore.Remove("a", []byte("2")))
		s.conflicts([]string{"b"}, metastore.Remove("b", []byte("2")))
		s.holds("a", "1")
	}},
	{"guard/holds and leaves the record", func(_ *testing.T, s *fixture) {
		s.put("g", "lease")
		s.commit(metastore.Guard("g", []byte("lease")), metastore.Create("a", []byte("1")))
		s.commit(metastore.GuardAbsent("none"), metastore.Update("a", []byte("1"), []byte("2")))
		s.holds("g", "lease")
		s.holds("a", "2")
		s.absent("none")
	}},
	{"guard/broken guard stops the transaction", func(_ *testing.T, s *fixture) {
		s.put("g", "lease-2", "a", "1")
		s.conflicts([]string{"g"}, metastore.Guard("g", []byte("lease-1")), metastore.Create("b", []byte("1")))
		s.conflicts([]string{"g"}, metastore.Remove("a", []byte("1")), metastore.GuardAbsent("g"))
		s.conflicts([]string{"h"}, metastore.Guard("h", nil), metastore.Remove("a", []byte("1")))
		s.holds("a", "1")
		s.absent("b")
	}},
	{"guard/only guards", func(_ *testing.T, s *fixture) {
		s.put("g", "1")
		s.commit(metastore.Guard("g", []byte("1")), metastore.GuardAbsent("h"))
		s.conflicts([]string{"g"}, metastore.Guard("g", []byte("2")), metastore.GuardAbsent("h"))
		s.conflicts([]string{"g"}, metastore.GuardAbsent("g"))
	}},
	{"atomic/all effects of a transaction", func(_ *testing.T, s *fixture) {
		s.put("upd", "1", "del", "1", "keep", "1")
		s.commit(
			metastore.Create("new", []byte("2")),
			metastore.Update("upd", []byte("1"), []byte("2")),
			metastore.Remove("del", []byte("1")),
			metastore.Guard("keep", []byte("1")),
		)
		require.Equal(s.t, map[string]string{"new": "2", "upd": "2", "keep": "1"}, s.all("", 100))
	}},
	{"atomic/one failed expectation changes nothing", failedExpectations},
	{"atomic/32 operations", func(_ *testing.T, s *fixture) {
		var create, update []metastore.Op
		for i := range metastore.MaxOps {
			key := fmt.Sprintf("k%02d", i)
			create = append(create, metastore.Create(key, []byte("1")))
			update = append(update, metastore.Update(key, []byte("1"), []byte("2")))
		}
		s.commit(create...)
		s.commit(update...)
		s.conflicts([]string{"k00"}, metastore.Update("k00", []byte("1"), []byte("3")))
		require.Len(s.t, s.all("k", 7), metastore.MaxOps)
	}},
	{"conflict/names one of several failing keys", func(_ *testing.T, s *fixture) {
		s.put("a", "1", "b", "1", "c", "1")
		s.conflicts([]string{"a", "c"},
			metastore.Create("a", []byte("x")),
			metastore.Guard("b", []byte("1")),
			metastore.Remove("c", []byte("0")))
	}},
	{"values/binary exact", func(t *testing.T, s *fixture) {
		every := make([]byte, 256)
		for i := range every {
			every[i] = byte(i)
		}
		for name, value := range map[string]string{
			"nul": "\x00", "two nuls": "\x00\x00", "every byte": string(every), "not utf8": "\xff\xfe\x80",
			"spaces": "  a  ", "newline": "a\r\n", "quotes": `'"\`, "json": `{"a":1}`,
		} {
			s.put(name, value)
			s.holds(name, value)
			s.conflicts([]string{name}, metastore.Update(name, []byte(value+"\x00"), []byte("x")))
			s.commit(metastore.Update(name, []byte(value), []byte(value+value)))
			s.holds(name, value+value)
		}
	}},
	{"values/empty is not absent", func(t *testing.T, s *fixture) {
		s.put("a", "")
		s.holds("a", "")
		s.conflicts([]string{"a"}, metastore.GuardAbsent("a"))
		s.conflicts([]string{"b"}, metastore.Guard("b", nil))
		s.commit(metastore.Guard("a", []byte{}), metastore.Create("c", nil))
		s.holds("c", "")
		require.Equal(t, map[string]string{"a": "", "c": ""}, s.all("", 10))
		s.commit(metastore.Remove("a", nil), metastore.Update("c", nil, []byte("x")))
		s.absent("a")
		s.holds("c", "x")
	}},
	{"values/belong to whom they are given", func(t *testing.T, s *fixture) {
		value := []byte("abc")
		op := metastore.Create("a", value)
		s.commit(op)
		value[0] = 'X'
		s.holds("a", "abc")
		rec, err := s.Get(t.Context(), "a")
		require.NoError(t, err)
		rec.Value[0] = 'Y'
		page, err := s.Scan(t.Context(), "", "", 1)
		require.NoError(t, err)
		page.Records[0].Value[1] = 'Y'
		s.holds("a", "abc")
	}},
}

// failedExpectations breaks each operation of a mixed transaction in turn.
func failedExpectations(t *testing.T, s *fixture) {
	s.put("upd", "1", "del", "1", "keep", "1")
	before := s.all("", 100)
	good := []metastore.Op{
		metastore.Create("new", []byte("2")),
		metastore.Update("upd", []byte("1"), []byte("2")),
		metastore.Remove("del", []byte("1")),
		metastore.Guard("keep", []byte("1")),
		metastore.GuardAbsent("none"),
	}
	for i, op := range good {
		bad := append([]metastore.Op{}, good...)
		bad[i].Expect = []byte("other")
		if op.Effect == metastore.Put && op.Expect == nil {
			bad[i] = metastore.Update(op.Key, []byte("other"), op.Value)
		}
		s.conflicts([]string{op.Key}, bad...)
		require.Equal(t, before, s.all("", 100), "after breaking operation %d", i)
	}
	s.commit(good...)
}
