// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore/dynamodb/dynamotest"
	"github.com/lakeplane/lake/sdk"
)

// deployment is a running cluster: two members on shared records, two replicas
// and a worker, with TLS and principals everywhere.
type deployment struct {
	*cluster
	metas   []*server
	queries []*server
	clients []*sdk.Client // of the replicas, as ann
}

// deploy starts a deployment. records gives the members' arguments for their
// metastore, the first two of which name it.
func deploy(t *testing.T, records func(c *cluster) []string) *deployment {
	t.Helper()
	d := &deployment{cluster: newCluster(t)}
	store := records(d.cluster)
	d.startTemporal(t)
	d.secure(t)
	for _, name := range []string{"meta-1", "meta-2"} {
		// A member shows its server's certificate to the others too.
		args := slices.Concat(store, d.serverArgs(t, name), d.temporalArgs(),
			[]string{"--tls-client-ca-file", d.pki.CA(), "--peer-auth-token-file", d.file("peer.token"), "--peer-ca-file", d.pki.CA()})
		d.metas = append(d.metas, d.start(t, "meta", args...))
	}
	both := d.metas[0].address + "," + d.metas[1].address
	for _, name := range []string{"query-1", "query-2"} {
		args := slices.Concat([]string{"--meta", both, "--query-ticket-keys-file", d.file("keys.json")},
			d.serverArgs(t, name), d.callerArgs(t, "metadata", name+"-caller", "query"))
		d.queries = append(d.queries, d.start(t, "query", args...))
	}
	d.start(t, "worker", slices.Concat([]string{"--drop-settle", "1s", "--procedure-sweep-every", "5s"}, store[:2], d.temporalArgs())...)
	for _, q := range d.queries {
		d.clients = append(d.clients, d.user(t, q.awaitReady(t).address))
	}
	return d
}

// writeKeys makes a the secret that seals tickets, and the others such that
// open them too.
func (c *cluster) writeKeys(t *testing.T, a byte, others ...byte) {
	t.Helper()
	secret := func(b byte) string { return base64.StdEncoding.EncodeToString(slices.Repeat([]byte{b}, 32)) }
	verify := []string{}
	for _, b := range others {
		verify = append(verify, `"`+secret(b)+`"`)
	}
	next := c.file("keys.json.new")
	writeFile(t, next, fmt.Sprintf(`{"active": %q, "verify": [%s]}`, secret(a), strings.Join(verify, ",")))
	require.NoError(t, os.Rename(next, c.file("keys.json")))
}

// atLeast asks a replica for at least this version of a table.
func atLeast(ctx context.Context, name lake.TableName, v lake.Version) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "x-lake-min-version", fmt.Sprintf("%s=%d", name, v))
}

// valuesOf reads column n of a table, in order.
func valuesOf(t *testing.T, ctx context.Context, c *sdk.Client, name lake.TableName) []int64 {
	t.Helper()
	r, err := c.Query(ctx, "SELECT n FROM "+name.String()+" ORDER BY n")
	require.NoError(t, err)
	defer r.Release()
	var out []int64
	for b, err := range r.Batches() {
		require.NoError(t, err)
		out = append(out, b.Column(0).(*array.Int64).Int64Values()...)
	}
	return out
}

// TestClusterOnPostgres is a deployment as an operator would run it, and what
// its users must not notice.
func TestClusterOnPostgres(t *testing.T) {
	d := deploy(t, func(c *cluster) []string { return c.postgres(t) })
	t.Run("a write through any replica is read at the other", d.testReadYourWrites)
	t.Run("a ticket of one replica is good at the other", d.testTickets)
	t.Run("a query is cancelled at the other replica", d.testCancel)
	t.Run("who may call what", d.testCallers)
	t.Run("a dropped table's objects go", d.testDrop)
	t.Run("a replica that is told to stop ends its calls", d.testReplicaStops)
	t.Run("the leader dies", d.testLeaderDies)
	t.Run("the leader hangs", d.testLeaderHangs)
	t.Run("the leader is told to stop", d.testLeaderStops)
}

