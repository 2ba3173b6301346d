// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/internal/appendwire"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/query"
	"github.com/lakeplane/lake/services/query/registration"
)

// collected keeps what a writer sends.
type collected []*flight.FlightData

func (c *collected) Send(d *flight.FlightData) error {
	*c = append(*c, proto.CloneOf(d))
	return nil
}

// appendRows runs the append protocol against a replica.
func appendRows(t testing.TB, c *flightsql.Client, name lake.TableName, rec arrow.RecordBatch, corrupt bool) (*lakepb.AppendResult, error) {
	t.Helper()
	var msgs collected
	w := flight.NewRecordWriter(&msgs, ipcSchema(rec))
	require.NoError(t, w.Write(rec))
	require.NoError(t, w.Close())
	cmd := appendwire.Command{Table: name, Operation: lake.NewID(), Digest: appendwire.DigestOf(msgs...)}
	if corrupt {
		cmd.Digest[0] ^= 1
	}
	desc, err := cmd.Descriptor()
	require.NoError(t, err)
	msgs[0].FlightDescriptor = desc
	s, err := c.Client.DoPut(t.Context())
	require.NoError(t, err)
	for _, m := range msgs {
		if s.Send(m) != nil {
			break
		}
	}
	_ = s.CloseSend()
	res, err := s.Recv()
	if err != nil {
		return nil, err
	}
	_, err = s.Recv()
	require.ErrorIs(t, err, io.EOF)
	var out lakepb.AppendResult
	require.NoError(t, proto.Unmarshal(res.GetAppMetadata(), &out))
	return &out, nil
}

// replicaTo starts a replica that keeps registrations for long, and has the
// authority in its own process, or on a connection.
func (l *lakeUnderTest) replicaTo(beside bool) *replica {
	return l.replica(func(o *query.Options) {
		o.Registration = registration.Options{TTL: time.Hour}
		if beside {
			o.Append = l.authority.DoPut
		}
	})
}

func TestAppendsPassUnchangedAndAreReadAtOnce(t *testing.T) {
	for where, via := range map[string]string{"on a connection": "query", "in this process": ""} {
		t.Run(where, func(t *testing.T) {
			l := newLake(t)
			name := l.authority.create(t, "lab.notes", simple)
			r := l.replicaTo(via == "")
			c := r.client("ann-token")
			for i := range 5 {
				got := mustRun(t, c, "SELECT count(*) AS n FROM lab.notes")
				require.Equal(t, fmt.Sprintf("{\"n\":%d}\n", i), got.json(t), "a client reads its writes")
				res, err := appendRows(t, c, name, rows(t, simple, fmt.Sprintf(`[{"id":%d}]`, i)), false)
				require.NoError(t, err)
				require.EqualValues(t, i+2, res.GetVersion())
			}
			require.Equal(t, "ann", l.authority.lastCaller("DoPut").Name, "the authority learns for whom")
			require.Equal(t, via, l.authority.lastCaller("DoPut").Via)

			_, err := appendRows(t, c, name, rows(t, simple, `[{"id":9}]`), true)
			require.Equal(t, codes.InvalidArgument, status.Code(err), "the authority's refusal comes through: %v", err)
			_, err = appendRows(t, r.client("bob-token"), lake.TableName{Namespace: "secret", Name: "x"}, rows(t, simple, `[{"id":9}]`), false)
			require.Equal(t, codes.NotFound, status.Code(err))
			require.Equal(t, "{\"n\":5}\n", mustRun(t, c, "SELECT count(*) AS n FROM lab.notes").json(t))
		})
	}
}

// openSession opens a session of appends at a replica.
func openSession(t testing.TB, ctx context.Context, c *flightsql.Client, name lake.TableName, schema *flight.FlightData) (flight.FlightService_DoPutClient, error) {
	t.Helper()
	desc, err := appendwire.Opening{Table: name}.Descriptor()
	require.NoError(t, err)
	s, err := c.Client.DoPut(withHeader(ctx, appendwire.SessionHeader, "1"))
	require.NoError(t, err)
	require.NoError(t, s.Send(&flight.FlightData{FlightDescriptor: desc, DataHeader: schema.GetDataHeader(), DataBody: schema.GetDataBody()}))
	_, err = s.Recv()
	return s, err
}

