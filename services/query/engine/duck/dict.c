/* Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0
 *
 * Dictionaries for columns that a statement groups by.
 *
 * DuckDB groups by hashing each row's value and comparing it with the one that
 * it finds. For a vector that is known to hold few distinct values it does so
 * once for each of them; DuckDB's own tables and Parquet files come to it that
 * way, but a table function has no such vectors to give: the C API makes a
 * dictionary vector (duckdb_slice_vector) without the size of its dictionary,
 * and without it DuckDB does not know that there are few.
 *
 * So values are numbered here as they come, at a cost far below that of a hash
 * of DuckDB's, and the size is told by the C++ function behind the C API. It is
 * one of the linked release, whose name the linker knows or fails: there is no
 * way to call a wrong one. Its parameters are pointers and numbers.
 *
 * A column that turns out to have many values, or long ones, is filled as usual
 * from then on.
 */
#include "scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __linux__
extern void lake_vector_dictionary(duckdb_vector vector, duckdb_vector dictionary, uint64_t size, duckdb_selection_vector sel,
                                   uint64_t n) __asm__("_ZN6duckdb6Vector10DictionaryERS0_mRKNS_15SelectionVectorEm");
#endif

/* DuckDB looks at a dictionary of a vector of 2,048 rows only if it has fewer
 * values than half of that. */
#define MOST_VALUES 1000
/* The slots of the table that finds a text: a power of two, and so many that
 * they are never full. */
#define SLOTS 4096
/* The window that integers must lie in, around the first of them. */
#define WINDOW 4096
#define NONE 0xffff

struct lake_dict {
	int32_t kind;
	int32_t width;    /* of an integer; negative: unsigned */
	bool many;        /* given up */
	bool based;       /* base is set */
	uint64_t base;    /* of the window */
	uint32_t count;   /* values, a null among them */
	uint32_t null_at; /* the place of the null, or NONE */
	duckdb_vector values;
	uint16_t places[SLOTS > WINDOW ? SLOTS : WINDOW]; /* of values, one up; 0: none */
};

lake_dict *lake_new_dict(int32_t kind, int32_t width) {
#ifndef __linux__
	return NULL;
#endif
	if (kind != LAKE_TEXT32 && kind != LAKE_FIXED) {
		return NULL;
	}
	lake_dict *d = calloc(1, sizeof *d);
	if (d) {
		d->kind = kind;
		d->width = width;
		d->null_at = NONE;
	}
	return d;
}

void lake_free_dict(lake_dict *d) {
	if (d && d->values) {
		duckdb_destroy_vector(&d->values);
	}
	free(d);
}

static int null_place(lake_dict *d) {
	if (d->null_at == NONE) {
		duckdb_vector_ensure_validity_writable(d->values);
		uint64_t *mask = duckdb_vector_get_validity(d->values);
		d->null_at = d->count++;
		mask[d->null_at >> 6] &= ~(1ULL << (d->null_at & 63));
	}
	return (int)d->null_at;
}

/* A text of at most 12 bytes as DuckDB holds it: all of it in two words. */
static void words_of(const lake_node *node, int64_t from, uint32_t len, uint64_t words[2]) {
	words[0] = len;
	words[1] = 0;
	if (from + 12 > node->data_bytes) { /* loads of 8 bytes would leave the buffer */
		uint8_t text[12] = {0};
		memcpy(text, node->data + from, len);
		uint32_t first;
		memcpy(&first, text, 4);
		words[0] |= (uint64_t)first << 32;
		memcpy(&words[1], text + 4, 8);
		return;
	}
	uint64_t low, high;
	memcpy(&low, node->data + from, 8);
	memcpy(&high, node->data + from + 4, 8);
	int head = len < 4 ? (int)len : 4, rest = (int)len - head;
	words[0] |= (low & ((1ULL << 8 * head) - 1)) << 32;
	words[1] = rest == 8 ? high : high & ((1ULL << 8 * rest) - 1);
}

static int new_text(lake_dict *d, const uint64_t words[2], const uint8_t *text, uint32_t len, uint32_t slot, char *error) {
	if (!lake_utf8(text, len)) {
		snprintf(error, LAKE_ERROR_BYTES, "corrupt data: text that is not UTF-8");
		return -1;
	}
	if (d->count >= MOST_VALUES) {
		d->many = true;
		return 0;
	}
	memcpy((uint64_t *)duckdb_vector_get_data(d->values) + 2 * d->count, words, 16);
	d->places[slot] = (uint16_t)++d->count;
	return 0;
}

/* Numbers the texts of n rows, which begin with offset first. Stops with many
 * set where that is no use. */