// TestClusterOnDynamoDB is the same on tables that the first member makes.
func TestClusterOnDynamoDB(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "lake")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	service := dynamotest.Start(t, dynamotest.Options{AccessKey: "lake", TableTime: 100 * time.Millisecond, TransactionTime: time.Millisecond, ReplicaLag: time.Hour})
	d := deploy(t, func(*cluster) []string {
		return append([]string{"--metastore", "dynamodb://lake_registry?region=eu-central-1&endpoint=" + url.QueryEscape(service.URL())}, leaseArgs()...)
	})
	t.Run("a write through any replica is read at the other", d.testReadYourWrites)
	t.Run("a dropped table's objects go", d.testDrop)
	t.Run("the leader is told to stop", d.testLeaderStops)
	require.NotEmpty(t, service.Items("lake_registry_prefix_v2"))
}

func (d *deployment) testReadYourWrites(t *testing.T) {
	name := lake.TableName{Namespace: "shared", Name: "t"}
	_, err := d.clients[0].CreateTable(t.Context(), name, numbers)
	require.NoError(t, err)
	_, followers := leaderOf(t, d.metas...)
	for i := range int64(8) {
		res, err := d.clients[i%2].Append(t.Context(), name, batchOf(i))
		require.NoError(t, err)
		other := d.clients[(i+1)%2]
		require.Len(t, valuesOf(t, atLeast(t.Context(), name, res.Version), other, name), int(i+1), "right after append %d", i)
	}
	require.Positive(t, followers[0].gauge(t, "lake_metasrv_forwarded_total"), "calls take turns over the members, and a follower passes them on")
}

// sqlClient speaks Flight SQL to one replica as ann.
func (d *deployment) sqlClient(t *testing.T, address string) *flightsql.Client {
	t.Helper()
	conn := d.dial(t, address, "", annToken)
	return &flightsql.Client{Client: flight.NewClientFromConn(conn, nil)}
}

// dial connects with a certificate and a token, either of which may be empty.
func (d *deployment) dial(t *testing.T, address, certificate, token string) *grpc.ClientConn {
	t.Helper()
	opts := []grpc.DialOption{grpc.WithTransportCredentials(credentials.NewTLS(d.pki.Client(t, certificate)))}
	if token != "" {
		opts = append(opts, grpc.WithPerRPCCredentials(bearer(token)))
	}
	conn, err := grpc.NewClient("passthrough:///"+address, opts...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

type bearer string

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}
func (b bearer) RequireTransportSecurity() bool { return true }

func (d *deployment) testTickets(t *testing.T) {
	first, second := d.sqlClient(t, d.queries[0].address), d.sqlClient(t, d.queries[1].address)
	plan := func() *flight.Ticket {
		info, err := first.Execute(t.Context(), "SELECT n FROM shared.t")
		require.NoError(t, err)
		return info.GetEndpoint()[0].GetTicket()
	}
	redeem := func(ticket *flight.Ticket) (rows int64, err error) {
		r, err := second.DoGet(t.Context(), ticket)
		if err != nil {
			return 0, err
		}
		defer r.Release()
		for r.Next() {
			rows += r.RecordBatch().NumRows()
		}
		return rows, r.Err()
	}
	old := plan()
	rows, err := redeem(old)
	require.NoError(t, err)
	require.EqualValues(t, 8, rows)

	// The keys are exchanged while the replicas run.
	d.writeKeys(t, 'b')
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		_, err := redeem(old)
		assert.Equal(t, codes.Unauthenticated, status.Code(err), "%v", err)
	}, 10*time.Second, 100*time.Millisecond, "a ticket under a key that is gone")
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		rows, err := redeem(plan())
		assert.NoError(t, err)
		assert.EqualValues(t, 8, rows)
	}, 10*time.Second, 100*time.Millisecond, "a ticket under the new key")
}

