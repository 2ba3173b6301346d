// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package dynamotest

import (
	"cmp"
	"crypto/md5"
	"encoding/binary"
	"iter"
	"slices"
	"time"
)

// key is the primary key of an item. Tables without a range key have "" there.
type key struct{ hash, rng string }

// table is a table and its items. The server's mutex guards it.
type table struct {
	name                string
	hashName, rangeName string
	created             time.Time
	// active is when it can be used; gone when it is deleted, if it is to be.
	active, gone time.Time
	protected    bool

	// parts are in the order of a scan.
	parts  []*partition
	byHash map[string]*partition
	// graves are rows that were deleted and that lagging reads may still see.
	graves []*row
	// held are the items of transactions in flight.
	held map[key]bool
}

// partition holds the items of one hash key in the order of their range keys.
type partition struct {
	hash   string
	digest uint64
	rows   []*row
	bucket
}

type row struct {
	part     *partition
	rng      string
	versions []version
}

// version is what a row held from a moment on; no item once it was deleted.
type version struct {
	since time.Time
	item  item
}

func newTable(name, hashName, rangeName string) *table {
	return &table{name: name, hashName: hashName, rangeName: rangeName, byHash: make(map[string]*partition), held: make(map[key]bool)}
}

// keyNames are the attributes of the primary key.
func (t *table) keyNames() []string {
	if t.rangeName == "" {
		return []string{t.hashName}
	}
	return []string{t.hashName, t.rangeName}
}

// keyItem is a key as it is told in answers.
func (t *table) keyItem(k key) item {
	it := item{t.hashName: {kind: "S", text: k.hash}}
	if t.rangeName != "" {
		it[t.rangeName] = value{kind: "S", text: k.rng}
	}
	return it
}

// digestOf places a hash key in the order of scans.
func digestOf(hash string) uint64 {
	sum := md5.Sum([]byte(hash))
	return binary.BigEndian.Uint64(sum[:])
}

func (p *partition) compare(q *partition) int {
	return cmp.Or(cmp.Compare(p.digest, q.digest), cmp.Compare(p.hash, q.hash))
}

// place is where a range key is in a partition, or would be.
func (p *partition) place(rng string) (int, bool) {
	return slices.BinarySearchFunc(p.rows, rng, func(r *row, rng string) int { return cmp.Compare(r.rng, rng) })
}

func (r *row) key() key { return key{r.part.hash, r.rng} }

// latest is the item as it is, nil if there is none.
func (r *row) latest() item { return r.versions[len(r.versions)-1].item }

// at is the item as it was.
func (r *row) at(moment time.Time) item {
	for _, v := range slices.Backward(r.versions) {
		if !v.since.After(moment) {
			return v.item
		}
	}
	return nil
}

// find is the row of a key, nil if there is none.
func (t *table) find(k key) *row {
	p := t.byHash[k.hash]
	if p == nil {
		return nil
	}
	if i, ok := p.place(k.rng); ok {
		return p.rows[i]
	}
	return nil
}

// get is the item as it is, nil if there is none.
func (t *table) get(k key) item {
	if r := t.find(k); r != nil {
		return r.latest()
	}
	return nil
}

// partition is the one of a hash key. It is made if need be and stays, also when
// it is empty, for the sake of its bucket.
func (t *table) partition(hash string) *partition {
	if p := t.byHash[hash]; p != nil {
		return p
	}
	p := &partition{hash: hash, digest: digestOf(hash)}
	i, _ := slices.BinarySearchFunc(t.parts, p, (*partition).compare)
	t.parts, t.byHash[hash] = slices.Insert(t.parts, i, p), p
	return p
}

// put stores an item, or deletes it when it is nil. Versions that no read with the
// lag can see any more are forgotten.
func (t *table) put(k key, it item, now time.Time, lag time.Duration) {
	t.bury(now.Add(-lag))
	p := t.partition(k.hash)
	i, found := p.place(k.rng)
	switch {
	case !found && it == nil:
		return
	case !found:
		p.rows = slices.Insert(p.rows, i, &row{part: p, rng: k.rng})
	}
	r := p.rows[i]
	r.versions = append(r.versions, version{now, it})
	r.prune(now.Add(-lag))
	if it == nil {
		t.graves = append(t.graves, r)
		t.bury(now.Add(-lag))
	}
}

// prune drops the versions that ended before the horizon.
func (r *row) prune(horizon time.Time) {
	first := 0
	for first+1 < len(r.versions) && !r.versions[first+1].since.After(horizon) {
		first++
	}
	r.versions = slices.Delete(r.versions, 0, first)
}

// bury removes the rows that were deleted before the horizon.
func (t *table) bury(horizon time.Time) {
	for len(t.graves) > 0 {
		r := t.graves[0]
		if r.versions[len(r.versions)-1].since.After(horizon) {
			return
		}
		t.graves = t.graves[1:]
		if i, ok := r.part.place(r.rng); ok && r.part.rows[i] == r && r.latest() == nil {
			r.part.rows = slices.Delete(r.part.rows, i, i+1)
		}
	}
}

// query yields the rows of a hash key within a range, in order or backwards. start
// is the range key that the page before ended with.
func (t *table) query(hash string, ranges interval, start *string, backward bool) iter.Seq[*row] {
	p := t.byHash[hash]
	if p == nil {
		return func(func(*row) bool) {}
	}
	from, _ := p.place(ranges.low)
	to := len(p.rows)
	if !ranges.open {
		to, _ = p.place(ranges.high)
	}
	if start != nil && backward {
		last, _ := p.place(*start)
		to = min(to, last)
	} else if start != nil {
		first, _ := p.place(after(*start))
		from = max(from, first)
	}
	rows := p.rows[min(from, to):to]
	return func(yield func(*row) bool) {
		for i := range rows {
			if backward {
				i = len(rows) - 1 - i
			}
			if !yield(rows[i]) {
				return
			}
		}
	}
}

// scan yields the rows after a key, if one is given, of a segment.
func (t *table) scan(start *key, seg segment) iter.Seq[*row] {
	parts, first := t.parts, 0
	if start != nil {
		from := &partition{hash: start.hash, digest: digestOf(start.hash)}
		i, found := slices.BinarySearchFunc(parts, from, (*partition).compare)
		if parts = parts[i:]; found {
			first, _ = parts[0].place(after(start.rng))
		}
	}
	return func(yield func(*row) bool) {
		for i, p := range parts {
			rows := p.rows
			if i == 0 {
				rows = rows[first:]
			}
			for _, r := range rows {
				if seg.has(p.digest) && !yield(r) {
					return
				}
			}
		}
	}
}

// segment is a part of a parallel scan.
type segment struct{ number, total int }

func (s segment) has(digest uint64) bool {
	if s.total <= 1 {
		return true
	}
	return int(digest>>32*uint64(s.total)>>32) == s.number
}
