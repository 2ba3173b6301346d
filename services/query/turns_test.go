// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/query"
)

// ingestion is a bulk ingestion whose batches a test sends one by one.
type ingestion struct {
	t      *testing.T
	stream flight.FlightService_DoPutClient
	batch  *flight.FlightData
}

// beginIngestion sends the schema. Each batch will have that many rows.
func beginIngestion(t *testing.T, r *replica, rowsOfBatch int) *ingestion {
	t.Helper()
	msgs := ingestMessages(t, rows(t, simple, "["+strings.TrimSuffix(strings.Repeat(`{"id":1},`, rowsOfBatch), ",")+"]"))
	stream, err := r.client("ann-token").Client.DoPut(t.Context())
	require.NoError(t, err)
	require.NoError(t, stream.Send(msgs[0]))
	return &ingestion{t, stream, msgs[1]}
}

func (i *ingestion) send() { require.NoError(i.t, i.stream.Send(i.batch)) }

func (i *ingestion) end() {
	require.NoError(i.t, i.stream.CloseSend())
	_, err := i.stream.Recv()
	require.NoError(i.t, err)
}

func oneAtATime(o *query.Options) { o.Ingestions = 1 }

// TestAQuietIngestionKeepsNobodyWaiting: nor do its rows wait for what is to come.
func TestAQuietIngestionKeepsNobodyWaiting(t *testing.T) {
	l := newLake(t)
	l.authority.create(t, "lab.notes", simple)
	r := l.replica(oneAtATime)
	count := func() string { return mustRun(t, r.client("ann-token"), "SELECT count(*) AS n FROM lab.notes").json(t) }
	quiet, other := beginIngestion(t, r, 1), beginIngestion(t, r, 10)
	quiet.send()
	require.Eventually(t, func() bool { return count() == "{\"n\":1}\n" }, 20*time.Second, 50*time.Millisecond)
	other.send()
	other.end()
	require.Equal(t, "{\"n\":11}\n", count())
	quiet.send()
	quiet.end()
	require.Equal(t, "{\"n\":12}\n", count())
}

// TestIngestionsTakeTurns: one that always has more to send lets others in after
// a piece.
func TestIngestionsTakeTurns(t *testing.T) {
	l := newLake(t)
	l.authority.create(t, "lab.notes", simple)
	r := l.replica(oneAtATime)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	long := beginIngestion(t, r, lake.MaxAppendRows/2+1) // so that rows are always held back
	sent := make(chan int, 1)
	go func() {
		n := 0
		for ; ctx.Err() == nil; n++ {
			if long.stream.Send(long.batch) != nil {
				break
			}
		}
		sent <- n
	}()
	require.Eventually(t, func() bool { return l.authority.count("DoPut") > 0 }, 20*time.Second, time.Millisecond)
	for range 3 {
		other := beginIngestion(t, r, 1)
		other.send()
		other.end()
	}
	cancel()
	n := <-sent
	long.end()
	require.Equal(t, fmt.Sprintf("{\"n\":%d}\n", n*(lake.MaxAppendRows/2+1)+3), mustRun(t, r.client("ann-token"), "SELECT count(*) AS n FROM lab.notes").json(t))
}

// TestAnIngestionStaysWithItsTable: rows that come after the table was dropped and
// created again go nowhere.
func TestAnIngestionStaysWithItsTable(t *testing.T) {
	s := newStack(t)
	catalog, c := s.catalog(t), s.client(t)
	create(t, catalog, "lab.notes", simple)
	msgs := ingestMessages(t, rows(t, simple, `[{"id":1}]`))
	stream, err := c.Client.DoPut(t.Context())
	require.NoError(t, err)
	require.NoError(t, stream.Send(msgs[0]))
	require.NoError(t, stream.Send(msgs[1]))
	count := func() string { return mustRun(t, c, "SELECT count(*) AS n FROM lab.notes").json(t) }
	require.Eventually(t, func() bool { return count() == "{\"n\":1}\n" }, 20*time.Second, 50*time.Millisecond)
	_, err = catalog.DropTable(t.Context(), &lakepb.DropTableRequest{Name: &lakepb.TableName{Namespace: "lab", Name: "notes"}})
	require.NoError(t, err)
	create(t, catalog, "lab.notes", simple)
	require.NoError(t, stream.Send(msgs[1]))
	require.NoError(t, stream.CloseSend())
	told, err := stream.Recv()
	require.NoError(t, err)
	var result pb.DoPutUpdateResult
	require.NoError(t, proto.Unmarshal(told.GetAppMetadata(), &result))
	require.EqualValues(t, 1, result.GetRecordCount(), "what the first table got")
	_, err = stream.Recv()
	require.Equal(t, codes.FailedPrecondition, status.Code(err), "%v", err)
	require.Equal(t, "{\"n\":0}\n", count())
}

// TestFewIngestionsHaveRowsInMemory: the others are not refused, they wait.
func TestFewIngestionsHaveRowsInMemory(t *testing.T) {
	const places, clients = 2, 7
	l := newLake(t)
	l.authority.create(t, "lab.notes", simple)
	registry := prometheus.NewRegistry()
	r := l.replica(func(o *query.Options) { o.Ingestions, o.Metrics = places, registry })
	held, release := make(chan struct{}, clients), make(chan struct{})
	l.authority.holdAppends(func() { held <- struct{}{}; <-release })
	rec := rows(t, simple, `[{"id":1}]`)
	c := r.client("ann-token")
	var all errgroup.Group
	for range clients {
		all.Go(func() error { return put(t.Context(), c, ingestMessages(t, rec)) })
	}
	for range places {
		<-held
	}
	states := func() map[string]float64 {
		out := map[string]float64{}
		families, err := registry.Gather()
		require.NoError(t, err)
		for _, f := range families {
			for _, m := range f.GetMetric() {
				if f.GetName() == "lake_query_ingestions" {
					out[m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue()
				}
			}
		}
		return out
	}
	require.Eventually(t, func() bool {
		now := states()
		return now["working"] == places && now["waiting"] == clients-places
	}, 20*time.Second, time.Millisecond)
	require.Empty(t, held, "and none of them appends")
	close(release)
	require.NoError(t, all.Wait())
	require.Equal(t, map[string]float64{"working": 0, "waiting": 0}, states())
	require.Equal(t, fmt.Sprintf("{\"n\":%d}\n", clients), mustRun(t, c, "SELECT count(*) AS n FROM lab.notes").json(t))
}