func (d *deployment) testCallers(t *testing.T) {
	leader, _ := leaderOf(t, d.metas...)
	get := func(address, certificate, token string, headers ...string) error {
		ctx := metadata.AppendToOutgoingContext(t.Context(), headers...)
		_, err := lakepb.NewCatalogClient(d.dial(t, address, certificate, token)).GetTable(ctx,
			&lakepb.GetTableRequest{Name: &lakepb.TableName{Namespace: "shared", Name: "t"}})
		return err
	}
	describe := func(token string) error {
		_, err := lakepb.NewMetastoreClient(d.dial(t, leader.address, "somebody", token)).Describe(t.Context(), &lakepb.MetastoreDescribeRequest{})
		return err
	}
	cancel := func(token string, headers ...string) error {
		ctx := metadata.AppendToOutgoingContext(t.Context(), headers...)
		_, err := lakepb.NewCancellationsClient(d.dial(t, leader.address, "somebody", token)).Cancel(ctx, &lakepb.CancelQueriesRequest{})
		return err
	}
	asBob := []string{"x-lake-principal", "bob", "x-lake-tenant", "default", "x-lake-namespaces", "*"}
	query := d.queries[0].address
	for _, c := range []struct {
		name string
		err  error
		want codes.Code
	}{
		{"a user at a metadata server", get(leader.address, "somebody", annToken), codes.OK},
		{"a metadata server wants a certificate", get(leader.address, "", annToken), codes.Unavailable},
		{"and a token", get(leader.address, "somebody", ""), codes.Unauthenticated},
		{"one it knows", get(leader.address, "somebody", "0123456789abcdef"), codes.Unauthenticated},
		{"a replica may act for users", get(leader.address, "somebody", queryToken, asBob...), codes.OK},
		{"a user may not", get(leader.address, "somebody", annToken, asBob...), codes.PermissionDenied},
		{"a worker may not", get(leader.address, "somebody", workerToken, asBob...), codes.PermissionDenied},
		{"a worker may use the records", describe(workerToken), codes.OK},
		{"a user may not", describe(annToken), codes.PermissionDenied},
		{"a replica may not", describe(queryToken), codes.PermissionDenied},
		{"a replica may say what is cancelled", cancel(queryToken), codes.OK},
		{"a user may not", cancel(annToken), codes.PermissionDenied},
		{"nor a replica for a user", cancel(queryToken, asBob...), codes.PermissionDenied},
		{"a replica wants a token", get(query, "", ""), codes.Unauthenticated},
		{"and no certificate", get(query, "", annToken), codes.OK},
	} {
		assert.Equal(t, c.want, status.Code(c.err), "%s: %v", c.name, c.err)
	}
}

func (d *deployment) testDrop(t *testing.T) {
	name := lake.TableName{Namespace: "gone", Name: "t"}
	c := d.clients[0]
	_, err := c.CreateTable(t.Context(), name, numbers)
	require.NoError(t, err)
	_, err = c.Append(t.Context(), name, batchOf(1))
	require.NoError(t, err)
	objects := &dev{dir: d.dir}
	require.NotEmpty(t, objects.objects(t, "gone/t"))
	now := time.Duration(0)
	drop, err := c.DropTable(t.Context(), name, sdk.DropOptions{UndropWindow: &now})
	require.NoError(t, err)
	done := awaitProcedure(t, c, drop.Procedure)
	require.Equal(t, sdk.Completed, done.State, "%+v", done)
	require.Empty(t, objects.objects(t, "gone/t"))
}

// pausing stops an append in the middle of its stream: it sends to reached and
// waits for resume, once.
type pausing struct {
	reached, resume chan struct{}
	once            sync.Once
}

func (p *pausing) option() sdk.Option {
	return sdk.WithDialOptions(grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		s, err := streamer(ctx, desc, cc, method, opts...)
		if err != nil || !strings.HasSuffix(method, "/DoPut") {
			return s, err
		}
		return &pausingStream{ClientStream: s, pausing: p}, nil
	}))
}

type pausingStream struct {
	grpc.ClientStream
	pausing *pausing
	sent    int
}

