// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package dynamotest

import (
	"crypto/sha256"
	"encoding/json"
	"time"
)

// Request is what a fault plan is told of a request.
type Request struct {
	// Operation is its name, such as PutItem.
	Operation string
	// Number counts the requests of the server from 1.
	Number int
	// Attempt counts the requests with this operation and these parameters, from 1.
	Attempt int
	// Tables are those that it names, each once.
	Tables []string
	// Keys are those of the items that it names, in its order. A query names none.
	Keys []Key
	// Token is its client request token, or "".
	Token string
}

// Key names an item. Range is "" in a table without a range key.
type Key struct{ Table, Hash, Range string }

// Harm is what happens to a request beside a delay.
type Harm uint8

// The harms.
const (
	// Pass answers as usual.
	Pass Harm = iota
	// Refuse answers with [Fault.Error] and does nothing.
	Refuse
	// CutBefore closes the connection and does nothing.
	CutBefore
	// CutAfter does what was asked, if it can be done, and closes the connection.
	CutAfter
	// FailAfter does what was asked, if it can be done, and answers with
	// [Fault.Error].
	FailAfter
)

// Fault is what a plan does to a request.
type Fault struct {
	// Delay passes before anything else.
	Delay time.Duration
	Harm  Harm
	// Error is the type of an error, such as ThrottlingException or
	// ServiceUnavailable. "" is InternalServerError.
	Error string
	// Conflicts are items, by their place in the request from 0, that are taken to
	// be in another transaction.
	Conflicts []int
	// Reasons are codes for which a transaction is cancelled, by the places of
	// items, such as ThrottlingError or ItemCollectionSizeLimitExceeded.
	Reasons map[int]string
}

// fault asks the plan about a request.
func (s *Server) fault(op operation, name string) Fault {
	s.mu.Lock()
	plan := s.opts.Fault
	if plan == nil {
		s.mu.Unlock()
		return Fault{}
	}
	r := Request{Operation: name, Number: s.number}
	// Clients write the same request with its maps in any order.
	body, _ := json.Marshal(op)
	digest := sha256.Sum256(append([]byte(name), body...))
	s.attempts[digest]++
	r.Attempt = s.attempts[digest]
	r.Tables, r.Keys = s.named(op)
	if t, ok := op.(*transactWriteItems); ok {
		r.Token = t.ClientRequestToken
	}
	s.mu.Unlock()
	return plan(r)
}

// named lists the tables and the keys that a request names.
func (s *Server) named(op operation) (tables []string, keys []Key) {
	seen := map[string]bool{}
	for _, n := range op.named() {
		if !seen[n.table] {
			seen[n.table] = true
			tables = append(tables, n.table)
		}
		if t := s.tables[n.table]; t != nil && n.item != nil {
			k := Key{Table: n.table, Hash: n.item[t.hashName].text}
			if t.rangeName != "" {
				k.Range = n.item[t.rangeName].text
			}
			keys = append(keys, k)
		}
	}
	return tables, keys
}

// error is the error that the fault answers with.
func (f Fault) error() error {
	kind := f.Error
	if kind == "" {
		kind = "InternalServerError"
	}
	return fail(kind, "dynamotest: by plan")
}
