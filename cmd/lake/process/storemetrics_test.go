// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package process_test

import (
	"context"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/cmd/lake/config"
	"github.com/lakeplane/lake/cmd/lake/process"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/memory"
	"github.com/lakeplane/lake/objstore"
)

// counts returns how often each series of a histogram was observed, by
// "operation outcome".
func counts(t *testing.T, r prometheus.Gatherer, name string) map[string]uint64 {
	t.Helper()
	families, err := r.Gather()
	require.NoError(t, err)
	out := map[string]uint64{}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				require.Contains(t, []string{"operation", "outcome"}, l.GetName())
				labels = append(labels, l.GetValue())
			}
			out[strings.Join(labels, " ")] = m.GetHistogram().GetSampleCount()
		}
	}
	return out
}

func TestRequestsToTheMetastoreAreMeasured(t *testing.T) {
	r := prometheus.NewRegistry()
	inner := memory.New()
	defer inner.Close()
	s, err := process.MeasureRecords(inner, r)
	require.NoError(t, err)
	create := metastore.Txn{Ops: []metastore.Op{metastore.Create("secret/key", nil)}}
	require.NoError(t, s.Commit(t.Context(), create))
	require.Error(t, s.Commit(t.Context(), create))
	for range 3 {
		_, err = s.Get(t.Context(), "secret/key")
		require.NoError(t, err)
	}
	_, err = s.Get(t.Context(), "none")
	require.ErrorIs(t, err, metastore.ErrNotFound)
	require.Implements(t, (*metastore.Watcher)(nil), s)
	require.Implements(t, (*metastore.Snapshotter)(nil), s)
	require.Equal(t, map[string]uint64{"commit ok": 1, "commit conflict": 1, "get ok": 3, "get not_found": 1}, counts(t, r, "lake_metastore_request_seconds"))
	_, err = process.MeasureRecords(inner, r)
	require.Error(t, err, "one registry tells of one metastore")
}

func TestRequestsToTheObjectStoreAreMeasured(t *testing.T) {
	r := prometheus.NewRegistry()
	objects, err := process.OpenObjects(t.Context(), config.Objects{URL: "file://" + t.TempDir()}, process.ObjectUse{Metrics: r})
	require.NoError(t, err)
	defer objects.Close()
	require.Implements(t, (*objstore.Mover)(nil), objects.Store, "appends need it to be quick")
	require.Implements(t, (*objstore.Stager)(nil), objects.Store)
	require.NoError(t, objects.Store.Put(t.Context(), "a", nil))
	require.ErrorIs(t, objects.Store.Put(t.Context(), "a", nil), objstore.ErrExists)
	_, err = objects.Store.Open(t.Context(), "b")
	require.ErrorIs(t, err, objstore.ErrNotFound)
	require.Equal(t, map[string]uint64{"put ok": 1, "put exists": 1, "open not_found": 1}, counts(t, r, "lake_objstore_request_seconds"))
}

// BenchmarkMeasuredRecords holds the cost of a measurement against the fastest
// store there is: one in memory, in the same run.
func BenchmarkMeasuredRecords(b *testing.B) {
	plain := memory.New()
	defer plain.Close()
	measured, err := process.MeasureRecords(plain, prometheus.NewRegistry())
	require.NoError(b, err)
	require.NoError(b, plain.Commit(context.Background(), metastore.Txn{Ops: []metastore.Op{metastore.Create("k", []byte("v"))}}))
	guard := metastore.Txn{Ops: []metastore.Op{metastore.Guard("k", []byte("v"))}}
	for _, s := range []struct {
		name  string
		store metastore.Store
	}{{"plain", plain}, {"measured", measured}} {
		b.Run("get/"+s.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.store.Get(b.Context(), "k"); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("commit/"+s.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := s.store.Commit(b.Context(), guard); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkMeasuredObjects does so for files, whose bytes are read from memory.
func BenchmarkMeasuredObjects(b *testing.B) {
	url := config.Objects{URL: "file://" + b.TempDir()}
	for name, use := range map[string]process.ObjectUse{"plain": {}, "measured": {Metrics: prometheus.NewRegistry()}} {
		objects, err := process.OpenObjects(b.Context(), url, use)
		require.NoError(b, err)
		require.NoError(b, objstore.PutIdentical(b.Context(), objects.Store, "a", make([]byte, 4096)))
		b.Run("open+read/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := objstore.ReadAll(b.Context(), objects.Store, "a", 4096); err != nil {
					b.Fatal(err)
				}
			}
		})
		require.NoError(b, objects.Close())
	}
}
