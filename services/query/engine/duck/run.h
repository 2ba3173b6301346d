/* Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0
 *
 * The first part of an execution, up to the first rows.
 */
#ifndef LAKE_RUN_H
#define LAKE_RUN_H

#include "duckdb_api.h"

/* Works on a statement until its first rows are ready, or there are none, and
 * opens its result. Of a failure the pending result knows the reason or, if it
 * does not, the result. */
duckdb_state lake_run(duckdb_pending_result pending, duckdb_result *result);

/* Works for whatever statement runs, until duckdb_finish_execution. */
void lake_assist(duckdb_task_state state);

#endif
