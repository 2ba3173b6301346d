/* Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include <time.h>

/*
 * duckdb_execute_pending asks for work again and again, without a pause, while
 * other threads do the last of it: for a scan that waits for its rows that burns a
 * processor, which whoever brings the rows may need. So the work is done task by
 * task, and where there is none the thread sleeps.
 */
#define LAKE_PAUSE 50000 /* nanoseconds */

static void sleep_for(long nanoseconds) {
	const struct timespec pause = {0, nanoseconds};
	nanosleep(&pause, NULL);
}

duckdb_state lake_run(duckdb_pending_result pending, duckdb_result *result) {
	for (;;) {
		switch (duckdb_pending_execute_task(pending)) {
		case DUCKDB_PENDING_RESULT_NOT_READY:
			break;
		case DUCKDB_PENDING_NO_TASKS_AVAILABLE:
			sleep_for(LAKE_PAUSE);
			break;
		case DUCKDB_PENDING_ERROR:
			return DuckDBError; /* the reason is duckdb_pending_error's to tell */
		default:
			return duckdb_execute_pending(pending, result);
		}
	}
}

/*
 * duckdb_execute_tasks_state would sleep better, but returns the thread's memory
 * to the system when it ends, which the next statement then has to get back page
 * by page.
 */
void lake_assist(duckdb_task_state state) {
	const long longest = 16 * LAKE_PAUSE;
	long pause = LAKE_PAUSE;
	while (!duckdb_task_state_is_finished(state)) {
		if (duckdb_execute_n_tasks_state(state, UINT64_MAX) > 0) {
			pause = LAKE_PAUSE;
			continue;
		}
		sleep_for(pause);
		pause = pause < longest ? 2 * pause : longest;
	}
}
