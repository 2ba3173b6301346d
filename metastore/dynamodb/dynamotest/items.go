// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package dynamotest

import "slices"

// guard is the condition of a write.
type guard struct {
	ConditionExpression                 *string
	ExpressionAttributeNames            map[string]string
	ExpressionAttributeValues           map[string]value
	ReturnValuesOnConditionCheckFailure string
}

func (g *guard) parse() (condition, error) {
	if err := oneOf("returnValuesOnConditionCheckFailure", g.ReturnValuesOnConditionCheckFailure, "ALL_OLD", "NONE"); err != nil {
		return nil, err
	}
	refs := &placeholders{names: g.ExpressionAttributeNames, values: g.ExpressionAttributeValues}
	if err := refs.check(g.ConditionExpression); err != nil {
		return nil, err
	}
	c, err := parseCondition("ConditionExpression", g.ConditionExpression, refs)
	if err != nil {
		return nil, err
	}
	return c, refs.finish()
}

// tells whether the item is wanted when the condition fails.
func (g *guard) tells() bool { return g.ReturnValuesOnConditionCheckFailure == "ALL_OLD" }

// metered is whether the cost of a request is told.
type metered struct{ ReturnConsumedCapacity string }

func (m metered) check() error {
	return oneOf("returnConsumedCapacity", m.ReturnConsumedCapacity, "INDEXES", "TOTAL", "NONE")
}

// bill adds the cost on a table to an answer, if it is wanted.
func (m metered) bill(answer map[string]any, t *table, units float64) {
	if m.wanted() {
		answer["ConsumedCapacity"] = consumed(t.name, units)
	}
}

func (m metered) wanted() bool {
	return m.ReturnConsumedCapacity != "" && m.ReturnConsumedCapacity != "NONE"
}

func consumed(table string, units float64) map[string]any {
	return map[string]any{"TableName": table, "CapacityUnits": units}
}

// write is a write that was read: of an item, of none to delete, or of nothing but
// a condition.
type write struct {
	table string
	// named is the item to store, or the key.
	named item
	// put and check say what it does; neither is a delete.
	put, check bool
	condition  condition
	tells      bool
}

// key is the key that the write names in its table.
func (w *write) key(t *table) (key, error) {
	if w.put {
		return t.keyOf(w.named)
	}
	return t.exactKey(w.named)
}

// after is the item after the write.
func (w *write) after(before item) item {
	switch {
	case w.check:
		return before
	case w.put:
		return w.named
	}
	return nil
}

// returns are the parameters for what a single write returns.
type returns struct {
	ReturnValues, ReturnItemCollectionMetrics string
	metered
}

func (r returns) check() error {
	if err := oneOf("returnItemCollectionMetrics", r.ReturnItemCollectionMetrics, "SIZE", "NONE"); err != nil {
		return err
	}
	if err := oneOf("returnValues", r.ReturnValues, "ALL_OLD", "NONE"); err != nil {
		return err
	}
	return r.metered.check()
}

type putItem struct {
	TableName string
	Item      item
	guard
	returns
}

func (o *putItem) named() []target { return []target{{o.TableName, o.Item}} }

func (o *putItem) run(s *Server, c *call) (any, error) {
	if err := checkItem(o.Item); err != nil {
		return nil, err
	}
	return s.single(c, &write{table: o.TableName, named: o.Item, put: true}, &o.guard, o.returns)
}

type deleteItem struct {
	TableName string
	Key       item
	guard
	returns
}

func (o *deleteItem) named() []target { return []target{{o.TableName, o.Key}} }

func (o *deleteItem) run(s *Server, c *call) (any, error) {
	return s.single(c, &write{table: o.TableName, named: o.Key}, &o.guard, o.returns)
}

// single carries out a write that is not in a transaction.
func (s *Server) single(c *call, w *write, g *guard, r returns) (any, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	condition, err := g.parse()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.live(w.table)
	if err != nil {
		return nil, err
	}
	k, err := w.key(t)
	if err != nil {
		return nil, err
	}
	before := t.get(k)
	units := writeUnits(before, w.after(before), false)
	switch {
	case t.held[k] || slices.Contains(c.conflicts, 0):
		return nil, fail("TransactionConflictException", "Transaction is ongoing for the item")
	case !s.paysWrite(t, k, units):
		return nil, throttled()
	case !condition.holds(before):
		return nil, conditionFailed(g, before)
	}
	t.put(k, w.after(before), s.now(), s.opts.ReplicaLag)
	answer := map[string]any{}
	if r.ReturnValues == "ALL_OLD" && before != nil {
		answer["Attributes"] = before
	}
	r.bill(answer, t, units)
	return answer, nil
}

func conditionFailed(g *guard, it item) error {
	err := &apiError{kind: "ConditionalCheckFailedException", message: "The conditional request failed"}
	if g.tells() && it != nil {
		err.fields = map[string]any{"Item": it}
	}
	return err
}

// projection is which attributes a read returns.
type projection struct {
	ProjectionExpression     *string
	ExpressionAttributeNames map[string]string
}

func (p *projection) parse() ([]string, error) {
	refs := &placeholders{names: p.ExpressionAttributeNames}
	if err := refs.check(p.ProjectionExpression); err != nil {
		return nil, err
	}
	names, err := parseProjection(p.ProjectionExpression, refs)
	if err != nil {
		return nil, err
	}
	return names, refs.finish()
}

// project keeps the named attributes; no names keep all.
func (it item) project(names []string) item {
	if names == nil {
		return it
	}
	kept := item{}
	for _, name := range names {
		if v, ok := it[name]; ok {
			kept[name] = v
		}
	}
	return kept
}

type getItem struct {
	TableName      string
	Key            item
	ConsistentRead bool
	projection
	metered
}

func (o *getItem) named() []target { return []target{{o.TableName, o.Key}} }

func (o *getItem) run(s *Server, _ *call) (any, error) {
	names, err := o.projection.parse()
	if err != nil {
		return nil, err
	}
	if err := o.metered.check(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.live(o.TableName)
	if err != nil {
		return nil, err
	}
	k, err := t.exactKey(o.Key)
	if err != nil {
		return nil, err
	}
	var it item
	if r := t.find(k); r != nil {
		it = s.seen(r, o.ConsistentRead)
	}
	units := readUnits(it.size(), factorOf(o.ConsistentRead))
	if !s.paysRead(t, k.hash, units) {
		return nil, throttled()
	}
	answer := map[string]any{}
	if it != nil {
		answer["Item"] = it.project(names)
	}
	o.bill(answer, t, units)
	return answer, nil
}

// seen is the item of a row for a read. The caller holds the mutex.
func (s *Server) seen(r *row, consistent bool) item {
	if consistent || s.opts.ReplicaLag <= 0 {
		return r.latest()
	}
	return r.at(s.now().Add(-s.opts.ReplicaLag))
}
