/* Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0
 *
 * Arrow buffers to DuckDB vectors. Every offset and index is checked against
 * its buffer before it is followed: the data come from stored files.
 */
#include "scan.h"

#include <stdio.h>
#include <string.h>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3") /* for the loops that a compiler can do several steps of at once */
#endif

#define FAIL(...) return snprintf(error, LAKE_ERROR_BYTES, __VA_ARGS__), -1

static bool bit(const uint8_t *bits, int64_t i) { return bits[i >> 3] >> (i & 7) & 1; }

static bool is_valid(const lake_node *n, int64_t row) { return !n->validity || bit(n->validity, n->offset + row); }

bool lake_is_valid(const lake_node *node, int64_t row) { return is_valid(node, row); }

/* The next up-to-64 bits at position i, of which n matter. Reads no byte past
 * the last one that holds a wanted bit. */
static uint64_t bits_at(const uint8_t *bits, int64_t i, int64_t n) {
	const uint8_t *p = bits + (i >> 3);
	int shift = i & 7;
	int64_t bytes = (shift + n + 7) >> 3;
	uint64_t word = 0;
	memcpy(&word, p, bytes > 8 ? 8 : bytes);
	word >>= shift;
	if (bytes > 8) {
		word |= (uint64_t)p[8] << (64 - shift);
	}
	return word;
}

static uint64_t low_mask(int64_t n) { return n >= 64 ? ~0ULL : (1ULL << n) - 1; }

static bool all_valid(const lake_node *node, int64_t src, int64_t n) {
	for (int64_t i = 0; i < n; i += 64) {
		int64_t k = n - i < 64 ? n - i : 64;
		uint64_t want = low_mask(k);
		if ((bits_at(node->validity, node->offset + src + i, k) & want) != want) {
			return false;
		}
	}
	return true;
}

/* Vectors arrive with every row valid, so only nulls are written. */
static void fill_validity(const lake_node *node, int64_t src, int64_t n, duckdb_vector v, int64_t dst) {
	if (!node->validity || all_valid(node, src, n)) {
		return;
	}
	duckdb_vector_ensure_validity_writable(v);
	uint64_t *mask = duckdb_vector_get_validity(v);
	for (int64_t i = 0; i < n;) {
		int64_t at = (dst + i) & 63;
		int64_t k = n - i < 64 - at ? n - i : 64 - at;
		uint64_t want = low_mask(k);
		uint64_t word = bits_at(node->validity, node->offset + src + i, k) & want;
		mask[(dst + i) >> 6] = (mask[(dst + i) >> 6] & ~(want << at)) | word << at;
		i += k;
	}
}

void lake_fill_validity(const lake_node *node, int64_t src, int64_t n, duckdb_vector v) {
	fill_validity(node, src, n, v, 0);
}

/* Marks rows null all the way down: DuckDB wants the children of a null
 * struct or array to be null as well. */
static void set_null(const lake_node *node, duckdb_vector v, int64_t row, int64_t n) {
	duckdb_vector_ensure_validity_writable(v);
	uint64_t *mask = duckdb_vector_get_validity(v);
	for (int64_t i = row; i < row + n; i++) {
		mask[i >> 6] &= ~(1ULL << (i & 63));
	}
	if (node->kind == LAKE_ARRAY) {
		set_null(node + 1, duckdb_array_vector_get_child(v), row * node->width, n * node->width);
	} else if (node->kind == LAKE_STRUCT) {
		const lake_node *child = node + 1;
		for (int32_t c = 0; c < node->children; c++, child += child->subtree) {
			set_null(child, duckdb_struct_vector_get_child(v, c), row, n);
		}
	}
}

static bool ascii(const uint8_t *p, int64_t n) {
	uint64_t high = 0;
	int64_t i = 0;
	for (; i + 32 <= n; i += 32) {
		uint64_t a, b, c, d;
		memcpy(&a, p + i, 8);
		memcpy(&b, p + i + 8, 8);
		memcpy(&c, p + i + 16, 8);
		memcpy(&d, p + i + 24, 8);
		high |= (a | b) | (c | d);
	}
	for (; i + 8 <= n; i += 8) {
		uint64_t word;
		memcpy(&word, p + i, 8);
		high |= word;
	}
	for (; i < n; i++) {
		high |= (uint64_t)p[i] << 56;
	}
	return (high & 0x8080808080808080ULL) == 0;
}

