// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package config

// Fsck is where `lake fsck` finds what it checks. It takes the settings of the
// server processes that say so.
type Fsck struct {
	set *Set

	Objects   Objects
	Metastore Metastore
	// Caller is how it proves itself to a metadata server that lends its
	// store.
	Caller Caller
	// AllowInsecure is [Insecure] where a proxy encrypts what leaves the
	// machine.
	AllowInsecure string
}

// NewFsck returns the defaults.
func NewFsck() *Fsck {
	c := &Fsck{set: newSet("fsck")}
	s := c.set
	c.Metastore.add(s, "postgres://user@host/database, dynamodb://table?region=REGION, lake://host:port for the store of a running metadata server, or pebble:///directory of one that does not run; required")
	c.Caller.add(s, "metadata", "the metadata server")
	s.add("allow_insecure", "LAKE_ALLOW_INSECURE", choice{stringValue{&c.AllowInsecure}, []string{"", Insecure}}, `"proxy" where a proxy encrypts: allows plaintext to a metadata server on another machine`)
	c.Objects.add(s)
	return c
}

// Set implements [Process].
func (c *Fsck) Set() *Set { return c.set }

func (c *Fsck) check(m *Mistakes) {
	c.Objects.check(c.set, m)
	c.Metastore.check(c.set, m, Pebble, Postgres, DynamoDB, Remote)
	c.Caller.check(c.set, m, "metadata")
}
