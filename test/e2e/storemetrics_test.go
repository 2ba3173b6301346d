// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/internal/s3test"
	"github.com/lakeplane/lake/lake"
)

// page is the process's metrics page.
func (s *server) page(t *testing.T) string {
	t.Helper()
	resp, err := http.Get("http://" + s.metrics + "/metrics")
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(text)
}

// TestProcessesTellOfTheirStoresAndCertificates, after one append and one query.
func TestProcessesTellOfTheirStoresAndCertificates(t *testing.T) {
	c := newCluster(t)
	c.secure(t)
	meta := c.start(t, "meta", append(c.serverArgs(t, "meta"), "--metastore", "pebble://"+c.file("metastore"))...)
	query := c.start(t, "query", append(append(c.serverArgs(t, "query"), "--meta", meta.address), c.callerArgs(t, "metadata", "query-caller", "query")...)...)
	client := c.user(t, query.awaitReady(t).address)
	name := lake.TableName{Namespace: "secretspace", Name: "secrettable"}
	_, err := client.CreateTable(t.Context(), name, numbers)
	require.NoError(t, err)
	_, err = client.Append(t.Context(), name, batchOf(1, 2))
	require.NoError(t, err)
	require.Equal(t, []int64{1, 2}, valuesOf(t, atLeast(t.Context(), name, 1), client, name))

	pages := map[*server]string{meta: meta.page(t), query: query.page(t)}
	for s, want := range map[*server][]string{
		meta: {
			`lake_metastore_request_seconds_count{operation="commit",outcome="ok"} [1-9]`,
			`lake_metastore_request_seconds_count{operation="get",outcome="ok"} [1-9]`,
			`lake_metastore_request_seconds_count{operation="scan",outcome="ok"} [1-9]`,
			`lake_objstore_request_seconds_count{operation="stage",outcome="ok"} [1-9]`,
			`lake_objstore_request_seconds_count{operation="move",outcome="ok"} [1-9]`,
			`lake_tls_certificate_expiry_timestamp_seconds{use="server"} [1-9]`,
		},
		query: {
			`lake_objstore_request_seconds_count{operation="open",outcome="ok"} [1-9]`,
			`lake_tls_certificate_expiry_timestamp_seconds{use="server"} [1-9]`,
			`lake_tls_certificate_expiry_timestamp_seconds{use="metadata"} [1-9]`,
		},
	} {
		for _, series := range want {
			require.Regexp(t, "(?m)^"+series, pages[s], s.name)
		}
		require.NotContains(t, pages[s], "secret", "no label tells of a table")
	}
	require.NotContains(t, pages[query], "lake_metastore_request_seconds", "a replica has no metastore")
	end := regexp.MustCompile(`(?m)^lake_tls_certificate_expiry_timestamp_seconds\{use="server"} (\S+)$`).FindStringSubmatch(pages[meta])
	seconds, err := strconv.ParseFloat(end[1], 64)
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(time.Hour), time.Unix(int64(seconds), 0), 5*time.Minute, "those of the test last an hour")
}

// TestProcessesTellOfTheirBucket, where retries begin at 0 so that the
// first is an increase.
func TestProcessesTellOfTheirBucket(t *testing.T) {
	bucket, err := s3test.Start()
	if errors.Is(err, s3test.ErrMissing) {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, bucket.Stop()) })
	t.Setenv("AWS_ACCESS_KEY_ID", s3test.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", s3test.SecretKey)
	c := newCluster(t)
	c.every = []string{"--objects", "s3://" + s3test.Bucket + "/measured", "--s3-endpoint", bucket.URL(), "--s3-path-style", "--metrics-addr", "127.0.0.1:0"}
	meta := c.start(t, "meta", "--listen", "127.0.0.1:0", "--metastore", "pebble://"+c.file("metastore"))
	query := c.start(t, "query", "--listen", "127.0.0.1:0", "--meta", meta.address)
	client := c.user(t, query.awaitReady(t).address)
	name := lake.TableName{Namespace: "far", Name: "t"}
	_, err = client.CreateTable(t.Context(), name, numbers)
	require.NoError(t, err)
	_, err = client.Append(t.Context(), name, batchOf(1))
	require.NoError(t, err)
	require.Equal(t, []int64{1}, valuesOf(t, atLeast(t.Context(), name, 1), client, name))

	require.Regexp(t, `(?m)^lake_objstore_request_seconds_count{operation="put",outcome="ok"} [1-9]`, meta.page(t))
	require.Regexp(t, `(?m)^lake_objstore_request_seconds_count{operation="open",outcome="ok"} [1-9]`, query.page(t))
	for _, reason := range []string{"throttled", "refused", "no_answer"} {
		require.Regexp(t, `(?m)^lake_objstore_retries_total{reason="`+reason+`"} \d`, query.page(t))
	}
	require.NotContains(t, query.page(t), "lake_tls_certificate", "it has none")
}
