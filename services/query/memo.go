// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/internal/untrusted"
	"github.com/lakeplane/lake/lake"
	sqlengine "github.com/lakeplane/lake/services/query/engine"
	"github.com/lakeplane/lake/services/query/gate"
	"github.com/lakeplane/lake/services/query/registration"
	"github.com/lakeplane/lake/services/query/ticket"
)

const (
	bindingBytes = 32 << 20
	checkedBytes = 16 << 20
	schemaBytes  = 4 << 20
	boundBytes   = 16 << 20
)

// memo remembers pure results, which the clients that repeat a statement ask
// for again and again. Nothing in it says who may ask: grants are checked and
// names resolved each time, before it is used.
type memo struct {
	// checked holds what the gate found in a text.
	checked *recent[string, gate.Parsed]
	// bound holds how a statement binds to schemas.
	bound *recent[boundKey, sqlengine.Plan]
	// schemas holds the decoded schemas of tickets, each of them once, so that
	// others recognise them by identity.
	schemas *recent[string, *arrow.Schema]
	// answers holds small results of steady statements; nil remembers none.
	answers *recent[answerKey, answer]
	// bindings remembers the parameters of clients that ignore the new handle
	// a bind returns (Flight SQL before Arrow 16) and execute the old one. It
	// is a courtesy of this replica alone: newer clients carry their
	// parameters in the handle.
	bindings *recent[ticket.QueryID, []byte]
}

func newMemo(answerBytes int64) *memo {
	m := &memo{
		checked:  newRecent[string, gate.Parsed](checkedBytes),
		schemas:  newRecent[string, *arrow.Schema](schemaBytes),
		bound:    newRecent[boundKey, sqlengine.Plan](boundBytes),
		bindings: newRecent[ticket.QueryID, []byte](bindingBytes),
	}
	if answerBytes > 0 {
		m.answers = newRecent[answerKey, answer](int(answerBytes))
	}
	return m
}

// boundKey is all that binding depends on: the text, the parameters (their
// values too, a constant can decide a type) and the schema of each reference,
// which an incarnation never changes.
type boundKey struct {
	sql, params, tables string
}

func newBoundKey(sql string, params []byte, refs []sqlengine.Name, resolved map[sqlengine.Name]registration.Registration) boundKey {
	var tables strings.Builder
	for _, ref := range refs {
		for _, part := range []string{ref.Catalog, ref.Namespace, ref.Table} {
			tables.WriteString(part)
			tables.WriteByte(0)
		}
		inc := resolved[ref].Snapshot.Incarnation
		tables.Write(inc[:])
	}
	return boundKey{sql, string(params), tables.String()}
}

// ticketSchema decodes the schema of a ticket.
func (s *Server) ticketSchema(b []byte) (*arrow.Schema, error) {
	if schema, ok := s.memo.schemas.get(string(b)); ok {
		return schema, nil
	}
	schema, err := untrusted.DecodeSchema(b)
	if err != nil {
		return nil, lake.Errorf(lake.Corrupt, "the ticket's schema: %w", err)
	}
	s.memo.schemas.put(string(b), schema, len(b)+fieldBytes*schema.NumFields())
	return schema, nil
}

// check takes a text through the gate, or remembers that it passed.
func (s *Server) check(ctx context.Context, sql string) (gate.Parsed, error) {
	if len(sql) > lake.MaxSQLBytes {
		return gate.Parsed{}, lake.Errorf(lake.Invalid, "the statement has %d bytes: at most %d are allowed (at byte %d of the statement)", len(sql), lake.MaxSQLBytes, lake.MaxSQLBytes)
	}
	parsed, ok := s.memo.checked.get(sql)
	if s.metrics.memo(memoGate, ok); ok {
		return parsed, nil
	}
	err := s.planner.run(ctx, func(ctx context.Context) (err error) {
		defer s.metrics.time(stageGate)()
		parsed, err = s.gate.Check(ctx, sql)
		return err
	})
	if err == nil {
		s.memo.checked.put(sql, parsed, 2*len(sql)+parsed.Filters.Bytes()+parsed.Direct.Bytes())
	}
	return parsed, err
}
