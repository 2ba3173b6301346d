// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/workflows"
)

// limit refuses results of activities that are too large for a history: the step
// fails for good with what is wrong, instead of being tried again without end.
type limit struct {
	interceptor.WorkerInterceptorBase
}

// InterceptActivity implements [interceptor.WorkerInterceptor].
func (*limit) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	return &limited{interceptor.ActivityInboundInterceptorBase{Next: next}}
}

type limited struct {
	interceptor.ActivityInboundInterceptorBase
}

// ExecuteActivity implements [interceptor.ActivityInboundInterceptor].
func (l *limited) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	result, err := l.Next.ExecuteActivity(ctx, in)
	if err != nil || result == nil {
		return result, err
	}
	if err := workflows.CheckPayload("the result of "+activity.GetInfo(ctx).ActivityType.Name, result); err != nil {
		return nil, temporal.NewNonRetryableApplicationError(err.Error(), lake.Invalid.String(), err)
	}
	return result, nil
}
