// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package dynamodb

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/dynamodb/dynamotest"
	"github.com/lakeplane/lake/metastore/metastoretest"
)

// brief is a store whose patience ends soon.
func brief(t *testing.T, service *dynamotest.Server) *Store {
	t.Helper()
	opts := options(service)
	opts.RetryTime, opts.RequestTimeout = 300*time.Millisecond, 200*time.Millisecond
	s, err := Open(t.Context(), opts)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// harming gives the fault to the first n requests of an operation.
func harming(operation string, n int, f dynamotest.Fault) func(dynamotest.Request) dynamotest.Fault {
	var mu sync.Mutex
	return func(r dynamotest.Request) dynamotest.Fault {
		mu.Lock()
		defer mu.Unlock()
		if r.Operation != operation || n == 0 {
			return dynamotest.Fault{}
		}
		n--
		return f
	}
}

const always = -1

func createA(token string) metastore.Txn {
	return metastore.Txn{Token: token, Ops: []metastore.Op{metastore.Create("a", []byte("1")), metastore.GuardAbsent("b")}}
}

// TestFaultMatrix says what a commit is told and what is there afterwards, for
// each harm, when it strikes once and always.
func TestFaultMatrix(t *testing.T) {
	unknown, retryable := metastore.ErrUnknownOutcome, metastore.ErrRetryable
	refuse := func(code string) dynamotest.Fault { return dynamotest.Fault{Harm: dynamotest.Refuse, Error: code} }
	for name, c := range map[string]struct {
		fault   dynamotest.Fault
		times   int
		taken   bool // the key is there already, so the answer is a conflict
		want    error
		applied bool
	}{
		"throttled once":                {fault: refuse("ThrottlingException"), times: 1, applied: true},
		"throttled always":              {fault: refuse("ProvisionedThroughputExceededException"), times: always, want: retryable},
		"too many requests always":      {fault: refuse("RequestLimitExceeded"), times: always, want: retryable},
		"throttled, then a conflict":    {fault: refuse("ThrottlingException"), times: 1, taken: true, want: errConflict},
		"met another once":              {fault: dynamotest.Fault{Conflicts: []int{1}}, times: 1, applied: true},
		"met another always":            {fault: dynamotest.Fault{Conflicts: []int{0, 1}}, times: always, want: retryable},
		"met another and a conflict":    {fault: dynamotest.Fault{Conflicts: []int{1}}, times: always, taken: true, want: errConflict},
		"in progress once":              {fault: refuse("TransactionInProgressException"), times: 1, applied: true},
		"in progress always":            {fault: refuse("TransactionInProgressException"), times: always, want: unknown},
		"fails before once":             {fault: refuse("InternalServerError"), times: 1, applied: true},
		"fails before always":           {fault: refuse("ServiceUnavailable"), times: always, want: unknown},
		"fails after once":              {fault: dynamotest.Fault{Harm: dynamotest.FailAfter}, times: 1, applied: true},
		"fails after always":            {fault: dynamotest.Fault{Harm: dynamotest.FailAfter}, times: always, want: unknown, applied: true},
		"request lost once":             {fault: dynamotest.Fault{Harm: dynamotest.CutBefore}, times: 1, applied: true},
		"request lost always":           {fault: dynamotest.Fault{Harm: dynamotest.CutBefore}, times: always, want: unknown},
		"answer lost once":              {fault: dynamotest.Fault{Harm: dynamotest.CutAfter}, times: 1, applied: true},
		"answer lost always":            {fault: dynamotest.Fault{Harm: dynamotest.CutAfter}, times: always, want: unknown, applied: true},
		"request lost, then conflict":   {fault: dynamotest.Fault{Harm: dynamotest.CutBefore}, times: 1, taken: true, want: unknown},
		"no answer once":                {fault: dynamotest.Fault{Delay: time.Second}, times: 1, applied: true},
		"denied":                        {fault: refuse("AccessDeniedException"), times: 1, want: errDenied},
		"a table is gone":               {fault: refuse("ResourceNotFoundException"), times: 1, want: errPrecondition},
		"something that nobody thought": {fault: refuse("ValidationException"), times: 1, want: errUnknownKind},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := dynamotest.Start(t, dynamotest.Options{})
			s := brief(t, service)
			if c.taken {
				require.NoError(t, s.Commit(t.Context(), metastore.Txn{Ops: []metastore.Op{metastore.Create("a", []byte("0"))}}))
			}
			service.SetFault(harming("TransactWriteItems", c.times, c.fault))
			requireError(t, c.want, s.Commit(t.Context(), createA("t")))
			service.SetFault(nil)
			rec, err := s.Get(t.Context(), "a")
			require.Equal(t, c.applied, err == nil && string(rec.Value) == "1")

			err = s.Commit(t.Context(), createA("t"))
			if c.taken {
				requireError(t, errConflict, err)
			} else {
				require.NoError(t, err, "a later retry settles it")
			}
		})
	}
}

