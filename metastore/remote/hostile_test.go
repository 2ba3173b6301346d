// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/remote"
)

// hostile answers what a test tells it to.
type hostile struct {
	lakepb.UnimplementedMetastoreServer
	describe *lakepb.MetastoreDescribeResponse
	get      *lakepb.MetastoreGetResponse
	getAll   *lakepb.MetastoreGetAllResponse
	scan     *lakepb.MetastoreScanResponse
	commit   *lakepb.MetastoreCommitResponse
	err      error
}

func (h *hostile) Describe(context.Context, *lakepb.MetastoreDescribeRequest) (*lakepb.MetastoreDescribeResponse, error) {
	return h.describe, nil
}

func (h *hostile) Get(context.Context, *lakepb.MetastoreGetRequest) (*lakepb.MetastoreGetResponse, error) {
	return h.get, h.err
}

func (h *hostile) GetAll(context.Context, *lakepb.MetastoreGetAllRequest) (*lakepb.MetastoreGetAllResponse, error) {
	return h.getAll, h.err
}

func (h *hostile) Scan(context.Context, *lakepb.MetastoreScanRequest) (*lakepb.MetastoreScanResponse, error) {
	return h.scan, h.err
}

func (h *hostile) Commit(context.Context, *lakepb.MetastoreCommitRequest) (*lakepb.MetastoreCommitResponse, error) {
	return h.commit, h.err
}

// face serves a hostile server.
func face(t *testing.T, h *hostile) string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer()
	lakepb.RegisterMetastoreServer(server, h)
	served := make(chan error, 1)
	go func() { served <- server.Serve(lis) }()
	t.Cleanup(func() {
		server.Stop()
		require.NoError(t, <-served)
	})
	return lis.Addr().String()
}

func rec(key, value string) *lakepb.MetastoreRecord {
	return &lakepb.MetastoreRecord{Key: key, Value: []byte(value)}
}

// TestAnswersAreNotTrusted gives the client answers that no store could give.
func TestAnswersAreNotTrusted(t *testing.T) {
	h := &hostile{describe: &lakepb.MetastoreDescribeResponse{Cluster: lake.NewID().String(), GetAll: true}}
	s := openAt(t, face(t, h), impatient)
	long := strings.Repeat("v", metastore.MaxValueBytes+1)
	corrupt := func(name string, err error) {
		t.Helper()
		require.True(t, lake.Is(err, lake.Corrupt), "%s: %v", name, err)
		require.NotErrorIs(t, err, metastore.ErrRetryable, name)
	}
	for name, answer := range map[string]*lakepb.MetastoreRecord{"other key": rec("b", ""), "long value": rec("a", long)} {
		h.get = &lakepb.MetastoreGetResponse{Record: answer}
		corrupt(name, getErr(t.Context(), s, "a"))
	}
	for name, records := range map[string][]*lakepb.MetastoreRecord{
		"not asked for": {rec("c", "")}, "twice": {rec("a", ""), rec("a", "")}, "long value": {rec("a", long)},
	} {
		h.getAll = &lakepb.MetastoreGetAllResponse{Records: records}
		_, err := s.GetAll(t.Context(), []string{"a", "b"})
		corrupt(name, err)
	}
	for name, page := range map[string]*lakepb.MetastoreScanResponse{
		"outside of the prefix": {Records: []*lakepb.MetastoreRecord{rec("b/1", "")}},
		"over the limit":        {Records: []*lakepb.MetastoreRecord{rec("a/1", ""), rec("a/2", ""), rec("a/3", "")}},
		"out of order":          {Records: []*lakepb.MetastoreRecord{rec("a/2", ""), rec("a/1", "")}},
		"twice":                 {Records: []*lakepb.MetastoreRecord{rec("a/1", ""), rec("a/1", "")}},
		"a bad key":             {Records: []*lakepb.MetastoreRecord{rec("a/b//c", "")}},
		"a long value":          {Records: []*lakepb.MetastoreRecord{rec("a/1", long)}},
		"a long cursor":         {Next: strings.Repeat("x", 9<<10)},
		"a cursor that stands":  {Next: "here"},
	} {
		h.scan = page
		_, err := s.Scan(t.Context(), "a/", "here", 2)
		corrupt(name, err)
	}
	h.commit = &lakepb.MetastoreCommitResponse{Conflict: &lakepb.MetastoreConflict{Key: "b"}}
	corrupt("conflict on another key", s.Commit(t.Context(), createA("t")))
	h.commit = &lakepb.MetastoreCommitResponse{Conflict: &lakepb.MetastoreConflict{Key: "a", Known: true}}
	corrupt("conflict that is none", s.Commit(t.Context(), createA("t")))
	h.commit = &lakepb.MetastoreCommitResponse{Conflict: &lakepb.MetastoreConflict{Key: "a"}}
	require.ErrorAs(t, s.Commit(t.Context(), createA("t")), new(*metastore.ConflictError))

	h.describe = &lakepb.MetastoreDescribeResponse{Cluster: "here"}
	_, err := remote.Open(t.Context(), dial(t, face(t, h), workerToken), remote.Options{})
	corrupt("a cluster without an id", err)
}

// TestOnlyALakeServerIsBelieved gets codes from something in between: none of
// them says that a commit was not applied.
func TestOnlyALakeServerIsBelieved(t *testing.T) {
	h := &hostile{describe: &lakepb.MetastoreDescribeResponse{Cluster: lake.NewID().String()}}
	s := openAt(t, face(t, h), impatient)
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		h.err = status.Error(code, "from a proxy")
		err := s.Commit(t.Context(), createA("t"))
		require.ErrorIs(t, err, metastore.ErrUnknownOutcome, "%v", code)
		require.NotErrorIs(t, err, metastore.ErrRetryable)
		require.ErrorIs(t, getErr(t.Context(), s, "a"), metastore.ErrRetryable, "%v", code)
	}
}

// FuzzPage feeds pages to the client's check: what passes keeps the contract.
func FuzzPage(f *testing.F) {
	f.Add("a/", "", "a/1", "a/2", "next", 2)
	f.Add("", "c", "a", "\xff", "c", 1)
	f.Fuzz(func(t *testing.T, prefix, cursor, first, second, next string, limit int) {
		if metastore.CheckScan(prefix, limit) != nil {
			return
		}
		page, err := remote.CheckPage(
			&lakepb.MetastoreScanRequest{Prefix: prefix, Cursor: cursor, Limit: int32(limit)}, //nolint:gosec // checked above
			&lakepb.MetastoreScanResponse{Records: []*lakepb.MetastoreRecord{rec(first, "1"), rec(second, "")}, Next: next})
		if err != nil {
			require.True(t, lake.Is(err, lake.Corrupt))
			return
		}
		require.LessOrEqual(t, len(page.Records), limit)
		for _, r := range page.Records {
			require.NoError(t, metastore.CheckKey(r.Key))
			require.True(t, strings.HasPrefix(r.Key, prefix))
		}
		require.Less(t, page.Records[0].Key, page.Records[1].Key)
		require.True(t, next == "" || next != cursor)
	})
}
