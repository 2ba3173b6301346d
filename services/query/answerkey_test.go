// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/query/ticket"
)

// Whatever differs, the key differs: an answer is never somebody else's.
func TestAnswerKeys(t *testing.T) {
	claims := func(change func(*ticket.Claims)) *ticket.Claims {
		c := &ticket.Claims{
			Principal: "ann", Tenant: "red", SQL: "SELECT 1", Parameters: []byte("p"), Schema: []byte("s"),
			Snapshots: []ticket.Pin{{Name: lake.TableName{Namespace: "ns", Name: "t"}, Snapshot: lake.Snapshot{
				Engine: "lance", Location: "l", Version: 3, Manifest: lake.Manifest{Path: "m", Size: 4},
			}}},
		}
		if change != nil {
			change(c)
		}
		return c
	}
	seen := map[answerKey]int{}
	for i, change := range []func(*ticket.Claims){
		nil,
		func(c *ticket.Claims) { c.Principal = "bob" },
		func(c *ticket.Claims) { c.Tenant = "blue" },
		func(c *ticket.Claims) { c.Principal, c.Tenant = c.Tenant, c.Principal },
		func(c *ticket.Claims) { c.Principal, c.Tenant = "annr", "ed" },
		func(c *ticket.Claims) { c.SQL = "select 1" },
		func(c *ticket.Claims) { c.Parameters = nil },
		func(c *ticket.Claims) { c.Schema = []byte("t") },
		func(c *ticket.Claims) { c.Part = &ticket.Pieces{From: 0, To: 1} },
		func(c *ticket.Claims) { c.Part = &ticket.Pieces{From: 1, To: 2} },
		func(c *ticket.Claims) { c.Snapshots = nil },
		func(c *ticket.Claims) { c.Snapshots = append(c.Snapshots, c.Snapshots[0]) },
		func(c *ticket.Claims) { c.Snapshots[0].Name.Namespace = "other" },
		func(c *ticket.Claims) { c.Snapshots[0].Name.Name = "u" },
		func(c *ticket.Claims) { c.Snapshots[0].Snapshot.Engine = "x" },
		func(c *ticket.Claims) { c.Snapshots[0].Snapshot.Location = "m" },
		func(c *ticket.Claims) { c.Snapshots[0].Snapshot.Incarnation[0]++ },
		func(c *ticket.Claims) { c.Snapshots[0].Snapshot.Version++ },
		func(c *ticket.Claims) { c.Snapshots[0].Snapshot.Manifest.Path = "n" },
		func(c *ticket.Claims) { c.Snapshots[0].Snapshot.Manifest.Size++ },
		func(c *ticket.Claims) { c.Snapshots[0].Snapshot.Manifest.SHA256[0]++ },
	} {
		key := newAnswerKey(claims(change))
		require.NotContains(t, seen, key, "change %d is as %d", i, seen[key])
		seen[key] = i
	}
	same := claims(func(c *ticket.Claims) { c.Query[0]++ }) // another call, the same question
	require.Equal(t, 0, seen[newAnswerKey(same)])
}
