// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package workflows

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/lakeplane/lake/lake"
)

// Starter is what a service needs after it committed an intent.
type Starter interface {
	// Start begins the procedure unless it runs already. A failure is not the
	// caller's: the intent is recorded, so log it and answer; the sweep starts
	// what is missing. One that runs already looks at its intent again. It gives
	// up after [StartTimeout] whatever ctx allows.
	Start(ctx context.Context, kind, id string) error
	// Recheck makes a procedure that waits look at its intent again, because
	// the intent was changed or taken back. A failure costs only time. It gives
	// up as Start does; lake.NotFound when no such workflow is open.
	Recheck(ctx context.Context, ref Ref) error
	// UIURL is the address of the workflow in Temporal's web UI, or empty.
	UIURL(workflowID string) string
}

// StartTimeout bounds one attempt to start or wake a workflow. An RPC must not hang on
// Temporal: it has already done what it promised.
const StartTimeout = 2 * time.Second

// Client starts, watches and controls procedures. It is safe for concurrent
// use.
type Client struct {
	temporal  client.Client
	namespace string
	ui        string
}

var _ Starter = (*Client)(nil)

// NewClient wraps a Temporal client of the given Temporal namespace. It does
// not own it. ui is the base URL of the web UI, such as http://127.0.0.1:8233,
// or empty.
func NewClient(c client.Client, namespace, ui string) *Client {
	return &Client{temporal: c, namespace: namespace, ui: strings.TrimSuffix(ui, "/")}
}

// Start implements [Starter]. A bad kind or id is lake.Invalid, everything
// else lake.Unavailable.
//
// The workflow id is the resource with its incarnation. While one is open, it
// is told to look at its intent again: after an undrop and a second drop of the
// same incarnation it may still wait for the end of the first one's window. A
// closed one does not stand in the way: whether anything is left to do is for
// the intent to say.
func (c *Client) Start(ctx context.Context, kind, id string) error {
	ref, err := ParseRef(kind + "/" + id)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, StartTimeout)
	defer cancel()
	options, workflow, in := launch(ref)
	_, err = c.temporal.SignalWithStartWorkflow(ctx, options.ID, RecheckSignal, nil, options, workflow, in)
	return unavailable("start "+ref.String(), err)
}

// UIURL implements [Starter].
func (c *Client) UIURL(workflowID string) string {
	if c.ui == "" {
		return ""
	}
	return c.ui + "/namespaces/" + pathEscape.Replace(c.namespace) + "/workflows/" + pathEscape.Replace(workflowID)
}

// pathEscape makes one path segment of a name. Names here are letters, digits
// and ".-_/", so net/url, which workflow code must not import, is not needed.
var pathEscape = strings.NewReplacer("/", "%2F", "%", "%25", "?", "%3F", "#", "%23", " ", "%20")

// Status asks the running procedure how it stands. It needs a worker; the
// procedure's record tells the same without one. lake.NotFound when there is
// no such workflow.
func (c *Client) Status(ctx context.Context, ref Ref) (Status, error) {
	v, err := c.temporal.QueryWorkflow(ctx, ref.String(), "", StatusQuery)
	if err != nil {
		return Status{}, unavailable("status of "+ref.String(), err)
	}
	var s Status
	if err := v.Get(&s); err != nil {
		return Status{}, lake.Errorf(lake.Corrupt, "status of %s: %w", ref, err)
	}
	return s, nil
}

// Pause holds the workflow before its next step, as the signal does from
// Temporal's UI. Only the workflow knows, and notes it in the audit: an operator's
// pause is an order in the procedure's record.
func (c *Client) Pause(ctx context.Context, ref Ref) error {
	return c.signal(ctx, ref, PauseSignal, SignalInput{})
}

// Resume ends a pause, or the wait after a failure. It is for who has recorded
// the order.
func (c *Client) Resume(ctx context.Context, ref Ref) error {
	return c.signal(ctx, ref, ResumeSignal, SignalInput{Recorded: true})
}

// Recheck implements [Starter].
func (c *Client) Recheck(ctx context.Context, ref Ref) error {
	ctx, cancel := context.WithTimeout(ctx, StartTimeout)
	defer cancel()
	return c.signal(ctx, ref, RecheckSignal, nil)
}

// Cancel ends the workflow after its current page. It does not end the intent:
// unless the record says that an operator cancelled the procedure, the next sweep
// starts it again.
func (c *Client) Cancel(ctx context.Context, ref Ref) error {
	return unavailable("cancel "+ref.String(), c.temporal.CancelWorkflow(ctx, ref.String(), ""))
}

// Open returns the workflow ids of the procedures of a kind that are open. The
// answer lags by moments: one just started may be missing.
func (c *Client) Open(ctx context.Context, kind Kind) (map[string]bool, error) {
	open := map[string]bool{}
	request := &workflowservice.ListWorkflowExecutionsRequest{
		PageSize: openPage,
		Query:    fmt.Sprintf("%s = '%s' AND ExecutionStatus = 'Running'", AttributeProcedure.GetName(), kind),
	}
	for {
		page, err := c.temporal.ListWorkflow(ctx, request)
		if err != nil {
			return nil, unavailable("list open procedures", err)
		}
		for _, e := range page.Executions {
			open[e.Execution.WorkflowId] = true
		}
		if request.NextPageToken = page.NextPageToken; len(request.NextPageToken) == 0 {
			return open, nil
		}
	}
}

const openPage = 1000

// Wait returns when the procedure's workflow has ended, with its failure if it
// failed.
func (c *Client) Wait(ctx context.Context, ref Ref) error {
	return unavailable("wait for "+ref.String(), c.temporal.GetWorkflow(ctx, ref.String(), "").Get(ctx, nil))
}

func (c *Client) signal(ctx context.Context, ref Ref, name string, input any) error {
	return unavailable(name+" "+ref.String(), c.temporal.SignalWorkflow(ctx, ref.String(), "", name, input))
}

// unavailable classifies an error of the Temporal client.
func unavailable(op string, err error) error {
	if err == nil {
		return nil
	}
	kind := lake.Unavailable
	var (
		notFound *serviceerror.NotFound
		invalid  *serviceerror.InvalidArgument
	)
	switch {
	case errors.As(err, &notFound):
		kind = lake.NotFound
	case errors.As(err, &invalid):
		kind = lake.Invalid
	}
	return &lake.Error{Kind: kind, Op: op, Err: err}
}
