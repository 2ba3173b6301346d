// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
)

// sessionServers are a metadata server that keeps its own records, a replica,
// and a client that does nothing wrong.
type sessionServers struct {
	*cluster
	meta, query *server
	table       lake.TableName
	client      *sdk.Client
	appended    int64
}

func newSessionServers(t *testing.T) *sessionServers {
	t.Helper()
	s := &sessionServers{cluster: newCluster(t), table: lake.TableName{Namespace: "a", Name: "t"}}
	s.meta = s.start(t, "meta", "--metastore", "pebble://"+s.file("metastore"), "--listen", "127.0.0.1:0")
	s.query = s.start(t, "query", "--meta", s.meta.address, "--listen", "127.0.0.1:0").awaitReady(t)
	s.client = s.user(t, s.query.address)
	_, err := s.client.CreateTable(t.Context(), s.table, numbers)
	require.NoError(t, err)
	return s
}

// requireAppends makes some appends, and reads them, as somebody else would.
func (s *sessionServers) requireAppends(t *testing.T, while string) {
	t.Helper()
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	const some = 20
	for range some {
		s.appended++
		res, err := s.client.Append(ctx, s.table, batchOf(s.appended))
		require.NoError(t, err, while)
		require.False(t, res.Replayed)
	}
	_, err := s.client.Table(ctx, s.table)
	require.NoError(t, err, while)
	t.Logf("%s: %d appends in %s", while, some, time.Since(began).Round(time.Millisecond))
}

// TestHostileSessions: what one client does with its sessions does not keep
// others from appending, nor fill the servers' memory.
func TestHostileSessions(t *testing.T) {
	s := newSessionServers(t)
	t.Run("left idle", s.testIdle)
	t.Run("items that are none", s.testGarbage)
	t.Run("answers that nobody reads", s.testUnread)
	t.Run("messages of 16 MiB", s.testHuge)
	var want []int64
	for n := range s.appended {
		want = append(want, n+1)
	}
	got := valuesOf(t, t.Context(), s.client, s.table)
	require.Equal(t, want, got[len(got)-len(want):], "and nothing of others is lost or there twice")
	require.Zero(t, s.query.terminate(t))
	require.Zero(t, s.meta.terminate(t))
}

func (s *sessionServers) testIdle(t *testing.T) {
	conn := dialPlain(t, s.query.address)
	grown := memoryOf(t, s.meta, s.query)
	for range 300 {
		openSession(t, conn, s.table)
	}
	s.requireAppends(t, "beside 300 sessions that are idle")
	requireGrown(t, grown(), 256<<20)
	require.EqualValues(t, 300, s.meta.putsUnderWay(t)-1, "they are open, and that of the other client")
}

// putsUnderWay counts the appends and sessions that a process serves now.
func (s *server) putsUnderWay(t *testing.T) float64 {
	t.Helper()
	return s.gauge(t, `lake_rpc_inflight_requests{method="/arrow.flight.protocol.FlightService/DoPut",server="`+s.name+`"}`)
}

// testGarbage: an item that names its operation is refused alone; one that does
// not ends its session.
func (s *sessionServers) testGarbage(t *testing.T) {
	conn := dialPlain(t, s.query.address)
	named := sessionItem(t, lake.NewID(), 0)
	r := openSession(t, conn, s.table)
	_, err := r.exchange(t, &flight.FlightData{DataHeader: []byte("garbage"), DataBody: []byte("garbage"), AppMetadata: named.AppMetadata})
	require.Equal(t, lake.Invalid, lake.KindOf(err), "%v", err)
	_, err = r.put(t, 0)
	require.NoError(t, err, "the session goes on")
	for name, item := range map[string]*flight.FlightData{
		"nothing":       {},
		"no metadata":   {DataHeader: named.DataHeader, DataBody: named.DataBody},
		"not protobuf":  {DataHeader: named.DataHeader, DataBody: named.DataBody, AppMetadata: []byte("\xff\xff\xff")},
		"a short id":    {DataHeader: named.DataHeader, DataBody: named.DataBody, AppMetadata: encodeItem(t, make([]byte, 15))},
		"an id of zero": {DataHeader: named.DataHeader, DataBody: named.DataBody, AppMetadata: encodeItem(t, make([]byte, 16))},
	} {
		r := openSession(t, conn, s.table)
		require.NoError(t, r.Send(item))
		_, err := r.Recv()
		require.Equal(t, codes.InvalidArgument, status.Code(err), "%s: %v", name, err)
	}
	s.requireAppends(t, "after garbage")
}