/* The length of the valid UTF-8 sequence at p, or 0. */
static int sequence(const uint8_t *p, int64_t left) {
	uint8_t a = p[0];
	if (a < 0x80) {
		return 1;
	}
	int len = a >= 0xC2 && a <= 0xDF ? 2 : a >= 0xE0 && a <= 0xEF ? 3 : a >= 0xF0 && a <= 0xF4 ? 4 : 0;
	if (len == 0 || left < len) {
		return 0;
	}
	for (int i = 1; i < len; i++) {
		if ((p[i] & 0xC0) != 0x80) {
			return 0;
		}
	}
	bool bad = (a == 0xE0 && p[1] < 0xA0) || (a == 0xED && p[1] > 0x9F) || (a == 0xF0 && p[1] < 0x90) ||
	           (a == 0xF4 && p[1] > 0x8F);
	return bad ? 0 : len;
}

static bool utf8(const uint8_t *p, int64_t n) {
	for (int64_t i = 0; i < n;) {
		int step = sequence(p + i, n - i);
		if (step == 0) {
			return false;
		}
		i += step;
	}
	return true;
}

bool lake_utf8(const uint8_t *text, int64_t n) { return utf8(text, n); }

static void put_string(duckdb_string_t *out, const uint8_t *p, int64_t len) {
	duckdb_string_t s;
	memset(&s, 0, sizeof s);
	s.value.inlined.length = (uint32_t)len;
	if (len <= 12) {
		memcpy(s.value.inlined.inlined, p, len);
	} else {
		memcpy(s.value.pointer.prefix, p, 4);
		s.value.pointer.ptr = (char *)p;
	}
	*out = s;
}

/* As put_string where 16 bytes may be read at p, whatever the length: a short
 * string is loaded whole and what is not of it cut off, without a call or a loop
 * of as many steps as it has bytes. */
static inline void put_string_at(duckdb_string_t *out, const uint8_t *p, uint32_t len) {
	uint64_t words[2]; /* length and the first four bytes; the rest */
	uint64_t low, high;
	memcpy(&low, p, 8);
	if (len <= 12) {
		memcpy(&high, p + 4, 8);
		uint64_t first = len >= 4 ? low & 0xffffffff : low & ((1ULL << 8 * len) - 1);
		int rest = len >= 4 ? (int)len - 4 : 0;
		words[1] = rest == 8 ? high : high & ((1ULL << 8 * rest) - 1);
		words[0] = len | first << 32;
	} else {
		words[0] = len | low << 32;
		words[1] = (uint64_t)(uintptr_t)p;
	}
	memcpy(out, words, sizeof words);
}

static int64_t offset_at(const lake_node *node, int64_t row) {
	int64_t i = node->offset + row;
	bool wide = node->kind == LAKE_TEXT64 || node->kind == LAKE_BLOB64 || node->kind == LAKE_LIST64;
	return wide ? ((const int64_t *)node->offsets)[i] : ((const int32_t *)node->offsets)[i];
}

static int check_range(int64_t from, int64_t to, int64_t limit, char *error) {
	if (from < 0 || to < from || to > limit) {
		FAIL("corrupt data: offsets %lld..%lld outside a buffer of %lld", (long long)from, (long long)to,
		     (long long)limit);
	}
	return 0;
}

/* The usual case: offsets of 32 bits, and all bytes are ASCII or need not be
 * text. One look at all offsets together tells whether one is wrong, so that
 * the loop has nothing to check: it returns false for strings that
 * fill_checked_strings has to look at one by one. */
static bool fill_good_strings(const lake_node *node, int64_t src, int64_t n, duckdb_string_t *out) {
	const int32_t *ends = (const int32_t *)node->offsets + node->offset + src;
	int32_t wrong = 0;
	for (int64_t i = 0; i < n; i++) {
		wrong |= ends[i + 1] < ends[i];
	}
	if (wrong) {
		return false;
	}
	/* From here on every offset lies between the first and the last. */
	int64_t whole = n;
	while (whole > 0 && (int64_t)ends[whole - 1] + 16 > node->data_bytes) {
		whole--; /* a load of 16 bytes would leave the buffer */
	}
	for (int64_t i = 0; i < whole; i++) {
		put_string_at(out + i, node->data + ends[i], (uint32_t)(ends[i + 1] - ends[i]));
	}
	for (int64_t i = whole; i < n; i++) {
		put_string(out + i, node->data + ends[i], ends[i + 1] - ends[i]);
	}
	return true;
}

static int fill_checked_strings(const lake_node *node, int64_t src, int64_t n, duckdb_string_t *out, bool check,
                                char *error) {
	int64_t first = offset_at(node, src), last = offset_at(node, src + n);
	for (int64_t i = 0, from = first; i < n; i++) {
		int64_t to = offset_at(node, src + i + 1);
		if (check_range(from, to, last, error)) {
			return -1;
		}
		if (to - from > UINT32_MAX) {
			FAIL("a value of %lld bytes is too large", (long long)(to - from));
		}
		if (check && !utf8(node->data + from, to - from) && is_valid(node, src + i)) {
			FAIL("corrupt data: text that is not UTF-8");
		}
		put_string(out + i, node->data + from, to - from);
		from = to;
	}
	return 0;
}

