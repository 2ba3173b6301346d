// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

func one(name string, typ arrow.DataType) *arrow.Schema {
	return arrow.NewSchema([]arrow.Field{{Name: name, Type: typ, Nullable: true}}, nil)
}

// The report: a driver builds its parameter list from parameter_schema.
func TestThePlaceholdersOfAPreparedStatementAreListed(t *testing.T) {
	l := newLake(t)
	name := l.authority.create(t, "lab.notes", simple)
	l.authority.insert(t, name, rows(t, simple, `[{"id":1,"note":"a"},{"id":2,"note":"b"},{"id":3,"note":"c"}]`))
	c := l.replica().client("ann-token")
	p, err := c.Prepare(t.Context(), "SELECT note FROM lab.notes WHERE id = ?")
	require.NoError(t, err)
	require.Equal(t, 1, p.ParameterSchema().NumFields())
	require.Equal(t, "note", p.DatasetSchema().Field(0).Name)
	isUpdate, known := p.IsUpdate()
	require.True(t, known)
	require.False(t, isUpdate)

	_, err = p.Execute(t.Context())
	require.Equal(t, codes.InvalidArgument, status.Code(err), "nothing is bound")
	for id, want := range map[string]string{"2": "b", "3": "c"} {
		p.SetParameters(rows(t, one("1", arrow.PrimitiveTypes.Int64), `[{"1":`+id+`}]`))
		info, err := p.Execute(t.Context())
		require.NoError(t, err)
		got, err := fetch(t, t.Context(), c, info)
		require.NoError(t, err)
		require.Equal(t, []string{want}, column(got, 0), "a new binding plans again")
	}
	require.NoError(t, p.Close(t.Context()))
}

// The report: `SELECT ?` has no type until it is bound.
func TestTheResultsTypeFollowsTheBinding(t *testing.T) {
	c := newLake(t).replica().client("ann-token")
	p, err := c.Prepare(t.Context(), "SELECT ? AS x")
	require.NoError(t, err)
	for _, tc := range []struct {
		typ  arrow.DataType
		json string
		want string
	}{
		{arrow.PrimitiveTypes.Int64, `[{"1":7}]`, `{"x":7}` + "\n"},
		{arrow.BinaryTypes.String, `[{"1":"seven"}]`, `{"x":"seven"}` + "\n"},
		{arrow.PrimitiveTypes.Float64, `[{"1":0.5}]`, `{"x":0.5}` + "\n"},
	} {
		p.SetParameters(rows(t, one("1", tc.typ), tc.json))
		info, err := p.Execute(t.Context())
		require.NoError(t, err)
		planned, err := flight.DeserializeSchema(info.GetSchema(), memory.DefaultAllocator)
		require.NoError(t, err)
		require.True(t, arrow.TypeEqual(tc.typ, planned.Field(0).Type), "planned %s", planned.Field(0).Type)
		got, err := fetch(t, t.Context(), c, info)
		require.NoError(t, err)
		require.True(t, got.schema.Equal(planned))
		require.Equal(t, tc.want, got.json(t))
		res, err := p.GetSchema(t.Context())
		require.NoError(t, err)
		require.Equal(t, info.GetSchema(), res.GetSchema())
	}
}

func TestAPreparedStatementReadsWhatIsCurrentWhenItRuns(t *testing.T) {
	l := newLake(t)
	name := l.authority.create(t, "lab.notes", simple)
	l.authority.insert(t, name, rows(t, simple, `[{"id":1}]`))
	r := l.replica()
	c := r.client("ann-token")
	p, err := c.Prepare(t.Context(), "SELECT count(*) AS n FROM lab.notes")
	require.NoError(t, err)
	l.authority.insert(t, name, rows(t, simple, `[{"id":2}]`))
	info, err := p.Execute(withHeader(t.Context(), "x-lake-min-version", "lab.notes=3"))
	require.NoError(t, err)
	got, err := fetch(t, t.Context(), c, info)
	require.NoError(t, err)
	require.Equal(t, "{\"n\":2}\n", got.json(t))

	_, err = r.client("bob-token").LoadPreparedStatementFromResult(&flightsql.CreatePreparedStatementResult{PreparedStatementHandle: p.Handle()})
	require.NoError(t, err)
	stolen := flightsql.NewPreparedStatement(r.client("bob-token"), p.Handle())
	_, err = stolen.Execute(t.Context())
	require.Equal(t, codes.Unauthenticated, status.Code(err), "a handle is for its principal")
}

