// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sync/errgroup"

	storage "github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/access"
	sqlengine "github.com/lakeplane/lake/services/query/engine"
	"github.com/lakeplane/lake/services/query/gate"
	"github.com/lakeplane/lake/services/query/registration"
	"github.com/lakeplane/lake/services/query/ticket"
)

// resolveAtOnce bounds the calls to the authority of one statement.
const resolveAtOnce = 8

// missing is the one answer for a table that does not exist and for a table
// the caller may not see: the two must not be told apart.
func missing(name lake.TableName) error {
	return lake.Errorf(lake.NotFound, "table %s does not exist", name)
}

// tableOf reads a reference as a table name.
func tableOf(ref sqlengine.Name) (lake.TableName, error) {
	name := lake.TableName{Namespace: ref.Namespace, Name: ref.Table}
	switch {
	case ref.Namespace == "":
		return name, lake.Errorf(lake.Invalid, "table %q: want namespace.table or %s.namespace.table", ref.Table, CatalogName)
	case ref.Catalog != "" && !strings.EqualFold(ref.Catalog, CatalogName):
		return name, lake.Errorf(lake.Invalid, "table %s: there is no catalog %q: want %q", name, ref.Catalog, CatalogName)
	}
	if name.Validate() != nil {
		return name, missing(name) // no table can have such a name
	}
	return name, nil
}

// resolve authorizes every reference and then resolves it to what the name
// stands for now, or to something newer where the caller asked for it.
func (s *Server) resolve(ctx context.Context, p access.Principal, refs []sqlengine.Name) (map[sqlengine.Name]registration.Registration, error) {
	mins, err := minVersions(ctx)
	if err != nil {
		return nil, err
	}
	var stored []sqlengine.Name
	var names []lake.TableName
	for _, ref := range refs {
		name, err := tableOf(ref)
		if err != nil {
			return nil, err
		}
		if virtualSchema(ref) != nil {
			continue
		}
		if !p.May(name.Namespace) || inInformationSchema(ref) {
			return nil, missing(name)
		}
		stored, names = append(stored, ref), append(names, name)
	}
	found := make([]registration.Registration, len(stored))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(resolveAtOnce)
	for i, name := range names {
		g.Go(func() (err error) {
			found[i], err = s.lookup(gctx, p, name, mins)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	out := make(map[sqlengine.Name]registration.Registration, len(stored))
	tables := make(map[lake.TableName]registration.Registration, len(stored))
	for i, ref := range stored {
		// Another spelling may have been looked up at another moment: they mean one
		// table all the same, of one version.
		if _, known := tables[found[i].Name]; !known {
			tables[found[i].Name] = found[i]
		}
		out[ref] = tables[found[i].Name]
	}
	return out, nil
}

// namesOf spells the gate's references as the engine wants them.
func namesOf(refs []gate.Ref) []sqlengine.Name {
	out := make([]sqlengine.Name, len(refs))
	for i, r := range refs {
		out[i] = sqlengine.Name{Catalog: r.Catalog, Namespace: r.Schema, Table: r.Table}
	}
	return out
}

// lookup resolves one name: as it is spelled or, like SQL, in the one other
// case in which a table of that name exists.
func (s *Server) lookup(ctx context.Context, p access.Principal, name lake.TableName, mins map[lake.TableName]lake.Version) (registration.Registration, error) {
	reg, err := s.names.Get(ctx, name, mins[name])
	if !lake.Is(err, lake.NotFound) {
		return reg, err
	}
	dir, dirErr := s.directory.Current(ctx)
	if dirErr != nil {
		return registration.Registration{}, missing(name)
	}
	e := dir.FindFold(name)
	if e == nil || e.Name == name || !p.May(e.Name.Namespace) {
		return registration.Registration{}, missing(name)
	}
	reg, err = s.names.Get(ctx, e.Name, mins[e.Name])
	if lake.Is(err, lake.NotFound) {
		err = missing(name)
	}
	return reg, err
}

// pinsOf lists the distinct snapshots of resolved references, in the order of
// the references.
func pinsOf(refs []sqlengine.Name, resolved map[sqlengine.Name]registration.Registration) []ticket.Pin {
	var pins []ticket.Pin
	seen := map[lake.TableName]bool{}
	for _, ref := range refs {
		reg, ok := resolved[ref]
		if ok && !seen[reg.Name] {
			seen[reg.Name] = true
			pins = append(pins, ticket.Pin{Name: reg.Name, Snapshot: reg.Snapshot})
		}
	}
	return pins
}

// pinFor finds the pin a reference was resolved to when the ticket was made.
func pinFor(ref sqlengine.Name, pins []ticket.Pin) (int, bool) {
	fold := -1
	for i, pin := range pins {
		if pin.Name.Namespace == ref.Namespace && pin.Name.Name == ref.Table {
			return i, true
		}
		if strings.EqualFold(pin.Name.Namespace, ref.Namespace) && strings.EqualFold(pin.Name.Name, ref.Table) {
			fold = i
		}
	}
	return fold, fold >= 0
}

// planned stands in for a table while a statement is planned: planning needs
// the schema alone, so no storage is touched for it.
type planned struct{ schema *arrow.Schema }

func (t planned) Schema() *arrow.Schema { return t.schema }
func (planned) Rows() uint64            { return 0 }
func (planned) Scan(context.Context, storage.ScanOptions) (storage.Scan, error) {
	return nil, lake.Errorf(lake.Unknown, "a table was scanned while its statement was being planned")
}
