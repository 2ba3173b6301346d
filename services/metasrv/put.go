// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"context"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/internal/appendwire"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/access"
)

// flightService is the Flight side of the server: appends, nothing else.
type flightService struct {
	flight.BaseFlightServer
	server *Server
}

// DoPut implements the append protocol of internal/appendwire.
func (f *flightService) DoPut(stream flight.FlightService_DoPutServer) error {
	if passed, err := f.server.passPut(stream); passed || err != nil {
		return err
	}
	if appendwire.IsSession(stream.Context()) {
		return f.server.serveSession(stream)
	}
	result, err := f.server.put(stream.Context(), stream)
	if err != nil {
		return err
	}
	ack, err := proto.Marshal(result.wire())
	if err != nil {
		return err
	}
	return stream.Send(&flight.PutResult{AppMetadata: ack})
}

func (a appended) wire() *lakepb.AppendResult {
	return &lakepb.AppendResult{Version: uint64(a.version), Rows: a.rows, Replayed: a.replayed, Incarnation: a.incarnation.String()}
}

// Append serves the stream of an append for a caller in this process, as DoPut
// does for one on a connection. The stream's context carries the principal.
func (s *Server) Append(stream flight.FlightService_DoPutServer) error {
	return (&flightService{server: s}).DoPut(stream)
}

// put admits, receives and verifies an append, then runs it or joins it.
func (s *Server) put(ctx context.Context, stream putStream) (appended, error) {
	p, err := caller(ctx)
	if err != nil {
		return appended{}, err
	}
	if _, err := s.leader.fence(ctx); err != nil {
		return appended{}, err // before the client sends megabytes for nothing
	}
	size, err := announcedSize(ctx, s.opts.Append.StreamBytes)
	if err != nil {
		return appended{}, err
	}
	room, err := s.admission.enter(ctx, size)
	if err != nil {
		return appended{}, err
	}
	in, err := s.receive(stream, p, size)
	if err != nil {
		room.leave()
		return appended{}, err
	}
	room.shrink(in.bytes)
	return s.runOrJoin(ctx, p.Tenant, in, room, s.hands.do)
}

// announcedSize is how large the payload may become, in bytes: what the client
// says, or the most there is for one that says nothing.
func announcedSize(ctx context.Context, most int64) (int64, error) {
	values := metadata.ValueFromIncomingContext(ctx, appendwire.SizeHeader)
	if len(values) == 0 {
		return most, nil
	}
	n, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil || len(values) > 1 || n < 1 {
		return 0, lake.Errorf(lake.Invalid, "append: header %s: want one number of bytes", appendwire.SizeHeader)
	}
	if n > most {
		return 0, lake.Errorf(lake.Invalid, "append: the payload is %d bytes, over the %d of one append: use several", n, most)
	}
	return n, nil
}

func (s *Server) receive(stream putStream, p access.Principal, limit int64) (*payload, error) {
	defer s.metrics.since("receive", time.Now())
	return receive(stream, limit, s.opts.Append.ReceiveTimeout, func(c appendwire.Command) error {
		if !p.May(c.Table.Namespace) {
			return noTable(c.Table)
		}
		return nil
	})
}

// runOrJoin runs the operation by begin, or waits for the run under way. room
// goes with the payload.
//
// A run that was under way before this call may have ended as it did for what was
// true before it: that there was no table yet, or that the operation was applied
// to one that has been dropped since. So the operation is looked at once more.
// What a run that began later is told was true during this call.
func (s *Server) runOrJoin(ctx context.Context, tenant string, in *payload, room *permit, begin func(execute func())) (appended, error) {
	for late := false; ; late = true {
		run, begun, err := s.enlist(tenant, in, room)
		if err != nil {
			return appended{}, err
		}
		if begun {
			begin(func() { s.execute(run, in, room) })
			return run.outcome(ctx, begun)
		}
		result, err := run.outcome(ctx, begun)
		if late || !settled(err) {
			room.leave()
			return result, err
		}
	}
}

// settled reports whether an append was applied, or refused for good.
func settled(err error) bool {
	switch lake.KindOf(err) {
	case lake.Undetermined, lake.Unavailable, lake.Exhausted:
		return false
	}
	return true
}

// enlist makes the operation one under way, which the caller then executes, or
// finds the run that it is part of. Who waits for another's run keeps its bytes,
// and no slot.
func (s *Server) enlist(tenant string, in *payload, room *permit) (run *operationRun, begun bool, err error) {
	run, begun, err = s.inflight.join(operationKey{tenant, in.command.Table, in.command.Operation}, in.digest)
	if err != nil {
		room.leave()
		return nil, false, err
	}
	if !begun {
		room.stage()
		return run, false, nil
	}
	if err := s.begin(); err != nil {
		room.leave()
		s.inflight.end(run, appended{}, err)
		return nil, false, err
	}
	return run, true, nil
}

// execute runs an operation that was begun to its end, whoever waits for it.
func (s *Server) execute(run *operationRun, in *payload, room *permit) {
	defer s.working.Done()
	result, err := s.append(s.work, run.key.tenant, in, room)
	s.inflight.end(run, result, err)
}

// append applies an operation whose payload is verified, or finds it applied.
func (s *Server) append(ctx context.Context, tenant string, in *payload, room *permit) (appended, error) {
	defer room.leave()
	staged, done, err := s.stage(ctx, tenant, in)
	if done != nil || err != nil {
		return done.orZero(), lake.Wrap("append to "+in.command.Table.String(), err)
	}
	in.messages = nil // the payload is staged, so its memory is given back
	room.stage()
	room.shrink(int64(staged.data.Memory()))
	result, err := s.commits.submit(ctx, in.command.Table, staged)
	return result, lake.Wrap("append to "+in.command.Table.String(), err)
}

