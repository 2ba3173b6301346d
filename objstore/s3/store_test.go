// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package s3_test

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/internal/s3test"
	"github.com/lakeplane/lake/objstore"
	"github.com/lakeplane/lake/objstore/objstoretest"
	"github.com/lakeplane/lake/objstore/s3"
)

var (
	server  = sync.OnceValues(s3test.Start)
	started atomic.Bool
	folders atomic.Int64
)

func TestMain(m *testing.M) {
	code := m.Run()
	if started.Load() {
		if s, err := server(); err == nil {
			_ = s.Stop()
		}
	}
	os.Exit(code)
}

// running returns the server that the tests share, or skips the test.
func running(tb testing.TB) *s3test.Server {
	tb.Helper()
	s, err := server()
	if errors.Is(err, s3test.ErrMissing) {
		tb.Skip(err)
	}
	require.NoError(tb, err)
	started.Store(true)
	return s
}

// options are those of a store in a folder of its own.
func options(tb testing.TB) s3.Options {
	tb.Helper()
	return s3.Options{
		Bucket: s3test.Bucket, Prefix: fmt.Sprintf("f%d/", folders.Add(1)), Endpoint: running(tb).URL(), PathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(s3test.AccessKey, s3test.SecretKey, ""),
	}
}

func open(tb testing.TB, change ...func(*s3.Options)) *s3.Store {
	tb.Helper()
	o := options(tb)
	for _, f := range change {
		f(&o)
	}
	s, err := s3.Open(tb.Context(), o)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

func plain(tb testing.TB) objstore.Store { return open(tb) }

func TestStore(t *testing.T)      { objstoretest.Run(t, plain) }
func TestModel(t *testing.T)      { objstoretest.RunModel(t, plain) }
func BenchmarkStore(b *testing.B) { objstoretest.Bench(b, plain) }

func TestProbe(t *testing.T) { require.NoError(t, objstore.Probe(t.Context(), open(t))) }

// client is the SDK's own, to look at the bucket from outside.
func client(t *testing.T) *awss3.Client {
	t.Helper()
	return awss3.New(awss3.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(running(t).URL()), UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(s3test.AccessKey, s3test.SecretKey, ""),
	})
}

func enableVersions(t *testing.T) {
	t.Helper()
	_, err := client(t).PutBucketVersioning(t.Context(), &awss3.PutBucketVersioningInput{
		Bucket: aws.String(s3test.VersionedBucket), VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled},
	})
	require.NoError(t, err)
}