// Kinds of errors that are told by no sentinel of package metastore.
var (
	errConflict     error = &lake.Error{Kind: lake.Conflict}
	errDenied       error = &lake.Error{Kind: lake.Denied}
	errPrecondition error = &lake.Error{Kind: lake.Precondition}
	errUnknownKind  error = &lake.Error{Kind: lake.Unknown}
)

func requireError(t *testing.T, want, err error) {
	t.Helper()
	if want == nil {
		require.NoError(t, err)
		return
	}
	require.Equal(t, lake.KindOf(want), lake.KindOf(err), "%v", err)
	for _, sentinel := range []error{metastore.ErrUnknownOutcome, metastore.ErrRetryable} {
		require.Equal(t, errors.Is(want, sentinel), errors.Is(err, sentinel), "%v", err)
	}
}

func TestAConflictTellsWhatIsThere(t *testing.T) {
	s := openOn(t, dynamotest.Start(t, dynamotest.Options{}))
	require.NoError(t, s.Commit(t.Context(), createA("")))
	var conflict *metastore.ConflictError
	for _, op := range []metastore.Op{
		metastore.Create("a", nil), metastore.Update("a", []byte("2"), nil), metastore.Remove("a", nil), metastore.Guard("a", []byte("0")), metastore.GuardAbsent("a"),
	} {
		err := s.Commit(t.Context(), metastore.Txn{Ops: []metastore.Op{op, metastore.Create("c", nil)}})
		require.ErrorAs(t, err, &conflict)
		require.Equal(t, metastore.ConflictError{Key: "a", Known: true, Current: []byte("1")}, *conflict)
	}
	err := s.Commit(t.Context(), metastore.Txn{Ops: []metastore.Op{metastore.Update("c", nil, []byte("1"))}})
	require.ErrorAs(t, err, &conflict)
	require.Equal(t, metastore.ConflictError{Key: "c", Known: true}, *conflict)
}

// TestTheTokenOutlivesOtherWrites: a commit whose answer was lost is told that it
// applied although its record was changed meanwhile, which no look at the bytes
// could tell.
func TestTheTokenOutlivesOtherWrites(t *testing.T) {
	service := dynamotest.Start(t, dynamotest.Options{})
	s, other := openOn(t, service), openOn(t, service)
	service.SetFault(func(r dynamotest.Request) dynamotest.Fault {
		if r.Operation == "TransactWriteItems" && r.Attempt == 1 {
			return dynamotest.Fault{Harm: dynamotest.CutAfter}
		}
		if r.Operation == "TransactWriteItems" && r.Attempt == 2 {
			service.SetFault(nil)
			require.NoError(t, other.Commit(context.Background(), metastore.Txn{Ops: []metastore.Op{metastore.Remove("a", []byte("1"))}}))
		}
		return dynamotest.Fault{}
	})
	require.NoError(t, s.Commit(t.Context(), createA("t")))
	_, err := s.Get(t.Context(), "a")
	require.ErrorIs(t, err, metastore.ErrNotFound)
}

