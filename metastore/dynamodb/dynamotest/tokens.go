// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package dynamotest

import (
	"crypto/sha256"
	"encoding/json"
	"time"
)

// tokenWindow is how long a request token is remembered after its transaction.
const tokenWindow = 10 * time.Minute

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
	case !a.done.IsZero() && s.now().Sub(a.done) >= tokenWindow:
		delete(s.tokens, o.ClientRequestToken)
		return false, nil
	case a.digest != o.digest():
		return false, fail("IdempotentParameterMismatchException", "The request uses the same client token as a previous, but non-identical request. Do not reuse a client token with different requests, unless the requests are identical")
	case a.done.IsZero():
		return false, fail("TransactionInProgressException", "The transaction with the given request token is already in progress.")
	}
	return true, nil
}

// begin notes that a transaction is in flight, and returns what notes its end. The
// caller holds the mutex at both.
func (s *Server) begin(o *transactWriteItems) (end func()) {
	if o.ClientRequestToken == "" {
		return func() {}
	}
	a := &attempt{digest: o.digest()}
	s.tokens[o.ClientRequestToken] = a
	return func() { a.done = s.now() }
}
