// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package dynamotest_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/metastore/dynamodb/dynamotest"
)

func TestReplicaLag(t *testing.T) {
	w, server := emulated(t, dynamotest.Options{ReplicaLag: time.Hour})
	it := with(key("h", "k"), "val", text("1"))
	see := func(consistent bool) (read, queried, scanned attributes) {
		got, err := w.client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &w.ranged, Key: key("h", "k"), ConsistentRead: &consistent})
		require.NoError(t, err)
		in := w.queryOf("h")
		in.ConsistentRead = &consistent
		page, err := w.client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &w.ranged, ConsistentRead: &consistent})
		require.NoError(t, err)
		return got.Item, only(w.query(in).Items), only(page.Items)
	}
	expect := func(consistent bool, want attributes) {
		t.Helper()
		read, queried, scanned := see(consistent)
		require.Equal(t, []attributes{want, want, want}, []attributes{read, queried, scanned})
	}
	w.mustPut(it)
	expect(true, it)
	expect(false, nil)
	server.Advance(time.Hour)
	expect(false, it)

	w.mustPut(with(it, "val", text("2")))
	server.Advance(time.Minute)
	_, err := w.client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &w.ranged, Key: key("h", "k")})
	require.NoError(t, err)
	expect(true, nil)
	expect(false, it)
	server.Advance(59 * time.Minute)
	expect(false, with(it, "val", text("2")))
	server.Advance(time.Minute)
	expect(false, nil)

	require.NoError(t, w.put(it, absent), "conditions are on the state as it is")
	expect(true, it)
	expect(false, nil)
}

func only(items []attributes) attributes {
	if len(items) == 0 {
		return nil
	}
	return items[0]
}

func TestPageItems(t *testing.T) {
	w, server := emulated(t, dynamotest.Options{})
	for i := range 5 {
		w.mustPut(key("h", fmt.Sprint(i)))
	}
	server.Configure(func(o *dynamotest.Options) { o.PageItems = 2 })
	in := w.queryOf("h")
	in.Limit = aws.Int32(4)
	out := w.query(in)
	require.Equal(t, "0 1", ranges(out.Items))
	require.Equal(t, key("h", "1"), out.LastEvaluatedKey)
	in.Limit = aws.Int32(1)
	require.Equal(t, "0", ranges(w.query(in).Items))
	page, err := w.client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &w.ranged})
	require.NoError(t, err)
	require.Len(t, page.Items, 2)
}

// waitFor is how long the tests wait for what happens at once.
const waitFor = 20 * time.Second

func TestTransactionsInFlight(t *testing.T) {
	w, server := emulated(t, dynamotest.Options{TransactionTime: time.Hour})
	ops := []types.TransactWriteItem{w.checkOp(key("h", "checked"), absent)}
	for i := range 8 {
		ops = append(ops, w.putOp(key("h", fmt.Sprint(i)), absent))
	}
	done := make(chan error, 1)
	go func() { done <- w.transact("token", ops...) }()
	require.Eventually(t, func() bool {
		server.Advance(time.Minute)
		return len(server.Items(w.ranged)) > 0
	}, waitFor, time.Millisecond)

	conflict := func(k attributes) {
		t.Helper()
		_, err := w.client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &w.ranged, Key: k})
		for _, err := range []error{w.put(k, condition{}), err} {
			refused(t, err, "TransactionConflictException", "Transaction is ongoing for the item")
		}
		codes, _ := reasons(t, w.transact("", w.putOp(key("h", "free"), condition{}), w.checkOp(k, absent)))
		require.Equal(t, []string{"None", "TransactionConflict"}, codes)
		_, err = w.client.TransactGetItems(t.Context(), &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{{Get: &types.Get{TableName: &w.ranged, Key: k}}}})
		codes, _ = reasons(t, err)
		require.Equal(t, []string{"TransactionConflict"}, codes)
	}
	conflict(key("h", "0"))
	conflict(key("h", "checked"))
	refused(t, w.transact("token", ops...), "TransactionInProgressException", "")
	refused(t, w.transact("token", ops[1:]...), "IdempotentParameterMismatchException", "")
	some := len(w.query(w.queryOf("h")).Items)
	require.Greater(t, some, 0, "a query sees a part of the transaction")
	require.Less(t, some, 8, "a query sees a part of the transaction")
	w.get(key("h", "0")) // a single read is not in its way

	server.Advance(time.Hour)
	require.NoError(t, <-done)
	require.Len(t, w.query(w.queryOf("h")).Items, 8)
	server.Configure(func(o *dynamotest.Options) { o.TransactionTime = 0 })
	require.NoError(t, w.put(key("h", "0"), condition{}), "the items are free afterwards")
	require.NoError(t, w.transact("token", ops...), "the token is known afterwards")
}

