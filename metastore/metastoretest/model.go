// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metastoretest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lakeplane/lake/metastore"
)

// RunModel drives a store with random calls and compares every answer with a
// plain map. Failures are shrunk to a short sequence of calls.
func RunModel(t *testing.T, open Factory) {
	s := open(t)
	runs := 0
	rapid.Check(t, func(rt *rapid.T) {
		runs++
		m := &model{store: s, ctx: t.Context(), root: fmt.Sprintf("m%d/", runs), records: map[string]string{}, used: map[string][]metastore.Op{}}
		rt.Repeat(map[string]func(*rapid.T){"commit": m.commit, "retry": m.retry, "get": m.get, "scan": m.scan})
	})
}

// model is what the store must hold under root.
type model struct {
	store   metastore.Store
	ctx     context.Context
	root    string
	records map[string]string
	tokens  []string
	used    map[string][]metastore.Op // by token
}

// modelKeys are few, and neighbours in every order that could be confused.
var modelKeys = []string{"a", "a/b", "a/b/c", "a-", "a0", "a2/b", "A", "b", "%", "é", "\x01"}

func (m *model) key(t *rapid.T) string {
	return m.root + rapid.SampledFrom(modelKeys).Draw(t, "key")
}

var modelValues = rapid.SampledFrom([]string{"", "1", "2", "\x00", "\x00\x00", "long " + strings.Repeat("v", 3000)})

// op draws an operation that mostly expects what is there.
func (m *model) op(t *rapid.T, key string) metastore.Op {
	expect, there := m.records[key]
	if rapid.IntRange(0, 9).Draw(t, "miss") == 0 {
		expect, there = modelValues.Draw(t, "expect"), rapid.Bool().Draw(t, "there")
	}
	op := metastore.Op{Key: key}
	if there {
		op.Expect = []byte(expect)
	}
	switch rapid.IntRange(0, 3).Draw(t, "effect") {
	case 0:
	case 1:
		if there {
			op.Effect = metastore.Delete
		}
	default:
		op.Effect, op.Value = metastore.Put, []byte(modelValues.Draw(t, "value"))
	}
	return op
}

func (m *model) commit(t *rapid.T) {
	var ops []metastore.Op
	for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom(modelKeys), 1, 5, rapid.ID[string]).Draw(t, "keys") {
		ops = append(ops, m.op(t, m.root+key))
	}
	token := ""
	if rapid.Bool().Draw(t, "token") {
		token = fmt.Sprint(m.root, len(m.tokens))
		m.tokens = append(m.tokens, token)
	}
	failing := m.failing(ops)
	err := m.store.Commit(m.ctx, metastore.Txn{Ops: ops, Token: token})
	if len(failing) > 0 {
		m.mustConflict(t, err, failing)
		return
	}
	if err != nil {
		t.Fatalf("commit: %v", err)
	}
	m.used[token] = ops
	for _, op := range ops {
		switch op.Effect {
		case metastore.Put:
			m.records[op.Key] = string(op.Value)
		case metastore.Delete:
			delete(m.records, op.Key)
		}
	}
}

// failing returns the keys whose expectation does not hold.
func (m *model) failing(ops []metastore.Op) (keys []string) {
	for _, op := range ops {
		value, there := m.records[op.Key]
		if there != (op.Expect != nil) || value != string(op.Expect) {
			keys = append(keys, op.Key)
		}
	}
	return keys
}

func (m *model) mustConflict(t *rapid.T, err error, failing []string) {
	var conflict *metastore.ConflictError
	if !errors.As(err, &conflict) || !slices.Contains(failing, conflict.Key) {
		t.Fatalf("want a conflict on one of %q: %v", failing, err)
	}
	value, there := m.records[conflict.Key]
	if conflict.Known && (there != (conflict.Current != nil) || value != string(conflict.Current)) {
		t.Fatalf("conflict on %q tells %q, there %v: want %q", conflict.Key, conflict.Current, there, value)
	}
}

// retry repeats a transaction that applied, or uses its token for another one.
func (m *model) retry(t *rapid.T) {
	if len(m.tokens) == 0 {
		t.Skip()
	}
	token := rapid.SampledFrom(m.tokens).Draw(t, "token")
	ops, applied := m.used[token]
	if !applied {
		t.Skip()
	}
	if err := m.store.Commit(m.ctx, metastore.Txn{Ops: ops, Token: token}); err != nil {
		t.Fatalf("retry: %v", err)
	}
	other := []metastore.Op{metastore.GuardAbsent(m.root + "never")}
	if err := m.store.Commit(m.ctx, metastore.Txn{Ops: other, Token: token}); !errors.Is(err, metastore.ErrInvalid) {
		t.Fatalf("reuse of a token: %v", err)
	}
}

func (m *model) get(t *rapid.T) {
	key := m.key(t)
	want, there := m.records[key]
	rec, err := m.store.Get(m.ctx, key)
	switch {
	case !there && !errors.Is(err, metastore.ErrNotFound):
		t.Fatalf("get of a missing key: %v", err)
	case there && (err != nil || string(rec.Value) != want || rec.Key != key):
		t.Fatalf("get %q: %q, %v: want %q", key, rec.Value, err, want)
	}
}

func (m *model) scan(t *rapid.T) {
	prefix := m.root + rapid.SampledFrom([]string{"", "a", "a/", "a/b", "a2", "b", "%", "x"}).Draw(t, "prefix")
	limit := rapid.IntRange(1, 4).Draw(t, "limit")
	found, err := scanAll(m.ctx, m.store, prefix, limit)
	if err != nil {
		t.Fatalf("scan: %v", err)
	}
	want := map[string]string{}
	for key, value := range m.records {
		if strings.HasPrefix(key, prefix) {
			want[key] = value
		}
	}
	if !maps.Equal(want, found) {
		t.Fatalf("scan of %q by %d: %q, want %q", prefix, limit, found, want)
	}
}