func (a *appended) orZero() appended {
	if a == nil {
		return appended{}
	}
	return *a
}

// stage looks the operation up and, when it is new, decodes its rows and
// stages them. done is set when there is nothing to commit.
func (s *Server) stage(ctx context.Context, tenant string, in *payload) (staged *stagedAppend, done *appended, err error) {
	fence, err := s.leader.fence(ctx)
	if err != nil {
		return nil, nil, err
	}
	table, kept, err := s.table(ctx, in.command.Table, fence)
	if err != nil {
		return nil, nil, s.absent(ctx, tenant, in, err)
	}
	staged, done, err = s.stageOn(ctx, table, tenant, in)
	if kept && (lake.Is(err, lake.Invalid) || lake.Is(err, lake.Precondition)) {
		// The refusal may be about a table that is no more.
		s.tables.forget(in.command.Table)
		if table, _, err = s.table(ctx, in.command.Table, fence); err != nil {
			return nil, nil, s.absent(ctx, tenant, in, err)
		}
		return s.stageOn(ctx, table, tenant, in)
	}
	return staged, done, err
}

// table returns the current table, or the one that is kept as such.
func (s *Server) table(ctx context.Context, name lake.TableName, fence catalog.Fence) (table catalog.Table, kept bool, err error) {
	era := s.tables.begin(fence)
	if table, kept = s.tables.get(name, era); kept {
		return table, true, nil
	}
	if table, err = s.catalog.Get(ctx, name); err == nil {
		s.tables.put(table, era)
	}
	return table, false, err
}

// absent is the refusal of an append whose table could not be read. Where no
// table carries the name, one that was dropped is lake.Precondition, as one that
// was dropped and created again is, for as long as anything tells that it was:
// the append, by its incarnation, the record of the operation, or a tombstone.
func (s *Server) absent(ctx context.Context, tenant string, in *payload, err error) error {
	name, op := in.command.Table, in.command.Operation
	if !lake.Is(err, lake.NotFound) {
		return err
	}
	if inc := in.command.Incarnation; !inc.IsZero() {
		return lake.Errorf(lake.Precondition, "the table is not incarnation %s any more: it was dropped", inc)
	}
	switch record, e := s.catalog.Operation(ctx, tenant, name, op); {
	case e == nil:
		return lake.Errorf(lake.Precondition, "operation %s was applied to version %d of the table, which was dropped since", op, record.Version)
	case !lake.Is(e, lake.NotFound):
		return e
	}
	graves, _, e := s.catalog.TombstonesOf(ctx, name, "", 1)
	switch {
	case e != nil:
		return e
	case len(graves) > 0:
		return lake.Errorf(lake.Precondition, "the table was dropped")
	}
	return err
}

func (s *Server) stageOn(ctx context.Context, table catalog.Table, tenant string, in *payload) (staged *stagedAppend, done *appended, err error) {
	op := catalog.Operation{Tenant: tenant, ID: in.command.Operation, Digest: in.digest}
	if want := in.command.Incarnation; !want.IsZero() && want != table.Snapshot.Incarnation {
		return nil, nil, lake.Errorf(lake.Precondition, "the table is not incarnation %s any more: it was dropped and created again", want)
	}
	record, found, err := s.catalog.Replay(ctx, table, op)
	if err != nil {
		return nil, nil, err
	}
	if found {
		result, err := s.replayed(ctx, table, record)
		return nil, &result, err
	}
	begun := wall()
	data, err := s.stageRows(ctx, table, in)
	if err != nil {
		return nil, nil, err
	}
	op.Rows = data.Rows()
	return &stagedAppend{incarnation: table.Snapshot.Incarnation, operation: op, data: data, begun: begun}, nil, nil
}

func (s *Server) stageRows(ctx context.Context, table catalog.Table, in *payload) (engine.Data, error) {
	defer s.metrics.since("stage", time.Now())
	schema, err := s.schemas.of(table)
	if err != nil {
		return nil, err
	}
	batches, err := decode(in.messages, schema)
	if err != nil {
		return nil, err
	}
	rows, err := array.NewRecordReader(schema, batches)
	if err != nil {
		return nil, lake.Errorf(lake.Invalid, "append: %w", err)
	}
	defer rows.Release()
	return s.opts.Engine.StageData(ctx, table.Snapshot.Location, schema, rows)
}

// replayed is the answer for an operation that is in the table already. The
// version it became is published, unless it is the current one and its
// committer was cut off. A table that is kept may be older than the record, and
// then does not tell which version is the current one.
func (s *Server) replayed(ctx context.Context, table catalog.Table, r catalog.OperationRecord) (appended, error) {
	if r.Version > table.Snapshot.Version {
		s.tables.forget(r.Table)
		var err error
		if table, err = s.catalog.Get(ctx, r.Table); err != nil {
			return appended{}, err
		}
	}
	if r.Version == table.Snapshot.Version && r.Incarnation == table.Snapshot.Incarnation {
		if err := s.publish(ctx, table, time.Time{}); err != nil {
			return appended{}, err
		}
	}
	return appended{incarnation: r.Incarnation, version: r.Version, rows: r.Rows, replayed: true}, nil
}
