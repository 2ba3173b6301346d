// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package s3

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/objstore"
)

// verdict is what an attempt's error says about what to do next.
type verdict uint8

const (
	final    verdict = iota // the answer will not change
	again                   // certainly not done, and may be tried again
	slowDown                // the same, because the service is overloaded
	unclear                 // may have been done
)

// reason is the word for a verdict that lets a request be made again.
func (v verdict) reason() Reason {
	switch v {
	case slowDown:
		return Throttled
	case again:
		return Refused
	}
	return NoAnswer
}

// judge sorts the error of one attempt.
func judge(ctx context.Context, err error) verdict {
	status, code := statusOf(err), codeOf(err)
	switch {
	case ctx.Err() != nil:
		return final // the caller's time is over
	case status == http.StatusServiceUnavailable, status == http.StatusTooManyRequests, throttled(code):
		return slowDown
	case status == http.StatusConflict && code != "BucketAlreadyExists": // a conditional put beside another
		return again
	case code == "RequestTimeTooSkewed", code == "ExpiredToken":
		return again // fresh credentials and a fresh date may help
	case status >= 500, status == 0, status == http.StatusRequestTimeout, code == "RequestTimeout":
		return unclear // no answer, or none that can be relied on
	}
	return final
}

// refusedAtOnce says that the service itself refused a request for its load. A
// proxy before it answers 503 as well when it lost the service's answer.
func refusedAtOnce(err error) bool {
	code := codeOf(err)
	return throttled(code) || code == "TooManyRequests"
}

func throttled(code string) bool {
	return code == "SlowDown" || code == "Throttling" || code == "RequestLimitExceeded"
}

// statusOf returns the HTTP status of an answer, 0 when there was none.
func statusOf(err error) int {
	var answer *awshttp.ResponseError
	if errors.As(err, &answer) {
		return answer.HTTPStatusCode()
	}
	return 0
}

func codeOf(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

func refusedByCondition(err error) bool {
	return statusOf(err) == http.StatusPreconditionFailed || codeOf(err) == "PreconditionFailed"
}

// unknownUser are the codes for an access key that nobody has, which not every
// service answers with the status 403.
var unknownUser = map[string]bool{"InvalidAccessKeyId": true, "XAdminUserNotFound": true}

// storeError classifies a final error by what a caller can do.
func storeError(op, key string, err error) error {
	if err == nil {
		return nil
	}
	switch status, code := statusOf(err), codeOf(err); {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded) && status == 0:
		return fmt.Errorf("%s object %q: %w", op, key, err)
	case code == "NoSuchBucket":
		return lake.Errorf(lake.Precondition, "%s object %q: %w", op, key, err)
	case unknownUser[code]:
		return lake.Errorf(lake.Denied, "%s object %q: %w", op, key, err)
	case status == http.StatusNotFound, code == "NoSuchKey":
		return fmt.Errorf("%w: %q", objstore.ErrNotFound, key)
	case refusedByCondition(err):
		return fmt.Errorf("%w: %q", objstore.ErrExists, key)
	case status == http.StatusForbidden, status == http.StatusUnauthorized:
		return lake.Errorf(lake.Denied, "%s object %q: %w", op, key, err)
	case status == http.StatusBadRequest, status == http.StatusRequestedRangeNotSatisfiable:
		return lake.Errorf(lake.Invalid, "%s object %q: %w", op, key, err)
	}
	return lake.Errorf(lake.Unavailable, "%s object %q: %w", op, key, err)
}
