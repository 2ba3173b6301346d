// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package dynamotest

import (
	"encoding/json"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"time"
)

// transactItem is one operation of a transaction that writes.
type transactItem struct {
	Put            *transactPut
	Delete         *transactKey
	ConditionCheck *transactKey
	Update         json.RawMessage
}

type transactPut struct {
	TableName string
	Item      item
	guard
}

type transactKey struct {
	TableName string
	Key       item
	guard
}

type transactWriteItems struct {
	TransactItems               []transactItem
	ClientRequestToken          string
	ReturnItemCollectionMetrics string
	metered
}

func (i *transactItem) target() target {
	switch {
	case i.Put != nil:
		return target{i.Put.TableName, i.Put.Item}
	case i.Delete != nil:
		return target{i.Delete.TableName, i.Delete.Key}
	case i.ConditionCheck != nil:
		return target{i.ConditionCheck.TableName, i.ConditionCheck.Key}
	}
	return target{}
}

func (o *transactWriteItems) named() []target {
	targets := make([]target, len(o.TransactItems))
	for i := range o.TransactItems {
		targets[i] = o.TransactItems[i].target()
	}
	return targets
}

// write reads one operation.
func (i *transactItem) write() (*write, error) {
	given := 0
	for _, present := range []bool{i.Put != nil, i.Delete != nil, i.ConditionCheck != nil, i.Update != nil} {
		if present {
			given++
		}
	}
	switch {
	case given != 1:
		return nil, invalid("TransactItems can only contain one of Check, Put, Update or Delete")
	case i.Update != nil:
		return nil, unsupported("Update in a transaction")
	case i.Put != nil:
		if err := checkItem(i.Put.Item); err != nil {
			return nil, err
		}
		return i.guarded(&write{put: true}, &i.Put.guard)
	case i.Delete != nil:
		return i.guarded(&write{}, &i.Delete.guard)
	case i.ConditionCheck.ConditionExpression == nil:
		return nil, invalid("The expression can not be empty; a ConditionCheck needs a ConditionExpression")
	}
	return i.guarded(&write{check: true}, &i.ConditionCheck.guard)
}

func (i *transactItem) guarded(w *write, g *guard) (*write, error) {
	t := i.target()
	w.table, w.named, w.tells = t.table, t.item, g.tells()
	var err error
	w.condition, err = g.parse()
	return w, err
}

// checkCount checks how many operations a transaction has.
func checkCount(n int) error {
	if n < 1 || n > maxTransaction {
		return invalid("1 validation error detected: Value of length %d at 'transactItems' failed to satisfy constraint: Member must have length less than or equal to %d and greater than or equal to 1", n, maxTransaction)
	}
	return nil
}

// writes checks what can be checked without the tables.
func (o *transactWriteItems) writes() ([]*write, error) {
	if err := checkCount(len(o.TransactItems)); err != nil {
		return nil, err
	}
	if err := oneOf("returnItemCollectionMetrics", o.ReturnItemCollectionMetrics, "SIZE", "NONE"); err != nil {
		return nil, err
	}
	if len(o.ClientRequestToken) > maxToken {
		return nil, invalid("1 validation error detected: Value '%s' at 'clientRequestToken' failed to satisfy constraint: Member must have length less than or equal to %d", o.ClientRequestToken, maxToken)
	}
	writes, size := make([]*write, len(o.TransactItems)), 0
	for i := range o.TransactItems {
		w, err := o.TransactItems[i].write()
		if err != nil {
			return nil, err
		}
		writes[i] = w
		size += w.named.size()
	}
	if size > maxTransactSize {
		return nil, invalid("Transaction size is %d bytes and cannot exceed %d", size, maxTransactSize)
	}
	return writes, o.metered.check()
}

// prepared is a write, or a read, whose item was found.
type prepared struct {
	*write // nil for a read
	t      *table
	k      key
	before item
	units  float64
}

// run prepares the transaction, which decides about it, and then changes its items.
func (o *transactWriteItems) run(s *Server, c *call) (any, error) {
	writes, err := o.writes()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, err := s.repeated(o); known || err != nil {
		return o.answer(nil), err
	}
	steps, err := s.prepare(writes, c)
	if err != nil {
		return nil, err
	}
	finish := s.begin(o)
	s.apply(steps)
	finish()
	return o.answer(steps), nil
}