func (s *pausingStream) SendMsg(m any) error {
	if s.sent++; s.sent == 2 {
		s.pausing.once.Do(func() {
			s.pausing.reached <- struct{}{}
			<-s.pausing.resume
		})
	}
	return s.ClientStream.SendMsg(m)
}

// appendAndStop stops a process by SIGTERM while it receives an append through
// a replica, and returns how the append ended and the process's exit status.
func (d *deployment) appendAndStop(t *testing.T, replica, stop *server, name lake.TableName, n int64, opts ...sdk.Option) (result sdk.AppendResult, status int, err error) {
	t.Helper()
	p := &pausing{reached: make(chan struct{}), resume: make(chan struct{})}
	c := d.user(t, replica.address, append(opts, p.option())...)
	type outcome struct {
		result sdk.AppendResult
		err    error
	}
	ended := make(chan outcome, 1)
	go func() {
		r, err := c.Append(context.WithoutCancel(t.Context()), name, batchOf(n))
		ended <- outcome{r, err}
	}()
	<-p.reached
	require.NoError(t, stop.cmd.Process.Signal(os.Interrupt))
	require.Eventually(t, func() bool { return strings.Contains(stop.log.String(), `"msg":"stopping"`) }, 10*time.Second, 5*time.Millisecond)
	close(p.resume)
	out := <-ended
	return out.result, stop.wait(t, 30*time.Second), out.err
}

func (d *deployment) testReplicaStops(t *testing.T) {
	name := lake.TableName{Namespace: "shared", Name: "drain"}
	_, err := d.clients[1].CreateTable(t.Context(), name, numbers)
	require.NoError(t, err)
	res, code, err := d.appendAndStop(t, d.queries[0], d.queries[0], name, 7, sdk.WithRetryWindow(0))
	require.NoError(t, err, "the append that was under way is acknowledged")
	require.Zero(t, code)
	require.Equal(t, []int64{7}, valuesOf(t, atLeast(t.Context(), name, res.Version), d.clients[1], name))
}

// testLeaderStops: the clients of a leader that is told to stop are served by
// the next one, and their appends are in the table once.
func (d *deployment) testLeaderStops(t *testing.T) {
	name := lake.TableName{Namespace: "shared", Name: "handover"}
	_, err := d.clients[1].CreateTable(t.Context(), name, numbers)
	require.NoError(t, err)
	leader, _ := leaderOf(t, d.metas...)
	began := time.Now()
	res, code, err := d.appendAndStop(t, d.queries[1], leader, name, 7)
	require.NoError(t, err)
	require.Zero(t, code)
	require.Less(t, time.Since(began), leaseTTL+clockSkew+10*time.Second, "a leader that stops resigns")
	t.Logf("an append met the end of a leader and was acknowledged after %s", time.Since(began).Round(time.Millisecond))
	require.Equal(t, []int64{7}, valuesOf(t, atLeast(t.Context(), name, res.Version), d.clients[1], name))
}

// writer appends distinct numbers until stop is closed, and keeps those that
// were acknowledged.
type writer struct {
	client *sdk.Client
	name   lake.TableName

	mu       sync.Mutex
	acked    []int64
	versions []lake.Version // of each
	version  lake.Version   // the newest
	last     time.Time
	failed   error
}

func (w *writer) run(ctx context.Context, first int64, stop <-chan struct{}) {
	for n := first; ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		res, err := w.client.Append(ctx, w.name, batchOf(n))
		w.mu.Lock()
		if err != nil {
			w.failed = fmt.Errorf("append of %d: %w", n, err)
			w.mu.Unlock()
			return
		}
		w.acked, w.versions, w.version, w.last = append(w.acked, n), append(w.versions, res.Version), max(w.version, res.Version), time.Now()
		w.mu.Unlock()
	}
}

// since returns the writer's last acknowledgement after a moment.
func (w *writer) since(moment time.Time) (time.Duration, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last.Sub(moment), w.last.After(moment)
}

