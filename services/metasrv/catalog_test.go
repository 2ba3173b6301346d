// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/internal/grpcerr"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/services/metasrv"
)

func TestCreateAndGetTable(t *testing.T) {
	a := start(t)
	made := a.create(t, "robots", "episodes")
	require.EqualValues(t, 1, made.GetSnapshot().GetVersion())
	require.Equal(t, "robots/episodes/"+made.GetSnapshot().GetIncarnation()+".lance", made.GetSnapshot().GetLocation())
	require.Equal(t, schemaBytes(ints), made.GetSchema())
	require.Equal(t, []lake.Version{1}, a.engine.published, "acknowledged means published")
	got, err := a.catalog.GetTable(t.Context(), &lakepb.GetTableRequest{Name: nameOf("robots", "episodes")})
	require.NoError(t, err)
	require.Equal(t, made.String(), got.String())
	_, err = a.catalog.GetTable(t.Context(), &lakepb.GetTableRequest{Name: nameOf("robots", "none")})
	requireCode(t, codes.NotFound, err)
}

func TestCreateTableRefusals(t *testing.T) {
	a := start(t)
	a.create(t, "a", "taken")
	column := func(name string, dt arrow.DataType) *arrow.Schema {
		return arrow.NewSchema([]arrow.Field{{Name: "ok", Type: arrow.PrimitiveTypes.Int8}, {Name: name, Type: dt}}, nil)
	}
	withRows := func() []byte {
		var buf strings.Builder
		w := ipc.NewWriter(&buf, ipc.WithSchema(ints))
		_ = w.Write(rowsOf(1))
		_ = w.Close()
		return []byte(buf.String())
	}
	good := schemaBytes(ints)
	before := count(t, a.store)
	for label, tc := range map[string]struct {
		ns, name string
		schema   []byte
		code     codes.Code
		contains string
	}{
		"taken":             {"a", "taken", good, codes.AlreadyExists, "exists"},
		"empty name":        {"a", "", good, codes.InvalidArgument, "empty"},
		"name with a slash": {"a", "b/c", good, codes.InvalidArgument, `'/'`},
		"dots":              {"..", "b", good, codes.InvalidArgument, "reserved"},
		"no schema":         {"a", "b", nil, codes.InvalidArgument, "0 bytes"},
		"large schema":      {"a", "b", make([]byte, lake.MaxSchemaBytes+1), codes.InvalidArgument, "1048577"},
		"garbage":           {"a", "b", []byte("garbage garbage"), codes.InvalidArgument, "Arrow IPC"},
		"cut off":           {"a", "b", good[:len(good)/2], codes.InvalidArgument, "cut off"},
		"mangled":           {"a", "b", append([]byte("\xff\xff\xff\xff\x10\x00\x00\x00"), make([]byte, 16)...), codes.InvalidArgument, "Arrow IPC"},
		"rows":              {"a", "b", withRows(), codes.InvalidArgument, "goes on"},
		"no columns":        {"a", "b", schemaBytes(arrow.NewSchema(nil, nil)), codes.InvalidArgument, "no columns"},
		"nameless column":   {"a", "b", schemaBytes(column("", arrow.PrimitiveTypes.Int8)), codes.InvalidArgument, "no name"},
		"case only":         {"a", "b", schemaBytes(column("OK", arrow.PrimitiveTypes.Int8)), codes.InvalidArgument, "apart"},
		"unsupported type":  {"a", "b", schemaBytes(column("m", arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int8))), codes.Unimplemented, "column m"},
	} {
		t.Run(label, func(t *testing.T) {
			_, err := a.catalog.CreateTable(t.Context(), &lakepb.CreateTableRequest{Name: nameOf(tc.ns, tc.name), Schema: tc.schema})
			requireCode(t, tc.code, err, tc.contains)
		})
	}
	require.Equal(t, before, count(t, a.store), "nothing half-created")
}

func count(t testing.TB, store metastore.Store) int {
	t.Helper()
	page, err := store.Scan(t.Context(), "", "", lake.MaxPageSize)
	require.NoError(t, err)
	return len(page.Records)
}

