// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package process

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakeplane/lake/cmd/lake/config"
	"github.com/lakeplane/lake/cmd/lake/secure"
)

// Certificates are those that a process proves itself with; an empty pair is
// none.
type Certificates struct {
	// Server is shown to whoever calls, Metadata to metadata servers, Temporal
	// to Temporal.
	Server, Metadata, Temporal secure.KeyPair
}

func metaCertificates(c *config.Meta) Certificates {
	return Certificates{Server: c.Certificate, Metadata: peer(c).Certificate, Temporal: c.Temporal.Certificate}
}

func queryCertificates(c *config.Query) Certificates {
	return Certificates{Server: c.Certificate, Metadata: c.Caller.Certificate}
}

func workerCertificates(c *config.Worker) Certificates {
	return Certificates{Metadata: c.Caller.Certificate, Temporal: c.Temporal.Certificate}
}

// WatchCertificates shows when each certificate ends, of the files as they are
// when somebody looks. Files that cannot be read, or no pair, are lake.Invalid.
func (t Telemetry) WatchCertificates(all Certificates) error {
	for use, pair := range map[string]secure.KeyPair{"server": all.Server, "metadata": all.Metadata, "temporal": all.Temporal} {
		if pair == (secure.KeyPair{}) {
			continue
		}
		ends, err := pair.WatchEnd()
		if err != nil {
			return err
		}
		if err := t.Metrics.Register(certificateEnd(use, ends)); err != nil {
			return err
		}
	}
	return nil
}

func certificateEnd(use string, ends func() time.Time) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "lake_tls_certificate_expiry_timestamp_seconds",
		Help:        "When the certificate in force ends, or the first of its chain, in seconds since 1970, by use: server (shown to callers), metadata (shown to metadata servers), temporal (shown to Temporal).",
		ConstLabels: prometheus.Labels{"use": use},
	}, func() float64 { return float64(ends().Unix()) })
}
