// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package dynamotest

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
)

// operation is a request that was read.
type operation interface {
	// named lists the items that it names, or the tables.
	named() []target
	// run carries it out, without the mutex.
	run(s *Server, c *call) (any, error)
}

// target is an item of a table, or the whole of it.
type target struct {
	table string
	item  item
}

// call is what a request was given beside its body.
type call struct {
	// conflicts are the places of items that are taken to be in a transaction.
	conflicts []int
	// reasons are codes of cancellation by the places of items.
	reasons map[int]string
}

var operations = map[string]func() operation{
	"CreateTable":        func() operation { return new(createTable) },
	"UpdateTable":        func() operation { return new(updateTable) },
	"DescribeTable":      func() operation { return new(describeTable) },
	"DeleteTable":        func() operation { return new(deleteTable) },
	"ListTables":         func() operation { return new(listTables) },
	"PutItem":            func() operation { return new(putItem) },
	"GetItem":            func() operation { return new(getItem) },
	"DeleteItem":         func() operation { return new(deleteItem) },
	"Query":              func() operation { return new(query) },
	"Scan":               func() operation { return new(scan) },
	"TransactWriteItems": func() operation { return new(transactWriteItems) },
	"TransactGetItems":   func() operation { return new(transactGetItems) },
}

// decode reads a body. Parameters that are not known here are refused rather than
// ignored.
func decode(name string, body []byte) (operation, error) {
	make, ok := operations[name]
	if !ok {
		return nil, fail("UnknownOperationException", "dynamotest does not support %q", name)
	}
	op := make()
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(op)
	var api *apiError
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil:
		return op, nil
	case errors.As(err, &api):
		return nil, err
	case errors.As(err, &kind):
		return nil, fail("SerializationException", "%s cannot be a %s", kind.Field, kind.Value)
	}
	return nil, unsupported(name + ": " + err.Error())
}

var (
	authorization = regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=([^/, ]+)/[0-9]{8}/[a-z0-9-]+/dynamodb/aws4_request, ?SignedHeaders=([a-z0-9;-]+), ?Signature=[0-9a-f]{64}$`)
	signedTarget  = regexp.MustCompile(`(^|;)x-amz-target(;|$)`)
)

// authenticate checks that a request is signed, by whom, and that the signature
// covers the operation. It does not verify the signature.
func (s *Server) authenticate(h http.Header) error {
	given := h.Get("Authorization")
	if given == "" {
		return fail("MissingAuthenticationTokenException", "Request is missing Authentication Token")
	}
	m := authorization.FindStringSubmatch(given)
	if m == nil || h.Get("X-Amz-Date") == "" || !signedTarget.MatchString(m[2]) {
		return fail("IncompleteSignatureException", "Authorization header is not one of signature version 4 for dynamodb that signs x-amz-target: %s", given)
	}
	s.mu.Lock()
	known := s.opts.AccessKey
	s.mu.Unlock()
	if known != "" && m[1] != known {
		return fail("UnrecognizedClientException", "The security token included in the request is invalid.")
	}
	return nil
}
