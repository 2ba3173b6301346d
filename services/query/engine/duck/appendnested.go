// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// lists appends lists and maps.
type lists[O offset] struct {
	validity
	offsets[O]
	dt    arrow.DataType
	child appender
	total int
}

// runs calls f for each run of child values that rows from..from+n cover in
// order: rows next to each other usually have their values next to each other.
func runs(v vector, from, n int, each func(length int), f func(at, length int) error) error {
	entries := values[listEntry](v)
	at, length := 0, 0
	for i := from; i < from+n; i++ {
		k := 0
		if v.valid(i) {
			k = int(entries[i].length)
		}
		each(k)
		if k == 0 {
			continue
		}
		if start := int(entries[i].offset); length == 0 || at+length != start {
			if length > 0 {
				if err := f(at, length); err != nil {
					return err
				}
			}
			at, length = start, 0
		}
		length += k
	}
	if length == 0 {
		return nil
	}
	return f(at, length)
}

func (a *lists[O]) add(v []vector, from, n int) error {
	a.validity.add(v[0], from, n)
	each := func(length int) {
		a.total += length
		a.push(a.total)
	}
	return runs(v[0], from, n, each, func(at, length int) error {
		return a.child.add(v[1:], at, length)
	})
}

func (a *lists[O]) measure(v []vector, from, n int) int {
	size := n * 4
	_ = runs(v[0], from, n, func(int) {}, func(at, length int) error {
		size += a.child.measure(v[1:], at, length)
		return nil
	})
	return size
}

func (a *lists[O]) finish() arrow.ArrayData {
	ends := a.offsets.take()
	a.total = 0
	return a.validity.finish(a.dt, []*memory.Buffer{ends}, []arrow.ArrayData{a.child.finish()})
}

// arrays appends fixed-size lists.
type arrays struct {
	validity
	dt    arrow.DataType
	size  int
	child appender
}

func (a *arrays) add(v []vector, from, n int) error {
	a.validity.add(v[0], from, n)
	return a.child.add(v[1:], from*a.size, n*a.size)
}

func (a *arrays) measure(v []vector, from, n int) int {
	return a.child.measure(v[1:], from*a.size, n*a.size)
}

func (a *arrays) finish() arrow.ArrayData {
	return a.validity.finish(a.dt, nil, []arrow.ArrayData{a.child.finish()})
}

// structs appends structs, a child beside the other.
type structs struct {
	validity
	dt       arrow.DataType
	children []appender
	at       []int // where each child's vectors start
}

func (a *structs) add(v []vector, from, n int) error {
	a.validity.add(v[0], from, n)
	for i, c := range a.children {
		if err := c.add(v[a.at[i]:], from, n); err != nil {
			return err
		}
	}
	return nil
}

func (a *structs) measure(v []vector, from, n int) int {
	size := 0
	for i, c := range a.children {
		size += c.measure(v[a.at[i]:], from, n)
	}
	return size
}

func (a *structs) finish() arrow.ArrayData {
	kids := make([]arrow.ArrayData, len(a.children))
	for i, c := range a.children {
		kids[i] = c.finish()
	}
	return a.validity.finish(a.dt, nil, kids)
}