func TestTransactionsChangeItemsInAnyOrder(t *testing.T) {
	w, server := emulated(t, dynamotest.Options{TransactionTime: 50 * time.Millisecond})
	first := map[string]bool{}
	for i := 0; len(first) < 2; i++ {
		require.Less(t, i, 100, "the first item was the first to change each time")
		hash := fmt.Sprint(i)
		done := make(chan error, 1)
		go func() { done <- w.transact("", w.putOp(key(hash, "a"), absent), w.putOp(key(hash, "b"), absent)) }()
		for seen := ""; seen == ""; {
			if seen = ranges(w.query(w.queryOf(hash)).Items); seen == "a" || seen == "b" {
				first[seen] = true
			}
		}
		require.NoError(t, <-done)
	}
	require.Len(t, server.Items(w.ranged)[0], 2)
}

func TestTokenWindow(t *testing.T) {
	w, server := emulated(t, dynamotest.Options{})
	require.NoError(t, w.transact("token", w.putOp(key("h", "a"), absent)))
	server.Advance(10*time.Minute - time.Second)
	require.NoError(t, w.transact("token", w.putOp(key("h", "a"), absent)))
	server.Advance(2 * time.Second)
	codes, _ := reasons(t, w.transact("token", w.putOp(key("h", "a"), absent)))
	require.Equal(t, []string{"ConditionalCheckFailed"}, codes)
}

// throttledRate is what a partition takes in a second in the tests.
const throttledRate = 20

// untilThrottled makes calls of some units until one is refused, and holds that as
// many passed as there were units.
func untilThrottled(t *testing.T, units float64, call func() error) error {
	t.Helper()
	start := time.Now()
	for calls := range 10_000 {
		if err := call(); err != nil {
			passed := float64(calls) * units
			require.Greater(t, passed, throttledRate-units)
			require.LessOrEqual(t, passed, throttledRate*(1+time.Since(start).Seconds())+units)
			return err
		}
	}
	t.Fatal("it is never throttled")
	return nil
}

func TestThrottling(t *testing.T) {
	w, server := emulated(t, dynamotest.Options{WriteUnits: throttledRate, ReadUnits: throttledRate})
	big := func(hash string) attributes { return with(key(hash, "k"), "val", binary(make([]byte, 1500)...)) }

	err := untilThrottled(t, 2, func() error { return w.put(big("single"), condition{}) })
	refused(t, err, "ProvisionedThroughputExceededException", "")
	require.NoError(t, w.put(big("another partition"), condition{}))
	server.Advance(time.Second)
	require.NoError(t, w.put(big("single"), condition{}), "a second later")

	codes := map[string]bool{}
	for i := 0; len(codes) < 2; i++ {
		require.Less(t, i, 200, "there is one reason only: %v", codes)
		hash := fmt.Sprint("txn", i)
		got, _ := reasons(t, untilThrottled(t, 4, func() error { return w.transact("", w.putOp(big(hash), condition{})) }))
		codes[got[0]] = true
	}
	require.Equal(t, map[string]bool{"ThrottlingError": true, "ProvisionedThroughputExceeded": true}, codes)

	err = untilThrottled(t, 0.5, func() error {
		_, err := w.client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &w.ranged, Key: key("read", "k")})
		return err
	})
	refused(t, err, "ProvisionedThroughputExceededException", "")
	err = untilThrottled(t, float64(len("bucket")+len("single")+len("pk")+len("k")+len("val")+1500)/4096, func() error {
		_, err := w.client.Query(t.Context(), w.queryOf("single"))
		return err
	})
	refused(t, err, "ProvisionedThroughputExceededException", "")
}

