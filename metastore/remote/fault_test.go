// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/faultproxy"
	"github.com/lakeplane/lake/metastore/faultstore"
	"github.com/lakeplane/lake/metastore/metastoretest"
	"github.com/lakeplane/lake/metastore/remote"
	"github.com/lakeplane/lake/services/access"
)

func createA(token string) metastore.Txn {
	return metastore.Txn{Token: token, Ops: []metastore.Op{metastore.Create("a", []byte("1"))}}
}

// impatient gives up soon, so that a fault that lasts is seen by the caller;
// patient outlasts a fault that ends, on a busy machine as well.
var (
	impatient = remote.Options{Patience: 100 * time.Millisecond}
	patient   = remote.Options{Patience: 30 * time.Second}
)

// TestWireMatrix says what a commit is told and what is there afterwards, for
// each harm on the wire, when it strikes once and always.
func TestWireMatrix(t *testing.T) {
	unknown := metastore.ErrUnknownOutcome
	for _, c := range []struct {
		name    string
		plan    faultproxy.Plan
		taken   bool  // the key is there already, so the answer is a conflict
		want    error // nil: told that it applied
		applied bool
	}{
		{"request lost once", faultproxy.First(1, faultproxy.DropRequest), false, nil, true},
		{"answer lost once", faultproxy.First(1, faultproxy.DropAnswer), false, nil, true},
		{"answer lost twice", faultproxy.First(2, faultproxy.DropAnswer), false, nil, true},
		{"connection cut once", faultproxy.First(1, faultproxy.Cut), false, nil, true},
		{"request delayed", faultproxy.Always(faultproxy.Delay), false, nil, true},
		{"request lost always", faultproxy.Always(faultproxy.DropRequest), false, unknown, false},
		{"answer lost always", faultproxy.Always(faultproxy.DropAnswer), false, unknown, true},
		{"conflict, request lost once", faultproxy.First(1, faultproxy.DropRequest), true, unknown, false},
		{"conflict, answer lost once", faultproxy.First(1, faultproxy.DropAnswer), true, unknown, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			backing := openPebble(t, t.TempDir())
			addr, _ := serve(t, backing)
			p := proxied(t, addr, "a-token-of-its-own")
			opts := patient
			if strings.HasSuffix(c.name, "always") {
				opts = impatient
			}
			s := openAt(t, p.Addr(), opts)
			if c.taken {
				require.NoError(t, backing.Commit(t.Context(), metastore.Txn{Ops: []metastore.Op{metastore.Create("a", []byte("0"))}}))
			}
			p.Harm(c.plan)
			err := s.Commit(t.Context(), createA("a-token-of-its-own"))
			if c.want == nil {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, c.want)
				require.NotErrorIs(t, err, metastore.ErrRetryable)
				require.True(t, lake.Is(err, lake.Undetermined))
			}
			require.Positive(t, p.Requests())
			p.Harm(faultproxy.Always(faultproxy.Pass))
			rec, err := backing.Get(t.Context(), "a")
			require.Equal(t, c.applied, err == nil && string(rec.Value) == "1")

			err = s.Commit(t.Context(), createA("a-token-of-its-own"))
			if c.taken {
				require.ErrorAs(t, err, new(*metastore.ConflictError), "a later retry is told for certain")
			} else {
				require.NoError(t, err, "a later retry settles it")
			}
		})
	}
}

func TestReadsAreRepeated(t *testing.T) {
	addr, _ := serve(t, openPebble(t, t.TempDir()))
	p := proxied(t, addr, "some-key")
	s, hasty := openAt(t, p.Addr(), patient), openAt(t, p.Addr(), impatient)
	require.NoError(t, s.Commit(t.Context(), metastore.Txn{Ops: []metastore.Op{metastore.Create("some-key/a", []byte("1"))}}))
	for _, h := range []faultproxy.Harm{faultproxy.DropRequest, faultproxy.DropAnswer} {
		for name, read := range map[string]func(s *remote.Store) error{
			"get":  func(s *remote.Store) error { _, err := s.Get(t.Context(), "some-key/a"); return err },
			"scan": func(s *remote.Store) error { _, err := s.Scan(t.Context(), "some-key/", "", 1); return err },
			"all":  func(s *remote.Store) error { _, err := s.GetAll(t.Context(), []string{"some-key/a"}); return err },
		} {
			p.Harm(faultproxy.First(2, h))
			require.NoError(t, read(s), "%s %v", name, h)
			require.Equal(t, 3, p.Requests())
			p.Harm(faultproxy.Always(h))
			err := read(hasty)
			require.ErrorIs(t, err, metastore.ErrRetryable, "%s %v", name, h)
			require.NotErrorIs(t, err, metastore.ErrUnknownOutcome)
			p.Harm(faultproxy.Always(faultproxy.Pass))
		}
	}
}