// testLeaderDies kills the leader under load: appends go on within the lease's
// bound, and exactly what was acknowledged is in the table.
func (d *deployment) testLeaderDies(t *testing.T) {
	name := lake.TableName{Namespace: "shared", Name: "load"}
	// The first replica was stopped before.
	d.queries[0] = d.again(t, d.queries[0]).awaitReady(t)
	d.clients[0] = d.user(d.owner, d.queries[0].address)
	_, err := d.clients[0].CreateTable(t.Context(), name, numbers)
	require.NoError(t, err)
	leader, followers := leaderOf(t, d.metas...)

	stop := make(chan struct{})
	var running sync.WaitGroup
	writers := make([]*writer, 4)
	for i := range writers {
		writers[i] = &writer{client: d.clients[i%2], name: name}
		running.Go(func() { writers[i].run(context.WithoutCancel(t.Context()), int64(i)*1_000_000, stop) })
	}
	require.Eventually(t, func() bool { _, ok := writers[0].since(time.Time{}); return ok }, 30*time.Second, time.Millisecond)
	time.Sleep(500 * time.Millisecond) // under load
	leader.kill()
	killed := time.Now()
	var pause time.Duration
	require.Eventually(t, func() bool {
		for _, w := range writers {
			if after, ok := w.since(killed.Add(100 * time.Millisecond)); ok { // not an answer that was on its way
				pause = after + 100*time.Millisecond
				return true
			}
		}
		return false
	}, time.Minute, time.Millisecond, "appends never went on")
	// Half a second for a poll of the election and a machine that is busy with
	// other tests; the followers' clients back off meanwhile.
	require.Less(t, pause, leaseTTL+clockSkew+5*time.Second)
	t.Logf("appends went on %s after the leader was killed (lease %s, clock skew %s)", pause.Round(time.Millisecond), leaseTTL, clockSkew)
	time.Sleep(500 * time.Millisecond)
	close(stop)
	running.Wait()

	var acked []int64
	var version lake.Version
	for _, w := range writers {
		require.NoError(t, w.failed)
		acked, version = append(acked, w.acked...), max(version, w.version)
	}
	slices.Sort(acked)
	for _, c := range d.clients {
		require.Equal(t, acked, valuesOf(t, atLeast(t.Context(), name, version), c, name), "nothing lost, nothing twice")
	}
	// The killed member comes back and follows.
	back := d.again(t, leader).awaitReady(t)
	require.Zero(t, back.gauge(t, "lake_metasrv_write_ready"))
	d.metas = []*server{followers[0], back}
}

// testLeaderHangs stops the leader in its tracks for longer than its lease, and
// lets it go on: its connections stay open meanwhile and answer nothing.
func (d *deployment) testLeaderHangs(t *testing.T) {
	name := lake.TableName{Namespace: "shared", Name: "hang"}
	_, err := d.clients[0].CreateTable(t.Context(), name, numbers)
	require.NoError(t, err)
	leader, followers := leaderOf(t, d.metas...)
	require.NoError(t, leader.cmd.Process.Signal(syscall.SIGSTOP))
	began := time.Now()
	var version lake.Version
	for i := range int64(8) {
		res, err := d.clients[i%2].Append(t.Context(), name, batchOf(i))
		require.NoError(t, err, "append %d, after %s", i, time.Since(began))
		version = max(version, res.Version)
	}
	// A silent connection is given up after 15 s (keepalive), however soon
	// another member leads.
	require.Less(t, time.Since(began), leaseTTL+clockSkew+25*time.Second)
	t.Logf("8 appends beside a leader that hangs took %s", time.Since(began).Round(time.Millisecond))
	require.NoError(t, leader.cmd.Process.Signal(syscall.SIGCONT))
	require.Eventually(t, func() bool { return leader.gauge(t, "lake_metasrv_write_ready") == 0 }, waitLong, tick, "it learns that another leads")
	require.EqualValues(t, 1, followers[0].gauge(t, "lake_metasrv_write_ready"))
	for _, c := range d.clients {
		require.Equal(t, []int64{0, 1, 2, 3, 4, 5, 6, 7}, valuesOf(t, atLeast(t.Context(), name, version), c, name))
	}
}

