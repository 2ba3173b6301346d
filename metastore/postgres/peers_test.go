// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package postgres

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/metastore"
)

func TestOtherProcessesWakeWatchers(t *testing.T) {
	opts := options(t)
	opts.ListenDSN = opts.DSN
	watching, writing := openWith(t, opts), openWith(t, opts)
	signals, err := watching.Watch(t.Context(), "procedure/")
	require.NoError(t, err)
	settled(t, watching, writing)
	drain(signals)

	commit := func(key string) {
		require.NoError(t, writing.Commit(t.Context(), metastore.Txn{Ops: []metastore.Op{metastore.Create(key, nil)}}))
	}
	commit("procedure/1")
	waitFor(t, signals)

	exec(t, `select pg_terminate_backend(pid) from pg_stat_activity where query like 'LISTEN%'`)
	waitFor(t, signals) // what was missed is unknown, so it is woken
	settled(t, watching, writing)
	drain(signals)
	commit("procedure/2")
	waitFor(t, signals)
}

// settled waits until the stores listen: a message of either reaches the other.
func settled(t *testing.T, stores ...*Store) {
	t.Helper()
	for i, s := range stores {
		other := stores[(i+1)%len(stores)]
		ctx, cancel := context.WithCancel(t.Context())
		probe, err := s.Watch(ctx, "probe/")
		require.NoError(t, err)
		n := 0
		require.Eventually(t, func() bool {
			drain(probe)
			n++
			key := fmt.Sprintf("probe/%d/%d/%d", i, n, time.Now().UnixNano())
			require.NoError(t, other.Commit(t.Context(), metastore.Txn{Ops: []metastore.Op{metastore.Create(key, nil)}}))
			select {
			case <-probe:
				return true
			case <-time.After(300 * time.Millisecond):
				return false
			}
		}, 30*time.Second, 10*time.Millisecond)
		cancel()
	}
}

func drain(signals <-chan struct{}) {
	select {
	case <-signals:
	default:
	}
}

func waitFor(t *testing.T, signals <-chan struct{}) {
	t.Helper()
	select {
	case <-signals:
	case <-time.After(30 * time.Second):
		t.Fatal("no signal")
	}
}

func TestMessages(t *testing.T) {
	needServer(t)
	s := openWith(t, options(t))
	sender, receiver := newPeers(s), newPeers(s)
	woken := func(message string, prefixes ...string) (found []string) {
		for _, prefix := range prefixes {
			ctx, cancel := context.WithCancel(t.Context())
			signals, err := s.Watch(ctx, prefix)
			require.NoError(t, err)
			require.NoError(t, receiver.receive(message))
			select {
			case <-signals:
				found = append(found, prefix)
			default:
			}
			cancel()
		}
		return found
	}
	prefixes := []string{"", "a", "a/", "a/b/", "ab/", "b", "odd\nkey/"}

	sender.changed([]metastore.Op{metastore.Create("a/b/c", nil), metastore.Create("odd\nkey/x", nil), metastore.GuardAbsent("b/x")})
	message := sender.message()
	require.Equal(t, []string{"", "a", "a/", "a/b/", "odd\nkey/"}, woken(message, prefixes...))
	require.Empty(t, woken(receiver.self+"\n"+strings.SplitN(message, "\n", 2)[1], prefixes...), "its own")

	for i := range 1000 {
		sender.changed([]metastore.Op{metastore.Create(fmt.Sprint("family-", i), nil)})
	}
	message = sender.message()
	require.Less(t, len(message), maxMessage)
	require.Equal(t, prefixes, woken(message, prefixes...), "too many to name stand for all")
	require.Error(t, receiver.receive("x\nnot hex"))
}
