// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package workflows is the catalogue of Lake's durable procedures: their names,
// ids, queue, inputs, step types and status, and the client that starts
// and controls them.
//
//	procedure        workflow id                                 started by
//	DropTable        drop-table/<ns>/<name>/<incarnation>        a drop, or the sweep
//	TableMaintenance table-maintenance/<ns>/<name>/<incarnation> a request, the planner, or the sweep
//	OperationGC      operation-gc/deployment                     the planner, or the sweep
//	ProcedurePlan    <schedule>-<time>                           schedules "operation-gc", "table-maintenance"
//	ProcedureSweep   procedure-sweep-<time>                      schedule "procedure-sweep"
//
// A workflow only drives. The truth is in the metastore: an intent (for a drop,
// the tombstone) says what must happen, and the procedure's record says how far
// it got. Losing Temporal's database, terminating a workflow or running
// two workers for one procedure may delay an effect; it never loses or repeats
// one. Three rules make it so:
//
//   - Intent first. A service commits the intent and then calls the [Starter].
//     If that fails, the sweep finds the intent and starts the workflow.
//   - Every effect of an activity is one metastore commit that also replaces
//     the exact record the attempt claimed (package activities/lease), so an
//     older attempt fails at its next write.
//   - Nothing sensitive goes to Temporal: inputs carry names and numbers, never
//     SQL, rows, addresses or credentials.
//
// Procedures live in packages of their own under this one and import nothing
// that does I/O. Services import this package and none below it.
package workflows
