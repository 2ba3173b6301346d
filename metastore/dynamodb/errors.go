// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package dynamodb

import (
	"errors"

	"github.com/aws/smithy-go"

	"github.com/lakeplane/lake/lake"
)

// outcome is what an attempt of a request came to.
type outcome int

const (
	done outcome = iota
	// refused: certainly not applied, and the next attempt may be.
	refused
	// lost: it may have applied.
	lost
	// failed: certainly not applied, and no attempt will be.
	failed
)

// outcomes are those of the service's errors that say more than that the request
// was wrong. A transaction in progress is an attempt before this one.
var outcomes = map[string]outcome{
	"ProvisionedThroughputExceededException": refused,
	"ThrottlingException":                    refused,
	"RequestLimitExceeded":                   refused,
	"TransactionConflictException":           refused,
	"TransactionInProgressException":         lost,
	"InternalServerError":                    lost,
	"ServiceUnavailable":                     lost,
}

// judge tells the outcome of an answer of the service.
func judge(answer smithy.APIError) outcome {
	if o, ok := outcomes[answer.ErrorCode()]; ok {
		return o
	}
	if answer.ErrorFault() == smithy.FaultServer {
		return lost
	}
	return failed
}

// kinds are what somebody can do about the service's errors.
var kinds = map[string]lake.Kind{
	"AccessDeniedException":               lake.Denied,
	"ExpiredTokenException":               lake.Denied,
	"IncompleteSignatureException":        lake.Denied,
	"InvalidSignatureException":           lake.Denied,
	"MissingAuthenticationTokenException": lake.Denied,
	"UnrecognizedClientException":         lake.Denied,
	"LimitExceededException":              lake.Exhausted,
	"ResourceNotFoundException":           lake.Precondition,
}

// classify gives an error that no other attempt would change its kind.
func classify(op string, err error) error {
	var answer smithy.APIError
	if !errors.As(err, &answer) { // nothing was sent: no credentials, no region
		return lake.Errorf(lake.Precondition, "dynamodb: %s: %w", op, err)
	}
	if kind, ok := kinds[answer.ErrorCode()]; ok {
		return lake.Errorf(kind, "dynamodb: %s: %w", op, err)
	}
	return lake.Errorf(lake.Unknown, "dynamodb: %s: %w", op, err)
}
