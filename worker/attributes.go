// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/workflows"
)

// attributes are the search attributes every procedure sets.
var attributes = []temporal.SearchAttributeKeyKeyword{
	workflows.AttributeProcedure, workflows.AttributePhase, workflows.AttributeNamespace, workflows.AttributeTable,
}

// ensureAttributes adds Lake's search attributes to a namespace that lacks them:
// without them no procedure can be started there. Where the caller may not
// change the namespace it fails with lake.Precondition and names what an
// operator must add.
func ensureAttributes(ctx context.Context, c client.Client, namespace string, mode Mode) ([]Change, error) {
	have, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return nil, &lake.Error{Kind: lake.Unavailable, Op: "list search attributes of Temporal namespace " + namespace, Err: err}
	}
	missing := map[string]enums.IndexedValueType{}
	var names []string
	var changes []Change
	for _, key := range attributes {
		change := Change{What: "search attribute", Name: key.GetName(), Action: "unchanged"}
		switch kind, ok := have.CustomAttributes[key.GetName()]; {
		case !ok:
			change.Action = "created"
			missing[key.GetName()] = enums.INDEXED_VALUE_TYPE_KEYWORD
			names = append(names, key.GetName())
		case kind != enums.INDEXED_VALUE_TYPE_KEYWORD:
			return changes, lake.Errorf(lake.Precondition, "Temporal namespace %s has search attribute %s of type %s: Lake needs it as Keyword", namespace, key.GetName(), kind)
		}
		changes = append(changes, change)
	}
	if len(missing) == 0 || mode == Look {
		return changes, nil
	}
	_, err = c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		Namespace: namespace, SearchAttributes: missing,
	})
	if err != nil {
		return nil, lake.Errorf(lake.Precondition, "Temporal namespace %s lacks the search attributes %v of type Keyword, and they could not be added: %w", namespace, names, err)
	}
	return changes, awaitAttributes(ctx, c, names)
}

// attributesWithin bounds the wait for attributes that were added.
const attributesWithin = time.Minute

// awaitAttributes waits until a query that names the attributes is accepted: the
// server answers from a cache that lags a change by some seconds.
func awaitAttributes(ctx context.Context, c client.Client, names []string) error {
	ctx, cancel := context.WithTimeout(ctx, attributesWithin)
	defer cancel()
	query := "`" + strings.Join(names, "` IS NULL AND `") + "` IS NULL"
	for {
		_, err := c.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Query: query})
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return &lake.Error{Kind: lake.Unavailable, Op: "wait for search attributes to become usable", Err: err}
		case <-time.After(200 * time.Millisecond):
		}
	}
}
