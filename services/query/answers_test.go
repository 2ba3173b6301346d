// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/services/access"
	"github.com/lakeplane/lake/services/query"
	sqlengine "github.com/lakeplane/lake/services/query/engine"
)

// counted counts the statements that an engine runs.
type counted struct {
	sqlengine.Engine
	runs atomic.Int64
}

func (c *counted) Execute(ctx context.Context, req sqlengine.Request, emit func(arrow.RecordBatch) error) error {
	c.runs.Add(1)
	return c.Engine.Execute(ctx, req, emit)
}

// answering is a lake with a replica whose engine is counted, and whose
// registrations are asked for each time.
func answering(t *testing.T, tune ...func(*query.Options)) (*lakeUnderTest, *replica, *counted) {
	t.Helper()
	l, engine := newLake(t), &counted{Engine: sharedSQL}
	tune = append([]func(*query.Options){func(o *query.Options) {
		o.SQL = engine
		o.Registration.TTL = time.Nanosecond
	}}, tune...)
	return l, l.replica(tune...), engine
}

const sumOfNotes = "SELECT count(*) AS n, sum(id)::BIGINT AS s FROM lab.notes"

func TestARepeatedStatementIsAnsweredWithoutTheEngine(t *testing.T) {
	for _, copying := range []bool{false, true} {
		t.Run(fmt.Sprintf("copying=%t", copying), func(t *testing.T) {
			l, engine := newLake(t), &counted{Engine: sharedSQL}
			l.copying = copying
			registry := prometheus.NewRegistry()
			c := l.replica(func(o *query.Options) { o.SQL, o.Metrics = engine, registry }).client("ann-token")
			l.authority.insert(t, l.authority.create(t, "lab.notes", simple), rows(t, simple, `[{"id":1,"note":"a"},{"id":2}]`))
			const sql = "SELECT max(note) AS note, sum(id)::BIGINT AS s FROM lab.notes GROUP BY id ORDER BY id"
			first := mustRun(t, c, sql)
			again := mustRun(t, c, sql)
			require.EqualValues(t, 1, engine.runs.Load())
			require.Equal(t, "{\"note\":\"a\",\"s\":1}\n{\"note\":null,\"s\":2}\n", again.json(t))
			require.Equal(t, first.json(t), again.json(t))
			require.True(t, first.schema.Equal(again.schema))
			require.Equal(t, first.info.GetSchema(), again.info.GetSchema())
			require.EqualValues(t, 1, memoCount(t, registry, "answer", "hit"))
			require.EqualValues(t, 1, memoCount(t, registry, "answer", "miss"))
			require.EqualValues(t, 1, memoCount(t, registry, "plan", "hit"))
		})
	}
}

func memoCount(t *testing.T, r *prometheus.Registry, of, outcome string) float64 {
	t.Helper()
	families, err := r.Gather()
	require.NoError(t, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if f.GetName() == "lake_query_memo_total" && labels["of"] == of && labels["outcome"] == outcome {
				return m.GetCounter().GetValue()
			}
		}
	}
	return 0
}

func TestAnAnswerIsOfOneSnapshot(t *testing.T) {
	l, r, engine := answering(t)
	name := l.authority.create(t, "lab.notes", simple)
	l.authority.insert(t, name, rows(t, simple, `[{"id":1}]`))
	c := r.client("ann-token")
	asks := func(want string) {
		t.Helper()
		require.Equal(t, want+"\n", mustRun(t, c, sumOfNotes).json(t))
		require.Equal(t, want+"\n", mustRun(t, c, sumOfNotes).json(t))
	}
	asks(`{"n":1,"s":1}`)
	old, err := c.Execute(t.Context(), sumOfNotes)
	require.NoError(t, err)
	l.authority.insert(t, name, rows(t, simple, `[{"id":5}]`))
	asks(`{"n":2,"s":6}`)
	_, err = l.authority.DropTable(t.Context(), &lakepb.DropTableRequest{Name: &lakepb.TableName{Namespace: name.Namespace, Name: name.Name}})
	require.NoError(t, err)
	_, err = run(t, c, sumOfNotes)
	require.Equal(t, codes.NotFound, status.Code(err), "%v", err)
	l.authority.create(t, "lab.notes", simple)
	asks(`{"n":0,"s":null}`)
	l.authority.insert(t, name, rows(t, simple, `[{"id":7}]`))
	asks(`{"n":1,"s":7}`) // the version is 2 again, and another table's
	require.EqualValues(t, 4, engine.runs.Load())
	got, err := fetch(t, t.Context(), c, old)
	require.NoError(t, err)
	require.Equal(t, "{\"n\":1,\"s\":1}\n", got.json(t), "an old ticket reads what it read")
}

