// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package workflows

import (
	"fmt"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/lakeplane/lake/lake"
)

// launch returns how the procedure's workflow is started: the options, the type
// and the input. ref must be valid, as [ParseRef] returns it.
func launch(ref Ref) (options client.StartWorkflowOptions, workflow string, input any) {
	switch ref.Kind {
	case OperationGCKind:
		in := OperationGCInput{DryRun: ref == OperationGCDryRunRef()}
		options = launchOptions(ref, "Forget old append operations",
			"Removes the records of append operations that are older than any repetition that would be accepted.")
		options.TypedSearchAttributes = temporal.NewSearchAttributes(AttributeProcedure.ValueSet(string(ref.Kind)))
		return options, OperationGCWorkflow, in
	case CatalogFinalizeKind:
		options = launchOptions(ref, "Make the directory authoritative",
			"Checks that every metadata server replaces the directory generation, waits for an approval, and commits the marker with a fresh generation.")
		options.TypedSearchAttributes = temporal.NewSearchAttributes(AttributeProcedure.ValueSet(string(ref.Kind)))
		return options, CatalogFinalizeWorkflow, MigrationInput{Kind: ref.Kind, ID: ref.ID}
	case TableMaintenanceKind:
		in, _ := ParseTableMaintenanceID(ref.ID) // ParseRef has done so
		return tableOptions(ref, in.Table(), "Maintain table "+in.Table().String(),
			fmt.Sprintf("Joins what small appends left behind in incarnation `%s` of table `%s`. Rows and their order stay.", in.Incarnation, in.Table())), TableMaintenanceWorkflow, in
	}
	in, _ := ParseDropTableID(ref.ID)
	options = tableOptions(ref, in.Table(), "Drop table "+in.Table().String(),
		fmt.Sprintf("Deletes the objects and records of incarnation `%s` of table `%s`, which left the catalog when it was dropped.", in.Incarnation, in.Table()))
	// Its first phase comes with the start: most drops end in their first workflow
	// task, and until then nobody else would show it.
	options.TypedSearchAttributes = temporal.NewSearchAttributes(options.TypedSearchAttributes.Copy(), AttributePhase.ValueSet(string(PhaseWaiting)))
	return options, DropTableWorkflow, in
}

// tableOptions are those of a procedure that works on a table.
func tableOptions(ref Ref, table lake.TableName, summary, details string) client.StartWorkflowOptions {
	o := launchOptions(ref, summary, details)
	o.TypedSearchAttributes = temporal.NewSearchAttributes(
		AttributeProcedure.ValueSet(string(ref.Kind)),
		AttributeNamespace.ValueSet(table.Namespace),
		AttributeTable.ValueSet(table.Name),
	)
	return o
}

func launchOptions(ref Ref, summary, details string) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID:                       ref.String(),
		TaskQueue:                TaskQueue,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary:            summary,
		StaticDetails:            details,
	}
}
