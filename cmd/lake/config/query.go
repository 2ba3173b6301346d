// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package config

import (
	"time"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/query"
	"github.com/lakeplane/lake/services/query/admission"
	"github.com/lakeplane/lake/services/query/ticket"
)

// Query is the configuration of `lake query`.
type Query struct {
	set *Set

	Common
	Listener
	// Meta are the metadata servers; any of them will do.
	Meta []string
	// Caller is how this replica proves itself to them.
	Caller Caller
	// TicketKeys is the file of the keys that seal tickets; empty makes one
	// that no other replica has.
	TicketKeys string
	TicketTTL  time.Duration
	Admission  admission.Options
	// Endpoints is in how many parts large scans are given to clients that do not
	// say, MaxEndpoints the most that a client gets, and EndpointRows the least
	// rows of a part.
	Endpoints, MaxEndpoints, EndpointRows int
	// Ingestions is how many bulk ingestions have rows in memory at once.
	Ingestions int
	// ExecutionTimeout bounds one query.
	ExecutionTimeout time.Duration
	SQLBytes         int64
	DiscoveryRows    int
	// Slots is how many statements run at once; Memory and SpillBytes bound
	// all of them together.
	Slots              int
	Memory, SpillBytes int64
	// InProcess runs statements in the replica itself instead of processes of
	// their own: one that crashes the engine then ends the replica.
	InProcess bool
	// SpillDir is where they spill; empty means a directory in the system's
	// place for temporary files.
	SpillDir string
	// DatasetCache bounds the open snapshots, CatalogTTL the age of a
	// resolution.
	DatasetCache int64
	// AnswerCache bounds the small answers that are given again to who repeats a
	// statement over the same snapshots; 0 for none.
	AnswerCache int64
	// BlockCache bounds what is kept in memory of the objects of a bucket.
	BlockCache int64
	CatalogTTL time.Duration
}

// slotMemory is how much of the memory a slot's limit may be: more is resident
// than the engine's own limit says.
const slotMemory = 1.5

// minSlotMemory is the least limit of a slot.
const minSlotMemory = 32 << 20

