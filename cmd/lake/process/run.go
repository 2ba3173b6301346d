// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"net"
	"os"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/lakeplane/lake/cmd/lake/config"
	"github.com/lakeplane/lake/lake"
)

// listen opens the listeners at these addresses; nil for an empty one. All that
// cannot be opened are reported.
func listen(addresses ...string) ([]net.Listener, error) {
	out := make([]net.Listener, len(addresses))
	var errs []error
	for i, a := range addresses {
		if a == "" {
			continue
		}
		l, err := net.Listen("tcp", a)
		if err != nil {
			errs = append(errs, lake.Errorf(lake.Precondition, "%w", err))
			continue
		}
		out[i] = l
	}
	if len(errs) == 0 {
		return out, nil
	}
	for _, l := range out {
		if l != nil {
			errs = append(errs, l.Close())
		}
	}
	return nil, errors.Join(errs...)
}

// work runs the work of a process until ctx ends, and beside it the page on its
// listener, which may be nil. Either ends the other by failing; the page stays
// up while the work stops.
func (t Telemetry) work(ctx context.Context, page net.Listener, ready func() bool, work func(context.Context) error) error {
	showing, hide := context.WithCancel(context.WithoutCancel(ctx))
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer hide()
		return work(ctx)
	})
	if page != nil {
		g.Go(func() error { return ServePage(showing, page, t.Metrics, ready) })
	}
	err := g.Wait()
	hide()
	t.Log.Info("stopped")
	return err
}

// started is the one line that says what runs where. It tells neither the
// command line nor any secret.
func (t Telemetry) started(process string, args ...any) {
	base := []any{"version", t.Version, "pid", os.Getpid(), "go", runtime.Version()}
	t.Log.Info("lake "+process+" started", append(base, args...)...)
}

// address is where a listener is, or empty.
func address(l net.Listener) string {
	if l == nil {
		return ""
	}
	return l.Addr().String()
}

// guarded describes how a listener tells its callers apart.
func guarded(l config.Listener) []any {
	auth, encryption := "principals file", "none"
	if l.Principals == "" {
		auth = "none: everybody on this machine may do everything"
	}
	switch {
	case l.ClientCA != "":
		encryption = "mutual TLS"
	case l.Certificate.CertFile != "":
		encryption = "TLS"
	case l.Insecure():
		encryption = "left to a proxy"
	}
	return []any{"authentication", auth, "encryption", encryption}
}

// RunMeta is the process `lake meta`. It returns nil after an orderly stop.
func RunMeta(ctx context.Context, c *config.Meta, tel Telemetry) (err error) {
	objects, err := OpenObjects(ctx, c.Objects, ObjectUse{Write: true, Metrics: tel.Metrics})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, objects.Close()) }()
	records, err := OpenRecords(ctx, c.Metastore, peer(c), c.Insecure(), tel.Log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, records.Close()) }()
	if err := errors.Join(records.Measure(tel.Metrics), tel.WatchCertificates(metaCertificates(c))); err != nil {
		return err
	}
	var temporal *Temporal
	if c.Temporal.Address != "" {
		if temporal, err = DialTemporal(c.Temporal, tel.Log); err != nil {
			return err
		}
		defer temporal.Close()
	}
	lis, err := listen(c.Address, c.MetricsListen, c.LanceNamespace)
	if err != nil {
		return err
	}
	advertised := c.Advertise
	if advertised == "" {
		advertised = address(lis[0])
	}
	meta, err := NewMeta(c, records, objects, temporal, advertised, tel)
	if err != nil {
		return errors.Join(err, closeListeners(lis))
	}
	tel.started("meta", append([]any{
		"listen", address(lis[0]), "advertise", advertised, "metrics", address(lis[1]),
		"metastore", records.Kind, "temporal", c.Temporal.Address, "lance_namespace", address(lis[2]),
	}, guarded(c.Listener)...)...)
	return tel.work(ctx, lis[1], meta.Ready, func(ctx context.Context) error { return meta.serveAll(ctx, lis[0], lis[2]) })
}

// serveAll serves both listeners; the second may be nil. Either ends the other
// by failing.
func (m *Meta) serveAll(ctx context.Context, calls, namespace net.Listener) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return m.Serve(ctx, calls) })
	if namespace != nil {
		g.Go(func() error { return m.ServeLanceNamespace(ctx, namespace) })
	}
	return g.Wait()
}

func closeListeners(all []net.Listener) error {
	var errs []error
	for _, l := range all {
		if l != nil {
			errs = append(errs, l.Close())
		}
	}
	return errors.Join(errs...)
}

// RunQuery is the process `lake query`. It returns nil after an orderly stop.
func RunQuery(ctx context.Context, c *config.Query, tel Telemetry) (err error) {
	objects, err := OpenObjects(ctx, c.Objects, ObjectUse{Cache: c.BlockCache, Metrics: tel.Metrics})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, objects.Close()) }()
	replica, err := NewQuery(c, objects, nil, tel)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, replica.Close()) }()
	if err := tel.WatchCertificates(queryCertificates(c)); err != nil {
		return err
	}
	lis, err := listen(c.Address, c.MetricsListen)
	if err != nil {
		return err
	}
	tel.started("query", append([]any{
		"listen", address(lis[0]), "metrics", address(lis[1]), "meta", c.Meta, "shared_ticket_keys", c.TicketKeys != "",
	}, guarded(c.Listener)...)...)
	return tel.work(ctx, lis[1], replica.Ready, func(ctx context.Context) error { return replica.Serve(ctx, lis[0]) })
}

// RunWorker is the process `lake worker`. It returns nil after an orderly stop.
func RunWorker(ctx context.Context, c *config.Worker, tel Telemetry) (err error) {
	objects, err := OpenObjects(ctx, c.Objects, ObjectUse{Write: true, Metrics: tel.Metrics})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, objects.Close()) }()
	records, err := OpenRecords(ctx, c.Metastore, c.Caller, c.AllowInsecure == config.Insecure, tel.Log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, records.Close()) }()
	if err := errors.Join(records.Measure(tel.Metrics), tel.WatchCertificates(workerCertificates(c))); err != nil {
		return err
	}
	temporal, err := DialTemporal(c.Temporal, tel.Log)
	if err != nil {
		return err
	}
	defer temporal.Close()
	w, err := NewWorker(c, records, objects, temporal, false, tel)
	if err != nil {
		return err
	}
	lis, err := listen(c.MetricsListen, c.CodecListen)
	if err != nil {
		return err
	}
	tel.started("worker", "metrics", address(lis[0]), "payload_codec", address(lis[1]), "payloads_encrypted", temporal.Codec != nil, "metastore", records.Kind,
		"temporal", c.Temporal.Address, "namespace", c.Temporal.Namespace, "temporal_tls", c.Temporal.Encrypted())
	return tel.work(ctx, lis[0], w.Ready, func(ctx context.Context) error {
		return serveCodec(ctx, lis[1], temporal, c.CodecOrigin, w.Run)
	})
}
