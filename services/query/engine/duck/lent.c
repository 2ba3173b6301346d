/* Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0
 *
 * Columns that DuckDB reads where they lie.
 *
 * Values of fixed width mean the same to Arrow and to DuckDB, whose own tables
 * hand their blocks to a query as they are. The C API only lets one write into
 * vectors. So a column of a batch is made a vector of DuckDB's, around the
 * batch's own buffer, by the C++ constructor for that, and the rows of each
 * output chunk are a slice of it. All of it are functions of the linked release:
 * the linker finds them by name, parameters included, or fails. What it cannot
 * know is the size of a vector; lake_can_lend looks whether one fits.
 *
 * DuckDB never writes to what a scan gave it. In an engine process it could not:
 * the rows are mapped for reading.
 */
#include "scan.h"

#include <stdlib.h>
#include <string.h>

/* Far more than a vector of DuckDB 1.5 takes. */
#define VECTOR_BYTES 1024

struct lake_lent {
	_Alignas(16) unsigned char vector[VECTOR_BYTES];
	bool made;
};

#ifdef __linux__

extern void lake_vector_over(void *self, duckdb_logical_type moved_from,
                             const void *data) __asm__("_ZN6duckdb6VectorC1ENS_11LogicalTypeEPh");
extern void lake_vector_end(void *self) __asm__("_ZN6duckdb6VectorD1Ev");
extern void lake_vector_slice(duckdb_vector self, const void *other, uint64_t from,
                              uint64_t to) __asm__("_ZN6duckdb6Vector5SliceERKS0_mm");

static void make(lake_lent *l, duckdb_logical_type type, const void *data) {
	lake_vector_over(l->vector, type, data);
	duckdb_destroy_logical_type(&type); /* what the constructor left of it */
	l->made = true;
}

static void end(lake_lent *l) {
	if (l->made) {
		lake_vector_end(l->vector);
		l->made = false;
	}
}

bool lake_can_lend(void) {
	lake_lent probe;
	uint64_t value = 0;
	memset(&probe, 0xa5, sizeof probe);
	make(&probe, duckdb_create_logical_type(9), &value);
	bool fits = true;
	for (int i = VECTOR_BYTES / 2; i < VECTOR_BYTES; i++) {
		fits = fits && probe.vector[i] == 0xa5;
	}
	end(&probe);
	return fits;
}

/* Fewer rows are copied sooner than they are lent. */
#define LEAST_ROWS 256

bool lake_lend(lake_lent *l, const lake_node *node, int64_t src, int64_t n, duckdb_vector v) {
	if (node->kind != LAKE_FIXED || n < LEAST_ROWS) {
		return false;
	}
	if (!l->made) {
		make(l, duckdb_vector_get_column_type(v), node->data + node->offset * node->width);
	}
	lake_vector_slice(v, l->vector, (uint64_t)src, (uint64_t)(src + n));
	lake_fill_validity(node, src, n, v);
	return true;
}

#else

bool lake_can_lend(void) { return false; }

bool lake_lend(lake_lent *l, const lake_node *node, int64_t src, int64_t n, duckdb_vector v) { return false; }

static void end(lake_lent *l) {}

#endif

lake_lent *lake_new_lents(int32_t columns) { return calloc((size_t)columns + 1, sizeof(lake_lent)); }

lake_lent *lake_lent_at(lake_lent *lents, int32_t column) { return lents + column; }

void lake_end_lents(lake_lent *lents, int32_t columns) {
	for (int32_t c = 0; lents && c < columns; c++) {
		end(lents + c);
	}
}
