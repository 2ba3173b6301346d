// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk_test

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/lakeplane/lake/internal/appendwire"
	"github.com/lakeplane/lake/internal/grpcerr"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
	"github.com/lakeplane/lake/sdk/sdktest"
)

// path is what lies between a client and its server. It holds the messages of
// the sessions that are open, or the answers of those that open, as a server
// does that reads nothing, or a proxy.
type path struct {
	held atomic.Int32 // messages that wait

	mu      sync.Mutex
	silent  bool  // nothing is heard of sessions
	broken  error // is heard instead, once
	after   error // is heard after every answer
	streams []*pathStream
}

type pathStream struct {
	grpc.ClientStream
	path *path
	ctx  context.Context
	next error // is heard next; by one goroutine
	mu   sync.Mutex
	hold chan struct{} // messages are not sent before it is closed
}

func (p *path) option() sdk.Option {
	return sdk.WithDialOptions(grpc.WithChainStreamInterceptor(p.intercept))
}

func (p *path) intercept(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	stream, err := open(ctx, desc, cc, method, opts...)
	if md, _ := metadata.FromOutgoingContext(ctx); err != nil || len(md.Get(appendwire.SessionHeader)) == 0 {
		return stream, err
	}
	s := &pathStream{ClientStream: stream, path: p, ctx: ctx}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.streams = append(p.streams, s)
	return s, nil
}

// SendMsg implements grpc.ClientStream.
func (s *pathStream) SendMsg(m any) error {
	s.mu.Lock()
	hold := s.hold
	s.mu.Unlock()
	if hold != nil {
		s.path.held.Add(1)
		select {
		case <-hold:
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
	}
	return s.ClientStream.SendMsg(m)
}

// RecvMsg implements grpc.ClientStream.
func (s *pathStream) RecvMsg(m any) error {
	if s.next != nil {
		return s.next
	}
	err := s.ClientStream.RecvMsg(m)
	s.path.mu.Lock()
	silent, broken := s.path.silent, s.path.broken
	s.path.broken = nil
	if r, ok := m.(*flight.PutResult); ok && len(r.GetAppMetadata()) > 0 {
		s.next = s.path.after
	}
	s.path.mu.Unlock()
	if silent {
		<-s.ctx.Done()
		return s.ctx.Err()
	}
	return cmp.Or(broken, err)
}

// holdMessages lets the sessions that are open send nothing until release.
func (p *path) holdMessages() (release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	hold := make(chan struct{})
	for _, s := range p.streams {
		s.mu.Lock()
		s.hold = hold
		s.mu.Unlock()
	}
	return func() { close(hold) }
}

func (p *path) setSilent(silent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent = silent
}

func (p *path) breakOnce(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = err
}

// first is the stream of the first session.
func (p *path) first() *pathStream {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.streams[0]
}

// started runs f on a goroutine, and returns what waits for its end.
func started(f func()) (wait func()) {
	var wg sync.WaitGroup
	wg.Go(f)
	return wg.Wait
}

func TestAppendOfACallerWhoGivesUpInASessionIsPendingAndResumes(t *testing.T) {
	s, _, c := inSession(t, sdk.SessionTimes{})
	s.Plan(sdktest.Silence)
	p := prepare(t, c)
	ctx, cancel := context.WithCancel(t.Context())
	var err error
	wait := started(func() { _, err = p.Resume(ctx) })
	holds(t, s, 3)
	cancel()
	wait()
	requirePending(t, true, err)
	require.ErrorIs(t, err, context.Canceled)
	noSessions(t, s) // nobody waits for an answer in it any more
	got, err := p.Resume(t.Context())
	require.NoError(t, err)
	require.True(t, got.Replayed)
	require.Equal(t, int64(3), s.Rows(episodes))
}

// TestAppendThatWaitsToBeSentIsTakenBack: one that has not left when its caller
// gives up is known not to be applied, so it must not leave later.
func TestAppendThatWaitsToBeSentIsTakenBack(t *testing.T) {
	var way path
	s, f, c := inSession(t, sdk.SessionTimes{}, way.option())
	release := way.holdMessages()
	var err error
	wait := started(func() { _, err = c.Append(t.Context(), episodes, rows(1, "first")) })
	require.Eventually(t, func() bool { return way.held.Load() == 1 }, 10*time.Second, time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	p := prepare(t, c)
	_, e := p.Resume(ctx)
	requirePending(t, false, e)
	require.True(t, lake.Is(e, lake.Unavailable), "%v", e)
	require.ErrorIs(t, e, context.DeadlineExceeded)

	calls := f.Calls()
	release()
	wait()
	require.NoError(t, err)
	appendRows(t, c, 1) // behind it in the session
	require.Equal(t, calls, f.Calls())
	require.Zero(t, attempts(s, p), "it was sent after all")
	require.Equal(t, int64(4), s.Rows(episodes))
}

func TestServerThatStopsReadingHoldsNobodyUp(t *testing.T) {
	var way path
	s, _, c := inSession(t, sdk.SessionTimes{}, way.option())
	release := way.holdMessages()
	defer release()
	first, second := prepare(t, c), prepare(t, c)
	ctx, cancel := context.WithCancel(t.Context())
	var errs [2]error
	wait := started(func() { _, errs[0] = first.Resume(ctx) })
	require.Eventually(t, func() bool { return way.held.Load() == 1 }, 10*time.Second, time.Millisecond)
	short, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	_, errs[1] = second.Resume(short)
	cancel()
	wait()
	requirePending(t, true, errs[0]) // it may have left
	requirePending(t, false, errs[1])
	noSessions(t, s)
	for _, p := range []*sdk.PendingAppend{first, second} {
		got, err := p.Resume(t.Context())
		require.NoError(t, err)
		require.False(t, got.Replayed)
	}
	require.Equal(t, int64(4), s.Rows(episodes))
}

// TestFullQueueIsNoReasonToWait: what a session has no room for goes alone.
func TestFullQueueIsNoReasonToWait(t *testing.T) {
	var way path
	s, f, c := inSession(t, sdk.SessionTimes{}, way.option())
	release := way.holdMessages()
	calls := f.Calls()
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			if _, err := c.Append(t.Context(), episodes, rows(1, "a")); err != nil {
				t.Error(err)
			}
		})
	}
	require.Eventually(t, func() bool { return f.Calls() > calls }, 10*time.Second, time.Millisecond)
	holds(t, s, 2+100-65) // one is being sent
	release()
	wg.Wait()
	require.Equal(t, int64(102), s.Rows(episodes))
	require.Equal(t, calls+35, f.Calls())
}