func TestThrottledPagesEndEarly(t *testing.T) {
	w, server := emulated(t, dynamotest.Options{})
	for i := range 4 {
		for n := range 4 {
			w.mustPut(with(key(fmt.Sprint(i), fmt.Sprint(n)), "val", binary(make([]byte, 40<<10)...)))
		}
	}
	server.Configure(func(o *dynamotest.Options) { o.ReadUnits = 25 })
	in := &dynamodb.ScanInput{TableName: &w.ranged, ConsistentRead: aws.Bool(true)}
	pages, items, refusals := 0, 0, 0
	for {
		out, err := w.client.Scan(t.Context(), in)
		if err != nil {
			refused(t, err, "ProvisionedThroughputExceededException", "")
			refusals++
			server.Advance(time.Second)
			continue
		}
		pages++
		items += len(out.Items)
		if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
			break
		}
	}
	require.Equal(t, 16, items)
	require.Greater(t, pages, 4)
	require.Positive(t, refusals)
}

func TestAccessKeys(t *testing.T) {
	w, server := emulated(t, dynamotest.Options{AccessKey: "AKTEST"})
	require.NoError(t, w.put(key("h", "k"), condition{}))
	_, err := clientOf(server, "AKOTHER").ListTables(t.Context(), &dynamodb.ListTablesInput{})
	refused(t, err, "UnrecognizedClientException", "")

	send := func(authorization string) string {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL()+"/", strings.NewReader("{}"))
		require.NoError(t, err)
		r.Header.Set("X-Amz-Target", "DynamoDB_20120810.ListTables")
		r.Header.Set("Content-Type", "application/x-amz-json-1.0")
		if authorization != "" {
			r.Header.Set("Authorization", authorization)
		}
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer answer.Body.Close()
		require.Equal(t, http.StatusBadRequest, answer.StatusCode)
		var body strings.Builder
		require.NoError(t, answer.Write(&body))
		return body.String()
	}
	require.Contains(t, send(""), "MissingAuthenticationTokenException")
	require.Contains(t, send("Bearer secret"), "IncompleteSignatureException")
	require.Contains(t, send("AWS4-HMAC-SHA256 Credential=AKTEST/20260101/eu/s3/aws4_request, SignedHeaders=host;x-amz-target, Signature="+strings.Repeat("0", 64)), "IncompleteSignatureException")
}

// plan harms the first request of an operation.
func plan(operation string, f dynamotest.Fault) func(dynamotest.Request) dynamotest.Fault {
	var once sync.Once
	return func(r dynamotest.Request) (fault dynamotest.Fault) {
		if r.Operation == operation {
			once.Do(func() { fault = f })
		}
		return fault
	}
}

