// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/lakeplane/lake/lake"
)

// Deployment is what Lake needs of a Temporal namespace, as code.
type Deployment struct {
	// Namespace must exist; Temporal's own tools make it.
	Namespace string
	// Periods of the schedules.
	Periods Periods
	// BuildID, when set, becomes the current version of the worker deployment
	// [DeploymentName]: workers with a build id get no work before. Empty leaves
	// the deployment alone.
	BuildID string
}

// DeploymentName is the name of Lake's worker deployment in Temporal.
const DeploymentName = "lake"

// Mode says how far [Ensure] goes.
type Mode int

const (
	// Bring creates what is missing and updates what differs.
	Bring Mode = iota
	// Missing creates what is missing and leaves the rest, so that a worker of
	// an older release does not undo what a newer one brought.
	Missing
	// Look changes nothing and says what Bring would do.
	Look
)

// Change is one thing that [Ensure] looked at.
type Change struct {
	// What is "search attribute", "schedule" or "worker version".
	What, Name string
	// Action is "created", "updated", "unchanged", or "differs" where the mode
	// left it alone. With Look, it is what would have been done.
	Action string
	// Detail says what differed.
	Detail string
}

// Ensure brings a Temporal namespace to what the deployment needs: its search
// attributes, its schedules and, where workers have versions, the current one.
// It is idempotent: a second run changes nothing. What an operator paused stays
// paused. The changes made before a failure are returned with it.
func Ensure(ctx context.Context, c client.Client, d Deployment, mode Mode) (changes []Change, err error) {
	attributes, err := ensureAttributes(ctx, c, d.Namespace, mode)
	if changes = append(changes, attributes...); err != nil {
		return changes, err
	}
	for _, want := range d.Periods.schedules() {
		change, err := ensureSchedule(ctx, c, want, mode)
		if err != nil {
			return changes, &lake.Error{Kind: lake.Unavailable, Op: "schedule " + want.ID, Err: err}
		}
		changes = append(changes, change)
	}
	if d.BuildID == "" || mode == Missing {
		return changes, nil
	}
	change, err := ensureVersion(ctx, c, d.BuildID, mode)
	if err != nil {
		return changes, &lake.Error{Kind: lake.Unavailable, Op: "current version of worker deployment " + DeploymentName, Err: err}
	}
	return append(changes, change), nil
}

// ensureVersion makes a build the one that gets new work.
func ensureVersion(ctx context.Context, c client.Client, build string, mode Mode) (Change, error) {
	change := Change{What: "worker version", Name: DeploymentName, Action: "created"}
	handle := c.WorkerDeploymentClient().GetHandle(DeploymentName)
	have, err := handle.Describe(ctx, client.WorkerDeploymentDescribeOptions{})
	var missing *serviceerror.NotFound
	switch {
	case errors.As(err, &missing):
		change.Detail = "no worker of build " + build + " has polled yet: start one"
	case err != nil:
		return change, err
	default:
		current := ""
		if v := have.Info.RoutingConfig.CurrentVersion; v != nil {
			current = v.BuildID
		}
		if current == build {
			change.Action = "unchanged"
			return change, nil
		}
		change.Action, change.Detail = "updated", fmt.Sprintf("build %q → %q", current, build)
	}
	if mode == Look {
		return change, nil
	}
	_, err = handle.SetCurrentVersion(ctx, client.WorkerDeploymentSetCurrentVersionOptions{BuildID: build})
	return change, err
}
