// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package process_test

import (
	"crypto/tls"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/cmd/lake/process"
	"github.com/lakeplane/lake/cmd/lake/secure"
	"github.com/lakeplane/lake/internal/pkitest"
	"github.com/lakeplane/lake/lake"
)

// ends returns what the page says of each certificate.
func ends(t *testing.T, r prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := r.Gather()
	require.NoError(t, err)
	out := map[string]float64{}
	for _, f := range families {
		if f.GetName() == "lake_tls_certificate_expiry_timestamp_seconds" {
			for _, m := range f.GetMetric() {
				require.Len(t, m.GetLabel(), 1)
				out[m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue()
			}
		}
	}
	return out
}

// written is when the certificate of a file ends.
func written(t *testing.T, p secure.KeyPair) float64 {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(p.CertFile, p.KeyFile)
	require.NoError(t, err)
	return float64(pair.Leaf.NotAfter.Unix())
}

func TestTheEndsOfCertificatesFollowTheFiles(t *testing.T) {
	a := pkitest.New(t)
	var server, client secure.KeyPair
	server.CertFile, server.KeyFile = a.Leaf(t, "server")
	client.CertFile, client.KeyFile = a.Leaf(t, "client")
	tel := process.NewTelemetry("meta", "test", slog.New(slog.DiscardHandler))
	require.NoError(t, tel.WatchCertificates(process.Certificates{Server: server, Temporal: client}))
	first := written(t, server)
	require.Equal(t, map[string]float64{"server": first, "temporal": written(t, client)}, ends(t, tel.Metrics))

	require.Eventually(t, func() bool { return time.Now().Add(time.Hour).Unix() > int64(first) }, 10*time.Second, 20*time.Millisecond)
	a.Leaf(t, "server") // ends an hour from now
	second := written(t, server)
	require.Greater(t, second, first)
	require.Eventually(t, func() bool { return ends(t, tel.Metrics)["server"] == second }, 20*time.Second, 50*time.Millisecond)
}

func TestNoCertificatesHaveNoEnd(t *testing.T) {
	tel := process.NewTelemetry("meta", "test", slog.New(slog.DiscardHandler))
	require.NoError(t, tel.WatchCertificates(process.Certificates{}))
	require.Empty(t, ends(t, tel.Metrics))
	err := tel.WatchCertificates(process.Certificates{Server: secure.KeyPair{CertFile: "none.pem", KeyFile: "none.key"}})
	require.True(t, lake.Is(err, lake.Invalid))
	require.ErrorContains(t, err, "none.pem")
}
