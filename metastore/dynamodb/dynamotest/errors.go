// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package dynamotest

import (
	"errors"
	"fmt"
	"net/http"
)

// Names of error types. The namespaces are those of the service.
const (
	nsTable    = "com.amazonaws.dynamodb.v20120810#"
	nsService  = "com.amazon.coral.service#"
	nsValidate = "com.amazon.coral.validate#"
	nsAvail    = "com.amazon.coral.availability#"
)

// namespaces of the types that are not DynamoDB's own.
var namespaces = map[string]string{
	"ValidationException":                 nsValidate,
	"ThrottlingException":                 nsAvail,
	"ServiceUnavailable":                  nsAvail,
	"SerializationException":              nsService,
	"UnknownOperationException":           nsService,
	"UnrecognizedClientException":         nsService,
	"MissingAuthenticationTokenException": nsService,
	"IncompleteSignatureException":        nsService,
}

// apiError is an answer that is not a success.
type apiError struct {
	kind, message string
	// fields are those of the error besides its message.
	fields map[string]any
	// early is an error that the service finds before it begins a transaction, so
	// that it is none of its cancellation reasons.
	early bool
}

func (e *apiError) Error() string { return e.kind + ": " + e.message }

// status is the HTTP status of the error.
func (e *apiError) status() int {
	switch e.kind {
	case "InternalServerError":
		return http.StatusInternalServerError
	case "ServiceUnavailable":
		return http.StatusServiceUnavailable
	}
	return http.StatusBadRequest
}

// wire is the body of the answer. The message of a cancelled transaction and of
// the service's front end is spelled with a capital, as there.
func (e *apiError) wire() map[string]any {
	ns, foreign := namespaces[e.kind]
	if !foreign {
		ns = nsTable
	}
	body := map[string]any{"__type": ns + e.kind}
	switch e.kind {
	case "TransactionCanceledException", "TransactionInProgressException", "IdempotentParameterMismatchException", "SerializationException":
		body["Message"] = e.message
	default:
		body["message"] = e.message
	}
	for name, field := range e.fields {
		body[name] = field
	}
	return body
}

func fail(kind, format string, args ...any) error {
	return &apiError{kind: kind, message: fmt.Sprintf(format, args...)}
}

// invalid is a ValidationException.
func invalid(format string, args ...any) error {
	return fail("ValidationException", format, args...)
}

// unsupported names what this emulator does not know, so that no test relies on
// a parameter that was ignored.
func unsupported(what string) error {
	return invalid("dynamotest does not support %s", what)
}

// oneOf checks a parameter that takes one of a few words. "" is not given.
func oneOf(parameter, got string, allowed ...string) error {
	if got == "" {
		return nil
	}
	for _, a := range allowed {
		if got == a {
			return nil
		}
	}
	return invalid("1 validation error detected: Value '%s' at '%s' failed to satisfy constraint: Member must satisfy enum value set: %v", got, parameter, allowed)
}

func tableMissing() error {
	return fail("ResourceNotFoundException", "Requested resource not found")
}

// isEarly tells an error that fails a transaction as a whole.
func isEarly(err error) bool {
	var api *apiError
	return errors.As(err, &api) && api.early
}

// messageOf is the message of an error without its type.
func messageOf(err error) string {
	var api *apiError
	if errors.As(err, &api) {
		return api.message
	}
	return err.Error()
}
