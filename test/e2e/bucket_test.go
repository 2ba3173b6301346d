// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/internal/s3test"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/objstore"
	"github.com/lakeplane/lake/objstore/s3"
	"github.com/lakeplane/lake/sdk"
)

// TestClusterInABucket is a deployment that shares nothing but a database and a
// bucket: tables are written, read, dropped and gone in the bucket, and an
// append pursues its way through the death of the leader.
func TestClusterInABucket(t *testing.T) {
	bucket, err := s3test.Start()
	if errors.Is(err, s3test.ErrMissing) {
		t.Skip(err)
	}
	require.NoError(t, err)
	defer func() { require.NoError(t, bucket.Stop()) }()
	t.Setenv("AWS_ACCESS_KEY_ID", s3test.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", s3test.SecretKey)

	c := newCluster(t)
	c.every = []string{
		"--objects", "s3://" + s3test.Bucket + "/deployment", "--s3-endpoint", bucket.URL(), "--s3-path-style",
		"--metrics-addr", "127.0.0.1:0", "--shutdown-grace", "20s",
	}
	c.startTemporal(t)
	records := c.postgres(t)
	metaArgs := slices.Concat([]string{"--listen", "127.0.0.1:0", "--undrop-window", "0"}, records, c.temporalArgs())
	metas := []*server{c.start(t, "meta", metaArgs...).awaitReady(t), c.start(t, "meta", metaArgs...).awaitReady(t)}
	query := c.start(t, "query", "--listen", "127.0.0.1:0", "--meta", metas[0].address+","+metas[1].address).awaitReady(t)
	worker := c.start(t, "worker", slices.Concat([]string{"--drop-settle", "1s", "--procedure-sweep-every", "1s"}, records[:2], c.temporalArgs())...).awaitReady(t)
	client, err := sdk.Connect(t.Context(), query.address)
	require.NoError(t, err)
	defer client.Close()

	name := lake.TableName{Namespace: "far", Name: "t"}
	_, err = client.CreateTable(t.Context(), name, numbers)
	require.NoError(t, err)
	var want []int64
	for i := range int64(5) {
		_, err := client.Append(t.Context(), name, batchOf(i))
		require.NoError(t, err)
		want = append(want, i)
	}
	require.Equal(t, want, valuesOf(t, atLeast(t.Context(), name, 6), client, name))

	leader, _ := leaderOf(t, metas...)
	leader.kill()
	_, err = client.Append(context.WithoutCancel(t.Context()), name, batchOf(5))
	require.NoError(t, err, "the other member took over")
	require.Equal(t, append(want, 5), valuesOf(t, atLeast(t.Context(), name, 7), client, name))

	store, err := s3.Open(t.Context(), s3.Options{
		Bucket: s3test.Bucket, Prefix: "deployment/", Endpoint: bucket.URL(), PathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(s3test.AccessKey, s3test.SecretKey, ""),
	})
	require.NoError(t, err)
	defer store.Close()
	infos, _, err := store.List(t.Context(), "far/t/", "", objstore.MaxPage)
	require.NoError(t, err)
	require.NotEmpty(t, infos)
	drop, err := client.DropTable(t.Context(), name, sdk.DropOptions{})
	require.NoError(t, err)
	done := awaitProcedure(t, client, drop.Procedure)
	require.Equal(t, sdk.Completed, done.State, "%+v", done)
	infos, _, err = store.List(t.Context(), "far/", "", objstore.MaxPage)
	require.NoError(t, err)
	require.Empty(t, infos, "nothing of a dropped table is left in the bucket")
	for _, s := range []*server{query, worker} {
		require.Zero(t, s.terminate(t), "%s", s.log)
	}
}
