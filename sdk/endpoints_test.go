// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk_test

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
	"github.com/lakeplane/lake/sdk/sdktest"
)

// twoFronts is a client of two replicas with the table episodes.
func twoFronts(t *testing.T, opts ...sdk.Option) (s *sdktest.Server, a, b *sdktest.Front, c *sdk.Client) {
	t.Helper()
	s = sdktest.New(t)
	a, b = s.NewFront(t), s.NewFront(t)
	c, err := sdk.Connect(t.Context(), a.Addr()+", "+b.Addr(), opts...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	_, err = c.CreateTable(t.Context(), episodes, schema)
	require.NoError(t, err)
	return s, a, b, c
}

// takes waits until calls reach a front; every one has to succeed on the way.
func takes(t *testing.T, c *sdk.Client, f *sdktest.Front) {
	t.Helper()
	require.Eventually(t, func() bool {
		before := f.Calls()
		_, err := c.Table(t.Context(), episodes)
		require.NoError(t, err)
		return f.Calls() > before
	}, 10*time.Second, 5*time.Millisecond)
}

func TestCallsGoToTheFirstEndpointThatServes(t *testing.T) {
	_, a, b, c := twoFronts(t)
	takes(t, c, a) // also when the second was quicker to connect
	quiet := b.Calls()
	for range 20 {
		_, err := c.Table(t.Context(), episodes)
		require.NoError(t, err)
	}
	require.Equal(t, quiet, b.Calls(), "one program stays with one replica")

	a.Stop()
	takes(t, c, b)
	require.NoError(t, a.Start())
	takes(t, c, a)
	a.SetServing(false) // alive, and knows that it cannot serve
	takes(t, c, b)
	a.SetServing(true)
	takes(t, c, a)
	b.Stop()
	takes(t, c, a)
}

func TestNoCallerSeesTheDeadEndpoint(t *testing.T) {
	s, a, b, c := twoFronts(t)
	s.Answer("SELECT 1", schema, nil, rows(1, "a"))
	ctx, cancel := context.WithCancel(t.Context())
	var calls, appended atomic.Int64
	var wg sync.WaitGroup
	loop := func(call func() error) {
		wg.Go(func() {
			for ctx.Err() == nil {
				if err := call(); err != nil {
					t.Error(err)
					return
				}
				calls.Add(1)
			}
		})
	}
	for range 2 {
		loop(func() error { return second(c.Table(t.Context(), episodes)) })
		loop(func() error {
			r, err := c.Query(t.Context(), "SELECT 1")
			if err != nil {
				return err
			}
			defer r.Release()
			begun := false
			for r.Next() {
				begun = true
			}
			if begun && lake.Is(r.Err(), lake.Unavailable) {
				return nil // as Next says; the next round runs it again
			}
			return r.Err()
		})
		loop(func() error {
			_, err := c.Append(t.Context(), episodes, rows(3, "a"))
			appended.Add(3)
			return err
		})
	}
	for range 3 {
		for _, f := range []*sdktest.Front{a, b} {
			busy(t, &calls)
			f.Stop()
			busy(t, &calls)
			require.NoError(t, f.Start())
			takes(t, c, a) // only then may the other one go
			waitReady(t, f)
		}
	}
	cancel()
	wg.Wait()
	require.Equal(t, appended.Load(), s.Rows(episodes), "every append once")
}

// busy waits until some more calls succeeded.
func busy(t *testing.T, calls *atomic.Int64) {
	t.Helper()
	more := calls.Load() + 30
	require.Eventually(t, func() bool { return calls.Load() > more }, 20*time.Second, time.Millisecond)
}

// waitReady waits until a front that was started takes connections of a client
// of its own, and a moment for those of other clients.
func waitReady(t *testing.T, f *sdktest.Front) {
	t.Helper()
	c, err := sdk.Connect(t.Context(), f.Addr())
	require.NoError(t, err)
	require.NoError(t, c.Close())
	time.Sleep(300 * time.Millisecond) // above the first waits between attempts to connect
}

func TestAppendIsRepeatedOnAnotherEndpoint(t *testing.T) {
	s, a, b, c := twoFronts(t)
	takes(t, c, a)
	s.Plan(sdktest.Silence)
	var wg sync.WaitGroup
	var got sdk.AppendResult
	var err error
	wg.Go(func() { got, err = c.Append(t.Context(), episodes, rows(2, "a")) })
	require.Eventually(t, func() bool { return s.Rows(episodes) == 2 }, 10*time.Second, time.Millisecond)
	a.Stop()
	wg.Wait()
	require.NoError(t, err)
	require.True(t, got.Replayed)
	require.Len(t, s.Attempts(), 2)
	require.Positive(t, b.Calls())
	require.Equal(t, int64(2), s.Rows(episodes))
}

func TestWithMetasrvTakesAList(t *testing.T) {
	s := sdktest.New(t)
	a, b := s.NewFront(t), s.NewFront(t)
	_, c := connect(t, sdk.WithMetasrv(a.Addr()+","+b.Addr()))
	_, err := c.CreateTable(t.Context(), episodes, schema)
	require.NoError(t, err)
	takes(t, c, a)
	a.Stop()
	takes(t, c, b)
}

func TestOneOfSeveralEndpointsIsEnoughToConnect(t *testing.T) {
	s := sdktest.New(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	dead := l.Addr().String()
	require.NoError(t, l.Close())
	c, err := sdk.Connect(t.Context(), dead+","+s.Addr())
	require.NoError(t, err)
	require.NoError(t, c.Close())
	_, err = sdk.Connect(t.Context(), dead+",127.0.0.1:1")
	require.True(t, lake.Is(err, lake.Unavailable), "%v", err)
	require.ErrorContains(t, err, "connect to "+dead+",127.0.0.1:1")
	require.ErrorContains(t, err, "connection refused")
}

func TestListsOfEndpointsAreChecked(t *testing.T) {
	for list, want := range map[string]string{
		"127.0.0.1:1,":              `address "": want host:port`,
		"127.0.0.1:1,,127.0.0.1:2":  `address "": want host:port`,
		"127.0.0.1:1,lake":          `address "lake": want host:port`,
		"127.0.0.1:1, 127.0.0.1:1":  "given twice",
		"127.0.0.1:1,192.0.2.1:443": "one is reached in plaintext because it is loopback, the other by TLS",
		strings.Repeat("x:1,", 40):  "41 addresses: at most 32",
	} {
		_, err := sdk.Connect(t.Context(), list)
		require.True(t, lake.Is(err, lake.Invalid), "%s: %v", list, err)
		require.ErrorContains(t, err, want)
	}
}

func TestTLSIsUsedForEveryEndpointOfAList(t *testing.T) {
	var hellos [2]chan byte
	var addrs []string
	for i := range hellos {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		hellos[i] = make(chan byte, 1)
		addrs = append(addrs, l.Addr().String())
		go func() {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			var first [1]byte
			_, _ = conn.Read(first[:])
			hellos[i] <- first[0]
		}()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, err := sdk.Connect(ctx, strings.Join(addrs, ","), sdk.WithTLS(&tls.Config{MinVersion: tls.VersionTLS12}), sdk.WithToken("secret"))
	require.Error(t, err)
	for i := range hellos {
		require.Equal(t, byte(0x16), <-hellos[i], "a TLS handshake record")
	}
}
