// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"log/slog"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/lakeplane/lake/cmd/lake/config"
	"github.com/lakeplane/lake/cmd/lake/secure"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/worker"
	"github.com/lakeplane/lake/worker/payloadcodec"
	"github.com/lakeplane/lake/workflows"
)

// Temporal is a connection to a Temporal server.
type Temporal struct {
	Client client.Client
	// Codec encrypts payloads; nil leaves them readable.
	Codec  *payloadcodec.Codec
	config config.Temporal
}

// DialTemporal connects to the server of c. It does no I/O: a server that does
// not answer delays procedures and nothing else.
func DialTemporal(c config.Temporal, log *slog.Logger) (*Temporal, error) {
	opts := client.Options{HostPort: c.Address, Namespace: c.Namespace, Logger: worker.Logger(log)}
	if c.Encrypted() {
		tls, err := c.TLS()
		if err != nil {
			return nil, err
		}
		opts.ConnectionOptions.TLS = tls
	}
	if c.APIKey != "" {
		key, err := secure.OpenSecret(c.APIKey)
		if err != nil {
			return nil, err
		}
		opts.Credentials = client.NewAPIKeyDynamicCredentials(func(context.Context) (string, error) { return key.Text(), nil })
	}
	t := &Temporal{config: c}
	if c.PayloadKeys != "" {
		var err error
		if t.Codec, err = payloadcodec.Open(c.PayloadKeys, log); err != nil {
			return nil, err
		}
		opts.DataConverter = t.Codec.Converter()
		opts.FailureConverter = temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
			DataConverter: opts.DataConverter, EncodeCommonAttributes: true, // the texts of failures
		})
	}
	connected, err := client.NewLazyClient(opts)
	if err != nil {
		return nil, lake.Errorf(lake.Invalid, "Temporal at %s: %w", c.Address, err)
	}
	t.Client = connected
	return t, nil
}

// Procedures starts and controls procedures.
func (t *Temporal) Procedures() *workflows.Client {
	return workflows.NewClient(t.Client, t.config.Namespace, t.config.UI)
}

// Close ends the connection.
func (t *Temporal) Close() {
	if t != nil {
		t.Client.Close()
	}
}
