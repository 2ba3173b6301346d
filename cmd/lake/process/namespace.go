// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/lakeplane/lake/cmd/lake/config"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/metasrv/lancens"
)

// Times of the HTTP server: a client sends a small body at once, and waits for
// one version to be checked and committed.
const (
	namespaceHeaderTimeout = 10 * time.Second
	namespaceReadTimeout   = 30 * time.Second
	namespaceWriteTimeout  = 2 * time.Minute
	namespaceIdleTimeout   = 2 * time.Minute
	maxNamespaceHeader     = 64 << 10
)

// lanceNamespace returns what serves other Lance clients.
func (m *Meta) lanceNamespace() (*lancens.Server, error) {
	place, err := m.place()
	if err != nil {
		return nil, err
	}
	auth, err := m.config.Authenticator(m.tel.Log)
	if err != nil {
		return nil, err
	}
	return lancens.New(lancens.Options{
		Catalog: m.Catalog(), Records: m.stores.Store, Engine: m.objects.Tables,
		Authority: m, Auth: auth, Place: place,
		StagedFor: m.config.Retention.OrphanAge / 2, Logger: m.tel.Log, Metrics: m.tel.Metrics,
	})
}

// place is where clients find the objects, as the configuration says it.
func (m *Meta) place() (lancens.Place, error) {
	c := m.config.Objects
	if m.objects.Folder != "" {
		return lancens.Place{Folder: m.objects.Folder}, nil
	}
	bucket, folder, err := c.Bucket()
	if err != nil {
		return lancens.Place{}, lake.Errorf(lake.Invalid, "%w", err)
	}
	storage := map[string]string{}
	put := func(key, value string) {
		if value != "" {
			storage[key] = value
		}
	}
	put("aws_endpoint", c.Endpoint)
	put("aws_region", c.Region)
	if c.Endpoint != "" {
		put("aws_virtual_hosted_style_request", strconv.FormatBool(!c.PathStyle))
		put("allow_http", strconv.FormatBool(len(c.Endpoint) > 5 && c.Endpoint[:5] == "http:"))
	}
	if folder != "" {
		folder = folder[:len(folder)-1]
	}
	return lancens.Place{Bucket: bucket, Prefix: folder, Storage: storage}, nil
}

// ServeLanceNamespace serves other Lance clients on a listener, which it closes,
// until ctx ends.
func (m *Meta) ServeLanceNamespace(ctx context.Context, lis net.Listener) error {
	handler, err := m.lanceNamespace()
	if err != nil {
		return errors.Join(err, lis.Close())
	}
	if err := m.checkNamespaceListener(lis.Addr()); err != nil {
		return errors.Join(err, lis.Close())
	}
	tls, err := m.config.TLS()
	if err != nil {
		return errors.Join(err, lis.Close())
	}
	server := &http.Server{
		Handler: handler, TLSConfig: tls, MaxHeaderBytes: maxNamespaceHeader,
		ReadHeaderTimeout: namespaceHeaderTimeout, ReadTimeout: namespaceReadTimeout,
		WriteTimeout: namespaceWriteTimeout, IdleTimeout: namespaceIdleTimeout,
		ErrorLog: slog.NewLogLogger(m.tel.Log.Handler(), slog.LevelDebug), // handshakes that failed, mostly
	}
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopBudget(m.config.Grace))
		defer cancel()
		if server.Shutdown(grace) != nil {
			_ = server.Close()
		}
	})
	if tls != nil {
		err = server.ServeTLS(lis, "", "")
	} else {
		err = server.Serve(lis)
	}
	if !stop() {
		<-stopped
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// checkNamespaceListener holds an address to the rule of every listener.
func (m *Meta) checkNamespaceListener(addr net.Addr) error {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || tcp.IP.IsLoopback() {
		return nil
	}
	if m.config.Principals == "" || m.config.Certificate == (config.Listener{}.Certificate) && !m.config.Insecure() {
		return lake.Errorf(lake.Invalid, "lance namespace on %s: without a principals file and TLS it may listen on loopback only", addr)
	}
	return nil
}
