// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package rowfilter

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake/predicate"
)

// members are the values of a set, but for NaN, of which the range around them
// says whether it is one.
type members struct {
	ints  map[int64]struct{} // also naturals, as they lie in memory, and decimals
	reals map[float64]struct{}
	texts map[string]struct{}
}

// membership is the range around a set, nil for sets without values and with
// such that are not compared here.
func membership(p predicate.In, schema *arrow.Schema, columns []int) narrower {
	m := &members{ints: map[int64]struct{}{}, reals: map[float64]struct{}{}, texts: map[string]struct{}{}}
	var all bounds
	for i, v := range p.Values {
		r, ok := rangeOf(predicate.Compare{Column: p.Column, Op: predicate.Equal, Value: v}, schema, columns)
		if !ok {
			return nil
		}
		m.add(r)
		if i > 0 {
			r = r.around(all)
		}
		all = r
	}
	if len(p.Values) == 0 {
		return nil
	}
	all.among = m
	return all
}

// add adds the one value of a range.
func (m *members) add(r bounds) {
	switch {
	case r.domain == naturals:
		m.ints[int64(r.uLow)] = struct{}{}
	case r.domain == sequences:
		m.texts[r.sLow] = struct{}{}
	case r.domain != reals:
		m.ints[r.low] = struct{}{}
	case !r.nan:
		m.reals[r.fLow] = struct{}{}
	}
}

func (m *members) has(text string) bool { _, ok := m.texts[text]; return ok }

func (m *members) hasInt(v int64) bool { _, ok := m.ints[v]; return ok }