func TestSessionThatDoesNotOpenHoldsNobodyUp(t *testing.T) {
	way := path{silent: true}
	s, _, c := beforeSession(t, sdk.SessionTimes{Opening: 50 * time.Millisecond}, way.option(), sdk.WithRetryWindow(0))
	for range 3 {
		require.False(t, appendRows(t, c, 1).Replayed)
	}
	require.Equal(t, 1, s.Sessions(), "none is tried for a while")
	noSessions(t, s)
	require.Equal(t, int64(4), s.Rows(episodes))
}

func TestAppendIsNotSentBeforeTheSessionIsOpen(t *testing.T) {
	way := path{silent: true}
	s, _, c := beforeSession(t, sdk.SessionTimes{}, way.option())
	p := prepare(t, c)
	ctx, cancel := context.WithCancel(t.Context())
	var err error
	wait := started(func() { _, err = p.Resume(ctx) })
	require.Eventually(t, func() bool { return s.OpenSessions() == 1 }, 10*time.Second, time.Millisecond)
	cancel()
	wait()
	requirePending(t, false, err)
	require.True(t, lake.Is(err, lake.Unavailable), "%v", err)

	require.Zero(t, attempts(s, p))
}

// TestCloseWhileASessionOpensSendsNothing: not even by a call, to which an
// append goes whose session ends.
func TestCloseWhileASessionOpensSendsNothing(t *testing.T) {
	way := path{silent: true}
	s, _, _ := beforeSession(t, sdk.SessionTimes{})
	for range 50 {
		c := another(t, s, way.option())
		c.SetSessionTimes(sdk.SessionTimes{})
		appendRows(t, c, 1)
		p := prepare(t, c)
		var err error
		wait := started(func() { _, err = p.Resume(t.Context()) })
		require.NoError(t, c.Close()) // before, while or after it is opened
		wait()
		requirePending(t, false, err)
		require.Zero(t, attempts(s, p))
	}
	noSessions(t, s)
}

