// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package config

import (
	"time"

	"github.com/lakeplane/lake/activities/drop"
	"github.com/lakeplane/lake/retention"
	"github.com/lakeplane/lake/worker"
	"github.com/lakeplane/lake/workflows"
)

// Worker is the configuration of `lake worker`.
type Worker struct {
	set *Set

	Common
	Metastore Metastore
	// Caller is how it proves itself to a metadata server that lends its
	// store.
	Caller Caller
	// AllowInsecure is [Insecure] where a proxy encrypts what leaves the
	// machine.
	AllowInsecure string
	Temporal      Temporal
	// SweepEvery is the period of the procedure sweep.
	SweepEvery time.Duration
	// OperationGCEvery is how often old append operations are forgotten, and
	// MaintainEvery how often tables are looked over for compaction.
	OperationGCEvery, MaintainEvery time.Duration
	// Retention says which versions of tables stay.
	Retention retention.Policy
	// BuildID is the version of this worker in Temporal; empty is none.
	BuildID string
	// Class is the class of activities it takes, "all" for every one. ShortSlots and
	// BulkSlots are how many of each it runs at once.
	Class                 string
	ShortSlots, BulkSlots int
	// CodecListen is the host:port of the endpoint that decrypts payloads for
	// Temporal's web pages, empty for none; CodecOrigin that of the pages.
	CodecListen, CodecOrigin string
	// TemporalOnly and NoObjects are set by commands that use less than a worker
	// does: what they leave alone need not be configured.
	TemporalOnly, NoObjects bool
	// Settle is how old a drop is before a location that looks empty is
	// believed to be.
	Settle time.Duration
}

// NewWorker returns the defaults.
func NewWorker() *Worker {
	c := &Worker{set: newSet("worker"), SweepEvery: time.Minute, OperationGCEvery: time.Hour, MaintainEvery: 10 * time.Minute, Settle: drop.DefaultSettle, Class: AllClasses, ShortSlots: worker.DefaultShortSlots, BulkSlots: worker.DefaultBulkSlots, Retention: retention.Policy{}.WithDefaults()}
	s := c.set
	c.Temporal.Address = "127.0.0.1:7233"
	c.Temporal.add(s, "Temporal server host:port")
	c.Metastore.add(s, "postgres://user@host/database, dynamodb://table?region=REGION, or lake://host:port for the store of a metadata server; required")
	c.Caller.add(s, "metadata", "the metadata server")
	s.add("allow_insecure", "LAKE_ALLOW_INSECURE", choice{stringValue{&c.AllowInsecure}, []string{"", Insecure}}, `"proxy" where a proxy encrypts: allows plaintext to a metadata server on another machine`)
	c.Common.add(s)
	s.add("procedure_sweep_every", "LAKE_PROCEDURE_SWEEP_SECS", durationValue{p: &c.SweepEvery, min: time.Second, max: 24 * time.Hour}, "how often procedures that nobody started are looked for")
	s.add("operation_gc_every", "LAKE_OPERATION_GC_SECS", durationValue{p: &c.OperationGCEvery, min: time.Second, max: 24 * time.Hour}, "how often append operations that are too old to be repeated are forgotten")
	s.add("table_maintenance_every", "LAKE_TABLE_MAINTENANCE_SECS", durationValue{p: &c.MaintainEvery, min: time.Second, max: 24 * time.Hour}, "how often tables are looked over for compaction")
	addRetention(s, &c.Retention)
	s.add("worker_build_id", "LAKE_WORKER_BUILD_ID", stringValue{&c.BuildID}, "version of this worker in Temporal's worker deployment \"lake\"; a worker with one gets no work until `lake worker ensure` with the same one made it the current version; empty for none")
	s.add("worker_class", "LAKE_WORKER_CLASS", choice{stringValue{&c.Class}, classes()}, "which activities it takes: short (and all workflows), bulk (what copies or deletes for long), or all; both must be taken by some worker")
	s.add("worker_short_slots", "LAKE_WORKER_SHORT_SLOTS", intValue{&c.ShortSlots, 1, 1000}, "how many short activities it runs at once")
	s.add("worker_bulk_slots", "LAKE_WORKER_BULK_SLOTS", intValue{&c.BulkSlots, 1, 1000}, "how many bulk activities it runs at once")
	s.add("payload_codec_listen", "LAKE_PAYLOAD_CODEC_LISTEN", stringValue{&c.CodecListen}, "host:port at which Temporal's web pages have payloads decrypted, on this machine unless allow_insecure=proxy; empty for none")
	s.add("payload_codec_origin", "LAKE_PAYLOAD_CODEC_ORIGIN", stringValue{&c.CodecOrigin}, "origin of Temporal's web pages, such as https://temporal.example: no other site may ask the endpoint")
	s.add("drop_settle", "LAKE_DROP_SETTLE_SECS", durationValue{p: &c.Settle, min: time.Nanosecond, max: time.Hour}, "how old a drop must be before an empty location is believed to be: longer than an append may still be writing")
	return c
}

