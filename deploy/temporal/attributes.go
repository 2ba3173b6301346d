// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"
)

// lakeAttributes are the search attributes every Lake procedure sets. SQLite
// has room for ten keyword attributes in a namespace.
var lakeAttributes = map[string]enums.IndexedValueType{
	"LakeProcedure": enums.INDEXED_VALUE_TYPE_KEYWORD,
	"LakePhase":     enums.INDEXED_VALUE_TYPE_KEYWORD,
	"LakeNamespace": enums.INDEXED_VALUE_TYPE_KEYWORD,
	"LakeTable":     enums.INDEXED_VALUE_TYPE_KEYWORD,
}

// attributeTypes is lakeAttributes plus the name=Type pairs of the command line.
func attributeTypes(pairs []string) (map[string]enums.IndexedValueType, error) {
	types := maps.Clone(lakeAttributes)
	for _, pair := range pairs {
		name, kind, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("--search-attribute %q: want name=Type", pair)
		}
		t, err := enums.IndexedValueTypeFromString(kind)
		if err != nil || t == enums.INDEXED_VALUE_TYPE_UNSPECIFIED {
			return nil, fmt.Errorf("--search-attribute %q: unknown type %q", pair, kind)
		}
		types[name] = t
	}
	return types, nil
}

// prepare brings the namespaces of a running server to what Lake needs and
// returns once a client can rely on it. It may run against a file of any age:
// namespaces are only created with attributes when the file is new, so the rest
// goes through the public API.
func prepare(ctx context.Context, c client.Client, o options) error {
	types, err := attributeTypes(o.attributes)
	if err != nil {
		return err
	}
	for _, name := range o.namespaces {
		if err := retain(ctx, c, name, o.retention); err != nil {
			return err
		}
		if err := addAttributes(ctx, c, name, types); err != nil {
			return err
		}
		if err := awaitAttributes(ctx, c, name, types); err != nil {
			return err
		}
	}
	return nil
}

// retain sets how long finished workflows are kept: the day a new namespace is
// born with would lose a procedure's history over a weekend.
func retain(ctx context.Context, c client.Client, name string, keep time.Duration) error {
	_, err := c.WorkflowService().UpdateNamespace(ctx, &workflowservice.UpdateNamespaceRequest{
		Namespace: name,
		Config:    &namespace.NamespaceConfig{WorkflowExecutionRetentionTtl: durationpb.New(keep)},
	})
	if err != nil {
		return fmt.Errorf("set retention of namespace %s: %w", name, err)
	}
	return nil
}

func addAttributes(ctx context.Context, c client.Client, name string, want map[string]enums.IndexedValueType) error {
	have, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: name})
	if err != nil {
		return fmt.Errorf("list search attributes of namespace %s: %w", name, err)
	}
	missing := map[string]enums.IndexedValueType{}
	for attribute, kind := range want {
		switch got, ok := have.CustomAttributes[attribute]; {
		case !ok:
			missing[attribute] = kind
		case got != kind:
			return fmt.Errorf("namespace %s has search attribute %s of type %s, want %s", name, attribute, got, kind)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	_, err = c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		Namespace: name, SearchAttributes: missing,
	})
	if err != nil {
		return fmt.Errorf("add search attributes to namespace %s: %w", name, err)
	}
	return nil
}

// awaitAttributes waits until a query that names every attribute is accepted:
// the server answers from a cache that lags a change by some seconds.
func awaitAttributes(ctx context.Context, c client.Client, name string, want map[string]enums.IndexedValueType) error {
	var terms []string
	for attribute := range want {
		terms = append(terms, "`"+attribute+"` IS NULL")
	}
	request := &workflowservice.CountWorkflowExecutionsRequest{Namespace: name, Query: strings.Join(terms, " AND ")}
	for {
		_, err := c.WorkflowService().CountWorkflowExecutions(ctx, request)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("search attributes of namespace %s did not become usable: %w", name, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
