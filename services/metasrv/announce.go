// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"context"
	"time"

	"github.com/lakeplane/lake/catalog"
)

// announceEvery is how often a member says that it lives: several times within
// catalog.PeerTTL.
const announceEvery = catalog.PeerTTL / 6

// announce keeps the member's peer record until ctx ends, and then removes it.
// Migrations learn from the records that no older release is left; nothing else
// depends on them.
func (s *Server) announce(ctx context.Context) {
	p := catalog.Peer{
		Role: catalog.RoleMeta, Instance: s.election.Holder(), Version: s.opts.Version,
		Address: s.opts.Election.Address, Capabilities: catalog.Capabilities(),
	}
	tick := time.NewTicker(announceEvery)
	defer tick.Stop()
	for {
		if err := s.catalog.Announce(ctx, p); err != nil && ctx.Err() == nil {
			s.opts.Logger.Warn("metasrv: the member could not announce itself", "error", err)
		}
		select {
		case <-ctx.Done():
			leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			_ = s.catalog.Leave(leaving, p.Role, p.Instance) // it ages otherwise
			return
		case <-tick.C:
		}
	}
}