func TestSessionsOfAppendsPassUnchangedAndAreReadAtOnce(t *testing.T) {
	for where, via := range map[string]string{"on a connection": "query", "in this process": ""} {
		t.Run(where, func(t *testing.T) {
			l := newLake(t)
			name := l.authority.create(t, "lab.notes", simple)
			r := l.replicaTo(via == "")
			c := r.client("ann-token")
			payload := func(i int) (msgs collected) {
				rec := rows(t, simple, fmt.Sprintf(`[{"id":%d}]`, i))
				w := flight.NewRecordWriter(&msgs, ipcSchema(rec))
				require.NoError(t, w.Write(rec))
				require.NoError(t, w.Close())
				return msgs
			}
			schema := payload(0)[0]
			s, err := openSession(t, t.Context(), c, name, schema)
			require.NoError(t, err)
			for i := range 5 {
				got := mustRun(t, c, "SELECT count(*) AS n FROM lab.notes")
				require.Equal(t, fmt.Sprintf("{\"n\":%d}\n", i), got.json(t), "a client reads its writes")
				m, err := appendwire.Item(payload(i)[1], lake.NewID(), lake.Digest{})
				require.NoError(t, err)
				require.NoError(t, s.Send(m))
				told, err := s.Recv()
				require.NoError(t, err)
				var results lakepb.AppendSessionResults
				require.NoError(t, proto.Unmarshal(told.GetAppMetadata(), &results))
				require.Len(t, results.GetResults(), 1)
				require.EqualValues(t, i+2, results.GetResults()[0].GetApplied().GetVersion())
			}
			require.Equal(t, "ann", l.authority.lastCaller("DoPut").Name, "the authority learns for whom")
			require.Equal(t, via, l.authority.lastCaller("DoPut").Via)
			require.Equal(t, 1, l.authority.count("DoPut"))
			require.NoError(t, s.CloseSend())
			_, err = s.Recv()
			require.ErrorIs(t, err, io.EOF)

			_, err = openSession(t, t.Context(), r.client("bob-token"), lake.TableName{Namespace: "secret", Name: "x"}, schema)
			require.Equal(t, codes.NotFound, status.Code(err), "%v", err)
			require.Equal(t, 1, l.authority.count("DoPut"), "the authority is not asked for hidden names")
			require.Equal(t, "{\"n\":5}\n", mustRun(t, c, "SELECT count(*) AS n FROM lab.notes").json(t))
		})
	}
}

func TestAnAppendWithoutAnAnswerStillEvicts(t *testing.T) {
	for where, beside := range map[string]bool{"on a connection": false, "in this process": true} {
		t.Run(where, func(t *testing.T) {
			l := newLake(t)
			name := l.authority.create(t, "lab.notes", simple)
			c := l.replicaTo(beside).client("ann-token")
			mustRun(t, c, "SELECT * FROM lab.notes")
			l.authority.failAppends(lake.Errorf(lake.Undetermined, "the connection broke"))
			_, err := appendRows(t, c, name, rows(t, simple, `[{"id":1}]`), false)
			require.Equal(t, codes.Unavailable, status.Code(err))
			require.EqualValues(t, 1, mustRun(t, c, "SELECT * FROM lab.notes").rows())
		})
	}
}

