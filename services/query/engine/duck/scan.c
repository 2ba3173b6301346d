/* Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0
 *
 * The table function itself: bind and init ask Go, the hot path stays in C
 * and calls Go once a batch.
 */
#include "scan.h"

#include <stdlib.h>
#include <string.h>

/* Implemented in Go (callbacks.go). They never panic and report errors
 * through the info objects or the local's error text. */
extern int lakeScanBind(uint64_t slot, uint64_t table, duckdb_bind_info info);
extern uint64_t lakeScanOpen(uint64_t slot, uint64_t table, duckdb_init_info info);
extern void lakeScanClose(uint64_t scan);
extern int lakeScanNext(uint64_t scan, lake_local *local);
extern void lakeLocalClose(uint64_t local);

typedef struct {
	uint64_t slot;
	uint64_t table;
} lake_bound;

static void bind_table(duckdb_bind_info info) {
	uint64_t slot = *(uint64_t *)duckdb_bind_get_extra_info(info);
	duckdb_value id = duckdb_bind_get_parameter(info, 0);
	uint64_t table = duckdb_get_uint64(id);
	duckdb_destroy_value(&id);
	if (lakeScanBind(slot, table, info) != 0) {
		return;
	}
	lake_bound *bound = malloc(sizeof *bound);
	if (!bound) {
		duckdb_bind_set_error(info, "out of memory");
		return;
	}
	bound->slot = slot;
	bound->table = table;
	duckdb_bind_set_bind_data(info, bound, free);
}

static void close_global(void *data) {
	lakeScanClose(*(uint64_t *)data);
	free(data);
}

static void open_global(duckdb_init_info info) {
	lake_bound *bound = duckdb_init_get_bind_data(info);
	uint64_t *scan = malloc(sizeof *scan);
	if (!scan) {
		duckdb_init_set_error(info, "out of memory");
		return;
	}
	*scan = lakeScanOpen(bound->slot, bound->table, info);
	if (*scan == 0) {
		free(scan);
		return;
	}
	duckdb_init_set_init_data(info, scan, close_global);
}

static void close_local(void *data) {
	lake_local *local = data;
	lake_end_lents(local->lents, local->columns);
	free(local->lents);
	if (local->handle != 0) {
		lakeLocalClose(local->handle);
	}
	for (int32_t c = 0; local->dicts && c < local->columns; c++) {
		lake_free_dict(local->dicts[c]);
	}
	free(local->dicts);
	free(local->roots);
	free(local->nodes);
	free(local);
}

static void open_local(duckdb_init_info info) {
	lake_local *local = calloc(1, sizeof *local);
	if (!local) {
		duckdb_init_set_error(info, "out of memory");
		return;
	}
	duckdb_init_set_init_data(info, local, close_local);
}

/*
 * Emits up to one vector of rows. Strings point into the batch, which lives
 * until this thread asks for its next one or closes: by then the pipeline has
 * consumed or copied every vector made from it.
 */
static void scan_table(duckdb_function_info info, duckdb_data_chunk output) {
	lake_local *local = duckdb_function_get_local_init_data(info);
	while (local->position >= local->rows) {
		lake_end_lents(local->lents, local->columns);
		int got = lakeScanNext(*(uint64_t *)duckdb_function_get_init_data(info), local);
		if (got < 0) {
			duckdb_function_set_error(info, local->error);
			return;
		}
		if (got == 0) {
			duckdb_data_chunk_set_size(output, 0);
			return;
		}
	}
	int64_t n = local->rows - local->position;
	int64_t most = (int64_t)duckdb_vector_size();
	if (n > most) {
		n = most;
	}
	for (int32_t c = 0; c < local->columns; c++) {
		if (!local->roots[c]) {
			continue;
		}
		duckdb_vector v = duckdb_data_chunk_get_vector(output, c);
		if (local->dicts && local->dicts[c]) {
			int filled = lake_fill_dict(local->dicts[c], local->roots[c], local->position, n, v, local->error);
			if (filled < 0) {
				duckdb_function_set_error(info, local->error);
				return;
			}
			if (filled) {
				continue;
			}
		}
		if (local->lents && lake_lend(lake_lent_at(local->lents, c), local->roots[c], local->position, n, v)) {
			continue;
		}
		if (lake_fill(local->roots[c], local->position, n, v, 0, local->error) != 0) {
			duckdb_function_set_error(info, local->error);
			return;
		}
	}
	local->position += n;
	duckdb_data_chunk_set_size(output, n);
}

duckdb_state lake_register_scan(duckdb_connection connection, uint64_t slot) {
	uint64_t *extra = malloc(sizeof *extra);
	if (!extra) {
		return DuckDBError;
	}
	*extra = slot;
	duckdb_table_function f = duckdb_create_table_function();
	duckdb_table_function_set_name(f, "lake_scan");
	duckdb_logical_type ubigint = duckdb_create_logical_type(9);
	duckdb_table_function_add_parameter(f, ubigint);
	duckdb_destroy_logical_type(&ubigint);
	duckdb_table_function_set_extra_info(f, extra, free);
	duckdb_table_function_set_bind(f, bind_table);
	duckdb_table_function_set_init(f, open_global);
	duckdb_table_function_set_local_init(f, open_local);
	duckdb_table_function_set_function(f, scan_table);
	duckdb_table_function_supports_projection_pushdown(f, true);
	duckdb_state state = duckdb_register_table_function(connection, f);
	duckdb_destroy_table_function(&f);
	return state;
}
