// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package dynamotest

import (
	"iter"
	"slices"
)

// reading are the parameters that queries and scans share.
type reading struct {
	TableName                 string
	FilterExpression          *string
	ExpressionAttributeValues map[string]value
	ExclusiveStartKey         item
	Limit                     *int
	Select                    string
	ConsistentRead            bool
	projection
	metered
}

// reader is a query or scan that was read.
type reader struct {
	*reading
	key     condition // of a query
	filter  condition
	names   []string
	counted bool // no items are returned
}

func (o *reading) named() []target { return []target{{table: o.TableName}} }

// parse reads the expressions of a query or scan. keyExpression is nil for a scan.
func (o *reading) parse(keyExpression *string) (*reader, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	refs := &placeholders{names: o.ExpressionAttributeNames, values: o.ExpressionAttributeValues}
	if err := refs.check(keyExpression, o.FilterExpression, o.ProjectionExpression); err != nil {
		return nil, err
	}
	r := &reader{reading: o, counted: o.Select == "COUNT"}
	var err error
	if r.key, err = parseCondition("KeyConditionExpression", keyExpression, refs); err != nil {
		return nil, err
	}
	if r.filter, err = parseCondition("FilterExpression", o.FilterExpression, refs); err != nil {
		return nil, err
	}
	if r.names, err = parseProjection(o.ProjectionExpression, refs); err != nil {
		return nil, err
	}
	return r, refs.finish()
}

func (o *reading) check() error {
	if err := oneOf("select", o.Select, "ALL_ATTRIBUTES", "SPECIFIC_ATTRIBUTES", "COUNT"); err != nil {
		return err
	}
	switch {
	case o.Limit != nil && *o.Limit < 1:
		return invalid("1 validation error detected: Value '%d' at 'limit' failed to satisfy constraint: Member must have value greater than or equal to 1", *o.Limit)
	case o.ProjectionExpression != nil && o.Select == "ALL_ATTRIBUTES":
		return invalid("Cannot specify the ProjectionExpression when choosing to get ALL_ATTRIBUTES")
	case o.ProjectionExpression != nil && o.Select == "COUNT":
		return invalid("Cannot specify the ProjectionExpression when choosing to get only the Count")
	case o.ProjectionExpression == nil && o.Select == "SPECIFIC_ATTRIBUTES":
		return invalid("Must specify the ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES")
	}
	return o.metered.check()
}

// start is the key that the page begins after, nil for the first one. It need not
// exist.
func (o *reading) start(t *table) (*key, error) {
	if o.ExclusiveStartKey == nil {
		return nil, nil
	}
	k, err := t.exactKey(o.ExclusiveStartKey)
	if err != nil {
		return nil, invalid("The provided starting key is invalid: %s", messageOf(err))
	}
	return &k, nil
}

type query struct {
	reading
	KeyConditionExpression *string
	ScanIndexForward       *bool
}