func TestAnAnswerIsOfOnePrincipal(t *testing.T) {
	l, r, engine := answering(t)
	l.authority.insert(t, l.authority.create(t, "lab.notes", simple), rows(t, simple, `[{"id":1}]`))
	people["eve-token"] = access.Principal{Name: "eve", Tenant: "red", Role: access.User, Namespaces: []string{"lab"}}
	defer delete(people, "eve-token")
	for i, who := range []string{"ann-token", "bob-token", "eve-token"} {
		c := r.client(who)
		mustRun(t, c, sumOfNotes)
		mustRun(t, c, sumOfNotes)
		require.EqualValues(t, i+1, engine.runs.Load(), "%s has an answer of their own", who)
	}
	eve := r.client("eve-token")
	info, err := eve.Execute(t.Context(), sumOfNotes)
	require.NoError(t, err)
	people["eve-token"] = access.Principal{Name: "eve", Tenant: "red", Role: access.User, Namespaces: []string{"other"}}
	_, err = fetch(t, t.Context(), eve, info)
	require.Equal(t, codes.NotFound, status.Code(err), "the grant is gone: %v", err)
	_, err = run(t, eve, sumOfNotes)
	require.Equal(t, codes.NotFound, status.Code(err), "the grant is gone: %v", err)
}

func TestAnAnswerIsOfItsParameters(t *testing.T) {
	l, r, engine := answering(t)
	l.authority.insert(t, l.authority.create(t, "lab.notes", simple), rows(t, simple, `[{"id":1},{"id":2}]`))
	c := r.client("ann-token")
	p, err := c.Prepare(t.Context(), "SELECT count(*) AS n, max(typeof(?)) AS t FROM lab.notes")
	require.NoError(t, err)
	ask := func(typ arrow.DataType, value string) string {
		p.SetParameters(rows(t, one("1", typ), `[{"1":`+value+`}]`))
		info, err := p.Execute(t.Context())
		require.NoError(t, err)
		got, err := fetch(t, t.Context(), c, info)
		require.NoError(t, err)
		return got.json(t)
	}
	for range 2 {
		require.Equal(t, "{\"n\":2,\"t\":\"BIGINT\"}\n", ask(arrow.PrimitiveTypes.Int64, "1"))
		require.Equal(t, "{\"n\":2,\"t\":\"INTEGER\"}\n", ask(arrow.PrimitiveTypes.Int32, "1"))
		require.Equal(t, "{\"n\":2,\"t\":\"VARCHAR\"}\n", ask(arrow.BinaryTypes.String, `"1"`))
	}
	require.EqualValues(t, 3, engine.runs.Load())
}

func TestWhatChangesByItselfIsNotRemembered(t *testing.T) {
	l, r, _ := answering(t)
	l.authority.insert(t, l.authority.create(t, "lab.notes", simple), rows(t, simple, `[{"id":1},{"id":2}]`))
	c := r.client("ann-token")
	for _, sql := range []string{
		"SELECT uuid() AS x", "SELECT random() AS x FROM lab.notes", "SELECT epoch_ns(now()::TIMESTAMP) AS x", "SELECT max(random()) AS x FROM lab.notes",
	} {
		first := mustRun(t, c, sql).json(t)
		require.Eventually(t, func() bool { return mustRun(t, c, sql).json(t) != first }, time.Minute, time.Millisecond, sql)
	}
	const tables = "SELECT count(*) AS n FROM information_schema.tables"
	before := mustRun(t, c, tables).json(t)
	l.authority.create(t, "lab.more", simple)
	require.Eventually(t, func() bool { return mustRun(t, c, tables).json(t) != before }, time.Minute, 10*time.Millisecond)
}

func TestOnlySmallAnswersAreRemembered(t *testing.T) {
	l, r, engine := answering(t)
	l.authority.insert(t, l.authority.create(t, "lab.notes", simple), rows(t, simple, `[{"id":1}]`))
	c := r.client("ann-token")
	for range 2 {
		require.EqualValues(t, 10_000, mustRun(t, c, "SELECT x * id AS y FROM range(10000) r(x), lab.notes").rows())
	}
	require.EqualValues(t, 2, engine.runs.Load(), "80 kB are too much")
}