static int fill_strings(const lake_node *node, int64_t src, int64_t n, duckdb_vector v, int64_t dst, char *error) {
	duckdb_string_t *out = (duckdb_string_t *)duckdb_vector_get_data(v) + dst;
	int64_t first = offset_at(node, src), last = offset_at(node, src + n);
	if (check_range(first, last, node->data_bytes, error)) {
		return -1;
	}
	bool text = node->kind == LAKE_TEXT32 || node->kind == LAKE_TEXT64;
	bool narrow = node->kind == LAKE_TEXT32 || node->kind == LAKE_BLOB32;
	bool check = text && !ascii(node->data + first, last - first);
	if (narrow && !check && fill_good_strings(node, src, n, out)) {
		return 0;
	}
	return fill_checked_strings(node, src, n, out, check, error);
}

static int fill_fixed_blobs(const lake_node *node, int64_t src, int64_t n, duckdb_vector v, int64_t dst) {
	duckdb_string_t *out = (duckdb_string_t *)duckdb_vector_get_data(v) + dst;
	for (int64_t i = 0; i < n; i++) {
		put_string(out + i, node->data + (node->offset + src + i) * node->width, node->width);
	}
	return 0;
}

/* The bits of a byte as eight bytes of 0 or 1. */
static uint64_t spread(uint8_t bits) {
	uint64_t each = bits * 0x0101010101010101ULL & 0x8040201008040201ULL;
	return (each + 0x00406070787c7e7fULL) >> 7 & 0x0101010101010101ULL;
}

static int fill_bools(const lake_node *node, int64_t src, int64_t n, duckdb_vector v, int64_t dst) {
	uint8_t *out = (uint8_t *)duckdb_vector_get_data(v) + dst;
	int64_t at = node->offset + src, i = 0;
	for (; i < n && ((at + i) & 7); i++) {
		out[i] = bit(node->data, at + i);
	}
	for (; i + 8 <= n; i += 8) {
		uint64_t eight = spread(node->data[(at + i) >> 3]);
		memcpy(out + i, &eight, 8);
	}
	for (; i < n; i++) {
		out[i] = bit(node->data, at + i);
	}
	return 0;
}

static int64_t int_at(const uint8_t *data, int width, bool is_signed, int64_t i) {
	uint64_t x = 0;
	memcpy(&x, data + i * width, width);
	if (is_signed && width < 8) {
		int shift = 64 - 8 * width;
		return (int64_t)(x << shift) >> shift;
	}
	return (int64_t)x;
}

static int fill_scaled(const lake_node *node, int64_t src, int64_t n, duckdb_vector v, int64_t dst, char *error) {
	int64_t *out = (int64_t *)duckdb_vector_get_data(v) + dst;
	int width = node->kind == LAKE_SCALE32 ? 4 : 8;
	for (int64_t i = 0; i < n; i++) {
		int64_t x = int_at(node->data, width, true, node->offset + src + i);
		if (__builtin_mul_overflow(x, node->factor, out + i)) {
			out[i] = 0;
			if (is_valid(node, src + i)) {
				FAIL("time value %lld is outside the range of microseconds", (long long)x);
			}
		}
	}
	return 0;
}

static int fill_dates(const lake_node *node, int64_t src, int64_t n, duckdb_vector v, int64_t dst) {
	int32_t *out = (int32_t *)duckdb_vector_get_data(v) + dst;
	for (int64_t i = 0; i < n; i++) {
		out[i] = (int32_t)(int_at(node->data, 8, true, node->offset + src + i) / 86400000);
	}
	return 0;
}

static int fill_decimals(const lake_node *node, int64_t src, int64_t n, duckdb_vector v, int64_t dst, char *error) {
	uint8_t *out = (uint8_t *)duckdb_vector_get_data(v) + dst * node->width;
	for (int64_t i = 0; i < n; i++) {
		__int128 x;
		memcpy(&x, node->data + (node->offset + src + i) * 16, 16);
		int64_t low = (int64_t)x;
		__int128 back = node->width == 2 ? (int16_t)low : node->width == 4 ? (int32_t)low : node->width == 8 ? low : x;
		if (back != x && is_valid(node, src + i)) {
			FAIL("corrupt data: a decimal has more digits than its type");
		}
		memcpy(out + i * node->width, &x, node->width);
	}
	return 0;
}

