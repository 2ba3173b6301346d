// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package dynamotest

import (
	"crypto/sha256"
	"encoding/json"
	"maps"
	"time"
)

// tokenWindow is how long a request token is remembered after its transaction.
const tokenWindow = 10 * time.Minute

// pruneEvery is after how many tokens those that expired are forgotten.
const pruneEvery = 1024

// attempt is what is known of a request token. A transaction that was cancelled
// leaves none.
type attempt struct {
	digest [sha256.Size]byte
	// done is when the transaction ended; zero while it is in flight.
	done time.Time
}

// digest is of what a transaction writes.
func (o *transactWriteItems) digest() [sha256.Size]byte {
	text, _ := json.Marshal(o.TransactItems)
	return sha256.Sum256(text)
}

// repeated tells whether the transaction of a token was done before. The caller
// holds the mutex.
func (s *Server) repeated(o *transactWriteItems) (bool, error) {
	a := s.tokens[o.ClientRequestToken]
	switch {
	case o.ClientRequestToken == "" || a == nil:
		return false, nil
	case s.expired(a):
		delete(s.tokens, o.ClientRequestToken)
		return false, nil
	case a.digest != o.digest():
		return false, fail("IdempotentParameterMismatchException", "The request uses the same client token as a previous, but non-identical request. Do not reuse a client token with different requests, unless the requests are identical")
	case a.done.IsZero():
		return false, fail("TransactionInProgressException", "The transaction with the given request token is already in progress.")
	}
	return true, nil
}

// expired tells whether a token is free again. The caller holds the mutex.
func (s *Server) expired(a *attempt) bool {
	return !a.done.IsZero() && s.now().Sub(a.done) >= tokenWindow
}

// begin notes that a transaction is in flight, and returns what notes its end. The
// caller holds the mutex at both.
func (s *Server) begin(o *transactWriteItems) (end func()) {
	if o.ClientRequestToken == "" {
		return func() {}
	}
	if len(s.tokens)%pruneEvery == 0 {
		maps.DeleteFunc(s.tokens, func(_ string, a *attempt) bool { return s.expired(a) })
	}
	a := &attempt{digest: o.digest()}
	s.tokens[o.ClientRequestToken] = a
	return func() { a.done = s.now() }
}
