// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package audit holds the records of tables against the objects of their
// versions: whether every version that is promised can be read, and what lies
// about that none needs. It changes nothing, except that on request it finishes
// versions that a crash left unpublished.
//
// It may run beside a live deployment. What is being written meanwhile is told
// from what is left behind by its age.
package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/objstore"
)

// Problem is a kind of finding.
type Problem string

// The problems. All but the last three mean that something promised is not there.
const (
	// Missing: an object that a version needs is gone.
	Missing Problem = "missing"
	// Short: an object has another size than its version says.
	Short Problem = "short"
	// Damaged: a manifest holds other bytes than were committed, or, which only
	// deep audits find, an object does not hold what its version says.
	Damaged Problem = "damaged"
	// Gap: a version between the first and the current one has no record.
	Gap Problem = "gap"
	// Foreign: a version of the format that no record knows, which another
	// writer made.
	Foreign Problem = "foreign"
	// Unpublished: a committed version cannot be opened by its number yet. Lake
	// reads it all the same; Repair publishes it.
	Unpublished Problem = "unpublished"
	// Orphan: an object that no version needs, older than the grace. It costs
	// room and nothing else.
	Orphan Problem = "orphan"
	// Useless: an object that only saves work holds something that no reader
	// takes. Nothing is lost by it. Only [Deep] audits find it.
	Useless Problem = "useless"
)

// Harmless reports whether every promise is kept in spite of the problem.
func (p Problem) Harmless() bool { return p == Unpublished || p == Orphan || p == Useless }

// Finding is one thing that is not as it should be.
type Finding struct {
	Table   lake.TableName
	Version lake.Version // 0 when it is about no version
	Problem Problem
	// Key is the object's key in the store, or empty.
	Key string
	// Detail says more, for people.
	Detail string
	// Repaired says that it is not so any more.
	Repaired bool
}

// Options say what is audited. All but the last four are required.
type Options struct {
	Catalog *catalog.Catalog
	// Records is the metastore with the history of versions.
	Records metastore.Store
	Objects objstore.Store
	// Engine must have the ability [engine.Inspector].
	Engine engine.Engine
	// Depth is how deep objects are looked into. An engine that cannot,
	// [engine.Verifier], makes more than Shallow lake.Unsupported.
	Depth Depth
	// Repair publishes versions that are not.
	Repair bool
	// Grace is how old an object is before it counts as left behind. 0 means
	// one hour.
	Grace time.Duration
	// Done is told of every table that was looked at.
	Done func(Checked)
}

// Depth is how deep objects are looked into.
type Depth int

// The depths. Each looks at what the one before does.
const (
	// Shallow: manifests are read, and of other objects it is known that they are
	// there and how long they are.
	Shallow Depth = iota
	// Deep: what readers read of an object before its data holds what the versions
	// say.
	Deep
	// Data: every value of every row is read.
	Data
)

// Checked is what was looked at of one table.
type Checked struct {
	Table             lake.TableName
	Versions, Objects int
	Bytes             int64
}

// Auditor audits tables. Make one with [New].
type Auditor struct {
	opts      Options
	inspector engine.Inspector
	verifier  engine.Verifier // nil: shallow
}

// New returns an auditor; an engine that cannot tell what a version consists
// of is lake.Unsupported.
func New(opts Options) (*Auditor, error) {
	inspector, ok := opts.Engine.(engine.Inspector)
	if !ok {
		return nil, lake.Errorf(lake.Unsupported, "audit: engine %q does not tell what a version consists of", opts.Engine.Name())
	}
	verifier, ok := opts.Engine.(engine.Verifier)
	if !ok && opts.Depth > Shallow {
		return nil, lake.Errorf(lake.Unsupported, "audit: engine %q does not look into its objects", opts.Engine.Name())
	}
	if opts.Depth == Shallow {
		verifier = nil
	}
	if opts.Grace == 0 {
		opts.Grace = time.Hour
	}
	if opts.Done == nil {
		opts.Done = func(Checked) {}
	}
	return &Auditor{opts, inspector, verifier}, nil
}

// All audits every table, of one namespace when it is not empty, and calls
// found for each finding. An error ends it: what was not looked at is not
// known to be good.
func (a *Auditor) All(ctx context.Context, namespace string, found func(Finding) error) error {
	for cursor := ""; ; {
		tables, next, err := a.opts.Catalog.List(ctx, namespace, cursor, lake.MaxPageSize)
		if err != nil {
			return err
		}
		for _, t := range tables {
			if err := a.table(ctx, t, found); err != nil {
				return err
			}
		}
		if cursor = next; cursor == "" {
			return nil
		}
	}
}

