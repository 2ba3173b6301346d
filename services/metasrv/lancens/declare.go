// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lancens

import (
	"context"
	"strings"
	"time"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/access"
)

// writable refuses what changes tables where nothing may.
func (s *Server) writable() error {
	if s.opts.ReadOnly != "" {
		return lake.Errorf(lake.Unsupported, "%s", s.opts.ReadOnly)
	}
	return nil
}

// mine is the table that the address names, if the principal may make or drop it.
func (s *Server) mine(p access.Principal, in *request) (lake.TableName, error) {
	name, err := in.table()
	switch {
	case err != nil:
		return name, err
	case !p.May(name.Namespace):
		return name, lake.Errorf(lake.Denied, "namespace %s is not granted to %s", name.Namespace, p.Name)
	}
	return name, s.writable()
}

// declareTable reserves a name and says where the table's objects go. Where that
// is, is the server's to say.
func (s *Server) declareTable(ctx context.Context, p access.Principal, in *request) (any, error) {
	name, err := s.mine(p, in)
	if err != nil {
		return nil, err
	}
	if in.Location != "" {
		return nil, lake.Errorf(lake.Invalid, "location %q: the server places tables; leave it out", in.Location)
	}
	d, err := s.opts.Authority.Declare(ctx, name, p.Name)
	if err != nil {
		return nil, err
	}
	return s.declaration(d, false), nil
}

// declaration tells of a table that is being made: all but a version.
func (s *Server) declaration(d catalog.Declaration, uri bool) table {
	out := table{
		Table: d.Name.Name, Namespace: []string{d.Name.Namespace}, Location: s.opts.Place.location(d.Location()), Storage: s.opts.Place.Storage,
		Properties: map[string]string{"lake.incarnation": d.Incarnation.String(), "lake.declared_until": d.Expires.Format(time.RFC3339)}, Managed: true,
	}
	if uri {
		out.TableURI = s.opts.Place.uri(d.Location())
	}
	return out
}

// declared is the declaration that reserves the name, if one does. Its maker asks
// for the table's place while it writes.
func (s *Server) declared(ctx context.Context, p access.Principal, in *request) (catalog.Declaration, bool) {
	name, err := in.granted(p)
	if err != nil {
		return catalog.Declaration{}, false
	}
	d, err := s.opts.Catalog.Reserved(ctx, name)
	return d, err == nil
}

// dropTable drops a table, or what is left of making one.
func (s *Server) dropTable(ctx context.Context, p access.Principal, in *request) (any, error) {
	name, err := in.granted(p)
	if err == nil {
		err = s.writable()
	}
	if err == nil {
		err = s.opts.Authority.DropNamed(ctx, name, p.Name)
	}
	return struct{}{}, err
}

// incarnationOf tells from the path of its first manifest which declared
// incarnation of the table a client means.
func incarnationOf(name lake.TableName, key string) (lake.Incarnation, error) {
	folder, _, _ := strings.Cut(strings.TrimPrefix(key, name.Path()+"/"), ".lance/")
	inc, err := lake.ParseID(folder)
	if err != nil || !strings.HasPrefix(key, lake.Place(name, inc).Prefix()) {
		return lake.Incarnation{}, lake.Errorf(lake.Invalid, "manifest_path: %q is not where the table was declared to be", key)
	}
	return inc, nil
}