// NewQuery returns the defaults.
func NewQuery() *Query {
	c := &Query{
		set:       newSet("query"),
		TicketTTL: ticket.DefaultTTL, ExecutionTimeout: 30 * time.Minute, SQLBytes: lake.MaxSQLBytes, DiscoveryRows: 10_000,
		Admission: admission.Options{Concurrent: 64, PerTenant: 8, Tenants: 4096, Queue: 100 * time.Millisecond},
		Endpoints: query.DefaultEndpoints, MaxEndpoints: query.DefaultMaxEndpoints, EndpointRows: query.DefaultEndpointRows, Ingestions: query.DefaultIngestions,
		Slots: 8, Memory: 1 << 30, SpillBytes: 8 << 30, DatasetCache: 256 << 20, AnswerCache: query.DefaultAnswerBytes, BlockCache: 256 << 20, CatalogTTL: time.Second,
	}
	s := c.set
	c.Listener.add(s, "127.0.0.1:50051")
	s.add("metadata_addrs", "LAKE_METADATA_ADDRS", listValue{&c.Meta}, "metadata servers, host:port; any member of the group will do, and several are tried; required").Flag = "meta"
	c.Common.add(s)
	c.Caller.add(s, "metadata", "the metadata servers")
	s.add("query_ticket_keys_file", "LAKE_QUERY_TICKET_KEYS_FILE", stringValue{&c.TicketKeys}, "keys that seal tickets, the same for every replica (mode 0600, read again when they change)")
	s.add("query_ticket_ttl", "LAKE_QUERY_TICKET_TTL_SECS", durationValue{p: &c.TicketTTL, min: ticket.MinTTL, max: ticket.MaxTTL}, "how long a ticket can be redeemed")
	s.add("query_max_concurrent", "LAKE_QUERY_MAX_CONCURRENT", intValue{&c.Admission.Concurrent, 1, maxCount}, "requests that run at once")
	s.add("query_max_concurrent_per_tenant", "LAKE_QUERY_MAX_CONCURRENT_PER_TENANT", intValue{&c.Admission.PerTenant, 1, maxCount}, "those of one tenant")
	s.add("query_max_tracked_tenants", "LAKE_QUERY_MAX_TRACKED_TENANTS", intValue{&c.Admission.Tenants, 1, maxCount}, "tenants that run or wait at once")
	s.add("query_queue_timeout", "LAKE_QUERY_QUEUE_TIMEOUT_MS", durationValue{p: &c.Admission.Queue, min: time.Millisecond, max: time.Hour}, "how long a request waits to be admitted")
	s.add("query_max_ingestions", "LAKE_QUERY_MAX_INGESTIONS", intValue{&c.Ingestions, 1, 1 << 10}, "bulk ingestions that have rows in memory at once, about 150 MiB each; others wait for their turn")
	s.add("query_endpoints", "LAKE_QUERY_ENDPOINTS", intValue{&c.Endpoints, 1, query.EndpointsLimit}, "endpoints in which large scans are given to clients that do not say (header x-lake-endpoints); each is admitted, and takes a slot, on its own")
	s.add("query_max_endpoints", "LAKE_QUERY_MAX_ENDPOINTS", intValue{&c.MaxEndpoints, 1, query.EndpointsLimit}, "the most endpoints that a client gets; 1 for never more than one")
	s.add("query_endpoint_rows", "LAKE_QUERY_ENDPOINT_ROWS", intValue{&c.EndpointRows, 1, 1 << 30}, "about the least rows of an endpoint, so that small tables have one")
	s.add("query_execution_timeout", "LAKE_QUERY_EXECUTION_TIMEOUT_MS", durationValue{p: &c.ExecutionTimeout, min: time.Millisecond, max: maxTime}, "how long one query may run")
	s.add("query_max_sql_bytes", "LAKE_QUERY_MAX_SQL_BYTES", bytesValue{&c.SQLBytes, 1 << 10, lake.MaxSQLBytes}, "longest statement")
	s.add("query_max_discovery_rows", "LAKE_QUERY_MAX_DISCOVERY_ROWS", intValue{&c.DiscoveryRows, 1, maxCount}, "most rows of a metadata call")
	s.add("query_slots", "LAKE_QUERY_SLOTS", intValue{&c.Slots, 1, 256}, "statements that the engine runs at once; a client that reads slowly holds one")
	s.add("query_in_process", "LAKE_QUERY_IN_PROCESS", boolValue{&c.InProcess}, "run statements in the replica itself, not in processes of their own: for development only, because a statement that crashes the engine then ends the replica")
	s.add("query_memory_bytes", "LAKE_QUERY_MEMORY_BYTES", bytesValue{&c.Memory, minSlotMemory, maxBytes}, "memory of all statements together")
	s.add("query_spill_bytes", "LAKE_QUERY_SPILL_BYTES", bytesValue{&c.SpillBytes, 1 << 20, maxBytes}, "disk of all statements together")
	s.add("query_spill_dir", "LAKE_QUERY_SPILL_DIR", stringValue{&c.SpillDir}, "directory for statements that outgrow their memory; empty means one in the system's place for temporary files")
	s.add("query_dataset_cache_bytes", "LAKE_QUERY_DATASET_CACHE_BYTES", bytesValue{&c.DatasetCache, 1 << 20, maxBytes}, "memory of open snapshots")
	s.add("query_answer_cache_bytes", "LAKE_QUERY_ANSWER_CACHE_BYTES", bytesValue{&c.AnswerCache, 0, maxBytes}, "memory of small answers that are given again for the same statement over the same snapshots; 0 for none")
	s.add("query_block_cache_bytes", "LAKE_QUERY_BLOCK_CACHE_BYTES", bytesValue{&c.BlockCache, 0, maxBytes}, "memory of what was read from a bucket; 0 for none. Local files need none")
	s.add("query_catalog_ttl", "LAKE_QUERY_CATALOG_TTL_MS", durationValue{p: &c.CatalogTTL, min: time.Millisecond, max: time.Hour}, "how old the known version of a table may be, for readers that ask for none")
	return c
}

// Set implements [Process].
func (c *Query) Set() *Set { return c.set }

// SlotMemory is the engine's memory limit of one slot.
func (c *Query) SlotMemory() int64 { return int64(float64(c.Memory) / float64(c.Slots) / slotMemory) }

func (c *Query) check(m *Mistakes) {
	s := c.set
	c.Common.check(s, m)
	c.Listener.check(s, m)
	c.Caller.check(s, m, "metadata")
	c.checkMeta(m)
	switch {
	case c.TicketKeys != "":
		if _, err := ticket.OpenFile(c.TicketKeys, nil); err != nil {
			s.report(m, "query_ticket_keys_file", "%w", err)
		}
	case !loopback(c.Address):
		s.report(m, "query_ticket_keys_file", "is needed where other machines can call: a ticket of one replica must be good at another")
	}
	if c.Endpoints > c.MaxEndpoints {
		s.report(m, "query_endpoints", "%d is more than query_max_endpoints, %d", c.Endpoints, c.MaxEndpoints)
	}
	if c.SlotMemory() < minSlotMemory {
		s.report(m, "query_memory_bytes", "%s for %d slots leave %s each: want at least %s, so more memory or fewer query_slots",
			formatBytes(c.Memory), c.Slots, formatBytes(c.SlotMemory()), formatBytes(minSlotMemory))
	}
	if c.SpillDir != "" {
		checkDirectory(s, m, "query_spill_dir", c.SpillDir)
	}
}

func (c *Query) checkMeta(m *Mistakes) {
	if len(c.Meta) == 0 {
		c.set.report(m, "metadata_addrs", "a metadata server is needed: want host:port")
	}
	away := false
	for _, a := range c.Meta {
		checkHostPort(c.set, m, "metadata_addrs", a, false)
		away = away || !loopback(a)
	}
	if away && c.Caller.Token == "" {
		c.set.report(m, "metadata_auth_token_file", "is needed: metadata servers on other machines ask for a token, of role query_service")
	}
}
