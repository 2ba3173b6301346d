// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lancens

import (
	"context"
	"encoding/base64"
	"slices"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/access"
)

const (
	maxTables = 1000
	// maxScanned bounds the tables that are looked at to tell the namespaces.
	maxScanned = 100_000
)

type namespaces struct {
	Namespaces []string `json:"namespaces"`
}

type tables struct {
	Tables    []string `json:"tables"`
	PageToken string   `json:"page_token,omitempty"`
}

type properties struct {
	Properties map[string]string `json:"properties"`
}

func noNamespace(name string) error {
	return &codedError{codeNamespaceNotFound, lake.Errorf(lake.NotFound, "no namespace %s", name)}
}

func noTable(name lake.TableName) error { return lake.Errorf(lake.NotFound, "no table %s", name) }

// listNamespaces tells the namespaces that have tables and are granted.
func (s *Server) listNamespaces(ctx context.Context, p access.Principal, in *request) (any, error) {
	name, root, err := in.namespace()
	if err != nil {
		return nil, err
	}
	out := namespaces{Namespaces: []string{}}
	if !root {
		_, err := s.granted(ctx, p, name)
		return out, err // there is one level of them
	}
	if p.May(access.AllNamespaces) {
		out.Namespaces, err = s.namespaces(ctx)
		return out, err
	}
	for _, ns := range p.Namespaces {
		found, err := s.granted(ctx, p, ns)
		if err == nil && found {
			out.Namespaces = append(out.Namespaces, ns)
		}
	}
	slices.Sort(out.Namespaces)
	return out, nil
}

// namespaces tells those of all tables.
func (s *Server) namespaces(ctx context.Context) ([]string, error) {
	seen := map[string]bool{}
	scanned := 0
	for cursor := ""; ; {
		page, next, err := s.opts.Catalog.List(ctx, "", cursor, lake.MaxPageSize)
		if err != nil {
			return nil, err
		}
		for _, t := range page {
			seen[t.Name.Namespace] = true
		}
		if scanned += len(page); scanned > maxScanned {
			return nil, lake.Errorf(lake.Exhausted, "there are more than %d tables: ask for a namespace", maxScanned)
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	out := make([]string, 0, len(seen))
	for ns := range seen {
		out = append(out, ns)
	}
	slices.Sort(out)
	return out, nil
}

// granted reports whether a namespace has tables; one that is not granted is not
// there.
func (s *Server) granted(ctx context.Context, p access.Principal, ns string) (bool, error) {
	if !p.May(ns) {
		return false, noNamespace(ns)
	}
	for cursor := ""; ; {
		page, next, err := s.opts.Catalog.List(ctx, ns, cursor, 1)
		if len(page) > 0 || err != nil {
			return err == nil, err
		}
		if cursor = next; cursor == "" {
			return false, noNamespace(ns)
		}
	}
}

func (s *Server) describeNamespace(ctx context.Context, p access.Principal, in *request) (any, error) {
	name, root, err := in.namespace()
	if err == nil && !root {
		_, err = s.granted(ctx, p, name)
	}
	return properties{map[string]string{}}, err
}

// listTables tells the names of the tables of a namespace.
func (s *Server) listTables(ctx context.Context, p access.Principal, in *request) (any, error) {
	name, root, err := in.namespace()
	if err != nil {
		return nil, err
	}
	if root {
		return tables{Tables: []string{}}, nil // tables are in namespaces
	}
	if !p.May(name) {
		return nil, noNamespace(name)
	}
	return s.tables(ctx, in, name, func(t catalog.Table) (string, bool) { return t.Name.Name, true })
}

// listAllTables tells the identifiers of all tables that are granted.
func (s *Server) listAllTables(ctx context.Context, p access.Principal, in *request) (any, error) {
	return s.tables(ctx, in, "", func(t catalog.Table) (string, bool) {
		return t.Name.Namespace + in.delimiter + t.Name.Name, p.May(t.Name.Namespace)
	})
}

// tables lists a page. A token is a cursor of the metastore, which holds nothing
// but a key; it is encoded so that nobody takes it for a name.
func (s *Server) tables(ctx context.Context, in *request, namespace string, name func(catalog.Table) (string, bool)) (any, error) {
	limit, err := in.limit(maxTables)
	if err != nil {
		return nil, err
	}
	cursor, err := base64.RawURLEncoding.DecodeString(in.PageToken)
	if err != nil {
		return nil, lake.Errorf(lake.Invalid, "page_token: not one of this listing's")
	}
	out := tables{Tables: []string{}}
	page, next, err := s.opts.Catalog.List(ctx, namespace, string(cursor), limit)
	if err != nil {
		return nil, err
	}
	for _, t := range page {
		if n, ok := name(t); ok {
			out.Tables = append(out.Tables, n)
		}
	}
	slices.Sort(out.Tables)
	if next != "" && namespace != "" {
		out.PageToken = base64.RawURLEncoding.EncodeToString([]byte(next))
	}
	return out, nil
}

type table struct {
	Table      string            `json:"table"`
	Namespace  []string          `json:"namespace"`
	Version    lake.Version      `json:"version,omitempty"`
	Location   string            `json:"location"`
	TableURI   string            `json:"table_uri,omitempty"`
	Storage    map[string]string `json:"storage_options,omitempty"`
	Properties map[string]string `json:"properties"`
	Managed    bool              `json:"managed_versioning"`
}

// find returns the table that the address names, if it is granted.
func (s *Server) find(ctx context.Context, p access.Principal, in *request) (catalog.Table, error) {
	name, err := in.granted(p)
	if err != nil {
		return catalog.Table{}, err
	}
	return s.opts.Catalog.Get(ctx, name)
}

func (s *Server) describeTable(ctx context.Context, p access.Principal, in *request) (any, error) {
	if in.Tag != "" {
		return nil, lake.Errorf(lake.Unsupported, "a table is described by its version, not by a tag")
	}
	t, err := s.find(ctx, p, in)
	if lake.Is(err, lake.NotFound) && in.Version == nil {
		if d, ok := s.declared(ctx, p, in); ok {
			return s.declaration(d, in.WithTableURI), nil
		}
	}
	if err != nil {
		return nil, err
	}
	version := t.Snapshot.Version
	if in.Version != nil {
		snap, err := s.version(ctx, t, *in.Version)
		if err != nil {
			return nil, err
		}
		version = snap.Version
	}
	out := table{
		Table: t.Name.Name, Namespace: []string{t.Name.Namespace}, Version: version,
		Location: s.opts.Place.location(t.Snapshot.Location), Storage: s.opts.Place.Storage,
		Properties: map[string]string{"lake.incarnation": t.Snapshot.Incarnation.String()}, Managed: true,
	}
	if in.WithTableURI {
		out.TableURI = s.opts.Place.uri(t.Snapshot.Location)
	}
	return out, nil
}

func (s *Server) tableExists(ctx context.Context, p access.Principal, in *request) (any, error) {
	_, err := s.find(ctx, p, in)
	return struct{}{}, err
}