func TestAnswersAreForgotten(t *testing.T) {
	t.Run("when their memory is used up", func(t *testing.T) {
		l, r, engine := answering(t, func(o *query.Options) { o.AnswerBytes = 4 << 10 })
		l.authority.insert(t, l.authority.create(t, "lab.notes", simple), rows(t, simple, `[{"id":1}]`))
		c := r.client("ann-token")
		for range 2 {
			for i := range 10 {
				require.Equal(t, fmt.Sprintf("{\"n\":%d}\n", i+1), mustRun(t, c, fmt.Sprintf("SELECT max(id) + %d AS n FROM lab.notes", i)).json(t))
			}
		}
		require.EqualValues(t, 20, engine.runs.Load())
	})
	t.Run("when they are switched off", func(t *testing.T) {
		l, r, engine := answering(t, func(o *query.Options) { o.AnswerBytes = -1 })
		l.authority.create(t, "lab.notes", simple)
		c := r.client("ann-token")
		mustRun(t, c, sumOfNotes)
		mustRun(t, c, sumOfNotes)
		require.EqualValues(t, 2, engine.runs.Load())
	})
	t.Run("when a ticket would have ended", func(t *testing.T) {
		var late atomic.Int64
		l, r, engine := answering(t, func(o *query.Options) {
			o.Now = func() time.Time { return time.Now().Add(time.Duration(late.Load())) }
		})
		l.authority.create(t, "lab.notes", simple)
		c := r.client("ann-token")
		mustRun(t, c, sumOfNotes)
		late.Store(int64(299 * time.Second))
		mustRun(t, c, sumOfNotes)
		require.EqualValues(t, 1, engine.runs.Load())
		late.Store(int64(2 * 301 * time.Second))
		mustRun(t, c, sumOfNotes)
		require.EqualValues(t, 2, engine.runs.Load())
	})
}

// A failed statement, and one whose client left in the middle, leave no answer.
func TestOnlyWholeAnswersAreRemembered(t *testing.T) {
	l, r, engine := answering(t)
	l.authority.insert(t, l.authority.create(t, "lab.notes", simple), rows(t, simple, `[{"id":1}]`))
	c := r.client("ann-token")
	for range 2 {
		_, err := run(t, c, "SELECT CASE WHEN x = 9000 THEN error('no') ELSE 'a' END AS y FROM range(10000) r(x), lab.notes WHERE id = 1")
		require.Error(t, err)
	}
	require.EqualValues(t, 2, engine.runs.Load())
}

// A remembered answer is not given when the snapshot cannot be opened any more.
func TestAnAnswerEndsWithItsSnapshot(t *testing.T) {
	l, r, engine := answering(t, func(o *query.Options) { o.Datasets.Bytes = 1 }) // nothing stays open
	name := l.authority.create(t, "lab.notes", simple)
	l.authority.insert(t, name, rows(t, simple, `[{"id":1}]`))
	c := r.client("ann-token")
	mustRun(t, c, sumOfNotes)
	info, err := c.Execute(t.Context(), sumOfNotes)
	require.NoError(t, err)
	_, err = fetch(t, t.Context(), c, info)
	require.NoError(t, err)
	require.EqualValues(t, 1, engine.runs.Load())
	require.NoError(t, l.authority.engine.Erase(t.Context(), decodeSnapshot(l.authority.tables[name].GetSnapshot()).Location))
	_, err = fetch(t, t.Context(), c, info)
	require.ErrorContains(t, err, "the pinned table snapshot is unavailable")
}

func TestAnswersAtOnce(t *testing.T) {
	l, r, _ := answering(t, func(o *query.Options) { o.AnswerBytes = 8 << 10 })
	name := l.authority.create(t, "lab.notes", simple)
	l.authority.insert(t, name, rows(t, simple, `[{"id":1}]`))
	var work sync.WaitGroup
	errs := make(chan error, 4*40)
	for range 4 {
		c := r.client("ann-token")
		work.Go(func() {
			for i := range 40 {
				info, err := c.Execute(t.Context(), fmt.Sprintf("SELECT min(id) + %d AS n FROM lab.notes", i%7))
				if err != nil {
					errs <- err
					continue
				}
				got, err := c.DoGet(t.Context(), info.GetEndpoint()[0].GetTicket())
				if err != nil {
					errs <- err
					continue
				}
				for got.Next() {
					if n := got.RecordBatch().Column(0).ValueStr(0); n != fmt.Sprint(1+i%7) {
						errs <- fmt.Errorf("statement %d: %s", i%7, n)
					}
				}
				got.Release()
			}
		})
	}
	work.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
}
