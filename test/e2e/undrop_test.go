// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
)

// TestUndrop takes a drop back whose workflow waits in a real Temporal server,
// and then drops the same incarnation for good.
func TestUndrop(t *testing.T) {
	d := startDev(t, t.TempDir())
	c := d.client(t)
	name := lake.TableName{Namespace: "undo", Name: "t"}
	_, err := c.CreateTable(t.Context(), name, numbers)
	require.NoError(t, err)
	_, err = c.Append(t.Context(), name, batchOf(1, 2, 3))
	require.NoError(t, err)
	before, err := c.Table(t.Context(), name)
	require.NoError(t, err)
	const rows = "SELECT n FROM undo.t ORDER BY n"
	require.Equal(t, "n\n1\n2\n3\n", d.must(t, "sql", rows, "--format", "csv"))
	objects := d.objects(t, "/undo/t/")
	require.NotEmpty(t, objects)

	r := d.lake(t, "table", "drop", "undo.t", "--yes", "--undrop-window", "1h", "--format", "csv")
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stderr, "it can be undone until ")
	id, err := sdk.ParseProcedureID(strings.Split(strings.Split(r.stdout, "\n")[1], ",")[2])
	require.NoError(t, err)
	_, err = c.Table(t.Context(), name)
	require.Equal(t, lake.NotFound, lake.KindOf(err), "%v", err)
	require.NotZero(t, d.lake(t, "sql", rows).code)
	require.NotContains(t, d.must(t, "table", "list"), "undo.t")
	require.Eventually(t, func() bool {
		p, err := c.Procedure(t.Context(), id)
		return err == nil && p.Phase == "waiting"
	}, time.Minute, 20*time.Millisecond, "no worker took the drop")
	require.Equal(t, objects, d.objects(t, "/undo/t/"), "nothing is deleted meanwhile")

	require.Contains(t, d.must(t, "table", "undrop", "undo.t"), before.Snapshot.Incarnation.String())
	require.Equal(t, "n\n1\n2\n3\n", d.must(t, "sql", rows, "--format", "csv"), "at once")
	after, err := c.Table(t.Context(), name)
	require.NoError(t, err)
	require.Equal(t, before, after, "the same incarnation, version and schema")
	require.Equal(t, sdk.Cancelled, awaitProcedure(t, c, id).State)
	require.Eventually(t, func() bool { return d.workflow(t, id.String()) == enums.WORKFLOW_EXECUTION_STATUS_COMPLETED },
		30*time.Second, 50*time.Millisecond, "the workflow still waits for a window that is over")
	require.Equal(t, objects, d.objects(t, "/undo/t/"))
	require.Equal(t, 1, d.lake(t, "table", "undrop", "undo.t").code, "there is nothing to undo")

	appended, err := c.Append(t.Context(), name, batchOf(4))
	require.NoError(t, err)
	require.Equal(t, before.Snapshot.Version+1, appended.Version)
	require.Equal(t, "n\n1\n2\n3\n4\n", d.must(t, "sql", rows, "--format", "csv"))

	d.must(t, "table", "drop", "undo.t", "--yes", "--undrop-window", "0")
	done := awaitProcedure(t, c, id)
	require.Equal(t, sdk.Completed, done.State, "%+v", done)
	require.Empty(t, d.objects(t, "/undo/t/"))
	r = d.lake(t, "table", "undrop", "undo.t", "--incarnation", before.Snapshot.Incarnation.String())
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "too late")
	require.Zero(t, d.stop(t))
}

// workflow is how the last run of a workflow stands.
func (d *dev) workflow(t *testing.T, id string) enums.WorkflowExecutionStatus {
	t.Helper()
	c, err := client.Dial(client.Options{HostPort: d.state.Temporal, Namespace: "lake", Logger: quietTemporal{}})
	require.NoError(t, err)
	defer c.Close()
	info, err := c.DescribeWorkflow(t.Context(), id, "")
	require.NoError(t, err)
	return info.Status
}

// quietTemporal keeps the client's log out of the test's.
type quietTemporal struct{}

func (quietTemporal) Debug(string, ...any) {}
func (quietTemporal) Info(string, ...any)  {}
func (quietTemporal) Warn(string, ...any)  {}
func (quietTemporal) Error(string, ...any) {}