func TestRacingCreatesHaveOneWinner(t *testing.T) {
	var mu sync.Mutex
	var swept []lake.Location
	a := start(t, func(o *metasrv.Options) {
		o.Sweep = func(_ context.Context, loc lake.Location) error {
			mu.Lock()
			defer mu.Unlock()
			swept = append(swept, loc)
			return errors.New("swept badly")
		}
	})
	var wg sync.WaitGroup
	made := make(chan *lakepb.Table, 16)
	for range 16 {
		wg.Go(func() {
			table, err := a.catalog.CreateTable(t.Context(), &lakepb.CreateTableRequest{Name: nameOf("a", "t"), Schema: schemaBytes(ints)})
			if err != nil {
				requireCode(t, codes.AlreadyExists, err)
				return
			}
			made <- table
		})
	}
	wg.Wait()
	require.Len(t, made, 1)
	winner := <-made
	a.stop()
	require.NotContains(t, swept, lake.Location(winner.GetSnapshot().GetLocation()))
}

// TestWhatWasRegisteredIsNotSwept: a create that fails after its table was
// registered leaves a table, and nothing of it is deleted.
func TestWhatWasRegisteredIsNotSwept(t *testing.T) {
	for failure, disturb := range map[string]func(*authority){
		"its commit has no answer": func(a *authority) {
			registered := false
			a.store.OnCommit(func(txn metastore.Txn, next func() error) error {
				if !slices.ContainsFunc(txn.Ops, func(o metastore.Op) bool { return o.Key == "tbl/a/t" }) {
					return next()
				}
				if !registered {
					registered = true
					require.NoError(t, next())
					a.store.OnGet(func(key string) error {
						if key == "tbl/a/t" {
							return metastore.ErrRetryable
						}
						return nil
					})
				}
				return metastore.ErrUnknownOutcome
			})
		},
		"it cannot be published": func(a *authority) {
			a.engine.set(func(d *disturbed) {
				d.publish = func(lake.Snapshot) error { return lake.Errorf(lake.Unavailable, "the object store is away") }
			})
		},
	} {
		t.Run(failure, func(t *testing.T) {
			swept := make(chan lake.Location, 8)
			a := start(t, func(o *metasrv.Options) {
				o.Sweep = func(_ context.Context, loc lake.Location) error { swept <- loc; return nil }
			})
			disturb(a)
			_, err := a.catalog.CreateTable(t.Context(), &lakepb.CreateTableRequest{Name: nameOf("a", "t"), Schema: schemaBytes(ints)})
			require.Equal(t, lake.Undetermined, lake.KindOf(grpcerr.FromStatus(err)), "%v", err)
			a.store.OnCommit(nil)
			a.store.OnGet(nil)
			a.engine.set(func(d *disturbed) { d.publish = nil })
			_, err = a.put(t.Context(), newOp(t, "a", "t", 0))
			require.NoError(t, err)
			a.stop() // waits for what was begun
			require.Empty(t, swept)
		})
	}
}

func TestCreateWithALostAnswer(t *testing.T) {
	a := start(t)
	a.create(t, "a", "warm") // so that the catalog is prepared
	a.store.OnCommit(func(_ metastore.Txn, next func() error) error {
		a.store.OnCommit(nil)
		require.NoError(t, next())
		return metastore.ErrUnknownOutcome
	})
	a.create(t, "a", "t")
}