func TestAnyReplicaWaitsForTheVersionAClientKnows(t *testing.T) {
	l := newLake(t)
	name := l.authority.create(t, "lab.notes", simple)
	c := l.replica(func(o *query.Options) { o.Registration = registration.Options{TTL: time.Hour} }).client("ann-token")
	mustRun(t, c, "SELECT * FROM lab.notes")
	l.authority.insert(t, name, rows(t, simple, `[{"id":1}]`)) // through another replica
	require.Zero(t, mustRun(t, c, "SELECT * FROM lab.notes").rows())
	ctx := withHeader(t.Context(), query.MinVersionHeader, "other.table=9,lab.notes=2")
	info, err := c.Execute(ctx, "SELECT * FROM lab.notes")
	require.NoError(t, err)
	got, err := fetch(t, t.Context(), c, info)
	require.NoError(t, err)
	require.EqualValues(t, 1, got.rows())
	_, err = c.Execute(withHeader(t.Context(), query.MinVersionHeader, "lab.notes=99"), "SELECT * FROM lab.notes")
	require.Equal(t, codes.FailedPrecondition, status.Code(err))
	_, err = c.Execute(withHeader(t.Context(), query.MinVersionHeader, "lab.notes"), "SELECT * FROM lab.notes")
	require.Equal(t, codes.InvalidArgument, status.Code(err))
}

// The report: old rows after a drop and a create of the same name.
func TestARecreatedTableNeverShowsOldRows(t *testing.T) {
	l := newLake(t)
	name := l.authority.create(t, "lab.notes", simple)
	l.authority.insert(t, name, rows(t, simple, `[{"id":1},{"id":2}]`))
	here := l.replica(func(o *query.Options) { o.Registration = registration.Options{TTL: time.Hour} })
	other := l.replica()
	for _, r := range []*replica{here, other} {
		require.EqualValues(t, 2, mustRun(t, r.client("ann-token"), "SELECT * FROM lab.notes").rows())
	}
	catalog := lakepb.NewCatalogClient(here.conn("ann-token"))
	_, err := catalog.DropTable(t.Context(), &lakepb.DropTableRequest{Name: &lakepb.TableName{Namespace: "lab", Name: "notes"}})
	require.NoError(t, err)
	_, err = run(t, here.client("ann-token"), "SELECT * FROM lab.notes")
	require.Equal(t, codes.NotFound, status.Code(err), "at once on the replica that dropped it")
	changed := arrow.NewSchema([]arrow.Field{{Name: "other", Type: arrow.BinaryTypes.String}}, nil)
	_, err = catalog.CreateTable(t.Context(), &lakepb.CreateTableRequest{Name: &lakepb.TableName{Namespace: "lab", Name: "notes"}, Schema: flight.SerializeSchema(changed, memory.DefaultAllocator)})
	require.NoError(t, err)
	l.authority.insert(t, name, rows(t, changed, `[{"other":"new"}]`))
	require.Equal(t, "{\"other\":\"new\"}\n", mustRun(t, here.client("ann-token"), "SELECT * FROM lab.notes").json(t))
	require.Eventually(t, func() bool {
		got, err := run(t, other.client("ann-token"), "SELECT * FROM lab.notes")
		return err == nil && got.json(t) == "{\"other\":\"new\"}\n"
	}, 20*time.Second, 20*time.Millisecond, "and within the registration's time on another")
}

