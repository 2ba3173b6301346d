// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"

	"github.com/lakeplane/lake/lake"
)

// quiet takes the text from failures of activities that run inside a workflow task:
// the SDK writes it into the history in clear, whatever codec is set. Nobody needs it
// there, since what fails in place is an activity of its own after that, which tells.
type quiet struct {
	interceptor.WorkerInterceptorBase
}

// InterceptActivity implements [interceptor.WorkerInterceptor].
func (*quiet) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &quieted{interceptor.ActivityInboundInterceptorBase{Next: next}}
}

type quieted struct {
	interceptor.ActivityInboundInterceptorBase
}

// ExecuteActivity implements [interceptor.ActivityInboundInterceptor].
func (q *quieted) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	result, err := q.Next.ExecuteActivity(ctx, in)
	if err == nil || temporal.IsCanceledError(err) || !activity.GetInfo(ctx).IsLocalActivity {
		return result, err
	}
	kind := lake.KindOf(err).String()
	var app *temporal.ApplicationError
	if errors.As(err, &app) {
		kind = app.Type()
	}
	return nil, temporal.NewApplicationError("not done in place", kind)
}