// TestTokensAreOfTheirTables: the service knows request tokens by account.
func TestTokensAreOfTheirTables(t *testing.T) {
	service := dynamotest.Start(t, dynamotest.Options{})
	one := openOn(t, service)
	opts := options(service)
	opts.Table = "lake2"
	two, err := Open(t.Context(), opts)
	require.NoError(t, err)
	defer two.Close()
	require.NoError(t, one.Commit(t.Context(), createA("t")))
	require.NoError(t, two.Commit(t.Context(), createA("t")))
}

func TestReadsAreRepeated(t *testing.T) {
	service := dynamotest.Start(t, dynamotest.Options{})
	s := brief(t, service)
	require.NoError(t, s.Commit(t.Context(), metastore.Txn{Ops: []metastore.Op{metastore.Create("a/b", []byte("1"))}}))
	for operation, read := range map[string]func(context.Context) error{
		"GetItem": func(ctx context.Context) error { _, err := s.Get(ctx, "a/b"); return err },
		"Query":   func(ctx context.Context) error { _, err := s.Scan(ctx, "a/", "", 10); return err },
		"Scan":    func(ctx context.Context) error { _, err := s.Scan(ctx, "a", "", 10); return err },
	} {
		for _, f := range []dynamotest.Fault{
			{Harm: dynamotest.Refuse, Error: "ThrottlingException"}, {Harm: dynamotest.Refuse}, {Harm: dynamotest.CutBefore}, {Harm: dynamotest.CutAfter}, {Delay: 250 * time.Millisecond},
		} {
			service.SetFault(harming(operation, 1, f))
			require.NoError(t, read(t.Context()), "%s %v", operation, f)
			service.SetFault(harming(operation, always, f))
			require.ErrorIs(t, read(t.Context()), metastore.ErrRetryable, "%s %v", operation, f)
		}
		service.SetFault(harming(operation, always, dynamotest.Fault{Harm: dynamotest.Refuse, Error: "AccessDeniedException"}))
		require.True(t, lake.Is(read(t.Context()), lake.Denied))
		service.SetFault(harming(operation, always, dynamotest.Fault{Delay: time.Second}))
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		err := read(ctx)
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, metastore.ErrRetryable)
		service.SetFault(nil)
	}
}

// TestAServiceThatIsAwayIsRetryable: what nobody has seen did not apply.
func TestAServiceThatIsAwayIsRetryable(t *testing.T) {
	service, err := dynamotest.New(dynamotest.Options{})
	require.NoError(t, err)
	s := brief(t, service)
	s.http.CloseIdleConnections()
	service.Close()
	err = s.Commit(t.Context(), createA("t"))
	require.ErrorIs(t, err, metastore.ErrRetryable)
	require.NotErrorIs(t, err, metastore.ErrUnknownOutcome)
}

// TestHistoriesUnderFaults puts a bad network and a busy service before the store.
func TestHistoriesUnderFaults(t *testing.T) {
	metastoretest.RunHistories(t, func(tb testing.TB) metastore.Store {
		service := nasty(tb)
		s := openOn(tb, service)
		service.SetFault(func(dynamotest.Request) dynamotest.Fault {
			if rand.Float64() > 0.2 {
				return dynamotest.Fault{}
			}
			return []dynamotest.Fault{
				{Harm: dynamotest.CutBefore},
				{Harm: dynamotest.CutAfter},
				{Harm: dynamotest.FailAfter},
				{Harm: dynamotest.Refuse},
				{Harm: dynamotest.Refuse, Error: "ThrottlingException"},
				{Conflicts: []int{0}},
				{Delay: 3 * time.Millisecond},
			}[rand.IntN(7)]
		})
		return s
	}, metastoretest.Histories{})
}
