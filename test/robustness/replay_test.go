// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package robustness

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/internal/grpcerr"
	"github.com/lakeplane/lake/lake"
)

// dataObjects counts the data files of a table's location.
func (c *cluster) dataObjects(loc lake.Location) int {
	c.t.Helper()
	infos, more, err := c.objects.List(c.t.Context(), loc.Prefix()+"data/", "", 1000)
	require.NoError(c.t, err)
	require.False(c.t, more)
	return len(infos)
}

// snapshot asks a member for a table's snapshot.
func (c *cluster) snapshot(p *process, table lake.TableName) lake.Snapshot {
	c.t.Helper()
	answer, err := p.catalog.GetTable(c.t.Context(), &lakepb.GetTableRequest{Name: wireName(table)})
	require.NoError(c.t, err)
	s, err := snapshotOf(answer.GetSnapshot())
	require.NoError(c.t, err)
	return s
}

// TestConcurrentReplays sends one operation on sixteen streams at once: it is
// applied once, all sixteen hear of the one version, and one data file is
// written. The first stream is held back after staging until all have arrived.
func TestConcurrentReplays(t *testing.T) {
	const streams = 16
	for _, b := range backends {
		t.Run(string(b), func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, b, func(cfg *memberConfig) { cfg.Lease.TTL = 10 * time.Second; cfg.Lease.Renew = time.Second })
			c.startAll()
			table := c.create("t")
			leader := c.leader()
			o := newOperation(t, table, 7)
			c.ledger.open(o)
			arrived := ask(leader, func(r *reported) int { return r.counts[received] })
			leader.arm(dataStaged, 1)
			var g errgroup.Group
			answers := make(chan *lakepb.AppendResult, streams)
			for range streams {
				g.Go(func() error {
					result, err := c.putPatiently(leader, o)
					answers <- result
					return err
				})
			}
			leader.await(t, "holds one run and has all streams", func(r *reported) bool {
				return r.waiting[dataStaged] && r.counts[received] >= arrived+streams
			})
			leader.release(dataStaged)
			require.NoError(t, g.Wait())
			close(answers)
			first := 0
			for r := range answers {
				require.EqualValues(t, 2, r.GetVersion())
				require.EqualValues(t, 7, r.GetRows())
				if !r.GetReplayed() {
					first++
				}
				c.ledger.ack(o, r)
			}
			require.Equal(t, 1, first, "one stream applied it")
			require.Equal(t, 1, c.dataObjects(c.snapshot(leader, table).Location))
			require.Equal(t, 1, leader.commits(advanceCommit+" ok"))

			// The same id with another payload is another operation's.
			other := newOperation(t, table, 7)
			other.command.Operation = o.command.Operation
			_, err := leader.put(t.Context(), other)
			require.True(t, lake.Is(err, lake.AlreadyExists), "%v", err)
			c.check(table)
		})
	}
}

// putPatiently sends an operation until it is admitted.
func (c *cluster) putPatiently(p *process, o *operation) (*lakepb.AppendResult, error) {
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	for {
		result, err := p.put(ctx, o)
		if !lake.Is(err, lake.Exhausted) {
			return result, err
		}
	}
}

// TestReplayIsPublished: a version whose publication fails is not acknowledged,
// also not to the client that sends its operation again and whose operation's
// record is found. Meanwhile another table is created, which makes the leader
// doubt what it remembers of tables.
func TestReplayIsPublished(t *testing.T) {
	for _, b := range backends {
		t.Run(string(b), func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, b, func(cfg *memberConfig) { cfg.Lease.TTL = 10 * time.Second; cfg.Lease.Renew = time.Second })
			c.startAll()
			table := c.create("t")
			c.mustAppend(table, 1)
			o := newOperation(t, table, 3)
			leader, got := c.inWindow(committed, o)
			c.create("other")
			leader.tell("cut")
			leader.release(committed)
			require.True(t, lake.Is((<-got).err, lake.Undetermined))
			for range 3 {
				_, err := leader.put(c.deadline(), o)
				require.True(t, lake.Is(err, lake.Undetermined), "acknowledged, and not to be opened by its number: %v", err)
			}
			c.audit([]lake.TableName{table})
			c.revive()
			for _, p := range c.running() {
				p.tell("mend")
			}
			require.True(t, c.retry(o).GetReplayed())
			c.check(table)
		})
	}
}

// TestReplayAfterRecreate drops a table and makes another of its name. What was
// appended to the first must not come to be in the second, whatever the client
// was told: an operation that is remembered is refused by its record, and one
// that was prepared for the first incarnation by its name.
func TestReplayAfterRecreate(t *testing.T) {
	for _, b := range backends {
		t.Run(string(b), func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, b)
			c.startAll()
			table := c.create("t")
			old := c.snapshot(c.leader(), table)
			o := newOperation(t, table, 3)
			c.retry(o)
			lost := newOperation(t, table, 3) // the client prepared it and never heard of it
			lost.command.Incarnation = old.Incarnation

			// The leader dies when the table has its tombstone and nobody knows.
			c.dropAndDie(table)
			_, err := c.append(c.deadline(), o)
			require.True(t, final(err), "there is no table: %v", err)
			c.create("t")
			require.NotEqual(t, old.Incarnation, c.snapshot(c.leader(), table).Incarnation)
			for _, replay := range []*operation{o, lost} {
				_, err := c.append(c.deadline(), replay)
				require.True(t, lake.Is(err, lake.Precondition), "%v", err)
			}
			c.ledger.forget(table)
			c.mustAppend(table, 2)
			c.checkAlone(table, 2)
		})
	}
}

func (c *cluster) deadline() context.Context {
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	c.t.Cleanup(cancel)
	return ctx
}

// dropAndDie kills the leader as soon as it has committed a drop, and lets the
// client repeat it.
func (c *cluster) dropAndDie(table lake.TableName) {
	c.t.Helper()
	leader := c.leader()
	inc := c.snapshot(leader, table).Incarnation
	leader.arm(dropped, 1)
	failed := make(chan error, 1)
	go func() { failed <- dropTable(c.deadline(), leader, table, inc) }()
	leader.await(c.t, "has dropped the table", func(r *reported) bool { return r.waiting[dropped] })
	leader.kill()
	require.True(c.t, mayHaveApplied(<-failed), "the client cannot know")
	c.revive()
	require.NoError(c.t, dropTable(c.deadline(), c.leader(), table, inc), "a repeated drop of an incarnation answers the same")
}

func dropTable(ctx context.Context, p *process, table lake.TableName, inc lake.Incarnation) error {
	_, err := p.catalog.DropTable(ctx, &lakepb.DropTableRequest{
		Name: wireName(table), Incarnation: inc.String(), UndropWindow: durationpb.New(time.Hour),
	})
	return grpcerr.FromStatus(err)
}

// checkAlone checks that the table holds one append of so many rows.
func (c *cluster) checkAlone(table lake.TableName, rows int) {
	c.t.Helper()
	pieces, err := c.read(c.t.Context(), c.snapshot(c.leader(), table))
	require.NoError(c.t, err)
	require.Len(c.t, pieces, 1)
	require.Equal(c.t, rows, pieces[0].count)
}
