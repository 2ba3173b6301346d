// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/access"
)

const (
	defaultPage = 100
	maxPage     = 1000
)

// pageToken says where a listing goes on. The metastore's cursors hold keys,
// so a listing only ever scans what its caller may see: one after another the
// namespaces granted to it.
type pageToken struct {
	Namespace string `json:"n,omitempty"`
	Cursor    string `json:"c,omitempty"`
}

func (t pageToken) String() string {
	raw, err := json.Marshal(t)
	if err != nil {
		return "" // two strings always encode
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

func parsePageToken(s string, namespaces []string) (t pageToken, err error) {
	if s == "" {
		if len(namespaces) > 0 {
			t.Namespace = namespaces[0]
		}
		return t, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || json.Unmarshal(raw, &t) != nil || !slices.Contains(namespaces, t.Namespace) {
		return t, lake.Errorf(lake.Invalid, "page_token: not one of this listing's")
	}
	return t, nil
}

func pageSize(n int32) (int, error) {
	switch {
	case n == 0:
		return defaultPage, nil
	case n < 0 || n > maxPage:
		return 0, lake.Errorf(lake.Invalid, "page_size %d: want 1..%d, or 0 for %d", n, maxPage, defaultPage)
	}
	return int(n), nil
}

// scope returns the namespaces a listing walks through, in order: the one
// asked for, or those granted. "" stands for all of them.
func scope(p access.Principal, asked string) ([]string, error) {
	switch {
	case asked != "":
		if err := lake.ValidateNamespace(asked); err != nil {
			return nil, err
		}
		if !p.May(asked) {
			return nil, nil
		}
		return []string{asked}, nil
	case p.May(access.AllNamespaces):
		return []string{""}, nil
	}
	return slices.Compact(slices.Sorted(slices.Values(p.Namespaces))), nil
}

// walk fills a page of at most size items from the namespaces, starting at the
// token, and returns the next token.
func walk[T any](ctx context.Context, namespaces []string, token string, size int, list func(ctx context.Context, namespace, cursor string, limit int) ([]T, string, error)) (items []T, next string, err error) {
	at, err := parsePageToken(token, namespaces)
	if err != nil {
		return nil, "", err
	}
	for i := slices.Index(namespaces, at.Namespace); i >= 0 && i < len(namespaces); {
		page, cursor, err := list(ctx, namespaces[i], at.Cursor, size-len(items))
		if err != nil {
			return nil, "", err
		}
		items = append(items, page...)
		at = pageToken{Namespace: namespaces[i], Cursor: cursor}
		if cursor == "" {
			i++
			if i == len(namespaces) {
				return items, "", nil
			}
			at = pageToken{Namespace: namespaces[i]}
		}
		if len(items) == size || cursor != "" {
			return items, at.String(), nil
		}
	}
	return items, "", nil
}