func (o *query) run(s *Server, _ *call) (any, error) {
	if o.KeyConditionExpression == nil {
		return nil, invalid("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
	}
	r, err := o.parse(o.KeyConditionExpression)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.live(o.TableName)
	if err != nil {
		return nil, err
	}
	want, err := keyConditionOf(t, r.key)
	if err != nil {
		return nil, err
	}
	for _, name := range t.keyNames() {
		if mentions(r.filter, name) {
			return nil, invalid("Filter Expression can only contain non-primary key attributes: Primary key attribute: %s", name)
		}
	}
	start, err := o.within(t, want)
	if err != nil {
		return nil, err
	}
	backward := o.ScanIndexForward != nil && !*o.ScanIndexForward
	return s.page(t, r, t.query(want.hash, want.ranges, start, backward))
}

// within is the range key to begin after. It must be one that the query could have
// returned.
func (o *query) within(t *table, want keyCondition) (*string, error) {
	k, err := o.start(t)
	switch {
	case k == nil:
		return nil, err
	case k.hash != want.hash:
		return nil, invalid("The provided starting key is outside query boundaries based on provided conditions")
	case k.rng < want.ranges.low || want.ranges.below(k.rng):
		return nil, invalid("The provided starting key does not match the range key predicate")
	}
	return &k.rng, nil
}

type scan struct {
	reading
	Segment, TotalSegments *int
}

func (o *scan) run(s *Server, _ *call) (any, error) {
	r, err := o.parse(nil)
	if err != nil {
		return nil, err
	}
	seg, err := o.segment()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.live(o.TableName)
	if err != nil {
		return nil, err
	}
	start, err := o.start(t)
	switch {
	case err != nil:
		return nil, err
	case start != nil && !seg.has(digestOf(start.hash)):
		return nil, invalid("The provided starting key is invalid: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. TotalSegments: %d Segment: %d", seg.total, seg.number)
	}
	return s.page(t, r, t.scan(start, seg))
}

func (o *scan) segment() (segment, error) {
	switch {
	case o.Segment == nil && o.TotalSegments == nil:
		return segment{}, nil
	case o.Segment == nil:
		return segment{}, invalid("The Segment parameter is required but was not present in the request when parameter TotalSegments is present")
	case o.TotalSegments == nil:
		return segment{}, invalid("The TotalSegments parameter is required but was not present in the request when Segment parameter is present")
	case *o.TotalSegments < 1 || *o.TotalSegments > maxSegments:
		return segment{}, invalid("1 validation error detected: Value '%d' at 'totalSegments' failed to satisfy constraint: Member must have value from 1 to %d", *o.TotalSegments, maxSegments)
	case *o.Segment < 0 || *o.Segment >= *o.TotalSegments:
		return segment{}, invalid("The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: %d is not less than TotalSegments: %d", *o.Segment, *o.TotalSegments)
	}
	return segment{*o.Segment, *o.TotalSegments}, nil
}

// page is what one page gathers.
type page struct {
	items     []item
	evaluated int
	matched   int
	bytes     int
	last      *row
	// more is whether the page ended before its rows did.
	more  bool
	units float64
}

// page reads a page. The caller holds the mutex.
func (s *Server) page(t *table, r *reader, rows iter.Seq[*row]) (any, error) {
	pg := &page{items: []item{}}
	if err := s.gather(t, r, rows, pg); err != nil {
		return nil, err
	}
	answer := map[string]any{"Count": pg.matched, "ScannedCount": pg.evaluated}
	if !r.counted {
		answer["Items"] = pg.items
	}
	if pg.more {
		answer["LastEvaluatedKey"] = t.keyItem(pg.last.key())
	}
	r.bill(answer, t, max(pg.units, 0.5))
	return answer, nil
}

// gather evaluates rows until the page is full. Where a partition is throttled the
// page ends early, or fails if it is empty.
func (s *Server) gather(t *table, r *reader, rows iter.Seq[*row], pg *page) error {
	limit := s.limit(r)
	for row := range rows {
		it := s.seen(row, r.ConsistentRead)
		if it == nil {
			continue
		}
		if pg.evaluated > 0 && pg.bytes+it.size() > maxPage {
			pg.more = true
			return nil
		}
		units := float64(it.size()) / (4 << 10) * factorOf(r.ConsistentRead)
		if !s.paysRead(t, row.part.hash, units) {
			if pg.more = pg.evaluated > 0; pg.more {
				return nil
			}
			return throttled()
		}
		pg.add(r, row, it, units)
		if pg.evaluated == limit {
			// Whether anything is left is not looked at, so that the last page may
			// be an empty one.
			pg.more = true
			return nil
		}
	}
	return nil
}

func (pg *page) add(r *reader, row *row, it item, units float64) {
	pg.evaluated++
	pg.bytes += it.size()
	pg.units += units
	pg.last = row
	if !r.filter.holds(it) {
		return
	}
	pg.matched++
	if !r.counted {
		pg.items = append(pg.items, it.project(r.names))
	}
}

// limit is how many items a page evaluates at most; 0 is no limit.
func (s *Server) limit(r *reader) int {
	limit := s.opts.PageItems
	if r.Limit != nil && (limit == 0 || *r.Limit < limit) {
		limit = *r.Limit
	}
	return limit
}

// mentions tells whether a condition looks at an attribute.
func mentions(c condition, name string) bool {
	about := func(operands ...operand) bool {
		return slices.ContainsFunc(operands, func(o operand) bool { return o.path != nil && o.path[0].name == name })
	}
	switch n := c.(type) {
	case andNode:
		return mentions(n.left, name) || mentions(n.right, name)
	case orNode:
		return mentions(n.left, name) || mentions(n.right, name)
	case notNode:
		return mentions(n.inner, name)
	case compareNode:
		return about(n.left, n.right)
	case betweenNode:
		return about(n.subject, n.low, n.high)
	case inNode:
		return about(append(n.list, n.subject)...)
	case callNode:
		return about(n.args...)
	}
	return false
}