func TestFaults(t *testing.T) {
	w, server := emulated(t, dynamotest.Options{})
	for _, c := range []struct {
		name    string
		fault   dynamotest.Fault
		code    string // "" for a connection that was cut
		applied bool
	}{
		{"refuse", dynamotest.Fault{Harm: dynamotest.Refuse}, "InternalServerError", false},
		{"refuse with 503", dynamotest.Fault{Harm: dynamotest.Refuse, Error: "ServiceUnavailable"}, "ServiceUnavailable", false},
		{"throttle", dynamotest.Fault{Harm: dynamotest.Refuse, Error: "ThrottlingException"}, "ThrottlingException", false},
		{"cut before", dynamotest.Fault{Harm: dynamotest.CutBefore}, "", false},
		{"cut after", dynamotest.Fault{Harm: dynamotest.CutAfter}, "", true},
		{"fail after", dynamotest.Fault{Harm: dynamotest.FailAfter}, "InternalServerError", true},
		{"conflict", dynamotest.Fault{Conflicts: []int{0}}, "TransactionConflictException", false},
	} {
		w.fact(c.name, func(w *world, hash string) {
			server.ResetRequests()
			server.SetFault(plan("PutItem", c.fault))
			err := w.put(key(hash, "k"), condition{})
			require.Error(w, err)
			if c.code != "" {
				refused(w, err, c.code, "")
			} else {
				require.ErrorContains(w, err, "EOF")
			}
			require.Equal(w, c.applied, w.get(key(hash, "k")) != nil)
			require.NoError(w, w.put(key(hash, "k"), condition{}), "the plan harms one request")
			require.Equal(w, 2, server.Requests()[dynamotest.Call{Operation: "PutItem", Table: w.ranged}], "and no one sent it again")
		})
	}
	w.fact("delay", func(w *world, hash string) {
		server.SetFault(plan("PutItem", dynamotest.Fault{Delay: 50 * time.Millisecond}))
		start := time.Now()
		require.NoError(w, w.put(key(hash, "k"), condition{}))
		require.GreaterOrEqual(w, time.Since(start), 50*time.Millisecond)
	})
	w.fact("conflicts of a transaction", func(w *world, hash string) {
		server.SetFault(plan("TransactWriteItems", dynamotest.Fault{Conflicts: []int{1}}))
		op := w.putOp(key(hash, "a"), condition{})
		codes, _ := reasons(w, w.transact("conflicts", op, w.deleteOp(key(hash, "b"))))
		require.Equal(w, []string{"None", "TransactionConflict"}, codes)
		require.NoError(w, w.transact("conflicts", op, w.deleteOp(key(hash, "b"))))
	})
	w.fact("reasons of a transaction", func(w *world, hash string) {
		server.SetFault(func(r dynamotest.Request) dynamotest.Fault {
			return dynamotest.Fault{Reasons: map[int]string{1: "ItemCollectionSizeLimitExceeded"}}
		})
		defer server.SetFault(nil)
		codes, _ := reasons(w, w.transact("reasons", w.putOp(key(hash, "a"), condition{}), w.deleteOp(key(hash, "b"))))
		require.Equal(w, []string{"None", "ItemCollectionSizeLimitExceeded"}, codes)
		get := func(rng string) types.TransactGetItem {
			return types.TransactGetItem{Get: &types.Get{TableName: &w.ranged, Key: key(hash, rng)}}
		}
		_, err := w.client.TransactGetItems(w.Context(), &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{get("a"), get("b")}})
		codes, _ = reasons(w, err)
		require.Equal(w, []string{"None", "ItemCollectionSizeLimitExceeded"}, codes)
		require.Nil(w, w.get(key(hash, "a")))
	})
	w.fact("a transaction that is cut after it was done", func(w *world, hash string) {
		server.SetFault(plan("TransactWriteItems", dynamotest.Fault{Harm: dynamotest.CutAfter}))
		op := w.putOp(key(hash, "a"), absent)
		require.ErrorContains(w, w.transact("cut", op), "EOF")
		require.NoError(w, w.transact("cut", op))
	})
}

func TestFaultPlansAreToldTheRequest(t *testing.T) {
	w, server := emulated(t, dynamotest.Options{})
	var got []dynamotest.Request
	server.SetFault(func(r dynamotest.Request) dynamotest.Fault {
		got = append(got, r)
		return dynamotest.Fault{}
	})
	plain := types.TransactWriteItem{Delete: &types.Delete{TableName: &w.plain, Key: attributes{"pk": text("p")}}}
	require.NoError(t, w.transact("token", w.putOp(key("h", "k"), condition{}), plain))
	require.NoError(t, w.transact("token", w.putOp(key("h", "k"), condition{}), plain))
	w.query(w.queryOf("h"))
	require.Len(t, got, 3)
	keys := []dynamotest.Key{{Table: w.ranged, Hash: "h", Range: "k"}, {Table: w.plain, Hash: "p"}}
	for i, attempt := range []int{1, 2} {
		require.Equal(t, "TransactWriteItems", got[i].Operation)
		require.Equal(t, attempt, got[i].Attempt)
		require.Equal(t, "token", got[i].Token)
		require.Equal(t, []string{w.ranged, w.plain}, got[i].Tables)
		require.Equal(t, keys, got[i].Keys)
	}
	require.Equal(t, got[0].Number+1, got[1].Number)
	require.Equal(t, []string{w.ranged}, got[2].Tables)
	require.Empty(t, got[2].Keys)
	require.Equal(t, map[dynamotest.Call]int{
		{Operation: "TransactWriteItems"}: 2, {Operation: "TransactWriteItems", Table: w.ranged}: 2, {Operation: "TransactWriteItems", Table: w.plain}: 2,
		{Operation: "Query"}: 1, {Operation: "Query", Table: w.ranged}: 1,
	}, server.Requests())
	require.Equal(t, []map[string]any{{"bucket": "h", "pk": "k"}}, server.Items(w.ranged))
}