// Table audits one table; lake.NotFound when there is none.
func (a *Auditor) Table(ctx context.Context, name lake.TableName, found func(Finding) error) error {
	t, err := a.opts.Catalog.Get(ctx, name)
	if err != nil {
		return err
	}
	return a.table(ctx, t, found)
}

func (a *Auditor) table(ctx context.Context, t catalog.Table, found func(Finding) error) error {
	c := &check{Auditor: a, table: t, found: found, needed: map[string]need{}, staged: map[string]bool{}, extras: map[string]bool{}, versions: map[lake.Version]bool{}}
	if err := c.run(ctx); err != nil {
		return lake.Wrap("audit table "+t.Name.String(), err)
	}
	a.opts.Done(Checked{Table: t.Name, Versions: len(c.versions), Objects: c.objects, Bytes: c.bytes})
	return nil
}

// check is the audit of one table.
type check struct {
	*Auditor
	table    catalog.Table
	found    func(Finding) error
	needed   map[string]need // by key
	staged   map[string]bool // manifests without their final name
	extras   map[string]bool // what may be there or not
	versions map[lake.Version]bool
	objects  int
	bytes    int64
}

// need is why an object must be there.
type need struct {
	size int64 // -1 when it is not known
	// by and last are the first and the last version that need it.
	by, last lake.Version
}

// givenUp reports whether a version need not be there any more: it was given up
// by a clean-up, which may be under way, or the table was dropped. One that a tag
// keeps has its manifest, so what is missing of it is told otherwise.
func (c *check) givenUp(ctx context.Context, v lake.Version) (bool, error) {
	if v <= c.table.Reclaimed.Floor {
		return true, nil
	}
	now, err := c.opts.Catalog.GetIncarnation(ctx, c.table.Name, c.table.Snapshot.Incarnation)
	if lake.Is(err, lake.NotFound) {
		return true, nil
	}
	c.table.Reclaimed = now.Reclaimed
	return err == nil && v <= now.Reclaimed.Floor, err
}

func (c *check) report(version lake.Version, p Problem, key, format string, args ...any) error {
	return c.found(Finding{Table: c.table.Name, Version: version, Problem: p, Key: key, Detail: fmt.Sprintf(format, args...)})
}

// run first collects what versions need, and lists the objects after that: an
// object of a version that is committed in between is then unknown, and young.
func (c *check) run(ctx context.Context) error {
	if err := c.history(ctx); err != nil {
		return err
	}
	for v := c.table.Reclaimed.Floor + 1; v <= c.table.Snapshot.Version; v++ {
		if c.versions[v] {
			continue
		}
		if gone, err := c.givenUp(ctx, v); err != nil {
			return err
		} else if !gone {
			if err := c.report(v, Gap, "", "the table is at version %d and this one has no record", c.table.Snapshot.Version); err != nil {
				return err
			}
		}
	}
	return c.holdAgainstObjects(ctx)
}

// history inspects every recorded version.
func (c *check) history(ctx context.Context) error {
	prefix := c.opts.Engine.HistoryPrefix(c.table.Snapshot.Location)
	for cursor := ""; ; {
		page, err := c.opts.Records.Scan(ctx, prefix, cursor, metastore.MaxPage)
		if err != nil {
			return err
		}
		for _, r := range page.Records {
			var e engine.Entry
			if err := json.Unmarshal(r.Value, &e); err != nil {
				return lake.Errorf(lake.Corrupt, "record %q: %w", r.Key, err)
			}
			c.versions[e.Snapshot.Version] = true
			if err := c.version(ctx, e.Snapshot); err != nil {
				return err
			}
		}
		if cursor = page.Next; cursor == "" {
			return nil
		}
	}
}