func encodeItem(t *testing.T, id []byte) []byte {
	t.Helper()
	raw, err := proto.Marshal(&lakepb.AppendSessionItem{OperationId: id, PayloadSha256: make([]byte, 32)})
	require.NoError(t, err)
	return raw
}

// testUnread sends items without an end, and reads no answer, until the servers
// take no more.
func (s *sessionServers) testUnread(t *testing.T) {
	grown := memoryOf(t, s.meta, s.query)
	conn := dialPlain(t, s.query.address)
	item := sessionItem(t, lake.NewID(), 0)
	var sent atomic.Int64
	var senders sync.WaitGroup
	var open []*rawSession
	for range 8 {
		r := openSession(t, conn, s.table)
		open = append(open, r)
		senders.Go(func() {
			for r.Send(item) == nil {
				sent.Add(1)
			}
		})
	}
	for last := int64(-1); last != sent.Load(); { // until they are held up
		last = sent.Load()
		s.requireAppends(t, "beside answers that nobody reads")
		time.Sleep(200 * time.Millisecond) // in which thousands would be sent
	}
	for _, r := range open {
		r.end()
	}
	senders.Wait()
	t.Logf("%d items were taken", sent.Load())
	require.Greater(t, sent.Load(), int64(1000))
	requireGrown(t, grown(), 256<<20)
}

// testHuge sends messages that are far too large for a session, for as long as
// others append.
func (s *sessionServers) testHuge(t *testing.T) {
	grown := memoryOf(t, s.meta, s.query)
	conn := dialPlain(t, s.query.address)
	item := sessionItem(t, lake.NewID(), 0)
	item.DataBody = make([]byte, 16<<20-1<<12)
	ctx, cancel := context.WithCancel(t.Context())
	var sent atomic.Int64
	var senders sync.WaitGroup
	for range 4 {
		senders.Go(func() {
			for ctx.Err() == nil {
				r, err := trySession(ctx, conn, s.table)
				for err == nil {
					if err = r.Send(item); err == nil {
						sent.Add(1)
					}
				}
			}
		})
	}
	for sent.Load() < 32 {
		s.requireAppends(t, "beside messages of 16 MiB")
	}
	cancel()
	senders.Wait()
	t.Logf("%d messages were sent", sent.Load())
	requireGrown(t, grown(), 1<<30)
}

// memoryOf follows the resident memory of processes. The function returned ends
// that, and tells by how many bytes each grew at most.
func memoryOf(t *testing.T, servers ...*server) (grown func() map[string]int64) {
	t.Helper()
	before, most := map[string]int64{}, map[string]int64{}
	for _, s := range servers {
		n, err := s.memory()
		require.NoError(t, err)
		before[s.name] = n
	}
	done := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			for _, s := range servers {
				if n, err := s.memory(); err == nil {
					most[s.name] = max(most[s.name], n-before[s.name])
				}
			}
			select {
			case <-done:
				return
			case <-time.After(tick):
			}
		}
	})
	stop := sync.OnceFunc(func() { close(done) })
	t.Cleanup(stop)
	return func() map[string]int64 {
		stop()
		watching.Wait()
		return most
	}
}

// memory is the process's resident memory, in bytes.
func (s *server) memory() (int64, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(raw), "\nVmRSS:")
	var kib int64
	_, err = fmt.Sscan(rest, &kib)
	return kib << 10, err
}

func requireGrown(t *testing.T, grown map[string]int64, atMost int64) {
	t.Helper()
	for name, n := range grown {
		t.Logf("lake %s grew by %d MiB", name, n>>20)
		require.Less(t, n, atMost, "lake %s", name)
	}
}
