// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package worker

import "go.temporal.io/sdk/interceptor"

// Limit is what every worker has before its activities.
var Limit interceptor.WorkerInterceptor = &limit{}