// TestAnswerBeforeTheEndOfItsSessionCounts: a caller who sees both at once.
func TestAnswerBeforeTheEndOfItsSessionCounts(t *testing.T) {
	way := path{after: grpcerr.ToStatus(lake.Errorf(lake.Unavailable, "gone"))}
	s, _, c := beforeSession(t, sdk.SessionTimes{}, way.option(), sdk.WithRetryWindow(0))
	for i := range 50 {
		require.False(t, appendRows(t, c, 1).Replayed)
		noSessions(t, s) // or the next one is sent in it, and lost
		require.Equal(t, i+1, s.Sessions())
	}
}

func TestIdleSessionThatIsNotEndedByItsServerIsGivenUp(t *testing.T) {
	var way path
	inSession(t, sdk.SessionTimes{Idle: 20 * time.Millisecond}, way.option())
	way.setSilent(true)
	select {
	case <-way.first().ctx.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("the session goes on")
	}
}

func TestReplacedSessionEndsWithItsLastCaller(t *testing.T) {
	s, _, c := inSession(t, sdk.SessionTimes{})
	s.Plan(sdktest.Silence)
	p := prepare(t, c)
	ctx, cancel := context.WithCancel(t.Context())
	var err error
	wait := started(func() { _, err = p.Resume(ctx) })
	holds(t, s, 3)
	recreate(t, another(t, s), schema)
	_, e := c.Append(t.Context(), episodes, rows(1, "a"))
	require.True(t, lake.Is(e, lake.Precondition), "%v", e)
	for range 3 {
		appendRows(t, c, 1)
	}
	require.Equal(t, 2, s.Sessions())
	cancel()
	wait()
	requirePending(t, true, err)
	require.Eventually(t, func() bool { return s.OpenSessions() == 1 }, 10*time.Second, time.Millisecond)
}

// TestSecondResumeGoesAlone: two of one operation in one session could take each
// other's answers.
func TestSecondResumeGoesAlone(t *testing.T) {
	s, f, c := inSession(t, sdk.SessionTimes{})
	s.Plan(sdktest.Silence)
	p := prepare(t, c)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var err error
	wait := started(func() { _, err = p.Resume(ctx) })
	holds(t, s, 3)
	calls := f.Calls()
	got, e := p.Resume(t.Context())
	require.NoError(t, e)
	require.True(t, got.Replayed)
	require.Equal(t, calls+1, f.Calls())
	cancel()
	wait()
	requirePending(t, true, err) // the answer was not the first one's
}

// TestEndOfASessionSaysNothingOfItsAppends: whatever error it ends with, what
// was sent and not answered may have been applied.
func TestEndOfASessionSaysNothingOfItsAppends(t *testing.T) {
	for kind := lake.Unknown; kind <= lake.Fenced; kind++ {
		t.Run(kind.String(), func(t *testing.T) {
			var way path
			s, _, c := inSession(t, sdk.SessionTimes{}, way.option(), sdk.WithRetryWindow(0))
			way.breakOnce(grpcerr.ToStatus(lake.Errorf(kind, "enough of it")))
			p := prepare(t, c)
			_, err := p.Resume(t.Context())
			requirePending(t, true, err)
			require.ErrorContains(t, err, "enough of it")
			got, err := p.Resume(t.Context())
			require.NoError(t, err)
			require.True(t, got.Replayed)
			require.Equal(t, int64(3), s.Rows(episodes))
		})
	}
}

func TestManyResumesOfOneAppendApplyItOnce(t *testing.T) {
	s, _, c := inSession(t, sdk.SessionTimes{})
	for range 50 {
		p := prepare(t, c)
		var fresh atomic.Int32
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				got, err := p.Resume(t.Context())
				if err != nil {
					t.Error(err)
				} else if !got.Replayed {
					fresh.Add(1)
				}
			})
		}
		wg.Wait()
		require.Equal(t, int32(1), fresh.Load())
	}
	require.Equal(t, int64(52), s.Rows(episodes))
}

func TestCloseLeavesWhatWasSentPending(t *testing.T) {
	s, _, c := inSession(t, sdk.SessionTimes{})
	s.Plan(slices.Repeat([]sdktest.Fault{sdktest.Silence}, 8)...)
	var ps []*sdk.PendingAppend
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for i := range errs {
		p := prepare(t, c)
		ps = append(ps, p)
		wg.Go(func() { _, errs[i] = p.Resume(t.Context()) })
	}
	holds(t, s, 10)
	require.Equal(t, 1, s.Sessions(), "all are in it")
	require.NoError(t, c.Close())
	wg.Wait()
	for _, err := range errs {
		requirePending(t, true, err)
	}
	_, err := c.Append(t.Context(), episodes, rows(1, "a"))
	require.True(t, lake.Is(err, lake.Unavailable), "%v", err)
	requirePending(t, false, err)

	other := another(t, s)
	for _, p := range ps {
		got, err := prepare(t, other).WithOperation(p.Operation()).Resume(t.Context())
		require.NoError(t, err)
		require.True(t, got.Replayed)
	}
	require.Equal(t, int64(10), s.Rows(episodes))
}