func TestListTablesShowsWhatIsGranted(t *testing.T) {
	a := start(t)
	for _, n := range []string{"b.1", "b.2", "hidden.1", "r.1", "r.2", "r.3", "shared.1"} {
		ns, name, _ := strings.Cut(n, ".")
		a.create(t, ns, name)
	}
	list := func(token, ns string, size int32) (names []string, tokens []string) {
		req := &lakepb.ListTablesRequest{Namespace: ns, PageSize: size}
		for {
			resp, err := a.catalog.ListTables(as(t.Context(), token), req)
			require.NoError(t, err)
			require.LessOrEqual(t, len(resp.GetTables()), max(int(size), 100*btoi(size == 0)))
			for _, table := range resp.GetTables() {
				require.Empty(t, table.GetSchema())
				names = append(names, table.GetName().GetNamespace()+"."+table.GetName().GetName())
			}
			if req.PageToken = resp.GetNextPageToken(); req.PageToken == "" {
				return names, tokens
			}
			tokens = append(tokens, req.PageToken)
		}
	}
	for _, size := range []int32{0, 1, 2, 3, 1000} {
		for _, tc := range []struct{ who, ns, want string }{
			{"root", "", "b.1 b.2 hidden.1 r.1 r.2 r.3 shared.1"},
			{"root", "r", "r.1 r.2 r.3"},
			{"red", "", "r.1 r.2 r.3 shared.1"},
			{"blue", "", "b.1 b.2 shared.1"},
			{"blue", "r", ""},
			{"other", "", ""},
		} {
			names, _ := list(tc.who, tc.ns, size)
			require.Equal(t, tc.want, strings.Join(names, " "), "%s in %q by %d", tc.who, tc.ns, size)
		}
	}
	_, tokens := list("root", "", 1)
	for label, req := range map[string]*lakepb.ListTablesRequest{
		"page size":     {PageSize: 1001},
		"negative":      {PageSize: -1},
		"bad token":     {PageToken: "!"},
		"bad namespace": {Namespace: "a/b"},
		"foreign token": {PageToken: tokens[0]},
	} {
		_, err := a.catalog.ListTables(as(t.Context(), "red"), req)
		require.Equal(t, codes.InvalidArgument.String(), codeName(err), label)
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func snapshot(t *testing.T, a *authority, ctx context.Context, known string) (generation string, same bool, names []string, messages int) {
	t.Helper()
	stream, err := a.catalog.CatalogSnapshot(ctx, &lakepb.CatalogSnapshotRequest{KnownGeneration: known})
	require.NoError(t, err)
	for {
		msg, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return generation, same, names, messages
		}
		require.NoError(t, err)
		if messages++; messages == 1 {
			generation, same = msg.GetGeneration(), msg.GetNotModified()
		}
		for _, table := range msg.GetTables() {
			names = append(names, table.GetName().GetNamespace()+"."+table.GetName().GetName())
		}
	}
}

func TestCatalogSnapshot(t *testing.T) {
	a := start(t)
	a.create(t, "r", "t")
	a.create(t, "b", "t")
	gen, same, names, _ := snapshot(t, a, t.Context(), "")
	require.NotEmpty(t, gen)
	require.False(t, same)
	require.Equal(t, []string{"b.t", "r.t"}, names)
	_, same, names, messages := snapshot(t, a, t.Context(), gen)
	require.True(t, same)
	require.Empty(t, names)
	require.Equal(t, 1, messages)
	_, err := a.put(t.Context(), newOp(t, "r", "t", 1))
	require.NoError(t, err)
	_, same, _, _ = snapshot(t, a, t.Context(), gen)
	require.True(t, same, "an append does not change the directory")
	_, _, names, _ = snapshot(t, a, as(t.Context(), "red"), "")
	require.Equal(t, []string{"r.t"}, names)
	_, err = a.catalog.DropTable(t.Context(), &lakepb.DropTableRequest{Name: nameOf("b", "t")})
	require.NoError(t, err)
	_, same, names, _ = snapshot(t, a, t.Context(), gen)
	require.False(t, same)
	require.Equal(t, []string{"r.t"}, names)
}

func TestCatalogSnapshotIsChunked(t *testing.T) {
	a := start(t)
	fields := make([]arrow.Field, 3000)
	for i := range fields {
		fields[i] = arrow.Field{Name: fmt.Sprintf("column_%d", i), Type: arrow.PrimitiveTypes.Int64}
	}
	wide := schemaBytes(arrow.NewSchema(fields, nil))
	for i := range 8 {
		_, err := a.catalog.CreateTable(t.Context(), &lakepb.CreateTableRequest{Name: nameOf("a", fmt.Sprint(i)), Schema: wide})
		require.NoError(t, err)
	}
	_, _, names, messages := snapshot(t, a, t.Context(), "")
	require.Len(t, names, 8)
	require.True(t, slices.IsSorted(names))
	require.Greater(t, messages, 1)
}

func TestDropTable(t *testing.T) {
	a := start(t)
	made := a.create(t, "a", "t")
	inc := made.GetSnapshot().GetIncarnation()
	want := "a/t/" + inc

	dry, err := a.catalog.DropTable(t.Context(), &lakepb.DropTableRequest{Name: nameOf("a", "t"), DryRun: true})
	require.NoError(t, err)
	require.True(t, dry.GetDryRun())
	require.Equal(t, want, dry.GetProcedureId())
	_, err = a.catalog.GetTable(t.Context(), &lakepb.GetTableRequest{Name: nameOf("a", "t")})
	require.NoError(t, err, "a dry run changes nothing")
	require.Empty(t, a.starter.list())

	_, err = a.put(t.Context(), newOp(t, "a", "t", 1, 2))
	require.NoError(t, err)
	resp, err := a.catalog.DropTable(t.Context(), &lakepb.DropTableRequest{
		Name: nameOf("a", "t"), Reason: "test", UndropWindow: durationpb.New(time.Hour),
	})
	require.NoError(t, err)
	require.Equal(t, want, resp.GetProcedureId())
	require.Equal(t, "http://ui/drop-table/"+want, resp.GetUiUrl())
	require.EqualValues(t, 2, resp.GetDropped().GetSnapshot().GetVersion())
	require.WithinDuration(t, time.Now().Add(time.Hour), resp.GetPurgeAfter().AsTime(), time.Minute)
	require.Eventually(t, func() bool { return slices.Equal(a.starter.list(), []string{"drop-table/" + want}) }, 20*time.Second, time.Millisecond)

	_, err = a.catalog.GetTable(t.Context(), &lakepb.GetTableRequest{Name: nameOf("a", "t")})
	requireCode(t, codes.NotFound, err)
	_, err = a.put(t.Context(), newOp(t, "a", "t", 1))
	requireCode(t, codes.FailedPrecondition, err, "dropped")
	_, err = a.catalog.DropTable(t.Context(), &lakepb.DropTableRequest{Name: nameOf("a", "t")})
	requireCode(t, codes.NotFound, err, "drop-table/"+want)

	again := func() *lakepb.DropTableResponse {
		resp, err := a.catalog.DropTable(t.Context(), &lakepb.DropTableRequest{Name: nameOf("a", "t"), Incarnation: inc})
		require.NoError(t, err)
		return resp
	}
	require.Equal(t, resp.String(), again().String(), "idempotent per incarnation")
	second := a.create(t, "a", "t")
	require.NotEqual(t, inc, second.GetSnapshot().GetIncarnation())
	require.Equal(t, resp.String(), again().String(), "also after a recreate")
	require.Equal(t, []int64(nil), a.numbers(t, "a", "t"))

	proc, err := a.procedures.GetProcedure(t.Context(), &lakepb.GetProcedureRequest{Kind: "drop-table", Id: want})
	require.NoError(t, err)
	require.Equal(t, lakepb.ProcedureState_PROCEDURE_STATE_PENDING, proc.GetState())
	require.Equal(t, "drop-table/"+want, proc.GetWorkflowId())

	endDrop(t, a, resp.GetDropped())
	ended := again()
	require.Equal(t, want, ended.GetProcedureId(), "and after the procedure has ended")
	require.Nil(t, ended.GetPurgeAfter())
}

// endDrop does what the procedure does last.
func endDrop(t *testing.T, a *authority, dropped *lakepb.Table) {
	t.Helper()
	inc, err := lake.ParseID(dropped.GetSnapshot().GetIncarnation())
	require.NoError(t, err)
	name := lake.TableName{Namespace: dropped.GetName().GetNamespace(), Name: dropped.GetName().GetName()}
	grave, err := a.records.Tombstone(t.Context(), name, inc)
	require.NoError(t, err)
	proc, err := a.records.Procedure(t.Context(), catalog.DropKind, grave.ProcedureID())
	require.NoError(t, err)
	done := proc
	done.State = catalog.ProcedureCompleted
	_, err = a.records.CommitProcedure(t.Context(), proc, done, append(a.engine.Forget(grave.Table.Snapshot), grave.RemoveOp())...)
	require.NoError(t, err)
}

func TestDropTableRefusals(t *testing.T) {
	a := start(t)
	a.create(t, "a", "t")
	for label, tc := range map[string]struct {
		req  *lakepb.DropTableRequest
		code codes.Code
	}{
		"missing":           {&lakepb.DropTableRequest{Name: nameOf("a", "none")}, codes.NotFound},
		"bad name":          {&lakepb.DropTableRequest{Name: nameOf("a", "")}, codes.InvalidArgument},
		"bad incarnation":   {&lakepb.DropTableRequest{Name: nameOf("a", "t"), Incarnation: "x"}, codes.InvalidArgument},
		"other incarnation": {&lakepb.DropTableRequest{Name: nameOf("a", "t"), Incarnation: lake.NewID().String()}, codes.FailedPrecondition},
		"no such":           {&lakepb.DropTableRequest{Name: nameOf("a", "none"), Incarnation: lake.NewID().String()}, codes.NotFound},
		"long reason":       {&lakepb.DropTableRequest{Name: nameOf("a", "t"), Reason: strings.Repeat("x", 1025)}, codes.InvalidArgument},
		"negative window":   {&lakepb.DropTableRequest{Name: nameOf("a", "t"), UndropWindow: durationpb.New(-1)}, codes.InvalidArgument},
		"endless window":    {&lakepb.DropTableRequest{Name: nameOf("a", "t"), UndropWindow: durationpb.New(365 * 24 * time.Hour)}, codes.InvalidArgument},
	} {
		_, err := a.catalog.DropTable(t.Context(), tc.req)
		require.Equal(t, tc.code.String(), codeName(err), "%s: %v", label, err)
	}
	_, err := a.catalog.GetTable(t.Context(), &lakepb.GetTableRequest{Name: nameOf("a", "t")})
	require.NoError(t, err)
}

func TestDropWithoutTemporalStillDrops(t *testing.T) {
	a := start(t)
	a.starter.refuse(errors.New("temporal is away"))
	a.create(t, "a", "t")
	_, err := a.catalog.DropTable(t.Context(), &lakepb.DropTableRequest{Name: nameOf("a", "t")})
	require.NoError(t, err)
}

// TestCrossTenantMatrix makes every call as a principal without a grant: a
// hidden table looks exactly like a missing one.
func TestCrossTenantMatrix(t *testing.T) {
	a := start(t)
	hidden := a.create(t, "r", "t")
	drop := a.create(t, "r", "dropped")
	_, err := a.catalog.DropTable(t.Context(), &lakepb.DropTableRequest{Name: nameOf("r", "dropped")})
	require.NoError(t, err)
	dropID := "r/dropped/" + drop.GetSnapshot().GetIncarnation()
	for label, call := range map[string]func(ctx context.Context, table string) error{
		"get": func(ctx context.Context, table string) error {
			_, err := a.catalog.GetTable(ctx, &lakepb.GetTableRequest{Name: nameOf("r", table)})
			return err
		},
		"drop": func(ctx context.Context, table string) error {
			_, err := a.catalog.DropTable(ctx, &lakepb.DropTableRequest{Name: nameOf("r", table)})
			return err
		},
		"drop incarnation": func(ctx context.Context, table string) error {
			_, err := a.catalog.DropTable(ctx, &lakepb.DropTableRequest{Name: nameOf("r", table), Incarnation: hidden.GetSnapshot().GetIncarnation()})
			return err
		},
		"undrop": func(ctx context.Context, table string) error {
			_, err := a.catalog.UndropTable(ctx, &lakepb.UndropTableRequest{Name: nameOf("r", strings.Replace(table, "t", "dropped", 1))})
			return err
		},
		"append": func(ctx context.Context, table string) error {
			_, err := a.put(ctx, newOp(t, "r", table, 1))
			return err
		},
	} {
		t.Run(label, func(t *testing.T) {
			there := call(as(t.Context(), "blue"), "t")
			missing := call(as(t.Context(), "blue"), "none")
			requireCode(t, codes.NotFound, there)
			require.Equal(t, strings.NewReplacer("r.t", "r.none", "r.dropped", "r.none").Replace(there.Error()), missing.Error())
		})
	}
	_, err = a.catalog.CreateTable(as(t.Context(), "blue"), &lakepb.CreateTableRequest{Name: nameOf("r", "t"), Schema: schemaBytes(ints)})
	requireCode(t, codes.PermissionDenied, err)
	_, err = a.procedures.GetProcedure(as(t.Context(), "blue"), &lakepb.GetProcedureRequest{Kind: "drop-table", Id: dropID})
	requireCode(t, codes.NotFound, err)
	for who, want := range map[string]int{"root": 1, "red": 1, "blue": 0, "other": 0} {
		resp, err := a.procedures.ListProcedures(as(t.Context(), who), &lakepb.ListProceduresRequest{})
		require.NoError(t, err)
		require.Len(t, resp.GetProcedures(), want, who)
		resp, err = a.procedures.ListProcedures(as(t.Context(), who), &lakepb.ListProceduresRequest{Kind: "other"})
		require.NoError(t, err)
		require.Empty(t, resp.GetProcedures())
	}
	_, err = a.procedures.GetProcedure(as(t.Context(), "red"), &lakepb.GetProcedureRequest{Kind: "drop-table", Id: dropID})
	require.NoError(t, err)
	_, err = a.procedures.GetProcedure(t.Context(), &lakepb.GetProcedureRequest{Kind: "a/b", Id: "c"})
	requireCode(t, codes.InvalidArgument, err)
	_, err = a.catalog.GetTable(as(t.Context(), "nobody"), &lakepb.GetTableRequest{Name: nameOf("r", "t")})
	requireCode(t, codes.Unauthenticated, err)
}

func TestOptionsReportEveryMistake(t *testing.T) {
	_, err := metasrv.New(metasrv.Options{UndropWindow: 365 * 24 * time.Hour, Append: metasrv.AppendOptions{StreamBytes: 1 << 40}})
	for _, want := range []string{"metastore", "engine", "undrop", "stream", "buffered"} {
		require.ErrorContains(t, err, want)
	}
	require.Equal(t, lake.Invalid, lake.KindOf(err))
}
