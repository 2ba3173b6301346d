// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakeplane/lake/lake"
)

// TestRecordsOfAppendsAreTheJSONOfTheLibrary compares the records that are
// encoded by hand with what encoding/json makes of them.
func TestRecordsOfAppendsAreTheJSONOfTheLibrary(t *testing.T) {
	texts := rapid.OneOf(rapid.StringMatching(`[A-Za-z0-9_./-]{0,20}`), rapid.String(), rapid.Just("\u2028<&>\"\\\x00\x7f\xff"))
	ids := rapid.Custom(func(rt *rapid.T) (id lake.ID) {
		copy(id[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(rt, "id"))
		return id
	})
	digests := rapid.Custom(func(rt *rapid.T) (d lake.Digest) {
		copy(d[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(rt, "digest"))
		return d
	})
	numbers := rapid.Custom(func(rt *rapid.T) lake.Version { return lake.Version(rapid.Uint64().Draw(rt, "number")) })
	times := rapid.Custom(func(rt *rapid.T) time.Time {
		return stamp(time.UnixMicro(rapid.Int64().Draw(rt, "µs")).In(time.FixedZone("", 3600)))
	})
	rapid.Check(t, func(rt *rapid.T) {
		head := header{Format: recordFormat, Nonce: ids.Draw(rt, "nonce")}
		operation := operationRecord{
			header: head, Tenant: texts.Draw(rt, "tenant"), Namespace: texts.Draw(rt, "namespace"), Name: texts.Draw(rt, "name"),
			ID: ids.Draw(rt, "operation"), Digest: digests.Draw(rt, "sha256"), Rows: rapid.Uint64().Draw(rt, "rows"),
			Incarnation: ids.Draw(rt, "incarnation"), Base: numbers.Draw(rt, "base"), Version: numbers.Draw(rt, "version"),
			State: texts.Draw(rt, "state"), CommittedAt: times.Draw(rt, "committed"),
		}
		require.Equal(rt, string(encode(operation)), string(operation.encode()))

		table := tableRecord{
			header: head, Namespace: operation.Namespace, Name: operation.Name,
			Snapshot: lake.Snapshot{
				Engine: texts.Draw(rt, "engine"), Location: lake.Location(texts.Draw(rt, "location")),
				Incarnation: operation.Incarnation, Version: operation.Version,
				Manifest: lake.Manifest{Path: texts.Draw(rt, "path"), Size: rapid.Int64().Draw(rt, "size"), SHA256: operation.Digest},
			},
			packedSchema: packedSchema{
				Plain: rapid.SliceOf(rapid.Byte()).Draw(rt, "plain"), Zstd: rapid.SliceOf(rapid.Byte()).Draw(rt, "zstd"),
			},
			CreatedAt: times.Draw(rt, "created"), UpdatedAt: operation.CommittedAt,
		}
		if rapid.Bool().Draw(rt, "has reclaimed") {
			table.Reclaimed = Reclaimed{Floor: numbers.Draw(rt, "floor"), At: times.Draw(rt, "at"), Head: numbers.Draw(rt, "head")}
		}
		require.Equal(rt, string(encode(table)), string(table.encode()))
	})
}