func TestAppendsMayBeginWhileTheClientCloses(t *testing.T) {
	for range 20 {
		_, _, c := beforeSession(t, sdk.SessionTimes{})
		var begun atomic.Int32
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for err := error(nil); err == nil; {
					_, err = c.Append(t.Context(), episodes, rows(1, "a"))
					begun.Add(1)
				}
			})
		}
		require.Eventually(t, func() bool { return begun.Load() > 2 }, 10*time.Second, time.Millisecond)
		require.NoError(t, c.Close())
		wg.Wait()
	}
}

func TestServerRestartsInTheMiddleOfASession(t *testing.T) {
	s, f, c := inSession(t, sdk.SessionTimes{Rest: time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var appended atomic.Int64
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for ctx.Err() == nil {
				if _, err := c.Append(t.Context(), episodes, rows(1, "a")); err != nil {
					t.Error(err)
					return
				}
				appended.Add(1)
			}
		})
	}
	for range 4 {
		busy(t, &appended)
		require.Eventually(t, func() bool { return s.OpenSessions() > 0 }, 10*time.Second, time.Millisecond)
		f.Stop()
		require.NoError(t, f.Start())
	}
	busy(t, &appended)
	cancel()
	wg.Wait()
	require.Greater(t, s.Sessions(), 1)
	require.Equal(t, 2+appended.Load(), s.Rows(episodes), "every append once")
}

// TestNoOutcomeIsMisreported appends with callers who have little patience to a
// server that fails in every way, and compares what they were told with what
// the table holds in the end: an append with a result is there once, and one
// that failed is not, unless its outcome is unknown. How often that is so is
// logged.
func TestNoOutcomeIsMisreported(t *testing.T) {
	s, f, c := beforeSession(t, sdk.SessionTimes{Rest: time.Millisecond, Opening: 5 * time.Millisecond, Life: 100 * time.Millisecond}, sdk.WithRetryWindow(100*time.Millisecond))
	all := []sdktest.Fault{sdktest.None, sdktest.None, sdktest.None, sdktest.Refuse, sdktest.Busy, sdktest.LoseAck, sdktest.Silence, sdktest.EndEarly}
	ends := time.Now().Add(2 * time.Second)
	var mu sync.Mutex
	told := map[string]error{}
	var wg sync.WaitGroup
	for w := range 24 {
		wg.Go(func() {
			for i := 0; time.Now().Before(ends); i++ {
				name := strconv.Itoa(w) + "/" + strconv.Itoa(i)
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(30_000))*time.Microsecond)
				_, err := c.Append(ctx, episodes, rows(1, name))
				cancel()
				mu.Lock()
				told[name] = err
				mu.Unlock()
			}
		})
	}
	wg.Go(func() {
		for round := 0; time.Now().Before(ends); round++ {
			faults := make([]sdktest.Fault, 200)
			for i := range faults {
				faults[i] = all[rand.IntN(len(all))]
			}
			s.Plan(faults...)
			time.Sleep(50 * time.Millisecond) // of appends as they come
			if round%8 == 7 {
				f.Stop()
				if err := f.Start(); err != nil {
					t.Error(err)
				}
			}
		}
	})
	wg.Wait()
	require.NoError(t, c.Close())
	f.Stop()
	noSessions(t, s)
	there := map[string]int{}
	for _, b := range s.Batches(episodes)[1:] {
		there[b.Column(0).(*array.String).Value(0)]++
	}
	var applied, refused, unknown int
	for name, err := range told {
		switch {
		case err == nil:
			applied++
			require.Equal(t, 1, there[name], "%s: appended", name)
		case lake.Is(err, lake.Undetermined):
			unknown++
			require.LessOrEqual(t, there[name], 1)
		default:
			refused++
			require.Zero(t, there[name], "%s: %v", name, err)
		}
	}
	t.Logf("%d applied, %d not, %d unknown; %d sessions", applied, refused, unknown, s.Sessions())
	require.Positive(t, applied)
	require.Positive(t, refused)
	require.Positive(t, unknown)
	require.Greater(t, s.Sessions(), 2)
}