func (o *transactWriteItems) answer(steps []*prepared) any {
	answer := map[string]any{}
	if o.wanted() {
		units := map[string]float64{}
		for _, p := range steps {
			units[p.table] += p.units
		}
		answer["ConsumedCapacity"] = bills(units)
	}
	return answer
}

// bills are the costs by table.
func bills(units map[string]float64) []any {
	list := []any{}
	for table, n := range units {
		list = append(list, consumed(table, n))
	}
	return list
}

// prepare finds the items and decides. The caller holds the mutex.
func (s *Server) prepare(writes []*write, c *call) ([]*prepared, error) {
	steps, reasons := make([]*prepared, len(writes)), make(reasons, len(writes))
	var items distinct
	for i, w := range writes {
		t, err := s.live(w.table)
		if err != nil {
			return nil, err
		}
		k, err := w.key(t)
		if isEarly(err) {
			return nil, err
		}
		if err != nil {
			reasons.set(i, "ValidationError", messageOf(err))
			continue
		}
		if err := items.add(t, k); err != nil {
			return nil, err
		}
		before := t.get(k)
		steps[i] = &prepared{w, t, k, before, writeUnits(before, w.after(before), true)}
	}
	for i, p := range steps {
		if p != nil {
			s.judge(p, i, c, reasons)
		}
	}
	return steps, reasons.err()
}

// judge gives the reason of one item against the transaction, if there is any.
func (s *Server) judge(p *prepared, i int, c *call, reasons reasons) {
	switch {
	case c.reasons[i] != "":
		reasons.set(i, c.reasons[i], "dynamotest: by plan")
	case p.t.held[p.k] || slices.Contains(c.conflicts, i):
		reasons.conflict(i)
	case !s.paysWrite(p.t, p.k, p.units):
		reasons.throttle(i)
	case !p.condition.holds(p.before):
		reasons.set(i, "ConditionalCheckFailed", "The conditional request failed")
		if p.tells && p.before != nil {
			reasons[i]["Item"] = p.before
		}
	}
}

// distinct refuses a second operation on an item.
type distinct map[*table]map[key]bool

func (d *distinct) add(t *table, k key) error {
	if *d == nil {
		*d = distinct{}
	}
	if (*d)[t] == nil {
		(*d)[t] = map[key]bool{}
	}
	if (*d)[t][k] {
		return invalid("Transaction request cannot include multiple operations on one item")
	}
	(*d)[t][k] = true
	return nil
}

// apply changes the items. If transactions take time, it holds them meanwhile and
// changes one after the other, in any order: a reader that is not a transaction
// may see some of them before and others after. The caller holds the mutex, which
// apply gives up while it waits.
func (s *Server) apply(steps []*prepared) {
	due, pause := s.now(), s.opts.TransactionTime/time.Duration(len(steps)+1)
	for _, p := range steps {
		p.t.held[p.k] = true
	}
	for _, i := range mathrand.Perm(len(steps)) {
		due = due.Add(pause)
		s.rest(due)
		if p := steps[i]; !p.check {
			p.t.put(p.k, p.after(p.before), s.now(), s.opts.ReplicaLag)
		}
	}
	s.rest(due.Add(pause))
	for _, p := range steps {
		delete(p.t.held, p.k)
	}
}

// rest gives up the mutex until a moment of the server's clock, or its end.
func (s *Server) rest(until time.Time) {
	for left := until.Sub(s.now()); left > 0; left = until.Sub(s.now()) {
		moved := s.moved
		s.mu.Unlock()
		select {
		case <-time.After(left):
		case <-moved:
		case <-s.closed:
			until = time.Time{}
		}
		s.mu.Lock()
	}
}

// reasons are why a transaction was cancelled, by item. nil is no reason.
type reasons []map[string]any

func (r reasons) set(i int, code, message string) {
	r[i] = map[string]any{"Code": code, "Message": message}
}

func (r reasons) conflict(i int) {
	r.set(i, "TransactionConflict", "Transaction is ongoing for the item")
}

