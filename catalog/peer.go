// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

const (
	peerPrefix = "peer/"
	// RoleMeta is the role of a metadata server, which changes the set of tables.
	RoleMeta = "meta"
	// CapabilityGeneration: it replaces the directory generation in the commit of
	// every change of the set of tables.
	CapabilityGeneration = "directory-generation"
	// PeerTTL is how long after its last word a process counts as alive. It says
	// it several times within.
	PeerTTL = 2 * time.Minute
)

// Capabilities are what this release can do, for its peer record.
func Capabilities() []string { return []string{CapabilityGeneration} }

// Peer is a process as it announced itself. It makes "no writer of an older
// release is left" a measured fact: what is not announced cannot do it.
type Peer struct {
	// Role is the sort of process, one key segment; Instance identifies it. A
	// metadata server's is its holder in the election.
	Role, Instance string
	// Version is the release, Address where it is reached, for people.
	Version, Address string
	Capabilities     []string
	SeenAt           time.Time
}

// Can reports whether the process has a capability.
func (p Peer) Can(capability string) bool {
	for _, c := range p.Capabilities {
		if c == capability {
			return true
		}
	}
	return false
}

type peerRecord struct {
	header
	Role         string    `json:"role"`
	Instance     string    `json:"instance"`
	Version      string    `json:"version,omitempty"`
	Address      string    `json:"address,omitempty"`
	Capabilities []string  `json:"capabilities,omitempty"`
	SeenAt       time.Time `json:"seen_at"`
}

func peerKey(role, instance string) string { return peerPrefix + role + "/" + instance }

// Announce writes the process's record with the present moment. A process calls
// it every fraction of [PeerTTL]; nobody else writes its record.
func (c *Catalog) Announce(ctx context.Context, p Peer) error {
	key := peerKey(p.Role, p.Instance)
	old, err := c.read(ctx, key)
	if err != nil {
		return lake.Wrap("announce "+key, err)
	}
	next := encode(peerRecord{
		header: newHeader(), Role: p.Role, Instance: p.Instance, Version: p.Version, Address: p.Address,
		Capabilities: p.Capabilities, SeenAt: stamp(c.now()),
	})
	op := metastore.Create(key, next)
	if old != nil {
		op = metastore.Update(key, old, next)
	}
	return lake.Wrap("announce "+key, c.commit(ctx, op, []metastore.Op{op}))
}

// Leave removes the process's record, or that of one that is gone.
func (c *Catalog) Leave(ctx context.Context, role, instance string) error {
	key := peerKey(role, instance)
	old, err := c.read(ctx, key)
	if err != nil || old == nil {
		return err
	}
	op := metastore.Remove(key, old)
	return lake.Wrap("leave "+key, c.commit(ctx, op, []metastore.Op{op}))
}

// Peers returns the processes of a role that said they live within [PeerTTL].
// Records of those that ended without a word are removed a day later.
func (c *Catalog) Peers(ctx context.Context, role string) (live []Peer, err error) {
	for cursor := ""; ; {
		page, next, err := scanPage(ctx, c.store, peerPrefix+role+"/", cursor, directoryPage, decodePeer)
		if err != nil {
			return nil, err
		}
		for _, p := range page {
			switch age := c.now().Sub(p.SeenAt); {
			case age <= PeerTTL:
				live = append(live, p)
			case age > 24*time.Hour:
				_ = c.Leave(ctx, p.Role, p.Instance) // the next look tries again
			}
		}
		if cursor = next; cursor == "" {
			return live, nil
		}
	}
}

func decodePeer(found metastore.Record) (Peer, error) {
	var r peerRecord
	if err := decode(found.Key, found.Value, &r); err != nil {
		return Peer{}, err
	}
	if peerKey(r.Role, r.Instance) != found.Key {
		return Peer{}, lake.Errorf(lake.Corrupt, "record %q holds peer %q of role %q", found.Key, r.Instance, r.Role)
	}
	return Peer{
		Role: r.Role, Instance: r.Instance, Version: r.Version, Address: r.Address, Capabilities: r.Capabilities, SeenAt: r.SeenAt,
	}, nil
}

// Authoritative reports whether the directory is: every change of the set of
// tables then replaces the generation. It never ends.
func (c *Catalog) Authoritative(ctx context.Context) (bool, error) {
	marker, err := c.read(ctx, authorityKey)
	if err == nil && marker != nil && string(marker) != authorityV1 {
		err = lake.Errorf(lake.Unsupported, "record %q holds %q: this release knows %q", authorityKey, marker, authorityV1)
	}
	return marker != nil, lake.Wrap("read the directory's authority", err)
}

// errNoFence says that nobody ever led.
var errNoFence = errors.New("no metadata server has ever led this deployment")

// CheckWriters returns the problems that keep the directory from becoming
// authoritative, by the records of the metadata servers: each must announce that
// it replaces the generation, and the leader must be one of them. It returns the
// number of servers that were looked at, and the operation that keeps the leader
// in the commit that relies on the answer: a server of an older release that
// takes over meanwhile makes it fail.
func (c *Catalog) CheckWriters(ctx context.Context) (writers int, keep metastore.Op, problems []string, err error) {
	raw, err := c.read(ctx, stripeKey(0))
	if err != nil {
		return 0, keep, nil, lake.Wrap("read the leader", err)
	}
	if raw == nil {
		return 0, keep, []string{errNoFence.Error()}, nil
	}
	fence, err := decodeFence(stripeKey(0), raw)
	if err != nil {
		return 0, keep, nil, err
	}
	peers, err := c.Peers(ctx, RoleMeta)
	if err != nil {
		return 0, keep, nil, err
	}
	leads := false
	for _, p := range peers {
		leads = leads || p.Instance == fence.holder
		if !p.Can(CapabilityGeneration) {
			problems = append(problems, fmt.Sprintf("metadata server %s (%s, version %s) cannot do %s", p.Instance, p.Address, p.Version, CapabilityGeneration))
		}
	}
	if !leads {
		problems = append(problems, fmt.Sprintf("the leader %s did not announce itself within %s: it runs an older release, or is gone", fence.holder, PeerTTL))
	}
	return len(peers), fence.stripe(0), problems, nil
}

// FinalizeOps returns the operations that make the directory authoritative: the
// marker, a fresh generation and the leader of the check, in one commit. It is
// lake.Precondition while [Catalog.CheckWriters] finds a problem, and no
// operations when the marker is there.
func (c *Catalog) FinalizeOps(ctx context.Context) ([]metastore.Op, error) {
	if done, err := c.Authoritative(ctx); err != nil || done {
		return nil, err
	}
	_, keep, problems, err := c.CheckWriters(ctx)
	if err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		return nil, lake.Errorf(lake.Precondition, "not every metadata server is ready: %s", strings.Join(problems, "; "))
	}
	generation, err := c.nextGeneration(ctx)
	if err != nil {
		return nil, err
	}
	return []metastore.Op{metastore.Create(authorityKey, []byte(authorityV1)), generation, keep}, nil
}
