/* Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0
 *
 * One call that tells Go where every vector of a result chunk lies.
 */
#ifndef LAKE_RESULT_H
#define LAKE_RESULT_H

#include "duckdb_api.h"

/* A vector of a result chunk; children follow in pre-order. */
typedef struct lake_vec {
	const void *data;
	const uint64_t *validity; /* NULL: no nulls */
	int64_t length;           /* values the vector holds */
} lake_vec;

/* What a vector's children are, in the same pre-order. */
enum lake_shape { LAKE_LEAF = 0, LAKE_OF_LIST = -1, LAKE_OF_ARRAY = -2 /* > 0: a struct of so many */ };

/* Writes one lake_vec for each entry of shapes. sizes holds the row width of
 * arrays. */
void lake_describe(duckdb_data_chunk chunk, const int32_t *shapes, const int64_t *sizes, int32_t columns,
                   lake_vec *out);

#endif