// throttle gives one of the two reasons that the service has for it.
func (r reasons) throttle(i int) {
	if mathrand.IntN(2) == 0 {
		r.set(i, "ThrottlingError", "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling your table or index so please try again shortly.")
		return
	}
	r.set(i, "ProvisionedThroughputExceeded", "The level of configured provisioned throughput for the table was exceeded. Consider increasing your provisioning level with the UpdateTable API.")
}

// err is the cancellation, nil if there is no reason.
func (r reasons) err() error {
	codes := make([]string, len(r))
	cancelled := false
	for i, reason := range r {
		codes[i] = "None"
		if reason != nil {
			codes[i], cancelled = reason["Code"].(string), true
		} else {
			r[i] = map[string]any{"Code": "None"}
		}
	}
	if !cancelled {
		return nil
	}
	return &apiError{
		kind:    "TransactionCanceledException",
		message: fmt.Sprintf("Transaction cancelled, please refer cancellation reasons for specific reasons [%s]", strings.Join(codes, ", ")),
		fields:  map[string]any{"CancellationReasons": r},
	}
}

type transactGetItems struct {
	TransactItems []struct{ Get *transactGet }
	metered
}

type transactGet struct {
	TableName string
	Key       item
	projection
}

func (o *transactGetItems) named() []target {
	var targets []target
	for _, i := range o.TransactItems {
		if i.Get != nil {
			targets = append(targets, target{i.Get.TableName, i.Get.Key})
		}
	}
	return targets
}

func (o *transactGetItems) run(s *Server, c *call) (any, error) {
	names, err := o.projections()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	reads, reasons, err := s.find(o)
	if err != nil {
		return nil, err
	}
	responses, units, size := []any{}, map[string]float64{}, 0
	for i, r := range reads {
		if r == nil {
			continue
		}
		s.judgeRead(r, i, c, reasons)
		size += r.before.size()
		units[r.t.name] += r.units
		responses = append(responses, response(r.before, names[i]))
	}
	if size > maxTransactSize {
		return nil, invalid("Transaction size is %d bytes and cannot exceed %d", size, maxTransactSize)
	}
	answer := map[string]any{"Responses": responses}
	if o.wanted() {
		answer["ConsumedCapacity"] = bills(units)
	}
	return answer, reasons.err()
}

// find finds the items of a transaction that reads. Where a key is none there is
// a reason and no item. The caller holds the mutex.
func (s *Server) find(o *transactGetItems) ([]*prepared, reasons, error) {
	reads, reasons := make([]*prepared, len(o.TransactItems)), make(reasons, len(o.TransactItems))
	var items distinct
	for i, op := range o.TransactItems {
		t, err := s.live(op.Get.TableName)
		if err != nil {
			return nil, nil, err
		}
		k, err := t.exactKey(op.Get.Key)
		if isEarly(err) {
			return nil, nil, err
		}
		if err != nil {
			reasons.set(i, "ValidationError", messageOf(err))
			continue
		}
		if err := items.add(t, k); err != nil {
			return nil, nil, err
		}
		it := t.get(k)
		reads[i] = &prepared{t: t, k: k, before: it, units: readUnits(it.size(), 2)}
	}
	return reads, reasons, nil
}

// judgeRead gives the reason of one item against reading it, if there is any.
func (s *Server) judgeRead(r *prepared, i int, c *call, reasons reasons) {
	switch {
	case c.reasons[i] != "":
		reasons.set(i, c.reasons[i], "dynamotest: by plan")
	case r.t.held[r.k] || slices.Contains(c.conflicts, i):
		reasons.conflict(i)
	case !s.paysRead(r.t, r.k.hash, r.units):
		reasons.throttle(i)
	}
}

func response(it item, names []string) any {
	if it == nil {
		return map[string]any{}
	}
	return map[string]any{"Item": it.project(names)}
}

// projections checks what can be checked without the tables.
func (o *transactGetItems) projections() ([][]string, error) {
	if err := checkCount(len(o.TransactItems)); err != nil {
		return nil, err
	}
	names := make([][]string, len(o.TransactItems))
	for i, get := range o.TransactItems {
		if get.Get == nil {
			return nil, invalid("TransactItems of TransactGetItems must contain Get")
		}
		var err error
		if names[i], err = get.Get.parse(); err != nil {
			return nil, err
		}
	}
	return names, o.metered.check()
}
