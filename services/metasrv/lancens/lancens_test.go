// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lancens_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/engine/enginetest"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/memory"
	"github.com/lakeplane/lake/services/access"
	"github.com/lakeplane/lake/services/metasrv/lancens"
)

// people are principals by token.
type people map[string]access.Principal

func (people) LoopbackOnly() bool { return false }

func (p people) Authenticate(_ context.Context, token string) (access.Principal, error) {
	who, ok := p[token]
	if !ok {
		return who, lake.Errorf(lake.Unauthenticated, "unknown token")
	}
	return who, nil
}

var everybody = people{
	"root": {Name: "root", Role: access.Admin, Namespaces: []string{"*"}},
	"red":  {Name: "red", Role: access.User, Namespaces: []string{"red", "empty"}},
}

// named gives versions names.
type named struct{ *enginetest.Memory }

func (named) VersionKey(s lake.Snapshot) string {
	return fmt.Sprintf("%s_versions/%d.manifest", s.Location.Prefix(), s.Version)
}

// world is a server over a catalog of its own.
type world struct {
	url     string
	store   metastore.Store
	catalog *catalog.Catalog
	fence   catalog.Fence
	adopted []engine.Proposal
	fails   error
	adopt   func() error // before the rest, when set
}

func serve(t *testing.T, change func(*lancens.Options)) *world {
	t.Helper()
	store := memory.New()
	t.Cleanup(func() { _ = store.Close() })
	election, err := catalog.NewElection(store, catalog.ElectionOptions{Exclusive: true, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { election.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	w := &world{store: store, catalog: catalog.New(store, catalog.Options{})}
	require.Eventually(t, func() bool { w.fence, err = election.Fence(); return err == nil }, 20*time.Second, time.Millisecond)
	opts := lancens.Options{
		Catalog: w.catalog, Records: store, Engine: named{&enginetest.Memory{}}, Auth: everybody, Place: lancens.Place{Folder: "/data/lake"},
		Authority: w,
		Logger:    slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	}
	if change != nil {
		change(&opts)
	}
	server, err := lancens.New(opts)
	require.NoError(t, err)
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	w.url = web.URL
	return w
}

// world is the authority too, which notes what it is asked.
func (w *world) Adopt(ctx context.Context, name lake.TableName, p engine.Proposal) (catalog.Table, error) {
	if w.adopt != nil {
		return catalog.Table{}, w.adopt()
	}
	if w.fails != nil {
		return catalog.Table{}, w.fails
	}
	w.adopted = append(w.adopted, p)
	return w.catalog.Get(ctx, name)
}

func (w *world) Publish(context.Context, catalog.Table) error { return nil }

func (w *world) Declare(ctx context.Context, name lake.TableName, by string) (catalog.Declaration, error) {
	return w.catalog.Declare(ctx, w.fence, catalog.Declaration{
		Name: name, Incarnation: lake.NewID(), By: by, Reserves: true, Expires: time.Now().Add(time.Hour),
	})
}

func (w *world) AdoptFirst(ctx context.Context, name lake.TableName, inc lake.Incarnation, p engine.Proposal) (catalog.Table, error) {
	if w.fails != nil {
		return catalog.Table{}, w.fails
	}
	d, err := w.catalog.Declaration(ctx, name, inc)
	if err != nil {
		return catalog.Table{}, err
	}
	w.adopted = append(w.adopted, p)
	snap := lake.Snapshot{Engine: "memory", Location: d.Location(), Incarnation: inc, Version: 1, Manifest: lake.Manifest{Path: "m", Size: 7}}
	return w.catalog.Create(ctx, w.fence, catalog.Table{Name: name, Snapshot: snap, Schema: []byte("schema")}, append(recordsOf.Create(snap), d.RegisterOps()...))
}

func (w *world) DropNamed(ctx context.Context, name lake.TableName, _ string) error {
	d, err := w.catalog.Reserved(ctx, name)
	if err == nil {
		_, err = w.catalog.Abandon(ctx, d)
	}
	return err
}

var recordsOf = engine.Records{Latest: "memory-latest", History: "memory-version"}

// table makes a table of n versions without objects.
func (w *world) table(t *testing.T, ns, name string, n int) catalog.Table {
	t.Helper()
	inc := lake.NewID()
	tn := lake.TableName{Namespace: ns, Name: name}
	snap := lake.Snapshot{Engine: "memory", Location: lake.Place(tn, inc), Incarnation: inc, Version: 1, Manifest: lake.Manifest{Path: "m", Size: 7}}
	table, err := w.catalog.Create(t.Context(), w.fence, catalog.Table{Name: tn, Snapshot: snap, Schema: []byte("schema")}, recordsOf.Create(snap))
	require.NoError(t, err)
	for range n - 1 {
		next := table.Snapshot
		next.Version++
		table, err = w.catalog.Advance(t.Context(), w.fence, table, next, recordsOf.Advance(table.Snapshot, next, nil), nil)
		require.NoError(t, err)
	}
	return table
}

// call makes a request and returns the status and the body.
func (w *world) call(t *testing.T, token, method, path, body string) (int, map[string]any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, w.url+path, strings.NewReader(body))
	require.NoError(t, err)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	out := map[string]any{}
	require.NoError(t, json.Unmarshal(raw, &out), "%s", raw)
	return resp.StatusCode, out
}

func TestWhatIsTold(t *testing.T) {
	w := serve(t, nil)
	arm := w.table(t, "red", "arm", 12)
	w.table(t, "red", "leg", 1)
	w.table(t, "blue", "arm", 1)
	for _, c := range []struct{ token, method, path, body, want string }{
		{"root", "GET", "/v1/namespace/$/list", "", `{"namespaces":["blue","red"]}`},
		{"red", "GET", "/v1/namespace/$/list", "", `{"namespaces":["red"]}`},
		{"red", "GET", "/v1/namespace/red/list", "", `{"namespaces":[]}`},
		{"red", "POST", "/v1/namespace/red/describe", "{}", `{"properties":{}}`},
		{"red", "GET", "/v1/namespace/red/table/list", "", `{"tables":["arm","leg"]}`},
		{"root", "GET", "/v1/namespace/$/table/list", "", `{"tables":[]}`},
		{"red", "GET", "/v1/table", "", `{"tables":["red$arm","red$leg"]}`},
		{"root", "GET", "/v1/table?delimiter=.", "", `{"tables":["blue.arm","red.arm","red.leg"]}`},
		{"red", "POST", "/v1/table/red$arm/exists", "{}", `{}`},
		{"red", "POST", "/v1/table/red.arm/exists?delimiter=.", "", `{}`},
		{"red", "POST", "/v1/table/red$arm/describe", `{"with_table_uri":true}`, fmt.Sprintf(
			`{"table":"arm","namespace":["red"],"version":12,"location":"/data/lake/%[1]s","table_uri":"file:///data/lake/%[1]s","properties":{"lake.incarnation":"%[2]s"},"managed_versioning":true}`,
			arm.Snapshot.Location, arm.Snapshot.Incarnation)},
		{"red", "GET", "/v1/table/red$arm/version/list?descending=true&limit=1", "", version(arm, 12)},
		{"red", "POST", "/v1/table/red$arm/version/list", `{"descending":true,"limit":2}`, version(arm, 12, 11)},
		{"red", "POST", "/v1/table/red$arm/version/list?limit=2", "", version(arm, 1, 2)},
		{"red", "POST", "/v1/table/red$arm/version/describe", `{"version":3}`, one(arm, 3)},
		{"red", "POST", "/v1/table/red$arm/version/describe", `{}`, one(arm, 12)},
	} {
		status, got := w.call(t, c.token, c.method, c.path, c.body)
		require.Equal(t, http.StatusOK, status, "%s: %v", c.path, got)
		raw, err := json.Marshal(got)
		require.NoError(t, err)
		require.JSONEq(t, c.want, string(raw), c.path)
	}
}

func entry(t catalog.Table, v int) string {
	return fmt.Sprintf(`{"version":%d,"manifest_path":"data/lake/%s_versions/%d.manifest","manifest_size":7}`, v, t.Snapshot.Location.Prefix(), v)
}

func version(t catalog.Table, vs ...int) string {
	var out []string
	for _, v := range vs {
		out = append(out, entry(t, v))
	}
	return `{"versions":[` + strings.Join(out, ",") + `]}`
}

func one(t catalog.Table, v int) string { return `{"version":` + entry(t, v) + `}` }

func TestRefusals(t *testing.T) {
	w := serve(t, nil)
	arm := w.table(t, "red", "arm", 2)
	w.table(t, "blue", "arm", 1)
	path := "data/lake/" + arm.Snapshot.Location.Prefix() + "_versions/3.manifest-x"
	for _, c := range []struct {
		token, method, path, body string
		status, code              int
		says                      string
	}{
		{"", "GET", "/v1/namespace/$/list", "", 401, 16, "token"},
		{"guess", "GET", "/v1/namespace/$/list", "", 401, 16, "token"},
		{"red", "DELETE", "/v1/namespace/$/list", "", 400, 13, "GET or POST"},
		{"red", "GET", "/v1/namespace/blue/list", "", 404, 1, "no namespace blue"},
		{"red", "POST", "/v1/namespace/empty/describe", "{}", 404, 1, "no namespace empty"},
		{"red", "GET", "/v1/namespace/a$b/list", "", 404, 1, "one level"},
		{"red", "GET", "/v1/namespace/..%2f/list", "", 400, 13, ""},
		{"red", "GET", "/v1/namespace/red/table/list?limit=0", "", 400, 13, "at least 1"},
		{"red", "GET", "/v1/namespace/red/table/list?limit=x", "", 400, 13, "whole number"},
		{"red", "GET", "/v1/namespace/red/table/list?page_token=!", "", 400, 13, "page_token"},
		{"red", "GET", "/v1/namespace/red/table/list?delimiter=12345678901234567", "", 400, 13, "delimiter"},
		{"red", "POST", "/v1/table/blue$arm/describe", "{}", 404, 4, "no table blue.arm"},
		{"red", "POST", "/v1/table/blue$none/describe", "{}", 404, 4, "no table blue.none"},
		{"red", "POST", "/v1/table/red$none/describe", "{}", 404, 4, "no table red.none"},
		{"red", "POST", "/v1/table/arm/describe", "{}", 400, 13, "namespace$table"},
		{"red", "POST", "/v1/table/red$arm/describe", "[]", 400, 13, "JSON"},
		{"red", "POST", "/v1/table/red$arm/describe", `{"version":"x"}`, 400, 13, "JSON"},
		{"red", "POST", "/v1/table/red$arm/describe", `{"version":9}`, 404, 11, "no version 9"},
		{"red", "POST", "/v1/table/red$arm/describe", `{"branch":"b"}`, 406, 0, "branches"},
		{"red", "POST", "/v1/table/red$arm/describe", `{"tag":"b"}`, 406, 0, "tag"},
		{"red", "POST", "/v1/table/red$arm/describe", `{"x":"` + strings.Repeat("x", 1<<20) + `"}`, 400, 13, "more than 1048576 bytes"},
		{"red", "POST", "/v1/table/red$arm/version/describe", `{"version":0}`, 404, 11, "no version 0"},
		{"red", "POST", "/v1/table/red$arm/declare", "{}", 409, 5, "a table of that name exists"},
		{"red", "POST", "/v1/table/red$new/declare", `{"location":"/tmp/x"}`, 400, 13, "the server places tables"},
		{"red", "POST", "/v1/table/red$a%20b/declare", "{}", 400, 13, ""},
		{"red", "POST", "/v1/table/blue$new/declare", "{}", 403, 15, "not granted to red"},
		{"red", "POST", "/v1/table/red$new/create", "x", 400, 13, "JSON"},
		{"red", "POST", "/v1/table/red$new/create", "", 406, 0, "declare the table"},
		{"red", "POST", "/v1/table/red$none/drop", "{}", 404, 4, "red.none"},
		{"red", "POST", "/v1/table/blue$arm/drop", "{}", 404, 4, "no table blue.arm"},
		{"red", "POST", "/v1/table/red$new/version/create", `{"version":1,"manifest_path":"` + path + `"}`, 400, 13, "not where the table was declared"},
		{"red", "POST", "/v1/table/red$new/version/list", "{}", 404, 4, "no table red.new"},
		{"red", "POST", "/v1/table/red$arm/version/delete", "{}", 406, 0, "table maintenance"},
		{"red", "POST", "/v1/table/red$arm/query", "{}", 406, 0, "not served"},
		{"red", "POST", "/v1/table/red$arm/version/create", `{"manifest_path":"` + path + `"}`, 400, 13, "version"},
		{"red", "POST", "/v1/table/red$arm/version/create", `{"version":3,"manifest_path":"elsewhere/x"}`, 400, 13, "not below"},
		{"red", "POST", "/v1/table/red$arm/version/create", `{"version":3,"naming_scheme":"V1","manifest_path":"` + path + `"}`, 400, 13, "want V2"},
		{"red", "POST", "/v1/table/red$arm/version/create", `{"version":3,"manifest_size":0,"manifest_path":"` + path + `"}`, 400, 13, "manifest_size"},
		{"red", "POST", "/v1/table/blue$arm/version/create", `{"version":2,"manifest_path":"` + path + `"}`, 404, 4, "no table"},
	} {
		status, got := w.call(t, c.token, c.method, c.path, c.body)
		require.Equal(t, c.status, status, "%s %s: %v", c.path, c.body[:min(len(c.body), 80)], got)
		require.EqualValues(t, c.code, got["code"], "%s: %v", c.path, got)
		require.Contains(t, got["error"], c.says, c.path)
	}
	require.Empty(t, w.adopted)
}

// TestTheFirstVersionMakesATable: until then nobody sees it, and its name is kept.
func TestTheFirstVersionMakesATable(t *testing.T) {
	w := serve(t, nil)
	status, got := w.call(t, "red", "POST", "/v1/table/red$new/declare", `{"id":["red","new"]}`)
	require.Equal(t, 200, status, got)
	require.Equal(t, true, got["managed_versioning"])
	key := strings.TrimPrefix(got["location"].(string), "/data/lake/") + "/_versions/1.manifest-x"
	status, got = w.call(t, "root", "POST", "/v1/table/red$new/declare", `{}`)
	require.Equal(t, 409, status)
	require.EqualValues(t, 14, got["code"], "LanceDB tells its users the text of this one")
	require.Contains(t, got["error"], "red is making a table of that name")
	for path, want := range map[string]int{"describe": 200, "exists": 404, "version/list": 200, "version/describe": 404} {
		status, _ = w.call(t, "red", "POST", "/v1/table/red$new/"+path, "{}")
		require.Equal(t, want, status, path)
	}
	_, got = w.call(t, "red", "POST", "/v1/table/red$new/describe", "")
	require.NotContains(t, got, "version")
	_, got = w.call(t, "red", "GET", "/v1/namespace/red/table/list", "")
	require.Empty(t, got["tables"])
	propose := fmt.Sprintf(`{"version":1,"manifest_path":"data/lake/%s","naming_scheme":"V2"}`, key)
	status, got = w.call(t, "red", "POST", "/v1/table/red$other/version/create", propose)
	require.Equal(t, 400, status, got) // the place of another name
	status, got = w.call(t, "red", "POST", "/v1/table/red$new/version/create", propose)
	require.Equal(t, 200, status, got)
	require.Equal(t, key, w.adopted[0].Key)
	_, got = w.call(t, "red", "GET", "/v1/namespace/red/table/list", "")
	require.Equal(t, []any{"new"}, got["tables"])

	// A drop makes room for others.
	status, _ = w.call(t, "red", "POST", "/v1/table/red$dead/declare", "{}")
	require.Equal(t, 200, status)
	status, _ = w.call(t, "red", "POST", "/v1/table/red$dead/drop", "{}")
	require.Equal(t, 200, status)
	status, _ = w.call(t, "root", "POST", "/v1/table/red$dead/declare", "{}")
	require.Equal(t, 200, status)
	readOnly := serve(t, func(o *lancens.Options) { o.ReadOnly = "this deployment only reads" })
	for _, path := range []string{"declare", "drop"} {
		status, got = readOnly.call(t, "red", "POST", "/v1/table/red$x/"+path, "{}")
		require.Equal(t, 406, status)
		require.Contains(t, got["error"], "only reads")
	}
}

func TestProposalsArePassedOnAndTheirErrorsTold(t *testing.T) {
	w := serve(t, func(o *lancens.Options) { o.StagedFor = time.Hour })
	arm := w.table(t, "red", "arm", 2)
	key := arm.Snapshot.Location.Prefix() + "_versions/3.manifest-x"
	propose := func() (int, map[string]any) {
		return w.call(t, "red", "POST", "/v1/table/red$arm/version/create", `{"id":["red","arm"],"version":3,"manifest_size":44,"naming_scheme":"V2","e_tag":"x","manifest_path":"data/lake/`+key+`"}`)
	}
	status, got := propose()
	require.Equal(t, 200, status, got)
	require.Len(t, w.adopted, 1)
	require.WithinDuration(t, time.Now().Add(-time.Hour), w.adopted[0].Since, time.Minute)
	w.adopted[0].Since = time.Time{}
	require.Equal(t, engine.Proposal{Version: 3, Key: key, Size: 44}, w.adopted[0])
	for kind, want := range map[lake.Kind][2]int{
		lake.Conflict: {409, 14}, lake.Invalid: {400, 13}, lake.Unsupported: {406, 0}, lake.Unavailable: {503, 17}, lake.Undetermined: {503, 17},
		lake.Fenced: {503, 17}, lake.Precondition: {409, 19}, lake.Corrupt: {500, 18}, lake.Denied: {403, 15}, lake.Exhausted: {429, 21},
	} {
		w.fails = lake.Errorf(kind, "secret path")
		status, got := propose()
		require.Equal(t, want[0], status, kind)
		require.EqualValues(t, want[1], got["code"], kind)
		require.Equal(t, kind != lake.Corrupt, strings.Contains(got["error"].(string), "secret"), kind)
	}
	readOnly := serve(t, func(o *lancens.Options) { o.ReadOnly = "this deployment only reads" })
	readOnly.table(t, "red", "arm", 2)
	status, got = readOnly.call(t, "red", "POST", "/v1/table/red$arm/version/create", `{"version":3,"manifest_path":"x"}`)
	require.Equal(t, 406, status)
	require.Contains(t, got["error"], "only reads")
}

func TestTooManyCallsAreToldToTryAgain(t *testing.T) {
	hold, holding := make(chan struct{}), make(chan struct{})
	w := serve(t, func(o *lancens.Options) { o.Concurrent = 1 })
	w.adopt = func() error {
		close(holding)
		<-hold
		return lake.Errorf(lake.Conflict, "late")
	}
	arm := w.table(t, "red", "arm", 2)
	slow := make(chan int, 1)
	go func() {
		r, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodPost, w.url+"/v1/table/red$arm/version/create",
			strings.NewReader(`{"version":3,"manifest_path":"data/lake/`+arm.Snapshot.Location.Prefix()+`x"}`))
		if err == nil {
			r.Header.Set("Authorization", "Bearer red")
			var resp *http.Response
			if resp, err = http.DefaultClient.Do(r); err == nil {
				_ = resp.Body.Close()
				slow <- resp.StatusCode
				return
			}
		}
		slow <- 0
	}()
	<-holding
	status, got := w.call(t, "red", "GET", "/v1/table", "")
	require.Equal(t, 429, status)
	require.EqualValues(t, 21, got["code"])
	close(hold)
	require.Equal(t, 409, <-slow)
	status, _ = w.call(t, "red", "GET", "/v1/table", "")
	require.Equal(t, 200, status)
}

func TestPlacesInABucket(t *testing.T) {
	w := serve(t, func(o *lancens.Options) {
		o.Place = lancens.Place{Bucket: "b", Prefix: "some/where", Storage: map[string]string{"aws_region": "r"}}
	})
	arm := w.table(t, "red", "arm", 1)
	_, got := w.call(t, "red", "POST", "/v1/table/red$arm/describe", `{}`)
	require.Equal(t, "s3://b/some/where/"+string(arm.Snapshot.Location), got["location"])
	require.Equal(t, map[string]any{"aws_region": "r"}, got["storage_options"])
	_, got = w.call(t, "red", "POST", "/v1/table/red$arm/version/list", `{"limit":1}`)
	require.Equal(t, "some/where/"+arm.Snapshot.Location.Prefix()+"_versions/1.manifest", got["versions"].([]any)[0].(map[string]any)["manifest_path"])
	for _, bad := range []lancens.Place{{}, {Folder: "x"}, {Folder: "/x", Bucket: "b"}} {
		_, err := lancens.New(lancens.Options{Place: bad})
		require.Equal(t, lake.Invalid, lake.KindOf(err))
	}
}

// Any body gives an answer that is JSON, and none is our fault.
func FuzzRequests(f *testing.F) {
	f.Add("/v1/table/red$arm/version/create", `{"version":3,"manifest_path":"data/lake/x"}`)
	f.Add("/v1/table/red$arm/declare", `{"location":null}`)
	f.Add("/v1/table/a/describe", `{"limit":-1,"branch":null}`)
	store := memory.New()
	w := &world{catalog: catalog.New(store, catalog.Options{}), fails: lake.Errorf(lake.Conflict, "no")}
	server, err := lancens.New(lancens.Options{
		Catalog: w.catalog, Records: store, Engine: named{&enginetest.Memory{}}, Auth: access.Development(), Place: lancens.Place{Folder: "/d"},
		Authority: w, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, path, body string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://h"+path, strings.NewReader(body))
		if err != nil {
			return
		}
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		require.NotEqual(t, http.StatusInternalServerError, w.Code, "%s", w.Body)
	})
}