func (c *check) version(ctx context.Context, snap lake.Snapshot) error {
	parts, err := c.inspector.Inspect(ctx, snap)
	switch {
	case errors.Is(err, engine.ErrUnavailable):
		if gone, err := c.givenUp(ctx, snap.Version); gone || err != nil {
			return err
		}
		return c.report(snap.Version, Missing, snap.Location.Prefix()+snap.Manifest.Path, "its manifest is gone, under either name")
	case lake.Is(err, lake.Corrupt):
		return c.report(snap.Version, Damaged, snap.Location.Prefix()+snap.Manifest.Path, "%v", err)
	case err != nil:
		return err
	}
	for _, o := range parts.Objects {
		n, known := c.needed[o.Key]
		if !known {
			n = need{size: o.Size, by: snap.Version}
		}
		n.last = snap.Version // they come in ascending order
		c.needed[o.Key] = n
	}
	for _, key := range parts.Extras {
		c.extras[key] = true
	}
	if err := c.verify(ctx, snap); err != nil {
		return err
	}
	if parts.Published {
		c.needed[parts.Manifest] = need{snap.Manifest.Size, snap.Version, snap.Version}
		return nil
	}
	return c.unpublished(ctx, snap, parts)
}

// verify looks into the objects that no version before needed.
func (c *check) verify(ctx context.Context, snap lake.Snapshot) error {
	if c.verifier == nil {
		return nil
	}
	err := c.verifier.Verify(ctx, snap, engine.VerifyOptions{
		Data: c.opts.Depth == Data,
		Skip: func(key string) bool { return c.needed[key].by != snap.Version },
		Found: func(f engine.Fault) error {
			problem := Damaged
			if f.Harmless {
				problem = Useless
			}
			return c.report(snap.Version, problem, f.Key, "%v", f.Err)
		},
	})
	if errors.Is(err, engine.ErrUnavailable) {
		return nil // what is missing is told otherwise
	}
	return err
}

func (c *check) unpublished(ctx context.Context, snap lake.Snapshot, parts engine.Inspection) error {
	f := Finding{Table: c.table.Name, Version: snap.Version, Problem: Unpublished, Key: parts.Manifest, Detail: "committed, and not to be opened by its number"}
	if c.opts.Repair {
		if err := c.opts.Engine.Publish(ctx, snap); err != nil {
			return err
		}
		f.Repaired = true
	}
	c.staged[parts.Manifest] = true // its bytes were verified just now; it may be renamed
	return c.found(f)
}

// holdAgainstObjects lists the location once.
func (c *check) holdAgainstObjects(ctx context.Context) error {
	loc := c.table.Snapshot.Location
	for page, err := range objstore.Pages(ctx, c.opts.Objects, loc.Prefix(), "", objstore.MaxPage) {
		if err != nil {
			return err
		}
		for _, o := range page {
			c.objects++
			c.bytes += o.Size
			if err := c.object(loc, o); err != nil {
				return err
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.needed)) {
		n := c.needed[key]
		if err := c.absent(ctx, key, n); err != nil {
			return err
		}
	}
	return nil
}

// object looks at one object that is there.
func (c *check) object(loc lake.Location, o objstore.Info) error {
	if n, ok := c.needed[o.Key]; ok {
		delete(c.needed, o.Key)
		if n.size >= 0 && n.size != o.Size {
			return c.report(n.by, Short, o.Key, "%d bytes where the version says %d", o.Size, n.size)
		}
		return nil
	}
	if c.staged[o.Key] || c.extras[o.Key] || c.belongs(loc, o.Key) {
		return nil
	}
	version, named := c.inspector.VersionName(loc, o.Key)
	switch {
	case named && c.versions[version]:
		return nil // published meanwhile, or reported as damaged
	case time.Since(o.Modified) < c.opts.Grace:
		return nil // somebody may be at it
	case named && version > c.table.Snapshot.Version:
		return c.report(version, Foreign, o.Key, "the table is at version %d", c.table.Snapshot.Version)
	}
	return c.report(0, Orphan, o.Key, "%d bytes, since %s", o.Size, o.Modified.UTC().Format(time.RFC3339))
}

// belongs reports whether an object is part of the table and needed by no
// version's rows, such as a tag or an index, as far as the engine tells.
func (c *check) belongs(loc lake.Location, key string) bool {
	e, ok := c.opts.Engine.(interface {
		Belongs(loc lake.Location, key string) bool
	})
	return ok && e.Belongs(loc, key)
}

// absent looks again for an object that the listing did not have: its manifest
// may have got another name, and the table may have been dropped meanwhile.
func (c *check) absent(ctx context.Context, key string, n need) error {
	obj, err := c.opts.Objects.Open(ctx, key)
	if err == nil {
		return obj.Close()
	}
	if !errors.Is(err, objstore.ErrNotFound) {
		return err
	}
	if gone, err := c.givenUp(ctx, n.last); gone || err != nil {
		return err
	}
	return c.report(n.by, Missing, key, "needed by this version and perhaps by later ones")
}
