// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/internal/appendwire"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
	"github.com/lakeplane/lake/sdk/sdktest"
)

// inSession is a server with the table episodes and a client that has appended
// two rows to it, the second in a session that is open. All calls of the client
// go through the front.
func inSession(t *testing.T, times sdk.SessionTimes, opts ...sdk.Option) (*sdktest.Server, *sdktest.Front, *sdk.Client) {
	t.Helper()
	s, f, c := beforeSession(t, times, opts...)
	appendRows(t, c, 1)
	require.Equal(t, 1, s.Sessions())
	require.Equal(t, 1, s.OpenSessions())
	return s, f, c
}

// beforeSession is inSession without the second append.
func beforeSession(t *testing.T, times sdk.SessionTimes, opts ...sdk.Option) (*sdktest.Server, *sdktest.Front, *sdk.Client) {
	t.Helper()
	s := sdktest.New(t)
	f := s.NewFront(t)
	c, err := sdk.Connect(t.Context(), f.Addr(), opts...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	c.SetSessionTimes(times)
	_, err = c.CreateTable(t.Context(), episodes, schema)
	require.NoError(t, err)
	appendRows(t, c, 1)
	require.Zero(t, s.Sessions(), "one append alone is no reason for a session")
	return s, f, c
}

func appendRows(t *testing.T, c *sdk.Client, n int) sdk.AppendResult {
	t.Helper()
	got, err := c.Append(t.Context(), episodes, rows(n, "a"))
	require.NoError(t, err)
	return got
}

// prepare is an append of one row.
func prepare(t *testing.T, c *sdk.Client) *sdk.PendingAppend {
	t.Helper()
	p, err := c.PrepareAppend(episodes, rows(1, "a"))
	require.NoError(t, err)
	return p
}

// holds waits until the table has that many rows.
func holds(t *testing.T, s *sdktest.Server, n int64) {
	t.Helper()
	require.Eventually(t, func() bool { return s.Rows(episodes) == n }, 10*time.Second, time.Millisecond)
}

// attempts counts those of one append that reached the server.
func attempts(s *sdktest.Server, p *sdk.PendingAppend) (n int) {
	for _, a := range s.Attempts() {
		if a.Operation == p.Operation() {
			n++
		}
	}
	return n
}

// noSessions waits until the server serves no session.
func noSessions(t *testing.T, s *sdktest.Server) {
	t.Helper()
	require.Eventually(t, func() bool { return s.OpenSessions() == 0 }, 10*time.Second, time.Millisecond)
}

// requirePending wants err to leave the outcome open, or not.
func requirePending(t *testing.T, want bool, err error) {
	t.Helper()
	var pending *sdk.PendingAppend
	require.Equal(t, want, errors.As(err, &pending), "%v", err)
	require.Equal(t, want, lake.Is(err, lake.Undetermined), "%v", err)
}

func TestAppendsThatFollowEachOtherShareACall(t *testing.T) {
	s, f, c := beforeSession(t, sdk.SessionTimes{})
	before := f.Calls()
	for i := range 20 {
		got := appendRows(t, c, i+1)
		require.Equal(t, lake.Version(i+3), got.Version)
		require.Equal(t, uint64(i+1), got.Rows)
		require.False(t, got.Replayed)
	}
	require.Equal(t, 1, s.Sessions())
	require.Equal(t, before+1, f.Calls())
	require.Len(t, s.Attempts(), 21)
	require.Equal(t, int64(1+20*21/2), s.Rows(episodes))
}

func TestAppendsFarApartHaveACallEach(t *testing.T) {
	s, _, c := beforeSession(t, sdk.SessionTimes{After: time.Nanosecond})
	for range 3 {
		appendRows(t, c, 1)
	}
	require.Zero(t, s.Sessions())
}

func TestConcurrentAppendsShareASessionAndGetTheirOwnAnswers(t *testing.T) {
	const writers, each = 64, 50
	s, f, c := beforeSession(t, sdk.SessionTimes{})
	var mu sync.Mutex
	versions := map[lake.Version]int64{} // and the rows of each
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				n := 1 + (w*each+i)%7
				got, err := c.Append(t.Context(), episodes, rows(n, fmt.Sprintf("%d/%d", w, i)))
				if err != nil || got.Replayed || got.Rows != uint64(n) {
					t.Errorf("%d rows: %+v, %v", n, got, err)
					return
				}
				mu.Lock()
				versions[got.Version] = int64(n)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	require.Len(t, versions, writers*each, "no two have one version")
	batches, seen := s.Batches(episodes), map[string]bool{}
	require.Len(t, batches, 1+writers*each)
	for i, b := range batches[1:] {
		require.Equal(t, versions[lake.Version(i+3)], b.NumRows(), "the version is that of the rows")
		seen[b.Column(0).(*array.String).Value(0)] = true
	}
	require.Len(t, seen, writers*each)
	require.LessOrEqual(t, s.Sessions(), 2)
	require.Less(t, f.Calls(), writers*each, "most of them had no call of their own")
}

func TestLargeAppendsGoAlone(t *testing.T) {
	s, f, c := inSession(t, sdk.SessionTimes{})
	sized := func(text int) *sdk.PendingAppend {
		p, err := c.PrepareAppend(episodes, rows(1, strings.Repeat("x", text)))
		require.NoError(t, err)
		return p
	}
	most := (appendwire.MaxSessionBytes - int(sized(64).Bytes()) + 64) / 8 * 8 // bodies are padded to 8 bytes
	calls := f.Calls()
	require.Greater(t, sized(most).Bytes(), int64(appendwire.MaxSessionBytes-8))
	require.LessOrEqual(t, sized(most).Bytes(), int64(appendwire.MaxSessionBytes))
	_, err := sized(most).Resume(t.Context())
	require.NoError(t, err)
	require.Equal(t, calls, f.Calls(), "the largest one still goes in the session")

	for _, batches := range [][]arrow.RecordBatch{
		{rows(1, strings.Repeat("x", most+1))},
		{rows(1, "a"), rows(1, "b")},
		{rows(3, strings.Repeat("x", 2<<20))},
	} {
		calls := f.Calls()
		_, err := c.Append(t.Context(), episodes, batches...)
		require.NoError(t, err)
		require.Equal(t, calls+1, f.Calls())
	}
	appendRows(t, c, 1)
	require.Equal(t, 1, s.Sessions(), "the session is still there for the small ones")
	require.Equal(t, int64(2+1+1+2+3+1), s.Rows(episodes))
}

// outcome is what came of an append.
type outcome struct {
	kind              lake.Kind
	pending, replayed bool
	rows              uint64
	attempts, applied int
}

func TestFaultsInASessionEndAsByACall(t *testing.T) {
	// ended is the append of one row by a client that has seen enough of them.
	ended := func(t *testing.T, window time.Duration, sessions bool, faults []sdktest.Fault) outcome {
		o := new(recorder)
		s, f, c := beforeSession(t, sdk.SessionTimes{}, sdk.WithRetryWindow(window), sdk.WithObserver(o))
		if !sessions {
			s.RefuseSessions(lake.Errorf(lake.Unsupported, "no sessions"))
		}
		appendRows(t, c, 1)
		calls, seen := f.Calls(), len(o.attempts)
		s.Plan(faults...)
		got, err := c.Append(t.Context(), episodes, rows(1, "a"))
		var pending *sdk.PendingAppend
		end := outcome{
			kind: lake.KindOf(err), pending: errors.As(err, &pending), replayed: got.Replayed, rows: got.Rows,
			attempts: len(o.attempts) - seen, applied: len(s.Batches(episodes)) - 2,
		}
		alone := end.attempts
		if sessions {
			alone--
		}
		require.Equal(t, calls+alone, f.Calls(), "the first attempt goes in the session if there is one, and no other")
		return end
	}
	for name, faults := range map[string][]sdktest.Fault{
		"nothing":                        nil,
		"absent":                         {sdktest.Refuse},
		"busy":                           {sdktest.Busy},
		"acknowledgement lost":           {sdktest.LoseAck},
		"silence":                        {sdktest.Silence},
		"ends early":                     {sdktest.EndEarly},
		"another digest":                 {sdktest.Forget},
		"absent, then another digest":    {sdktest.Refuse, sdktest.Forget},
		"busy, then another digest":      {sdktest.Busy, sdktest.Forget},
		"lost, then another digest":      {sdktest.LoseAck, sdktest.Forget},
		"ended, then another digest":     {sdktest.EndEarly, sdktest.Forget},
		"lost, absent, busy, then there": {sdktest.LoseAck, sdktest.Refuse, sdktest.Busy},
	} {
		for window, what := range map[time.Duration]string{0: "tried once", time.Minute: "retried"} {
			if slices.Contains(faults, sdktest.Silence) {
				if window == 0 {
					continue // it would wait for ever, either way
				}
				window = 300 * time.Millisecond // which it lasts
			}
			t.Run(name+", "+what, func(t *testing.T) {
				t.Parallel()
				require.Equal(t, ended(t, window, false, faults), ended(t, window, true, faults))
			})
		}
	}
}

func TestRefusedSessionsCostNothingAndAreNotTriedAgainSoon(t *testing.T) {
	for _, kind := range []lake.Kind{lake.Invalid, lake.Unsupported, lake.Unavailable, lake.Exhausted, lake.Undetermined, lake.Unknown} {
		t.Run(kind.String(), func(t *testing.T) {
			s, _, c := beforeSession(t, sdk.SessionTimes{}, sdk.WithRetryWindow(0))
			s.RefuseSessions(lake.Errorf(kind, "no sessions here"))
			s.Plan(sdktest.Forget)
			_, err := c.Append(t.Context(), episodes, rows(1, "a"))
			require.True(t, lake.Is(err, lake.AlreadyExists), "%v", err)
			requirePending(t, false, err) // only the call was ever sent
			require.Equal(t, 1, s.Sessions())
			for range 3 {
				require.False(t, appendRows(t, c, 1).Replayed)
			}
			require.Equal(t, 1, s.Sessions(), "none is tried for a while")
		})
	}
}

// TestRefusalIsKnownBeforeTheNextAppend: the refusal is noted by another
// goroutine than the caller's, so it is tried often.
func TestRefusalIsKnownBeforeTheNextAppend(t *testing.T) {
	s, c := connect(t)
	c.SetSessionTimes(sdk.SessionTimes{})
	s.RefuseSessions(lake.Errorf(lake.Unsupported, "no sessions"))
	const tables = 200
	for i := range tables {
		name := lake.TableName{Namespace: "robots", Name: fmt.Sprintf("t%d", i)}
		_, err := c.CreateTable(t.Context(), name, schema)
		require.NoError(t, err)
		for range 3 {
			_, err := c.Append(t.Context(), name, rows(1, "a"))
			require.NoError(t, err)
		}
	}
	require.Equal(t, tables, s.Sessions())
}

// TestSessionsAreTriedAgainAfterTheirRest, which is a short one where no server
// was there.
func TestSessionsAreTriedAgainAfterTheirRest(t *testing.T) {
	for kind, times := range map[lake.Kind]sdk.SessionTimes{
		lake.Exhausted:   {Rest: time.Millisecond},
		lake.Unavailable: {Away: time.Millisecond},
	} {
		t.Run(kind.String(), func(t *testing.T) {
			s, f, c := beforeSession(t, times)
			s.RefuseSessions(lake.Errorf(kind, "no session now"))
			appendRows(t, c, 1)
			s.RefuseSessions(nil)
			require.Eventually(t, func() bool { appendRows(t, c, 1); return s.OpenSessions() == 1 }, 10*time.Second, 2*time.Millisecond)
			calls := f.Calls()
			appendRows(t, c, 1)
			require.Equal(t, calls, f.Calls())
		})
	}
}

func TestTablesBeyondTheBoundsGoAlone(t *testing.T) {
	s, c := connect(t)
	c.SetSessionTimes(sdk.SessionTimes{})
	const tables = sdk.MaxSlots + 40 // more than are remembered
	for i := range tables {
		name := lake.TableName{Namespace: "robots", Name: fmt.Sprintf("t%d", i)}
		_, err := c.CreateTable(t.Context(), name, schema)
		require.NoError(t, err)
		for j := range 3 {
			got, err := c.Append(t.Context(), name, rows(1, "a"))
			require.NoError(t, err)
			require.Equal(t, lake.Version(j+2), got.Version)
		}
		require.LessOrEqual(t, s.OpenSessions(), sdk.MaxSessions)
	}
	require.GreaterOrEqual(t, s.Sessions(), sdk.MaxSessions)
	require.Equal(t, sdk.MaxSlots, c.SessionSlots())
	require.NoError(t, c.Close())
	noSessions(t, s)
}

func TestSessionOfAnotherTableOfTheNameIsReplaced(t *testing.T) {
	s, f, c := inSession(t, sdk.SessionTimes{})
	made := recreate(t, another(t, s), schema)
	_, err := c.Append(t.Context(), episodes, rows(1, "a"))
	require.True(t, lake.Is(err, lake.Precondition), "%v", err)
	requirePending(t, false, err)
	require.Zero(t, s.Rows(episodes), "nothing was written into the other table")
	for range 3 { // the second knows the new table, and has a session of it
		require.Equal(t, made, appendRows(t, c, 1).Incarnation)
	}
	require.Equal(t, 2, s.Sessions())
	calls := f.Calls()
	appendRows(t, c, 1)
	require.Equal(t, calls, f.Calls())
	require.Eventually(t, func() bool { return s.OpenSessions() == 1 }, 10*time.Second, time.Millisecond, "the one before has ended")
}

func TestSessionOfAnotherSchemaIsReplaced(t *testing.T) {
	s, f, c := inSession(t, sdk.SessionTimes{})
	recreate(t, another(t, s), wider)
	_, err := c.Append(t.Context(), episodes, rows(1, "a"))
	require.True(t, lake.Is(err, lake.Precondition), "%v", err)
	for range 3 {
		_, err = c.Append(t.Context(), episodes, widerRow())
		require.NoError(t, err)
	}
	require.Equal(t, 2, s.Sessions())
	calls := f.Calls()
	_, err = c.Append(t.Context(), episodes, rows(1, "a"))
	require.True(t, lake.Is(err, lake.Invalid), "%v", err)
	_, err = c.Append(t.Context(), episodes, widerRow())
	require.NoError(t, err)
	require.Equal(t, calls+1, f.Calls(), "only the table was asked about")
	require.Equal(t, int64(4), s.Rows(episodes))
}

func TestRowsOfAnotherSchemaAreNotSentInTheSession(t *testing.T) {
	s, _, c := inSession(t, sdk.SessionTimes{}, sdk.WithSchemaTTL(0)) // pinned to nothing
	recreate(t, another(t, s), wider)
	for range 2 {
		_, err := c.Append(t.Context(), episodes, widerRow())
		require.NoError(t, err)
	}
	require.Equal(t, 2, s.Sessions())
	_, err := c.Append(t.Context(), episodes, rows(1, "a"))
	require.True(t, lake.Is(err, lake.Invalid), "%v", err)
	require.ErrorContains(t, err, "the schema differs")
	require.Equal(t, int64(2), s.Rows(episodes))
}

// TestAppendsThatAreNotPinnedLeaveThePinnedSession: as those do which come
// between the end of what a client remembers and the next answer.
func TestAppendsThatAreNotPinnedLeaveThePinnedSession(t *testing.T) {
	s, f, c := beforeSession(t, sdk.SessionTimes{}, sdk.WithSchemaTTL(0))
	table, err := c.Table(t.Context(), episodes)
	require.NoError(t, err)
	pinned := func() {
		_, err := prepare(t, c).WithIncarnation(table.Snapshot.Incarnation).Resume(t.Context())
		require.NoError(t, err)
	}
	for range 3 {
		pinned()
		appendRows(t, c, 1)
	}
	require.Equal(t, 1, s.Sessions())
	calls := f.Calls()
	pinned()
	require.Equal(t, calls, f.Calls())
	for _, a := range s.Attempts()[1:] {
		require.True(t, a.Incarnation.IsZero() || a.Incarnation == table.Snapshot.Incarnation)
	}
}

// TestSessionOfALostAnswerIsLeft: the next append may come to another server.
func TestSessionOfALostAnswerIsLeft(t *testing.T) {
	s, f, c := inSession(t, sdk.SessionTimes{})
	calls := f.Calls()
	s.Plan(sdktest.LoseAck)
	require.True(t, appendRows(t, c, 1).Replayed)
	require.Equal(t, calls+1, f.Calls())
	appendRows(t, c, 1)
	require.Equal(t, 2, s.Sessions())
}

func TestIdleSessionEndsAndTheNextAppendWorks(t *testing.T) {
	s, _, c := inSession(t, sdk.SessionTimes{Idle: 20 * time.Millisecond})
	noSessions(t, s)
	require.Equal(t, lake.Version(4), appendRows(t, c, 1).Version)
	require.Equal(t, 2, s.Sessions())
}

func TestOldSessionIsReplaced(t *testing.T) {
	s, _, c := inSession(t, sdk.SessionTimes{Life: 50 * time.Millisecond})
	require.Eventually(t, func() bool { appendRows(t, c, 1); return s.Sessions() > 2 }, 10*time.Second, time.Millisecond)
	require.Equal(t, int64(len(s.Attempts())), s.Rows(episodes))
}

func TestCheckpointsGoWithSessions(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "checkpoints")
	s, _, c := inSession(t, sdk.SessionTimes{}, sdk.WithCheckpoints(dir), sdk.WithRetryWindow(2*time.Second))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := c.Append(t.Context(), episodes, rows(1, "a")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, 1, s.Sessions())
	require.Empty(t, files(t, dir), "every outcome is known")

	s.Plan(sdktest.Silence)
	_, err := c.Append(t.Context(), episodes, rows(1, "a"))
	requirePending(t, true, err)
	require.Equal(t, 1, s.Sessions(), "it was lost in the session")
	require.Len(t, files(t, dir), 1)
	require.NoError(t, c.Close())

	later := another(t, s, sdk.WithCheckpoints(dir))
	later.SetSessionTimes(sdk.SessionTimes{})
	_, err = later.Append(t.Context(), episodes, rows(1, "a"))
	require.NoError(t, err)
	found, broken := pendings(t, later)
	require.Empty(t, broken)
	require.Len(t, found, 1)
	got, err := found[0].Resume(t.Context()) // in a session, read from its file
	require.NoError(t, err)
	require.True(t, got.Replayed)
	require.Equal(t, 2, s.Sessions())
	require.Empty(t, files(t, dir))
	require.Equal(t, int64(12), s.Rows(episodes))
}
