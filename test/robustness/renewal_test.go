// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package robustness

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/lakeplane/lake/lake"
)

// TestRenewalsRejectNothing renews the lease every 50 ms beside a load of
// appends, tries each append once, and expects every one to succeed: a renewal
// and a publication touch the same fence and must not be in each other's way.
func TestRenewalsRejectNothing(t *testing.T) {
	for _, b := range backends {
		t.Run(string(b), func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, b, func(cfg *memberConfig) {
				cfg.Lease = lease{TTL: 5 * time.Second, Renew: 50 * time.Millisecond, Poll: 50 * time.Millisecond, Margin: time.Second, Skew: 100 * time.Millisecond}
			})
			c.startAll()
			leader := c.leader()
			// One table a stripe, about: the renewals keep one of the sixteen.
			var tables []lake.TableName
			for i := range 16 {
				tables = append(tables, c.create(fmt.Sprintf("t%d", i)))
			}
			renewals, appends := c.load(leader, tables, 3*time.Second)
			t.Logf("%d appends beside %d renewals", appends, renewals)
			require.Greater(t, renewals, 5)
			require.Greater(t, appends, 5)
			require.Zero(t, leader.conflicts(advanceCommit))
			require.Zero(t, leader.conflicts(renewCommit))
			require.Equal(t, 1, leader.commits(takeoverCommit+" ok"))
			c.audit(tables)
		})
	}
}

// load appends to every table for a while, each append tried once, and returns
// how many renewals and appends there were.
func (c *cluster) load(leader *process, tables []lake.TableName, d time.Duration) (renewals, appends int) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), d)
	defer cancel()
	before := leader.commits(renewCommit + " ok")
	g := new(errgroup.Group)
	g.SetLimit(8) // as many as are admitted at once
	for i := 0; ctx.Err() == nil; i++ {
		o := newOperation(c.t, tables[i%len(tables)], 1+i%3)
		g.Go(func() error {
			c.ledger.open(o)
			result, err := leader.put(context.WithoutCancel(ctx), o)
			if err == nil {
				c.ledger.ack(o, result)
			}
			return err
		})
		appends++
	}
	require.NoError(c.t, g.Wait())
	return leader.commits(renewCommit+" ok") - before, appends
}