static int number_texts(lake_dict *d, const lake_node *node, int64_t src, int64_t n, sel_t *sel, char *error) {
	const int32_t *ends = (const int32_t *)node->offsets + node->offset + src;
	const uint64_t *values = duckdb_vector_get_data(d->values);
	if (ends[0] < 0 || ends[n] > node->data_bytes) {
		d->many = true; /* who fills it as usual finds out what is wrong */
		return 0;
	}
	for (int64_t i = 0; i < n; i++) {
		if (node->validity && !lake_is_valid(node, src + i)) {
			sel[i] = (sel_t)null_place(d);
			continue;
		}
		int64_t from = ends[i], len = (int64_t)ends[i + 1] - from;
		if (len < 0 || len > 12 || from < ends[0] || ends[i + 1] > ends[n]) {
			d->many = true;
			return 0;
		}
		uint64_t words[2];
		words_of(node, from, (uint32_t)len, words);
		uint64_t hash = (words[0] * 0x9e3779b97f4a7c15ULL ^ words[1]) * 0xff51afd7ed558ccdULL;
		uint32_t slot = (uint32_t)(hash >> 52) & (SLOTS - 1);
		for (;; slot = (slot + 1) & (SLOTS - 1)) {
			uint32_t place = d->places[slot];
			if (place == 0) {
				if (new_text(d, words, node->data + from, (uint32_t)len, slot, error)) {
					return -1;
				}
				if (d->many) {
					return 0;
				}
				place = d->count;
			}
			if (values[2 * (place - 1)] == words[0] && values[2 * (place - 1) + 1] == words[1]) {
				sel[i] = place - 1;
				break;
			}
		}
	}
	return 0;
}

/* A value that was not there yet gets the next place; false when there are too
 * many. */
static bool new_integer(lake_dict *d, const uint8_t *value, uint64_t at) {
	if (d->count >= MOST_VALUES) {
		d->many = true;
		return false;
	}
	memcpy((uint8_t *)duckdb_vector_get_data(d->values) + (uint64_t)d->count * d->width, value, d->width);
	d->places[at] = (uint16_t)++d->count;
	return true;
}

/* Numbers the integers of n rows. Whether they are signed does not matter: what
 * counts is how far they are apart, around the circle of 64 bits, and their
 * bytes are kept as they are. */
#define NUMBER_INTEGERS(name, type)                                                                                       \
	static void name(lake_dict *d, const lake_node *node, int64_t src, int64_t n, sel_t *restrict sel) {                   \
		const type *data = (const type *)node->data + node->offset + src;                                                  \
		const uint16_t *places = d->places;                                                                                \
		const uint64_t base = d->base;                                                                                     \
		for (int64_t i = 0; i < n; i++) {                                                                                  \
			if (node->validity && !lake_is_valid(node, src + i)) {                                                         \
				sel[i] = (sel_t)null_place(d);                                                                             \
				continue;                                                                                                  \
			}                                                                                                              \
			uint64_t at = (uint64_t)(int64_t)data[i] - base;                                                               \
			if (at >= WINDOW || (places[at] == 0 && !new_integer(d, (const uint8_t *)(data + i), at))) {                   \
				d->many = true;                                                                                            \
				return;                                                                                                    \
			}                                                                                                              \
			sel[i] = (sel_t)places[at] - 1;                                                                                \
		}                                                                                                                  \
	}

NUMBER_INTEGERS(number_16, int16_t)
NUMBER_INTEGERS(number_32, int32_t)
NUMBER_INTEGERS(number_64, int64_t)

/* Places the window around the first value. */
static void set_base(lake_dict *d, const lake_node *node, int64_t src, int64_t n) {
	for (int64_t i = 0; !d->based && i < n; i++) {
		if (lake_is_valid(node, src + i)) {
			int64_t at = node->offset + src + i;
			int64_t first = d->width == 2   ? ((const int16_t *)node->data)[at]
			                : d->width == 4 ? ((const int32_t *)node->data)[at]
			                                : ((const int64_t *)node->data)[at];
			d->base = (uint64_t)first - WINDOW / 2;
			d->based = true;
		}
	}
}

static void number_integers(lake_dict *d, const lake_node *node, int64_t src, int64_t n, sel_t *sel) {
	set_base(d, node, src, n);
	switch (d->width) {
	case 2:
		number_16(d, node, src, n, sel);
		return;
	case 4:
		number_32(d, node, src, n, sel);
		return;
	case 8:
		number_64(d, node, src, n, sel);
		return;
	}
	d->many = true;
}

#ifdef __linux__
static bool begin(lake_dict *d, duckdb_vector v) {
	if (!d->values) {
		duckdb_logical_type type = duckdb_vector_get_column_type(v);
		d->values = duckdb_create_vector(type, MOST_VALUES + 1); /* and a null */
		duckdb_destroy_logical_type(&type);
	}
	return d->values != NULL;
}

int lake_fill_dict(lake_dict *d, const lake_node *node, int64_t src, int64_t n, duckdb_vector v, char *error) {
	if (d->many || !begin(d, v)) {
		return 0;
	}
	/* One of its own for each vector: the vector keeps it as long as it needs it. */
	duckdb_selection_vector sel = duckdb_create_selection_vector((idx_t)n);
	sel_t *places = duckdb_selection_vector_get_data_ptr(sel);
	int failed = 0;
	if (d->kind == LAKE_TEXT32) {
		failed = number_texts(d, node, src, n, places, error);
	} else {
		number_integers(d, node, src, n, places);
	}
	bool use = !failed && !d->many;
	if (use) {
		lake_vector_dictionary(v, d->values, d->count, sel, (uint64_t)n);
	}
	duckdb_destroy_selection_vector(sel);
	return failed ? -1 : use;
}
#else
int lake_fill_dict(lake_dict *d, const lake_node *node, int64_t src, int64_t n, duckdb_vector v, char *error) {
	return 0;
}
#endif