// TestWhatWasNotSentIsRetryable tells the server that is not there from the
// one that did not answer.
func TestWhatWasNotSentIsRetryable(t *testing.T) {
	addr, stop := serve(t, openPebble(t, t.TempDir()))
	s := openAt(t, addr, impatient)
	require.NoError(t, s.Commit(t.Context(), createA("t")))
	stop()
	err := s.Commit(t.Context(), createA("u"))
	for err != nil && !isRetryable(err) { // a connection that breaks just now
		require.ErrorIs(t, err, metastore.ErrUnknownOutcome)
		err = s.Commit(t.Context(), createA("u"))
	}
	require.ErrorIs(t, err, metastore.ErrRetryable)
	require.NotErrorIs(t, err, metastore.ErrUnknownOutcome)
	require.True(t, lake.Is(err, lake.Unavailable), "%v", err)

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	err = s.Commit(ctx, createA("u"))
	require.ErrorIs(t, err, metastore.ErrRetryable)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func isRetryable(err error) bool {
	return lake.Is(err, lake.Unavailable)
}

// TestAnUnsettledCommitStaysUnknown loses an answer and then the server: that
// the last attempt certainly was not sent says nothing about the first.
func TestAnUnsettledCommitStaysUnknown(t *testing.T) {
	backing := openPebble(t, t.TempDir())
	addr, _ := serve(t, backing)
	p := proxied(t, addr, "a-token-of-its-own")
	s := openAt(t, p.Addr(), impatient)
	p.Harm(func(int) faultproxy.Harm {
		go p.Close()
		return faultproxy.DropRequest
	})
	err := s.Commit(t.Context(), createA("a-token-of-its-own"))
	require.ErrorIs(t, err, metastore.ErrUnknownOutcome)
	require.NotErrorIs(t, err, metastore.ErrRetryable)
}

// TestBehindTheServer says what a fault between the server and its store does.
func TestBehindTheServer(t *testing.T) {
	unknown, retryable := metastore.ErrUnknownOutcome, metastore.ErrRetryable
	for _, c := range []struct {
		kind        faultstore.Kind
		once, again error // when it strikes the first commit only, and always
		kindOf      lake.Kind
	}{
		{faultstore.BeforeSend, retryable, retryable, lake.Unavailable},
		{faultstore.Throttle, retryable, retryable, lake.Exhausted},
		{faultstore.AckLost, nil, unknown, lake.Undetermined},
		{faultstore.Undetermined, nil, unknown, lake.Undetermined},
		{faultstore.Late, nil, unknown, lake.Undetermined},
		{faultstore.Repeat, nil, nil, 0},
		{faultstore.Delay, nil, nil, 0},
	} {
		t.Run(c.kind.String(), func(t *testing.T) {
			fault := faultstore.Fault{Kind: c.kind, Wait: time.Millisecond}
			for always, want := range map[bool]error{false: c.once, true: c.again} {
				armed := make(chan struct{}) // opening commits the cluster's id
				commits := 0
				behind := faultstore.New(openPebble(t, t.TempDir()), faultstore.PlanFunc(func(call faultstore.Call) faultstore.Fault {
					select {
					case <-armed:
					default:
						return faultstore.Fault{}
					}
					if call.Method != faultstore.Commit {
						return faultstore.Fault{}
					}
					if commits++; commits == 1 || always {
						return fault
					}
					return faultstore.Fault{}
				}))
				opts := patient
				if always {
					opts = impatient
				}
				s := openOver(t, behind, opts)
				close(armed)
				err := s.Commit(t.Context(), createA("t"))
				behind.Settle()
				if want == nil {
					require.NoError(t, err)
					continue
				}
				require.ErrorIs(t, err, want)
				require.Equal(t, c.kindOf, lake.KindOf(err), "%v", err)
			}
		})
	}
}

// TestHistoriesBehindFaults puts the faults between the server and its store.
func TestHistoriesBehindFaults(t *testing.T) {
	metastoretest.RunHistories(t, func(tb testing.TB) metastore.Store {
		plan := &plans{}
		s := openOver(tb, faultstore.New(openPebble(tb, tb.TempDir()), plan), remote.Options{Patience: 30 * time.Millisecond})
		plan.set(faultstore.NewRandom(7, 0.3, time.Millisecond))
		return s.Exact()
	}, metastoretest.Histories{})
}

// plans lets a store be opened before its faults begin.
type plans struct {
	mu   sync.Mutex
	plan faultstore.Plan
}

func (p *plans) set(plan faultstore.Plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plan = plan
}

// Next implements [faultstore.Plan].
func (p *plans) Next(call faultstore.Call) faultstore.Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.plan == nil {
		return faultstore.Fault{}
	}
	return p.plan.Next(call)
}

