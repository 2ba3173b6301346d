// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package config

import (
	"time"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/retention"
	"github.com/lakeplane/lake/services/metasrv"
)

// Meta is the configuration of `lake meta`.
type Meta struct {
	set *Set

	Common
	Listener
	Metastore Metastore
	// Lend says that other members use the store of this one, which is
	// embedded. The lease then decides who leads, as in any group.
	Lend bool
	// Advertise is the host:port at which the other members reach this one
	// when it leads; empty means the one it listens on.
	Advertise string
	// Peer is how this member proves itself to the others.
	Peer     Caller
	Temporal Temporal
	// Election times; see catalog.ElectionOptions.
	LeaseTTL, ClockSkew time.Duration
	Append              metasrv.AppendOptions
	// UndropWindow is how long a drop can be undone when the request does not
	// say; 0 means that deletion starts at once.
	UndropWindow time.Duration
	// LanceNamespace is the host:port at which other Lance clients are served
	// over HTTP; empty for none.
	LanceNamespace string
	// Retention is the worker's, to tell what a clean-up would delete.
	Retention retention.Policy
}

// NewMeta returns the defaults.
func NewMeta() *Meta {
	c := &Meta{
		set:       newSet("meta"),
		Retention: retention.Policy{}.WithDefaults(), LeaseTTL: 10 * time.Second, ClockSkew: 5 * time.Second, UndropWindow: 24 * time.Hour,
		Append: metasrv.AppendOptions{Concurrent: 8, Sessions: 512, Wait: 100 * time.Millisecond, StreamBytes: lake.MaxAppendBytes, BufferedBytes: 256 << 20},
	}
	s := c.set
	c.Listener.add(s, "127.0.0.1:50052")
	s.add("advertise", "LAKE_ADVERTISE", stringValue{&c.Advertise}, "host:port at which the other members reach this one; needed when it listens on every interface")
	c.Metastore.add(s, "pebble:///directory, postgres://user@host/database, dynamodb://table?region=REGION, or lake://host:port for the store that another member lends; required")
	s.add("lend_metastore", "LAKE_LEND_METASTORE", boolValue{&c.Lend}, "other members use the embedded metastore of this one, by lake://")
	c.Common.add(s)
	c.Peer.add(s, "peer", "the other members")
	c.Temporal.add(s, "Temporal server host:port; without it drops wait for a worker's sweep")
	s.add("lance_namespace_listen", "LAKE_LANCE_NAMESPACE_LISTEN", stringValue{&c.LanceNamespace}, "host:port at which other Lance clients (the Lance REST Namespace protocol) read and write tables, with the same principals and certificate; empty for none. Every member may serve it, and the leader takes the writes")
	addRetention(s, &c.Retention)
	s.add("lease_ttl", "LAKE_LEASE_TTL_MS", durationValue{p: &c.LeaseTTL, min: 500 * time.Millisecond, max: 10 * time.Minute}, "how long a leader leads without renewing; a dead one is replaced after this and max_clock_skew")
	s.add("max_clock_skew", "LAKE_MAX_CLOCK_SKEW_MS", durationValue{p: &c.ClockSkew, min: time.Millisecond, max: 10 * time.Minute}, "how far the members' clocks may be apart")
	s.add("undrop_window", "LAKE_UNDROP_WINDOW_SECS", durationValue{p: &c.UndropWindow, max: maxTime}, "how long a drop can be undone when it does not say; 0 deletes at once")
	s.add("append_max_concurrent", "LAKE_APPEND_MAX_CONCURRENT", intValue{&c.Append.Concurrent, 1, maxCount}, "appends that are received, decoded and staged at once")
	s.add("append_max_sessions", "LAKE_APPEND_MAX_SESSIONS", intValue{&c.Append.Sessions, 1, metasrv.MaxSessions}, "sessions of small appends that are open at once; clients beyond them append by calls")
	s.add("append_queue_timeout", "LAKE_APPEND_QUEUE_TIMEOUT_MS", durationValue{p: &c.Append.Wait, min: time.Millisecond, max: time.Hour}, "how long an append waits to be admitted")
	s.add("append_max_stream_bytes", "LAKE_APPEND_MAX_STREAM_BYTES", bytesValue{&c.Append.StreamBytes, 1 << 10, lake.MaxAppendBytes}, "largest payload of one append")
	s.add("append_max_buffered_bytes", "LAKE_APPEND_MAX_BUFFERED_BYTES", bytesValue{&c.Append.BufferedBytes, 1 << 10, maxBytes}, "payloads held in memory")
	return c
}

// Set implements [Process].
func (c *Meta) Set() *Set { return c.set }

// Election returns the options of the election.
func (c *Meta) Election() catalog.ElectionOptions {
	return catalog.ElectionOptions{TTL: c.LeaseTTL, MaxClockSkew: c.ClockSkew}
}

func (c *Meta) check(m *Mistakes) {
	s := c.set
	c.Common.check(s, m)
	c.Listener.check(s, m)
	c.Metastore.check(s, m, Pebble, Postgres, DynamoDB, Remote)
	c.Peer.check(s, m, "peer")
	c.Temporal.check(s, m, false)
	c.checkLanceNamespace(m)
	if c.Append.BufferedBytes < c.Append.StreamBytes {
		s.report(m, "append_max_buffered_bytes", "%s are less than the %s of one stream", formatBytes(c.Append.BufferedBytes), formatBytes(c.Append.StreamBytes))
	}
	kind := c.Metastore.Kind()
	if c.Lend && kind != Pebble {
		s.report(m, "lend_metastore", "is for an embedded metastore: this one is shared anyway")
	}
	if kind == Postgres || kind == DynamoDB || kind == Remote || c.Lend {
		c.checkGroup(m)
	}
	if kind == Remote {
		c.Metastore.checkLender(s, m, "peer_auth_token_file", c.Peer.Token, "metadata_peer")
	}
}

// checkLanceNamespace holds the HTTP listener to the rules of the other one.
func (c *Meta) checkLanceNamespace(m *Mistakes) {
	s := c.set
	if c.LanceNamespace == "" {
		return
	}
	checkHostPort(s, m, "lance_namespace_listen", c.LanceNamespace, true)
	if loopback(c.LanceNamespace) {
		return
	}
	if c.Principals == "" {
		s.report(m, "lance_namespace_listen", "%s can be reached from other machines: that needs auth_principals_file", c.LanceNamespace)
	}
	if c.Certificate.CertFile == "" && !c.Insecure() {
		s.report(m, "lance_namespace_listen", "%s can be reached from other machines: that needs tls_cert_file and tls_key_file, or allow_insecure=%s behind a proxy that terminates TLS", c.LanceNamespace, Insecure)
	}
}

// checkGroup reports what keeps the members of a group from reaching each
// other. A member that alone holds an embedded store has nobody to reach.
func (c *Meta) checkGroup(m *Mistakes) {
	s := c.set
	if c.Advertise != "" {
		checkHostPort(s, m, "advertise", c.Advertise, false)
		if wildcard(c.Advertise) {
			s.report(m, "advertise", "%q is no address to call: name the host", c.Advertise)
		}
	} else if wildcard(c.Address) {
		s.report(m, "listen", "%s stands for every interface and the other members cannot call that: set advertise", c.Address)
	}
	if c.Principals != "" && c.Peer.Token == "" {
		s.report(m, "peer_auth_token_file", "is needed: the members ask each other for a token, of role metadata_peer")
	}
}
