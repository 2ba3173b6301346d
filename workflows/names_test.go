// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package workflows

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
)

func TestRefsRoundTrip(t *testing.T) {
	inc := lake.NewID()
	ref := DropTableRef(lake.TableName{Namespace: "ns.a", Name: "t-1.x"}, inc)
	require.Equal(t, "drop-table/ns.a/t-1.x/"+inc.String(), ref.String())
	parsed, err := ParseRef(ref.String())
	require.NoError(t, err)
	require.Equal(t, ref, parsed)
	in, err := ParseDropTableID(ref.ID)
	require.NoError(t, err)
	require.Equal(t, ref, in.Ref())
	require.Equal(t, ref, in.Step().Ref())
}

func TestRefsOfEveryKindCanBeStarted(t *testing.T) {
	refs := map[string]Ref{
		TableMaintenanceWorkflow: TableMaintenanceRef(lake.TableName{Namespace: "ns", Name: "t"}, lake.NewID()),
		OperationGCWorkflow:      OperationGCRef(),
		CatalogFinalizeWorkflow:  CatalogFinalizeRef(),
		DropTableWorkflow:        DropTableRef(lake.TableName{Namespace: "ns", Name: "t"}, lake.NewID()),
	}
	require.Len(t, refs, len(Kinds))
	for workflow, ref := range refs {
		parsed, err := ParseRef(ref.String())
		require.NoError(t, err)
		require.Equal(t, ref, parsed)
		options, got, in := launch(parsed)
		require.Equal(t, workflow, got)
		require.Equal(t, ref.String(), options.ID)
		require.Equal(t, ref, in.(interface{ Ref() Ref }).Ref())
	}
	_, _, in := launch(OperationGCDryRunRef())
	require.True(t, in.(OperationGCInput).DryRun)
}

func TestBadRefsAreRefused(t *testing.T) {
	inc := lake.NewID().String()
	for _, s := range []string{
		"", "drop-table", "drop-table/", "drop-table/ns/t", "drop-table/ns/t/" + inc + "/x", "drop-table/ns//" + inc,
		"drop-table/ns/../" + inc, "drop-table/ns/t/not-an-id", "other/ns/t/" + inc, "procedure-sweep/x",
		"operation-gc/", "operation-gc/x", "table-maintenance/ns/t", "table-maintenance/deployment",
	} {
		_, err := ParseRef(s)
		require.Truef(t, lake.Is(err, lake.Invalid), "%q: %v", s, err)
	}
}

func TestUIURL(t *testing.T) {
	c := NewClient(nil, "lake", "http://127.0.0.1:8233/")
	require.Equal(t, "http://127.0.0.1:8233/namespaces/lake/workflows/drop-table%2Fns%2Ft%2Fx", c.UIURL("drop-table/ns/t/x"))
	require.Empty(t, NewClient(nil, "lake", "").UIURL("x"))
}

// TestArgumentsStaySmall holds the promise of 4 KiB for what goes to Temporal.
func TestArgumentsStaySmall(t *testing.T) {
	name := strings.Repeat("n", lake.MaxNameBytes)
	in := DropTableInput{Namespace: name, Name: name, Incarnation: lake.NewID(), Carry: Carry{LastError: strings.Repeat("e", 600)}}
	for _, v := range []any{in, in.Step(), TableMaintenanceInput(in), OperationGCInput{Carry: in.Carry}} {
		b, err := json.Marshal(v)
		require.NoError(t, err)
		require.Less(t, len(b), 4096)
	}
	require.Less(t, len(in.Ref().String()), 1000, "Temporal bounds workflow ids")
}
