// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"net"

	"google.golang.org/grpc"

	"github.com/lakeplane/lake/cmd/lake/config"
	"github.com/lakeplane/lake/services/metasrv"
)

// Meta is a member of the metadata group.
type Meta struct {
	*metasrv.Server
	config  *config.Meta
	stores  *Records
	objects *Objects
	records *metasrv.MetastoreService
	tel     Telemetry
}

// NewMeta puts a member together. address is where the others reach it. The
// caller keeps the stores and temporal, which is nil where procedures are left
// to the sweep, and closes them after Serve.
func NewMeta(c *config.Meta, records *Records, objects *Objects, temporal *Temporal, address string, tel Telemetry) (*Meta, error) {
	m := &Meta{config: c, stores: records, objects: objects, tel: tel}
	alone := records.Exclusive() && !c.Lend
	opts := metasrv.Options{
		Store: records.Store, Engine: objects.Tables, Sweep: objects.sweep, Election: c.Election(),
		Append: c.Append, Retention: c.Retention, UndropWindow: c.UndropWindow, Grace: stopBudget(c.Grace), Logger: tel.Log, Metrics: tel.Metrics,
		Announce: true, Version: tel.Version,
	}
	opts.Election.Address, opts.Election.Logger, opts.Election.Exclusive = address, tel.Log, alone
	if c.UndropWindow == 0 {
		opts.UndropWindow = -1 // none, where 0 would be the default
	}
	if temporal != nil {
		opts.Starter = temporal.Procedures()
	}
	if !alone {
		opts.Peers = m.dialPeer
	}
	var err error
	if m.Server, err = metasrv.New(opts); err != nil {
		return nil, err
	}
	m.records, err = metasrv.NewMetastoreService(records.Store, metasrv.MetastoreOptions{Logger: tel.Log, Metrics: tel.Metrics})
	return m, err
}

// peer is how a member calls others. One that has a certificate as a server
// shows it as a client too, unless it has another.
func peer(c *config.Meta) config.Caller {
	p := c.Peer
	if p.Certificate.CertFile == "" && c.ClientCA != "" {
		p.Certificate = c.Certificate
	}
	return p
}

func (m *Meta) dialPeer(address string) (metasrv.PeerConn, error) {
	conn, err := dialPeer(address, peer(m.config), m.config.Insecure())
	if err != nil {
		return nil, err
	}
	return conn, nil
}

// Serve serves until ctx ends, and then stops within the grace period.
func (m *Meta) Serve(ctx context.Context, lis net.Listener) error {
	auth, err := m.config.Authenticator(m.tel.Log)
	if err != nil {
		return err
	}
	tls, err := m.config.TLS()
	if err != nil {
		return err
	}
	return m.Server.Serve(ctx, lis, metasrv.ListenOptions{
		Name: "meta", Auth: auth, TLS: tls, AllowInsecure: m.config.Insecure(),
		Also: []func(grpc.ServiceRegistrar){m.records.Register},
	})
}
