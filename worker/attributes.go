// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/workflows"
)

// attributes are the search attributes every procedure sets.
var attributes = []temporal.SearchAttributeKeyKeyword{
	workflows.AttributeProcedure, workflows.AttributePhase, workflows.AttributeNamespace, workflows.AttributeTable,
}

// EnsureAttributes adds Lake's search attributes to a Temporal namespace that
// lacks them: without them no procedure can be started there. It is idempotent.
// Where the caller may not change the namespace it fails with
// lake.Precondition and names what an operator must add.
func EnsureAttributes(ctx context.Context, c client.Client, namespace string) error {
	have, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return &lake.Error{Kind: lake.Unavailable, Op: "list search attributes of Temporal namespace " + namespace, Err: err}
	}
	missing := map[string]enums.IndexedValueType{}
	var names []string
	for _, key := range attributes {
		if _, ok := have.CustomAttributes[key.GetName()]; !ok {
			missing[key.GetName()] = enums.INDEXED_VALUE_TYPE_KEYWORD
			names = append(names, key.GetName())
		}
	}
	if len(missing) == 0 {
		return nil
	}
	_, err = c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		Namespace: namespace, SearchAttributes: missing,
	})
	if err != nil {
		return lake.Errorf(lake.Precondition, "Temporal namespace %s lacks the search attributes %v of type Keyword, and they could not be added: %w", namespace, names, err)
	}
	return nil
}