func TestControlCallsAreForwardedForTheCaller(t *testing.T) {
	l := newLake(t)
	l.authority.create(t, "lab.notes", simple)
	l.authority.create(t, "secret.notes", simple)
	r := l.replica()
	bob := lakepb.NewCatalogClient(r.conn("bob-token"))
	got, err := bob.GetTable(t.Context(), &lakepb.GetTableRequest{Name: &lakepb.TableName{Namespace: "lab", Name: "notes"}})
	require.NoError(t, err)
	require.Equal(t, "lab", got.GetName().GetNamespace())
	require.Equal(t, "bob", l.authority.lastCaller("GetTable").Name)
	require.Equal(t, "blue", l.authority.lastCaller("GetTable").Tenant)
	for what, name := range map[string]*lakepb.TableName{"hidden": {Namespace: "secret", Name: "notes"}, "missing": {Namespace: "secret", Name: "none"}} {
		_, err = bob.GetTable(t.Context(), &lakepb.GetTableRequest{Name: name})
		require.Equal(t, codes.NotFound, status.Code(err), what)
		_, err = bob.DropTable(t.Context(), &lakepb.DropTableRequest{Name: name})
		require.Equal(t, codes.NotFound, status.Code(err), what)
		_, err = bob.UndropTable(t.Context(), &lakepb.UndropTableRequest{Name: name})
		require.Equal(t, codes.NotFound, status.Code(err), what)
		require.Empty(t, l.authority.lastCaller("UndropTable").Name, "the authority is not asked for hidden names")
	}
	_, err = bob.UndropTable(t.Context(), &lakepb.UndropTableRequest{Name: &lakepb.TableName{Namespace: "lab", Name: "none"}})
	require.Equal(t, codes.NotFound, status.Code(err))
	require.Equal(t, "bob", l.authority.lastCaller("UndropTable").Name)
	_, err = bob.CreateTable(t.Context(), &lakepb.CreateTableRequest{Name: &lakepb.TableName{Namespace: "lab", Name: "a b"}})
	require.Equal(t, codes.InvalidArgument, status.Code(err))
	page, err := bob.ListTables(t.Context(), &lakepb.ListTablesRequest{})
	require.NoError(t, err)
	require.Len(t, page.GetTables(), 1)
	dir, err := bob.CatalogSnapshot(t.Context(), &lakepb.CatalogSnapshotRequest{})
	require.NoError(t, err)
	msg, err := dir.Recv()
	require.NoError(t, err)
	require.Len(t, msg.GetTables(), 1)
	procedures := lakepb.NewProceduresClient(r.conn("ann-token"))
	list, err := procedures.ListProcedures(t.Context(), &lakepb.ListProceduresRequest{})
	require.NoError(t, err)
	require.Len(t, list.GetProcedures(), 1)
	one, err := procedures.GetProcedure(t.Context(), &lakepb.GetProcedureRequest{Kind: "drop-table", Id: "p"})
	require.NoError(t, err)
	require.Equal(t, "p", one.GetId())
	require.Equal(t, "ann", l.authority.lastCaller("GetProcedure").Name)
}

func many(t testing.TB, n int) array.RecordReader {
	b := array.NewRecordBuilder(memory.DefaultAllocator, simple)
	defer b.Release()
	var recs []arrow.RecordBatch
	for i := range n {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(1).(*array.StringBuilder).Append(fmt.Sprint("note ", i))
		if b.Field(0).Len() == 3000 || i == n-1 {
			recs = append(recs, b.NewRecordBatch())
		}
	}
	r, err := array.NewRecordReader(simple, recs)
	require.NoError(t, err)
	for _, rec := range recs {
		rec.Release()
	}
	return r
}

func ingestOptions(ifNot flightsql.TableDefinitionOptionsTableNotExistOption, ifExists flightsql.TableDefinitionOptionsTableExistsOption) *flightsql.ExecuteIngestOpts {
	schema := "lab"
	return &flightsql.ExecuteIngestOpts{
		TableDefinitionOptions: &flightsql.TableDefinitionOptions{IfNotExist: ifNot, IfExists: ifExists},
		Table:                  "bulk", Schema: &schema,
	}
}

func TestBulkIngestionCreatesAndAppendsInPieces(t *testing.T) {
	l := newLake(t)
	c := l.replica().client("ann-token")
	create := ingestOptions(flightsql.TableDefinitionOptionsTableNotExistOptionCreate, flightsql.TableDefinitionOptionsTableExistsOptionFail)
	add := ingestOptions(flightsql.TableDefinitionOptionsTableNotExistOptionFail, flightsql.TableDefinitionOptionsTableExistsOptionAppend)

	_, err := c.ExecuteIngest(t.Context(), many(t, 10), add)
	require.Equal(t, codes.NotFound, status.Code(err), "%v", err)
	l.authority.failAppends(lake.Errorf(lake.Undetermined, "the connection broke"))
	n, err := c.ExecuteIngest(t.Context(), many(t, 25_000), create)
	require.NoError(t, err)
	require.EqualValues(t, 25_000, n)
	require.Equal(t, 4, l.authority.count("DoPut"), "three pieces, one of them sent twice")
	got := mustRun(t, c, "SELECT count(*) AS n, count(DISTINCT id) AS d, max(note) AS m FROM lab.bulk")
	require.Equal(t, `{"d":25000,"m":"note 9999","n":25000}`+"\n", got.json(t), "no row twice")

	_, err = c.ExecuteIngest(t.Context(), many(t, 10), create)
	require.Equal(t, codes.AlreadyExists, status.Code(err))
	n, err = c.ExecuteIngest(t.Context(), many(t, 10), add)
	require.NoError(t, err)
	require.EqualValues(t, 10, n)
	replace := ingestOptions(flightsql.TableDefinitionOptionsTableNotExistOptionCreate, flightsql.TableDefinitionOptionsTableExistsOptionReplace)
	_, err = c.ExecuteIngest(t.Context(), many(t, 10), replace)
	require.Equal(t, codes.Unimplemented, status.Code(err))
	require.EqualValues(t, 25_010, mustRun(t, c, "SELECT * FROM lab.bulk").rows())
}