// again starts a process that has ended, at its address.
func (c *cluster) again(t *testing.T, s *server) *server {
	t.Helper()
	args := slices.Clone(s.args[:len(s.args)-len(c.every)])
	if at := slices.Index(args, "--listen"); at >= 0 {
		args[at+1] = s.address
	}
	return c.start(t, s.name, args...)
}

// TestClusterOnPebble is the smallest deployment of separate processes: one
// metadata server that keeps the records itself and lends them to the worker.
func TestClusterOnPebble(t *testing.T) {
	c := newCluster(t)
	c.startTemporal(t)
	c.secure(t)
	meta := c.start(t, "meta", slices.Concat([]string{"--metastore", "pebble://" + c.file("metastore"), "--undrop-window", "0"},
		c.serverArgs(t, "meta"), c.temporalArgs())...)
	query := c.start(t, "query", slices.Concat([]string{"--meta", meta.address},
		c.serverArgs(t, "query"), c.callerArgs(t, "metadata", "query-caller", "query"))...)
	worker := c.start(t, "worker", slices.Concat([]string{"--metastore", "lake://" + meta.address, "--drop-settle", "1s", "--procedure-sweep-every", "1s"},
		c.callerArgs(t, "metadata", "worker-caller", "worker"), c.temporalArgs())...)
	client := c.user(t, query.awaitReady(t).address)
	worker.awaitReady(t)

	name := lake.TableName{Namespace: "small", Name: "t"}
	_, err := client.CreateTable(t.Context(), name, numbers)
	require.NoError(t, err)
	_, err = client.Append(t.Context(), name, batchOf(1, 2))
	require.NoError(t, err)

	// The one member is killed and comes back with everything, at once: the
	// lock on its directory proves that the one before is dead.
	meta.kill()
	done := make(chan error, 1)
	go func() {
		_, err := client.Append(context.WithoutCancel(t.Context()), name, batchOf(3))
		done <- err
	}()
	meta = c.again(t, meta)
	require.NoError(t, <-done, "the client pursues its append through the restart")
	require.Equal(t, []int64{1, 2, 3}, valuesOf(t, atLeast(t.Context(), name, 3), client, name))

	drop, err := client.DropTable(t.Context(), name, sdk.DropOptions{})
	require.NoError(t, err)
	state := awaitProcedure(t, client, drop.Procedure)
	require.Equal(t, sdk.Completed, state.State, "%+v", state)
	require.Empty(t, (&dev{dir: c.dir}).objects(t, "small/t"))

	second := spawnServer(t, "meta", slices.Concat([]string{"--metastore", "pebble://" + c.file("metastore")}, c.every)...)
	require.Equal(t, 1, second.wait(t, 30*time.Second))
	require.Contains(t, second.log.String(), fmt.Sprintf("in use by process %d", meta.cmd.Process.Pid))
	for _, s := range []*server{query, worker, meta} {
		require.Zero(t, s.terminate(t), "%s", s.log)
	}
}

// TestWorkerWithTheWrongRole is refused by the metadata server, and says so.
func TestWorkerWithTheWrongRole(t *testing.T) {
	c := newCluster(t)
	c.secure(t)
	meta := c.start(t, "meta", slices.Concat([]string{"--metastore", "pebble://" + c.file("metastore")}, c.serverArgs(t, "meta"))...)
	for token, says := range map[string]string{"ann": "role", "query": "role"} {
		w := spawnServer(t, "worker", slices.Concat([]string{"--metastore", "lake://" + meta.address, "--temporal-address", "127.0.0.1:1"},
			c.callerArgs(t, "metadata", "worker-caller", token), c.every)...)
		require.Equal(t, 1, w.wait(t, 30*time.Second))
		require.Contains(t, w.log.String(), says)
		require.NotContains(t, w.log.String(), annToken)
	}
}