// A client of an older standard ignores the handle a bind returns.
func TestABindingHoldsForTheOldHandle(t *testing.T) {
	c := newLake(t).replica().client("ann-token")
	p, err := c.Prepare(t.Context(), "SELECT ? + 1 AS x")
	require.NoError(t, err)
	old := p.Handle()
	p.SetParameters(rows(t, one("1", arrow.PrimitiveTypes.Int64), `[{"1":41}]`))
	require.NoError(t, p.ExecutePut(t.Context()))
	require.NotEqual(t, old, p.Handle())
	info, err := flightsql.NewPreparedStatement(c, old).Execute(t.Context())
	require.NoError(t, err)
	got, err := fetch(t, t.Context(), c, info)
	require.NoError(t, err)
	require.Equal(t, "{\"x\":42}\n", got.json(t))
	require.NoError(t, flightsql.NewPreparedStatement(c, old).Close(t.Context()))
	_, err = flightsql.NewPreparedStatement(c, old).Execute(t.Context())
	require.Equal(t, codes.InvalidArgument, status.Code(err), "closing forgets the binding")
}

func TestWrongParametersAreRefused(t *testing.T) {
	c := newLake(t).replica().client("ann-token")
	p, err := c.Prepare(t.Context(), "SELECT ? AS x")
	require.NoError(t, err)
	handle := p.Handle()
	for name, rec := range map[string]arrow.RecordBatch{
		"two rows":    rows(t, one("1", arrow.PrimitiveTypes.Int64), `[{"1":1},{"1":2}]`),
		"no row":      rows(t, one("1", arrow.PrimitiveTypes.Int64), `[]`),
		"two columns": rows(t, arrow.NewSchema([]arrow.Field{{Name: "1", Type: arrow.PrimitiveTypes.Int64}, {Name: "2", Type: arrow.PrimitiveTypes.Int64}}, nil), `[{"1":1,"2":2}]`),
	} {
		t.Run(name, func(t *testing.T) {
			err := bindRaw(t, c, handle, rec)
			if err == nil {
				_, err = flightsql.NewPreparedStatement(c, handle).Execute(t.Context())
			}
			require.Equal(t, codes.InvalidArgument, status.Code(err), "%v", err)
		})
	}
	_, err = c.Prepare(t.Context(), "INSERT INTO lab.notes VALUES (?)")
	require.Equal(t, codes.InvalidArgument, status.Code(err))
	err = bindRaw(t, c, []byte("noise"), rows(t, one("1", arrow.PrimitiveTypes.Int64), `[{"1":1}]`))
	require.Equal(t, codes.Unauthenticated, status.Code(err))
	require.ErrorContains(t, err, "invalid prepared statement handle")
}

// bindRaw binds without the client library's checks.
func bindRaw(t *testing.T, c *flightsql.Client, handle []byte, rec arrow.RecordBatch) error {
	t.Helper()
	packed, err := anypb.New(&pb.CommandPreparedStatementQuery{PreparedStatementHandle: handle})
	require.NoError(t, err)
	cmd, err := proto.Marshal(packed)
	require.NoError(t, err)
	s, err := c.Client.DoPut(t.Context())
	require.NoError(t, err)
	w := flight.NewRecordWriter(s, ipc.WithSchema(rec.Schema()))
	w.SetFlightDescriptor(&flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: cmd})
	_ = w.Write(rec)
	_ = w.Close()
	_ = s.CloseSend()
	_, err = s.Recv()
	return err
}