func TestCutAndHang(t *testing.T) {
	w, server := emulated(t, dynamotest.Options{})
	w.mustPut(key("h", "a"))
	server.Cut(true)
	require.Error(t, w.put(key("h", "b"), condition{}))
	server.Cut(false)
	require.NoError(t, w.put(key("h", "b"), absent))
	require.NotNil(t, w.get(key("h", "a")), "tables stay")

	server.Hang(true)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := w.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &w.ranged, Item: key("h", "late")})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Len(t, server.Items(w.ranged), 2)
	server.Hang(false)
	require.Eventually(t, func() bool { return len(server.Items(w.ranged)) == 3 }, waitFor, time.Millisecond, "a request that hung is carried out when nobody waits for it")

	delayed, done := make(chan struct{}), make(chan error, 1)
	server.SetFault(func(dynamotest.Request) dynamotest.Fault {
		close(delayed)
		return dynamotest.Fault{Delay: time.Hour}
	})
	go func() { done <- w.put(key("h", "c"), condition{}) }()
	<-delayed
	server.SetFault(nil)
	server.Restart()
	require.Error(t, <-done)
	w.mustPut(key("h", "d"))
}

func TestManyClients(t *testing.T) {
	w, server := emulated(t, dynamotest.Options{TransactionTime: time.Millisecond, PageItems: 3, ReplicaLag: 10 * time.Millisecond})
	const clients, rounds, counters = 8, 25, 4
	var done sync.WaitGroup
	for c := range clients {
		done.Go(func() {
			for i := range rounds {
				op := w.putOp(key("log", fmt.Sprintf("%d-%d", c, i)), absent)
				counter := key("counter", fmt.Sprint((c+i)%counters))
				for !w.increment(t, counter, op) {
				}
				_, err := w.client.Scan(context.Background(), &dynamodb.ScanInput{TableName: &w.ranged})
				assert.NoError(t, err)
			}
		})
	}
	done.Wait()
	total := 0
	for _, it := range server.Items(w.ranged) {
		if it["bucket"] == "counter" {
			var n int
			_, err := fmt.Sscan(fmt.Sprint(it["n"]), &n)
			require.NoError(t, err)
			total += n
		}
	}
	require.Equal(t, clients*rounds, total, "no increment is lost")
	require.Len(t, server.Items(w.ranged), clients*rounds+counters)
}

// increment adds one to a counter in a transaction with another operation, and
// tells whether it was done.
func (w *world) increment(t *testing.T, counter attributes, op types.TransactWriteItem) bool {
	out, err := w.client.GetItem(context.Background(), &dynamodb.GetItemInput{TableName: &w.ranged, Key: counter, ConsistentRead: aws.Bool(true)})
	if !assert.NoError(t, err) {
		return true
	}
	n, c := 0, absent
	if out.Item != nil {
		old := out.Item["n"].(*types.AttributeValueMemberN)
		_, _ = fmt.Sscan(old.Value, &n)
		c = condition{text: "n = :old", values: attributes{":old": old}}
	}
	_, err = w.client.TransactWriteItems(context.Background(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		w.putOp(with(counter, "n", number(fmt.Sprint(n+1))), c), op,
	}})
	var cancelled *types.TransactionCanceledException
	if err == nil || !assert.ErrorAs(t, err, &cancelled) {
		return true
	}
	for _, r := range cancelled.CancellationReasons {
		assert.Contains(t, []string{"None", "ConditionalCheckFailed", "TransactionConflict"}, aws.ToString(r.Code))
	}
	return false
}