static int fill_lists(const lake_node *node, int64_t src, int64_t n, duckdb_vector v, int64_t dst, char *error) {
	int64_t first = offset_at(node, src), last = offset_at(node, src + n);
	if (check_range(first, last, (node + 1)->length, error)) {
		return -1;
	}
	int64_t base = dst == 0 ? 0 : (int64_t)duckdb_list_vector_get_size(v);
	if (duckdb_list_vector_reserve(v, base + last - first) != DuckDBSuccess) {
		FAIL("a list of %lld values is too large", (long long)(last - first));
	}
	duckdb_list_vector_set_size(v, base + last - first);
	duckdb_list_entry *out = (duckdb_list_entry *)duckdb_vector_get_data(v) + dst;
	for (int64_t i = 0, from = first; i < n; i++) {
		int64_t to = offset_at(node, src + i + 1);
		if (check_range(from, to, last, error)) {
			return -1;
		}
		out[i].offset = (uint64_t)(base + from - first);
		out[i].length = (uint64_t)(to - from);
		from = to;
	}
	return lake_fill(node + 1, first, last - first, duckdb_list_vector_get_child(v), base, error);
}

/* Carries the nulls of a struct or array into one child. */
static void push_nulls(const lake_node *node, int64_t src, int64_t n, const lake_node *child, duckdb_vector cv,
                       int64_t dst) {
	if (!node->validity) {
		return;
	}
	int64_t each = node->kind == LAKE_ARRAY ? node->width : 1;
	for (int64_t i = 0; i < n; i++) {
		if (!is_valid(node, src + i)) {
			set_null(child, cv, (dst + i) * each, each);
		}
	}
}

static int fill_arrays(const lake_node *node, int64_t src, int64_t n, duckdb_vector v, int64_t dst, char *error) {
	int64_t from = (node->offset + src) * node->width;
	duckdb_vector child = duckdb_array_vector_get_child(v);
	if (check_range(from, from + n * node->width, (node + 1)->length, error) ||
	    lake_fill(node + 1, from, n * node->width, child, dst * node->width, error)) {
		return -1;
	}
	push_nulls(node, src, n, node + 1, child, dst);
	return 0;
}

static int fill_structs(const lake_node *node, int64_t src, int64_t n, duckdb_vector v, int64_t dst, char *error) {
	const lake_node *child = node + 1;
	for (int32_t c = 0; c < node->children; c++, child += child->subtree) {
		int64_t from = node->offset + src;
		duckdb_vector cv = duckdb_struct_vector_get_child(v, c);
		if (check_range(from, from + n, child->length, error) || lake_fill(child, from, n, cv, dst, error)) {
			return -1;
		}
		push_nulls(node, src, n, child, cv, dst);
	}
	return 0;
}

static int fill_dictionary(const lake_node *node, int64_t src, int64_t n, duckdb_vector v, int64_t dst, char *error) {
	int width = node->width < 0 ? -node->width : node->width;
	for (int64_t i = 0; i < n; i++) {
		if (!is_valid(node, src + i)) {
			set_null(node + 1, v, dst + i, 1);
			continue;
		}
		int64_t k = int_at(node->data, width, node->width > 0, node->offset + src + i);
		if (check_range(k, k + 1, (node + 1)->length, error) || lake_fill(node + 1, k, 1, v, dst + i, error)) {
			return -1;
		}
	}
	return 0;
}

int lake_fill(const lake_node *node, int64_t src, int64_t n, duckdb_vector v, int64_t dst, char *error) {
	if (n == 0) {
		return 0;
	}
	if (node->kind != LAKE_DICT) {
		fill_validity(node, src, n, v, dst);
	}
	switch (node->kind) {
	case LAKE_FIXED:
		memcpy((uint8_t *)duckdb_vector_get_data(v) + dst * node->width, node->data + (node->offset + src) * node->width,
		       n * node->width);
		return 0;
	case LAKE_BOOL:
		return fill_bools(node, src, n, v, dst);
	case LAKE_SCALE32:
	case LAKE_SCALE64:
		return fill_scaled(node, src, n, v, dst, error);
	case LAKE_DATE64:
		return fill_dates(node, src, n, v, dst);
	case LAKE_DECIMAL:
		return fill_decimals(node, src, n, v, dst, error);
	case LAKE_TEXT32:
	case LAKE_TEXT64:
	case LAKE_BLOB32:
	case LAKE_BLOB64:
		return fill_strings(node, src, n, v, dst, error);
	case LAKE_BLOBFIXED:
		return fill_fixed_blobs(node, src, n, v, dst);
	case LAKE_LIST32:
	case LAKE_LIST64:
		return fill_lists(node, src, n, v, dst, error);
	case LAKE_ARRAY:
		return fill_arrays(node, src, n, v, dst, error);
	case LAKE_STRUCT:
		return fill_structs(node, src, n, v, dst, error);
	case LAKE_DICT:
		return fill_dictionary(node, src, n, v, dst, error);
	case LAKE_NULLS:
		set_null(node, v, dst, n);
		return 0;
	}
	FAIL("unknown node kind %d", node->kind);
}