// AllClasses makes a worker take every activity.
const AllClasses = "all"

func classes() []string {
	out := []string{AllClasses}
	for _, c := range workflows.Classes {
		out = append(out, string(c))
	}
	return out
}

// Classes are those it takes, nil for all.
func (c *Worker) Classes() []workflows.Class {
	if c.Class == AllClasses {
		return nil
	}
	return []workflows.Class{workflows.Class(c.Class)}
}

// addRetention adds the settings that say which versions stay. The worker
// deletes by them, and the metadata server tells by them what would go.
func addRetention(s *Set, p *retention.Policy) {
	s.add("table_retain_versions", "LAKE_LANCE_RETAIN_VERSIONS", intValue{&p.Versions, 1, 1 << 20}, "how many of a table's newest versions stay; tagged ones stay besides")
	s.add("table_retain_for", "LAKE_TABLE_RETAIN_SECS", durationValue{p: &p.For, min: retention.DefaultFor, max: maxTime}, "how long a version stays after another became current, for queries pinned to it: longer than any ticket lives")
	s.add("table_orphan_age", "LAKE_TABLE_ORPHAN_SECS", durationValue{p: &p.OrphanAge, min: time.Hour, max: maxTime}, "how old an object is that no version needs before it is deleted: longer than the longest write by other Lance clients")
}

// checkCodec reports an endpoint that cannot or must not be there.
func (c *Worker) checkCodec(m *Mistakes) {
	s := c.set
	switch {
	case c.CodecListen == "" && c.CodecOrigin != "":
		s.report(m, "payload_codec_origin", "goes with payload_codec_listen")
	case c.CodecListen == "":
	case !isHostPort(c.CodecListen, true):
		s.report(m, "payload_codec_listen", "%q: want host:port", c.CodecListen)
	case c.Temporal.PayloadKeys == "":
		s.report(m, "payload_codec_listen", "needs temporal_payload_keys_file: there is nothing to decrypt")
	case !loopback(c.CodecListen) && c.AllowInsecure != Insecure:
		s.report(m, "payload_codec_listen", "%s can be reached from other machines, and the endpoint asks for no credentials: listen on loopback, or set allow_insecure=%s behind a proxy that does", c.CodecListen, Insecure)
	}
}

// Set implements [Process].
func (c *Worker) Set() *Set { return c.set }

func (c *Worker) check(m *Mistakes) {
	s := c.set
	c.Temporal.check(s, m, true)
	if c.TemporalOnly {
		return
	}
	c.checkCodec(m)
	if !c.NoObjects {
		c.Common.check(s, m)
	}
	c.Metastore.check(s, m, Postgres, DynamoDB, Remote)
	c.Caller.check(s, m, "metadata")
	if c.Metastore.Kind() == Remote {
		c.Metastore.checkLender(s, m, "metadata_auth_token_file", c.Caller.Token, "worker")
	}
}
