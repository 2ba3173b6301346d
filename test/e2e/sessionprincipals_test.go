// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/lake"
)

// TestSessionsOfPrincipals: a session shows its user no more than a call does.
func TestSessionsOfPrincipals(t *testing.T) {
	const bobToken = "bob-0123456789abcdef"
	c := newCluster(t)
	c.secure(t)
	principals := c.file("principals.yaml")
	others := readFile(t, principals)
	writeFile(t, principals, others+"  - {name: bob, role: user, namespaces: [his], token: "+bobToken+"}\n")
	meta := c.start(t, "meta", append(c.serverArgs(t, "meta"), "--metastore", "pebble://"+c.file("metastore"))...)
	query := c.start(t, "query", append(append(c.serverArgs(t, "query"), "--meta", meta.address), c.callerArgs(t, "metadata", "query-caller", "query")...)...)
	d := &deployment{cluster: c}
	ann := c.user(t, query.awaitReady(t).address)
	his, hers := lake.TableName{Namespace: "his", Name: "t"}, lake.TableName{Namespace: "hers", Name: "t"}
	for _, table := range []lake.TableName{his, hers} {
		_, err := ann.CreateTable(t.Context(), table, numbers)
		require.NoError(t, err)
	}
	var open []*rawSession
	for _, s := range []*server{query, meta} {
		conn := d.dial(t, s.address, "somebody", bobToken)
		r, err := trySession(t.Context(), conn, his)
		require.NoError(t, err)
		_, err = r.put(t, 1)
		require.NoError(t, err)
		var told []string
		for _, table := range []lake.TableName{hers, {Namespace: "hers", Name: "none"}} {
			_, err = trySession(t.Context(), conn, table)
			require.Equal(t, codes.NotFound, status.Code(err), "%v", err)
			told = append(told, strings.ReplaceAll(status.Convert(err).Message(), table.String(), "TABLE"))
			_, called := lakepb.NewCatalogClient(conn).GetTable(t.Context(), &lakepb.GetTableRequest{Name: &lakepb.TableName{Namespace: table.Namespace, Name: table.Name}})
			require.Equal(t, codes.NotFound, status.Code(called), "as by a call: %v", called)
		}
		require.Equal(t, told[0], told[1], "whether there is one is not told")
		asAnn := metadata.AppendToOutgoingContext(t.Context(), "x-lake-principal", "ann", "x-lake-tenant", "default", "x-lake-namespaces", "*")
		_, err = trySession(asAnn, conn, hers)
		require.Contains(t, []codes.Code{codes.PermissionDenied, codes.NotFound}, status.Code(err), "he does not become her: %v", err)
		_, err = trySession(t.Context(), d.dial(t, s.address, "somebody", "0123456789abcdef"), his)
		require.Equal(t, codes.Unauthenticated, status.Code(err), "%v", err)
		open = append(open, r)
	}
	require.Empty(t, valuesOf(t, t.Context(), ann, hers))
	require.Equal(t, []int64{1, 1}, valuesOf(t, t.Context(), ann, his))

	bulk := beginIngestion(t, d.dial(t, query.address, "somebody", bobToken), his)
	writeFile(t, principals, others)
	bulk.requireEndsWith(t, codes.Unauthenticated)
	for _, r := range open {
		require.Eventually(t, func() bool {
			if r.Send(sessionItem(t, lake.NewID(), 2)) != nil {
				return true
			}
			_, err := r.Recv()
			return err != nil
		}, 20*time.Second, 100*time.Millisecond, "he may not go on with what he has open")
		r.requireEnded(t)
		r.end()
	}
	before := valuesOf(t, t.Context(), ann, his)
	_, err := trySession(t.Context(), d.dial(t, query.address, "somebody", bobToken), his)
	require.Equal(t, codes.Unauthenticated, status.Code(err), "%v", err)
	require.Equal(t, before, valuesOf(t, t.Context(), ann, his))
}