// TestHistoriesOnABadWire loses requests, answers and connections, and restarts
// the server with its store in the middle.
func TestHistoriesOnABadWire(t *testing.T) {
	metastoretest.RunHistories(t, func(tb testing.TB) metastore.Store {
		m := restarting(tb)
		s := openAt(tb, m.proxy.Addr(), remote.Options{Patience: time.Second})
		again := m.begin(tb)
		rng, mu := rand.New(rand.NewPCG(1, 2)), sync.Mutex{}
		m.proxy.Harm(func(n int) faultproxy.Harm {
			mu.Lock()
			defer mu.Unlock()
			if n%100 == 0 {
				again()
			}
			if rng.Float64() < 0.03 {
				return []faultproxy.Harm{faultproxy.DropRequest, faultproxy.DropAnswer, faultproxy.Cut, faultproxy.Delay}[rng.IntN(4)]
			}
			return faultproxy.Pass
		})
		return s
	}, metastoretest.Histories{Parallel: 2, Steps: 9}) // a cut connection harms all of them
}

// machine is a server and its store, which are restarted behind a proxy.
type machine struct {
	tb    testing.TB
	dir   string
	auth  access.Authenticator
	proxy *faultproxy.Proxy
	stop  func() error
}

// restarting counts every request of the cluster as one to harm.
func restarting(tb testing.TB) *machine {
	tb.Helper()
	m := &machine{tb: tb, dir: tb.TempDir(), auth: principals(tb)}
	addr, cluster := m.start()
	tb.Cleanup(func() { require.NoError(tb, m.stop()) })
	m.proxy = proxied(tb, addr, cluster)
	return m
}

// begin returns a function that asks for a restart, which happens beside the
// calls. It ends with the test, and checks that there were some.
func (m *machine) begin(tb testing.TB) (again func()) {
	wanted, restarts := make(chan struct{}, 1), 0
	var all sync.WaitGroup
	all.Go(func() {
		for range wanted {
			if err := m.stop(); err != nil {
				tb.Error(err)
			}
			addr, _ := m.start()
			m.proxy.Retarget(addr)
			restarts++
		}
	})
	tb.Cleanup(func() {
		m.proxy.Close() // nobody asks any more
		close(wanted)
		all.Wait()
		tb.Logf("%d restarts", restarts)
		if restarts < 3 {
			tb.Error("too few restarts")
		}
	})
	return func() {
		select {
		case wanted <- struct{}{}:
		default:
		}
	}
}

// TestATokenSurvivesTheServer repeats a commit after its server and its store
// were started again, and after others changed what it wrote.
func TestATokenSurvivesTheServer(t *testing.T) {
	m := restarting(t)
	s := openAt(t, m.proxy.Addr(), remote.Options{})
	require.NoError(t, s.Commit(t.Context(), createA("t")))
	require.NoError(t, s.Commit(t.Context(), metastore.Txn{Ops: []metastore.Op{metastore.Update("a", []byte("1"), []byte("2"))}}))
	require.NoError(t, m.stop())
	addr, _ := m.start()
	m.proxy.Retarget(addr)
	require.NoError(t, s.Commit(t.Context(), createA("t")), "it applied once, before")
	found, err := s.Get(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, "2", string(found.Value))
	other := metastore.Txn{Token: "t", Ops: []metastore.Op{metastore.Create("b", nil)}}
	require.ErrorIs(t, s.Commit(t.Context(), other), metastore.ErrInvalid, "the token stands for another transaction")
}
