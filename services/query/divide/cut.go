// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package divide

// Range is a run of pieces, from From up to and without To.
type Range struct{ From, To int }

// Cut shares the pieces of a table among at most most ranges, which adjoin and
// take in every piece. Each has about as many rows as the others, as far as
// pieces can be told apart, and at least about least; so few rows are one range.
func Cut(rows []uint64, most int, least uint64) []Range {
	total, held := uint64(0), 0
	for _, n := range rows {
		total += n
		if n > 0 {
			held++
		}
	}
	parts := min(uint64(max(most, 1)), uint64(max(held, 1)), max(total/max(least, 1), 1))
	var out []Range
	from, before := 0, uint64(0)
	for i, n := range rows {
		before += n
		// The range ends where the rows so far are nearest to its share of all.
		share := total * (uint64(len(out)) + 1) / parts
		if uint64(len(out)) == parts-1 {
			break
		}
		if before > 0 && i+1 < len(rows) && before+rows[i+1]/2 >= share && before < total {
			if last := sum(rows[from : i+1]); last > 0 {
				out = append(out, Range{from, i + 1})
				from = i + 1
			}
		}
	}
	return append(out, Range{from, len(rows)})
}

func sum(rows []uint64) (n uint64) {
	for _, r := range rows {
		n += r
	}
	return n
}
