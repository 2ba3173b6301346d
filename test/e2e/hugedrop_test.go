// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
)

// hugeDrop is how many files of a dropped table are left when its name is taken again.
// A bound of the rate makes few of them take as long as many would.
const (
	hugeDrop     = 5000
	hugeDropRate = 100 // a second, and so most of a minute
)

// TestAHugeDropAnswersAtOnceAndItsNameIsFree: the drop of a table whose objects take
// far longer than the call's five seconds returns the procedure's id at once; a table
// of the same name is made, written and read while the old objects go, and is not
// harmed by that, nor by a crash in the middle, after which the drop goes on from
// where it was. (Report 23: an inline purge times out the request, and a create meets it.)
func TestAHugeDropAnswersAtOnceAndItsNameIsFree(t *testing.T) {
	dir := t.TempDir()
	d := startDev(t, dir)
	c := d.client(t)
	name := lake.TableName{Namespace: "huge", Name: "t"}
	old, err := c.CreateTable(t.Context(), name, numbers)
	require.NoError(t, err)
	_, err = c.Append(t.Context(), name, batchOf(1, 2, 3))
	require.NoError(t, err)
	folder := filepath.Join(dir, "objects", string(old.Snapshot.Location), "data")
	for i := range hugeDrop {
		require.NoError(t, os.WriteFile(filepath.Join(folder, fmt.Sprintf("stuffed-%06d.lance", i)), nil, 0o600))
	}

	window := 3 * time.Second // in which the rate is set
	call, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	dropped, err := c.DropTable(call, name, sdk.DropOptions{UndropWindow: &window, Reason: "too large"})
	require.NoError(t, err)
	_, err = c.Control(t.Context(), dropped.Procedure, sdk.SetRate(hugeDropRate, "the disk is shared"))
	require.NoError(t, err)

	next, err := c.CreateTable(t.Context(), name, numbers)
	require.NoError(t, err, "the name is free at once")
	require.NotEqual(t, old.Snapshot.Incarnation, next.Snapshot.Incarnation)
	_, err = c.Append(t.Context(), name, batchOf(4))
	require.NoError(t, err)
	require.EqualValues(t, 1, query(t, c, "SELECT * FROM huge.t").NumRows(), "rows of the old table came back")

	deleted := func(p sdk.Procedure) int64 { return p.Counters["objects_deleted"] }
	at := d.awaitDrop(t, dropped.Procedure, func(p sdk.Procedure) bool { return deleted(p) > 0 })
	require.False(t, at.State.Terminal())
	d.kill()
	left := len(d.objects(t, "stuffed-"))
	require.Positive(t, left, "the kill came too late to prove anything")

	d = startDev(t, dir)
	c = d.client(t)
	resumed := d.awaitDrop(t, dropped.Procedure, func(sdk.Procedure) bool { return true })
	require.GreaterOrEqual(t, deleted(resumed), deleted(at), "it begins anew")
	_, err = c.Control(t.Context(), dropped.Procedure, sdk.SetRate(0, "no longer"))
	require.NoError(t, err)
	done := awaitProcedure(t, c, dropped.Procedure)
	require.Equal(t, sdk.Completed, done.State, "%+v", done)
	require.Empty(t, d.objects(t, string(old.Snapshot.Location)+"/"))
	require.EqualValues(t, 1, query(t, c, "SELECT * FROM huge.t").NumRows())
	t.Logf("killed with %d objects left", left)
}

// awaitDrop returns a procedure when it is as wanted.
func (d *dev) awaitDrop(t *testing.T, id sdk.ProcedureID, want func(sdk.Procedure) bool) (p sdk.Procedure) {
	t.Helper()
	c := d.client(t)
	require.Eventually(t, func() bool {
		var err error
		p, err = c.Procedure(t.Context(), id)
		return err == nil && want(p)
	}, time.Minute, 50*time.Millisecond)
	return p
}
