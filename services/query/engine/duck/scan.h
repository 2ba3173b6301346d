/* Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0
 *
 * lake_scan(id): the table function through which DuckDB reads Lake's tables.
 */
#ifndef LAKE_SCAN_H
#define LAKE_SCAN_H

#include "duckdb_api.h"

/* How a node's Arrow buffers become a DuckDB vector. */
enum lake_kind {
	LAKE_FIXED,     /* width bytes a value, same representation on both sides */
	LAKE_BOOL,      /* bits to bytes */
	LAKE_SCALE32,   /* int32 times factor to int64 */
	LAKE_SCALE64,   /* int64 times factor to int64 */
	LAKE_DATE64,    /* int64 milliseconds to int32 days */
	LAKE_DECIMAL,   /* int128 to width bytes */
	LAKE_TEXT32,    /* int32 offsets, checked UTF-8 */
	LAKE_TEXT64,    /* int64 offsets, checked UTF-8 */
	LAKE_BLOB32,    /* int32 offsets, any bytes */
	LAKE_BLOB64,    /* int64 offsets, any bytes */
	LAKE_BLOBFIXED, /* width bytes a value, to a blob */
	LAKE_LIST32,    /* int32 offsets, one child; also maps */
	LAKE_LIST64,    /* int64 offsets, one child */
	LAKE_ARRAY,     /* width values of one child a row */
	LAKE_STRUCT,    /* children side by side */
	LAKE_DICT,      /* width bytes an index (negative: unsigned), one child: the dictionary */
	LAKE_NULLS      /* no buffers: every value is null */
};

/*
 * One array of the batch being scanned. Nodes of a column lie in pre-order, so
 * a node's first child follows it and `subtree` leads to the next sibling.
 * Pointers refer to Arrow buffers the Go side keeps alive and pinned.
 */
typedef struct lake_node {
	int32_t kind;
	int32_t width;
	int32_t subtree;
	int32_t children;
	int64_t factor;
	int64_t offset;
	int64_t length;
	int64_t data_bytes;
	const uint8_t *validity; /* NULL: no nulls */
	const uint8_t *data;
	const void *offsets;
} lake_node;

#define LAKE_ERROR_BYTES 240

/* The few distinct values of a column, as one DuckDB thread has found them so
 * far; see dict.c. */
typedef struct lake_dict lake_dict;

/* A column of a batch as a vector of DuckDB's; see lent.c. */
typedef struct lake_lent lake_lent;

/* A DuckDB thread's place in a scan: the batch it holds and how far it got. */
typedef struct lake_local {
	uint64_t handle; /* the Go side's state; 0 until the first batch */
	int64_t rows;
	int64_t position;
	int32_t columns;
	lake_node **roots; /* one a projected column; NULL for a row marker */
	lake_node *nodes;
	lake_lent *lents;  /* one a projected column; NULL where none are used */
	lake_dict **dicts; /* one a projected column, NULL for most; NULL for none at all */
	char error[LAKE_ERROR_BYTES];
} lake_local;

/* Registers lake_scan on the connection; slot tells the Go side whose tables
 * the ids mean. */
duckdb_state lake_register_scan(duckdb_connection connection, uint64_t slot);

/* Fills n rows of v from row src of the node, at dst. Returns 0, or -1 with a
 * message in error. */
int lake_fill(const lake_node *node, int64_t src, int64_t n, duckdb_vector v, int64_t dst, char *error);

/* Fills the first n rows of v, where that is better, with places in a
 * dictionary: 1. Returns 0 when the rows must be filled as usual, and -1 with a
 * message in error. */
int lake_fill_dict(lake_dict *dict, const lake_node *node, int64_t src, int64_t n, duckdb_vector v, char *error);

/* Makes a dictionary for a column that a node of that kind and width holds; NULL
 * where there cannot be one. */
lake_dict *lake_new_dict(int32_t kind, int32_t width);
void lake_free_dict(lake_dict *dict);

/* Whether lake_lend may be used at all. */
bool lake_can_lend(void);

/* Lets v be n rows of the node from row src on, without copying them; false when
 * they must be copied. */
bool lake_lend(lake_lent *lent, const lake_node *node, int64_t src, int64_t n, duckdb_vector v);

/* The vectors of the columns of a batch. They end with the batch, and the memory
 * of lake_new_lents with free. */
lake_lent *lake_new_lents(int32_t columns);
lake_lent *lake_lent_at(lake_lent *lents, int32_t column);
void lake_end_lents(lake_lent *lents, int32_t columns);

/* Parts of lake_fill that others share. */
void lake_fill_validity(const lake_node *node, int64_t src, int64_t n, duckdb_vector v);
bool lake_is_valid(const lake_node *node, int64_t row);
bool lake_utf8(const uint8_t *text, int64_t n);

#endif