// TestSecondSignalEndsAtOnce: a replica whose client holds a call does not end
// by the first signal, and does by the second.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	c := newCluster(t)
	meta := c.start(t, "meta", "--metastore", "pebble://"+c.file("metastore"), "--listen", "127.0.0.1:0")
	query := c.start(t, "query", "--meta", meta.address, "--listen", "127.0.0.1:0").awaitReady(t)
	name := lake.TableName{Namespace: "a", Name: "t"}
	_, err := c.user(t, query.address).CreateTable(t.Context(), name, numbers)
	require.NoError(t, err)
	p := &pausing{reached: make(chan struct{}), resume: make(chan struct{})}
	client := c.user(t, query.address, sdk.WithRetryWindow(0), p.option())
	failed := make(chan error, 1)
	go func() {
		_, err := client.Append(context.WithoutCancel(t.Context()), name, batchOf(1))
		failed <- err
	}()
	<-p.reached
	require.NoError(t, query.cmd.Process.Signal(syscall.SIGTERM))
	require.Eventually(t, func() bool { return strings.Contains(query.log.String(), `"msg":"stopping"`) }, 10*time.Second, 5*time.Millisecond)
	require.Never(t, query.ended, 200*time.Millisecond, 10*time.Millisecond, "a call is under way")
	began := time.Now()
	require.NoError(t, query.cmd.Process.Signal(syscall.SIGTERM))
	require.NotZero(t, query.wait(t, 20*time.Second))
	require.Less(t, time.Since(began), 15*time.Second, "half the grace")
	close(p.resume)
	require.Error(t, <-failed)
	require.Zero(t, meta.terminate(t))
}

// TestMistakesAreAllToldBeforeAnythingStarts: each mistake is named with its
// source, all at once, and nothing is opened.
func TestMistakesAreAllToldBeforeAnythingStarts(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "lake.yaml")
	writeFile(t, file, "objects: s3://bucket/a//b\nmeta:\n  lease_tl: 5s\n  lease_ttl: soon\nworker: {drop_settle: 1s}\n")
	readable := filepath.Join(dir, "readable")
	require.NoError(t, os.WriteFile(readable, []byte("secret-0123456789"), 0o644))
	cmd := exec.Command(lakeBin, "meta", "--config", file, "--listen", "0.0.0.0:0", "--metastore", "postgres://lake:hunter2@db/lake", "--peer-auth-token-file", readable)
	cmd.Env = append(withoutLake(), "LAKE_TLS_CERT_FIEL=x", "LAKE_APPEND_QUEUE_TIMEOUT_MS=1h30", "LAKE_S3_BUCKET=b")
	out, err := cmd.CombinedOutput()
	require.Equal(t, 2, cmd.ProcessState.ExitCode(), "%v: %s", err, out)
	for _, says := range []string{
		"11 mistakes", file + ":1 objects: invalid object request",
		file + `:3: unknown key "lease_tl" of meta: did you mean lease_ttl?`, file + `:4 lease_ttl: "soon": want a time`,
		"flag --listen: 0.0.0.0:0 can be reached from other machines: that needs auth_principals_file",
		"flag --listen: 0.0.0.0:0 can be reached from other machines: that needs tls_cert_file",
		"flag --listen: 0.0.0.0:0 stands for every interface and the other members cannot call that: set advertise",
		"flag --metastore: a password on the command line", "flag --peer-auth-token-file: " + readable + ": mode 0644 lets others read it",
		"environment LAKE_TLS_CERT_FIEL: unknown variable: did you mean LAKE_TLS_CERT_FILE?",
		"environment LAKE_APPEND_QUEUE_TIMEOUT_MS", "environment LAKE_S3_BUCKET: is said by LAKE_OBJECTS=s3://bucket/folder",
	} {
		require.Contains(t, string(out), says)
	}
	require.NotContains(t, string(out), "hunter2")
	require.NotContains(t, string(out), "started")
}
