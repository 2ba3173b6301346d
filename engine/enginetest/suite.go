// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
)

// Fixture is a fresh engine without tables, and what the suite needs to break
// it.
type Fixture struct {
	Engine engine.Engine
	// Erase deletes every object of a location.
	Erase func(ctx context.Context, loc lake.Location) error
}

// Run checks an engine against the contract of the port. open is called once a
// case, in that case's test.
func Run(t *testing.T, open func(t *testing.T) Fixture) {
	cases := []struct {
		name string
		run  func(t *testing.T, f *fixture)
	}{
		{"create makes an empty first version", testCreate},
		{"an unsupported column is refused by name", testUnsupportedColumn},
		{"an append adds its rows and older versions stay", testAppend},
		{"grouped appends join one version in their order", testGroup},
		{"an append of no rows makes a version", testEmptyAppend},
		{"many small appends read in order", testManyAppends},
		{"of two versions on one base only one commits", testConflict},
		{"data staged for a lost version join the next", testRestage},
		{"concurrent data staging", testConcurrentStaging},
		{"rows of another schema are refused", testSchemaMismatch},
		{"nulls in a required column are refused", testRequiredColumn},
		{"data of another table are refused", testForeignData},
		{"a failing row source fails the staging", testFailingSource},
		{"publish is idempotent and open works before it", testPublish},
		{"a snapshot with another digest does not open", testWrongDigest},
		{"a snapshot of another engine does not open", testWrongEngine},
		{"erased objects make a snapshot unavailable", testErased},
		{"retire bars appends and restore lets them in", testRetire},
		{"forget ends what retire began", testForget},
		{"history rows lie under the prefix, one a version", testHistory},
		{"incarnations do not mix", testIncarnations},
		{"operations follow from the snapshot alone", testDeterministicOps},
		{"projection picks, orders and drops columns", testProjection},
		{"no columns means row counts", testNoColumns},
		{"wrong scan options are refused", testScanOptions},
		{"batches keep to their bounds", testBatchBounds},
		{"ordered scans keep row order", testOrdered},
		{"eight threads drain one scan", testParallelScan},
		{"eight scans of one dataset at once", testConcurrentScans},
		{"batches outlive their scan and dataset", testBatchesOutlive},
		{"a pruned part keeps what is wanted", testPrune},
		{"slices hold each row once", testSlices},
		{"a closed scan delivers nothing", testClosedScan},
		{"a cancelled scan stops", testCancelledScan},
		{"nothing leaks from the rows handed in", testNoLeak},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.run(t, &fixture{Fixture: open(t), ledger: newLedger(), mem: memory.NewGoAllocator()})
		})
	}
}

// fixture is a Fixture with a metastore to commit to.
type fixture struct {
	Fixture
	ledger *ledger
	mem    memory.Allocator
}

func place(inc lake.Incarnation) lake.Location {
	return lake.Place(lake.TableName{Namespace: "robots", Name: "episodes"}, inc)
}

// create stages, commits and publishes a first version.
func (f *fixture) create(t *testing.T) lake.Snapshot {
	t.Helper()
	inc := lake.NewID()
	staged, err := f.Engine.Create(t.Context(), place(inc), inc, Schema())
	require.NoError(t, err)
	require.NoError(t, f.ledger.commit(staged.Ops))
	require.NoError(t, f.Engine.Publish(t.Context(), staged.Snapshot))
	return staged.Snapshot
}

func operation() engine.Operation {
	return engine.Operation{Tenant: lake.DefaultTenant, ID: lake.NewID(), Digest: lake.Digest{1, 2, 3}}
}

// data stages rows from..from+n-1.
func (f *fixture) data(t *testing.T, loc lake.Location, from, n int64) engine.Append {
	t.Helper()
	rows := reader(t, f.mem, from, n, 100)
	defer rows.Release()
	data, err := f.Engine.StageData(t.Context(), loc, Schema(), rows)
	require.NoError(t, err)
	require.EqualValues(t, n, data.Rows())
	return engine.Append{Operation: operation(), Data: data}
}

func (f *fixture) stage(t *testing.T, base lake.Snapshot, adds ...engine.Append) engine.Staged {
	t.Helper()
	staged, err := f.Engine.StageAppend(t.Context(), base, adds)
	require.NoError(t, err)
	return staged
}

// append commits and publishes rows from..from+n-1 as the next version.
func (f *fixture) append(t *testing.T, base lake.Snapshot, from, n int64) lake.Snapshot {
	t.Helper()
	staged := f.stage(t, base, f.data(t, base.Location, from, n))
	require.NoError(t, f.ledger.commit(staged.Ops))
	require.NoError(t, f.Engine.Publish(t.Context(), staged.Snapshot))
	return staged.Snapshot
}

func (f *fixture) open(t *testing.T, snap lake.Snapshot) engine.Dataset {
	t.Helper()
	ds, err := f.Engine.Open(t.Context(), snap)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ds.Close()) })
	return ds
}

// requireRows checks that a snapshot holds exactly the given ranges of ids, in
// order.
func (f *fixture) requireRows(t *testing.T, snap lake.Snapshot, ranges ...[2]int64) {
	t.Helper()
	ds := f.open(t, snap)
	want := wantRows(t, ranges...)
	require.EqualValues(t, len(want), ds.Rows())
	require.Equal(t, want, drain(t, ds, engine.ScanOptions{Ordered: true}))
}

// drain returns the rows of a scan as JSON.
func drain(t *testing.T, ds engine.Dataset, opts engine.ScanOptions) []string {
	t.Helper()
	scan, err := ds.Scan(t.Context(), opts)
	require.NoError(t, err)
	defer mustClose(t, scan)
	var out []string
	for {
		batch, err := scan.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return out
		}
		require.NoError(t, err)
		out = append(out, rowTexts(t, batch)...)
		batch.Release()
	}
}

func requireKind(t *testing.T, err error, kinds ...lake.Kind) {
	t.Helper()
	require.Error(t, err)
	require.Contains(t, kinds, lake.KindOf(err), "error: %v", err)
}

func mustClose(t *testing.T, c io.Closer) {
	if err := c.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}
