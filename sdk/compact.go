// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"context"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/lake"
)

// maintenanceKind is the kind of the procedure that compacts a table.
const maintenanceKind = "table-maintenance"

// CompactOptions narrows [Client.CompactTable].
type CompactOptions struct {
	// DryRun changes nothing and says what would be joined.
	DryRun bool
	// Reclaim, with DryRun, also says what the clean-up would delete that follows
	// a compaction. That reads the manifests of all versions that stay.
	Reclaim bool
}

// Reclaim is what a clean-up of a table would do now.
type Reclaim struct {
	// Floor is the version up to which versions would be given up, except for
	// tagged ones; 0 gives up none.
	Floor lake.Version
	// VersionsKept would stay, VersionsTagged of them only for their tags;
	// VersionsReclaimed would go.
	VersionsKept, VersionsTagged, VersionsReclaimed uint64
	// Objects of Bytes would be deleted. What the compaction leaves behind that
	// comes first is not among them.
	Objects, Bytes uint64
}

// Compaction is what a compaction was asked to do.
type Compaction struct {
	// Table is the table as it was when the request was answered.
	Table Table
	// Procedure does the work; its kind is "table-maintenance". Follow it with
	// [Client.WatchProcedure]. Its record is kept for an hour after its end.
	Procedure ProcedureID
	// UIURL is the procedure's page in the Temporal UI, if there is one.
	UIURL  string
	DryRun bool
	// PartsBefore and PartsAfter are how many pieces of data would be read and
	// written; both are 0 when there is nothing to join.
	PartsBefore, PartsAfter uint64
	// Reclaim is set when it was asked for.
	Reclaim *Reclaim
}

// CompactTable records the intent to join what small appends left behind in a
// table, and starts the durable procedure that does so; it does not wait for
// it. Rows, their order and older versions stay. Those who ask while one is
// under way share it. It fails with lake.NotFound when there is no such table
// and with lake.Unsupported when its storage engine cannot compact.
func (c *Client) CompactTable(ctx context.Context, name lake.TableName, opts CompactOptions) (Compaction, error) {
	if err := name.Validate(); err != nil {
		return Compaction{}, err
	}
	resp, err := c.catalog.CompactTable(ctx, &lakepb.CompactTableRequest{Name: nameToProto(name), DryRun: opts.DryRun, Reclaim: opts.Reclaim})
	t, err := tableResult("compact table", name, resp.GetTable(), err)
	if err != nil {
		return Compaction{}, err
	}
	var reclaim *Reclaim
	if r := resp.GetReclaim(); r != nil {
		reclaim = &Reclaim{
			Floor: lake.Version(r.GetFloor()), VersionsKept: r.GetVersionsKept(), VersionsTagged: r.GetVersionsTagged(),
			VersionsReclaimed: r.GetVersionsReclaimed(), Objects: r.GetObjects(), Bytes: r.GetBytes(),
		}
	}
	return Compaction{
		Reclaim: reclaim, Table: t, Procedure: ProcedureID{Kind: maintenanceKind, ID: resp.GetProcedureId()},
		UIURL: resp.GetUiUrl(), DryRun: resp.GetDryRun(),
		PartsBefore: resp.GetPartsBefore(), PartsAfter: resp.GetPartsAfter(),
	}, nil
}
