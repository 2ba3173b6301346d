/* Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0 */
#include "result.h"

typedef struct {
	const int32_t *shapes;
	const int64_t *sizes;
	lake_vec *out;
	int64_t at;
} walk;

static void describe(walk *w, duckdb_vector v, int64_t length) {
	int64_t at = w->at++;
	int32_t shape = w->shapes[at];
	w->out[at].data = duckdb_vector_get_data(v);
	w->out[at].validity = duckdb_vector_get_validity(v);
	w->out[at].length = length;
	if (shape == LAKE_OF_LIST) {
		describe(w, duckdb_list_vector_get_child(v), (int64_t)duckdb_list_vector_get_size(v));
	} else if (shape == LAKE_OF_ARRAY) {
		describe(w, duckdb_array_vector_get_child(v), length * w->sizes[at]);
	}
	for (int32_t c = 0; c < shape; c++) {
		describe(w, duckdb_struct_vector_get_child(v, c), length);
	}
}

void lake_describe(duckdb_data_chunk chunk, const int32_t *shapes, const int64_t *sizes, int32_t columns,
                   lake_vec *out) {
	walk w = {shapes, sizes, out, 0};
	int64_t rows = (int64_t)duckdb_data_chunk_get_size(chunk);
	for (int32_t c = 0; c < columns; c++) {
		describe(&w, duckdb_data_chunk_get_vector(chunk, c), rows);
	}
}