func TestBulkIngestionRefusesWhatDoesNotFit(t *testing.T) {
	l := newLake(t)
	name := l.authority.create(t, "lab.bulk", simple)
	c := l.replica().client("ann-token")
	add := ingestOptions(flightsql.TableDefinitionOptionsTableNotExistOptionFail, flightsql.TableDefinitionOptionsTableExistsOptionAppend)
	nullable := arrow.NewSchema([]arrow.Field{{Name: "note", Type: arrow.BinaryTypes.String, Nullable: true}, {Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	for what, tc := range map[string]struct {
		rec  arrow.RecordBatch
		want string
	}{
		"type":    {rows(t, arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int32}, {Name: "note", Type: arrow.BinaryTypes.String}}, nil), `[{"id":1,"note":"a"}]`), `column "id" has type int32, and in the table int64`},
		"missing": {rows(t, one("id", arrow.PrimitiveTypes.Int64), `[{"id":1}]`), "1 columns, and the table has 2"},
		"unknown": {rows(t, arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "x", Type: arrow.BinaryTypes.String}}, nil), `[{"id":1,"x":"a"}]`), `the rows lack column "note" of the table`},
		"null":    {rows(t, nullable, `[{"id":null,"note":"a"}]`), `column "id" has nulls`},
	} {
		t.Run(what, func(t *testing.T) {
			r, err := array.NewRecordReader(tc.rec.Schema(), []arrow.RecordBatch{tc.rec})
			require.NoError(t, err)
			_, err = c.ExecuteIngest(t.Context(), r, add)
			require.Equal(t, codes.InvalidArgument, status.Code(err), "%v", err)
			require.ErrorContains(t, err, tc.want)
		})
	}
	reordered := rows(t, nullable, `[{"id":5,"note":"a"}]`)
	r, err := array.NewRecordReader(nullable, []arrow.RecordBatch{reordered})
	require.NoError(t, err)
	n, err := c.ExecuteIngest(t.Context(), r, add)
	require.NoError(t, err, "another order and nullability without nulls is what drivers send")
	require.EqualValues(t, 1, n)
	_ = name
	for what, opts := range map[string]*flightsql.ExecuteIngestOpts{
		"temporary": {Table: "bulk", Schema: add.Schema, Temporary: true},
		"no schema": {Table: "bulk"},
		"bad name":  {Table: "a/b", Schema: add.Schema},
	} {
		opts.TableDefinitionOptions = add.TableDefinitionOptions
		_, err := c.ExecuteIngest(t.Context(), many(t, 1), opts)
		require.Error(t, err, what)
		require.Contains(t, []codes.Code{codes.InvalidArgument, codes.Unimplemented}, status.Code(err), what)
	}
	_, err = c.ExecuteIngest(context.Background(), many(t, 1), ingestOptions(flightsql.TableDefinitionOptionsTableNotExistOptionUnspecified, flightsql.TableDefinitionOptionsTableExistsOptionUnspecified))
	require.Equal(t, codes.AlreadyExists, status.Code(err))
}
