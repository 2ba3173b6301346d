// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"fmt"
	"hash/fnv"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

// stripes is how many equal copies the fence has. Each write keeps one, chosen
// by its table, so that no record is read by every commit of a busy group; a
// takeover replaces all of them in one transaction.
const stripes = 16

const (
	electionPrefix = "election/"
	deadlineKey    = electionPrefix + "leader-deadline"
)

// Fence proves that its owner was elected. Only an [Election] makes one. It
// stays the same until another process takes over, so that writes never race
// with renewals, and a write that keeps it fails from the moment of a
// takeover on, whatever the clocks say.
type Fence struct {
	holder string
	epoch  uint64
	raw    []byte
}

// Epoch counts the takeovers, from 1. It is 0 for the zero fence, which
// permits nothing.
func (f Fence) Epoch() uint64 { return f.epoch }

// Holder identifies the elected process.
func (f Fence) Holder() string { return f.holder }

// Guard returns the operation that a write to the table must include.
func (f Fence) Guard(table lake.TableName) metastore.Op {
	return f.stripe(stripeOf(table))
}

func (f Fence) stripe(i int) metastore.Op { return metastore.Guard(stripeKey(i), f.raw) }

// check refuses the zero fence, whose guard would expect an empty record.
func (f Fence) check() error {
	if f.raw == nil {
		return lake.Errorf(lake.Fenced, "no fence: only an elected leader may write")
	}
	return nil
}

func stripeKey(i int) string { return fmt.Sprintf("%sleader/%02x", electionPrefix, i) }

func stripeOf(table lake.TableName) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(table.Path())) // a hash never fails
	return int(h.Sum32() % stripes)
}

type fenceRecord struct {
	header
	Holder string `json:"holder"`
	Epoch  uint64 `json:"epoch"`
}

func newFence(holder string, epoch uint64) Fence {
	return Fence{holder: holder, epoch: epoch, raw: encode(fenceRecord{newHeader(), holder, epoch})}
}

func decodeFence(key string, raw []byte) (Fence, error) {
	var r fenceRecord
	if err := decode(key, raw, &r); err != nil {
		return Fence{}, err
	}
	return Fence{holder: r.Holder, epoch: r.Epoch, raw: raw}, nil
}
