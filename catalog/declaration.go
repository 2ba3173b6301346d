// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"errors"
	"time"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

const (
	declarationPrefix = "declared/"
	reservationPrefix = "declared-name/"
)

// Declaration says that objects may lie in the place of an incarnation that is
// not registered yet. It is written before the first of them, so that whoever
// makes a table and dies leaves nothing behind for ever.
//
// The commit that registers the incarnation removes exactly this record
// ([Declaration.RegisterOps]); [Catalog.Abandon] replaces it. Only one of the two
// can apply, so nothing of a registered table is ever taken for left behind, and
// an incarnation that was abandoned can never be registered: its objects are
// deleted without a look at the registry. A declaration that has expired may
// still be registered until it is abandoned.
type Declaration struct {
	Name        lake.TableName
	Incarnation lake.Incarnation
	// By is the principal that makes the table, at most 256 bytes.
	By string
	// Reserves: no other declaration of the name that does so is made meanwhile.
	Reserves  bool
	CreatedAt time.Time
	// Expires is when the declaration may be abandoned.
	Expires time.Time
	// AbandonedAt is when that happened, and EmptiedAt when the objects that were
	// there then were gone; zero before.
	AbandonedAt, EmptiedAt time.Time

	raw []byte
}

// Location is where the incarnation's objects lie.
func (d Declaration) Location() lake.Location { return lake.Place(d.Name, d.Incarnation) }

// Abandoned reports whether the incarnation can no longer be registered.
func (d Declaration) Abandoned() bool { return !d.AbandonedAt.IsZero() }

type declarationRecord struct {
	header
	Namespace   string           `json:"namespace"`
	Name        string           `json:"name"`
	Incarnation lake.Incarnation `json:"incarnation"`
	By          string           `json:"by,omitempty"`
	Reserves    bool             `json:"reserves,omitempty"`
	CreatedAt   time.Time        `json:"created_at"`
	Expires     time.Time        `json:"expires"`
	AbandonedAt time.Time        `json:"abandoned_at,omitzero"`
	EmptiedAt   time.Time        `json:"emptied_at,omitzero"`
}

func declarationKey(name lake.TableName, inc lake.Incarnation) string {
	return declarationPrefix + name.Path() + "/" + inc.String()
}

func (d Declaration) key() string { return declarationKey(d.Name, d.Incarnation) }

// stored returns d as a new write of it leaves it, with its bytes.
func (d Declaration) stored() Declaration {
	d.CreatedAt, d.Expires = stamp(d.CreatedAt), stamp(d.Expires)
	d.AbandonedAt, d.EmptiedAt = stamp(d.AbandonedAt), stamp(d.EmptiedAt)
	d.raw = encode(declarationRecord{
		header: newHeader(), Namespace: d.Name.Namespace, Name: d.Name.Name, Incarnation: d.Incarnation, By: d.By,
		Reserves: d.Reserves, CreatedAt: d.CreatedAt, Expires: d.Expires, AbandonedAt: d.AbandonedAt, EmptiedAt: d.EmptiedAt,
	})
	return d
}

func decodeDeclaration(found metastore.Record) (Declaration, error) {
	var r declarationRecord
	if err := decode(found.Key, found.Value, &r); err != nil {
		return Declaration{}, err
	}
	d := Declaration{
		Name: lake.TableName{Namespace: r.Namespace, Name: r.Name}, Incarnation: r.Incarnation, By: r.By, Reserves: r.Reserves,
		CreatedAt: r.CreatedAt, Expires: r.Expires, AbandonedAt: r.AbandonedAt, EmptiedAt: r.EmptiedAt, raw: found.Value,
	}
	if d.Incarnation.IsZero() || d.key() != found.Key || d.Name.Validate() != nil {
		return Declaration{}, lake.Errorf(lake.Corrupt, "record %q holds the declaration of %s, incarnation %s", found.Key, d.Name, d.Incarnation)
	}
	return d, nil
}

// reservation is the record that keeps a name. Its bytes follow from the
// incarnation, which is new in every declaration, so who has one knows the other.
type reservation struct {
	Format      int              `json:"v"`
	Incarnation lake.Incarnation `json:"incarnation"`
}

func (r reservation) format() int { return r.Format }

func (d Declaration) reservation() (key string, value []byte) {
	return reservationPrefix + d.Name.Path(), encode(reservation{recordFormat, d.Incarnation})
}

// RegisterOps returns the operations that the commit registering the incarnation
// must include.
func (d Declaration) RegisterOps() []metastore.Op {
	return d.with(metastore.Remove(d.key(), d.raw))
}

// with adds to op the removal of the reservation, if there is one.
func (d Declaration) with(op metastore.Op) []metastore.Op {
	ops := []metastore.Op{op}
	if d.Reserves && !d.Abandoned() {
		ops = append(ops, metastore.Remove(d.reservation()))
	}
	return ops
}

// Declare records d, of which Name, Incarnation, By, Reserves and Expires are
// read, under the fence. With Reserves, an expired declaration of the name makes
// room.
//
// With Reserves, lake.AlreadyExists when a table has the name, and lake.Conflict
// when another declaration reserves it. lake.Fenced and lake.Undetermined as for Create: a
// declaration whose record may be there expires like any other.
func (c *Catalog) Declare(ctx context.Context, fence Fence, d Declaration) (Declaration, error) {
	verb := "declare table " + d.Name.String()
	if err := errors.Join(d.check(), fence.check()); err != nil {
		return Declaration{}, lake.Wrap(verb, err)
	}
	d.CreatedAt, d.AbandonedAt, d.EmptiedAt = c.now(), time.Time{}, time.Time{}
	d = d.stored()
	declare := metastore.Create(d.key(), d.raw)
	ops := []metastore.Op{fence.Guard(d.Name), declare}
	if d.Reserves {
		ops = append(ops, metastore.Create(d.reservation()), metastore.GuardAbsent(tableKey(d.Name)))
	}
	var err error
	for range openTries {
		if err = c.commit(ctx, declare, ops); !isConflict(err) {
			break
		}
		if fenced := c.fencedError(ctx, fence, d.Name); fenced != nil {
			return Declaration{}, lake.Wrap(verb, fenced)
		}
		if e := c.makeRoom(ctx, d.Name); e != nil {
			return Declaration{}, lake.Wrap(verb, e)
		}
	}
	if err != nil {
		return Declaration{}, lake.Wrap(verb, err)
	}
	return d, nil
}

func (d Declaration) check() error {
	switch {
	case d.Name.Validate() != nil:
		return d.Name.Validate()
	case d.Incarnation.IsZero() || d.Expires.IsZero():
		return lake.Errorf(lake.Invalid, "a declaration needs an incarnation and a time at which it expires")
	case len(d.By) > maxRequesterBytes:
		return lake.Errorf(lake.Invalid, "a principal of %d bytes: at most %d", len(d.By), maxRequesterBytes)
	}
	return nil
}

// makeRoom abandons the declaration that reserves a name if it has expired, and
// says what else is in the way.
func (c *Catalog) makeRoom(ctx context.Context, name lake.TableName) error {
	switch _, err := c.Get(ctx, name); {
	case err == nil:
		return lake.Errorf(lake.AlreadyExists, "a table of that name exists")
	case !lake.Is(err, lake.NotFound):
		return err
	}
	other, err := c.Reserved(ctx, name)
	switch {
	case lake.Is(err, lake.NotFound):
		return nil // it has gone
	case err != nil:
		return err
	case other.Expires.After(c.now()):
		return lake.Errorf(lake.Conflict, "%s is making a table of that name, until %s at the latest; drop it to make room at once",
			other.By, other.Expires.Format(time.RFC3339))
	}
	_, err = c.Abandon(ctx, other)
	if lake.Is(err, lake.Conflict) {
		return nil // it was registered, or abandoned by another
	}
	return err
}

// Declaration returns that of one incarnation; lake.NotFound when there is none,
// because the incarnation was registered, or is gone, or never was.
func (c *Catalog) Declaration(ctx context.Context, name lake.TableName, inc lake.Incarnation) (Declaration, error) {
	if err := name.Validate(); err != nil {
		return Declaration{}, err
	}
	found, err := c.store.Get(ctx, declarationKey(name, inc))
	if errors.Is(err, metastore.ErrNotFound) {
		return Declaration{}, lake.Errorf(lake.NotFound, "table %s is not declared as incarnation %s", name, inc)
	}
	if err != nil {
		return Declaration{}, lake.Wrap("read the declaration of table "+name.String(), err)
	}
	return decodeDeclaration(found)
}

// Reserved returns the declaration that reserves a name; lake.NotFound when none
// does.
func (c *Catalog) Reserved(ctx context.Context, name lake.TableName) (Declaration, error) {
	if err := name.Validate(); err != nil {
		return Declaration{}, err
	}
	found, err := c.store.Get(ctx, reservationPrefix+name.Path())
	if errors.Is(err, metastore.ErrNotFound) {
		return Declaration{}, lake.Errorf(lake.NotFound, "nobody is making table %s", name)
	}
	if err != nil {
		return Declaration{}, lake.Wrap("read who makes table "+name.String(), err)
	}
	var r reservation
	if err := decode(found.Key, found.Value, &r); err != nil {
		return Declaration{}, err
	}
	return c.Declaration(ctx, name, r.Incarnation)
}

// Declarations returns one page of all declarations; the rules of cursor and
// limit are those of [Catalog.List].
func (c *Catalog) Declarations(ctx context.Context, cursor string, limit int) (page []Declaration, next string, err error) {
	return scanPage(ctx, c.store, declarationPrefix, cursor, limit, decodeDeclaration)
}

// Abandon gives up exactly the given declaration, expired or not: its incarnation
// can no longer be registered, and its name is free. It needs no leadership.
//
// lake.Conflict when the record has changed: the incarnation was registered, or
// abandoned by another.
func (c *Catalog) Abandon(ctx context.Context, d Declaration) (Declaration, error) {
	if d.Abandoned() {
		return d, nil
	}
	next := d
	next.AbandonedAt = c.now()
	return c.replace(ctx, "abandon table "+d.Name.String(), d, next)
}

// Emptied records that the objects of an abandoned declaration are deleted. The
// record stays, for what a writer that has not noticed brings afterwards.
func (c *Catalog) Emptied(ctx context.Context, d Declaration) (Declaration, error) {
	verb := "empty table " + d.Name.String()
	if !d.Abandoned() {
		return Declaration{}, lake.Errorf(lake.Invalid, "%s: the declaration was not abandoned", verb)
	}
	next := d
	next.EmptiedAt = c.now()
	return c.replace(ctx, verb, d, next)
}

func (c *Catalog) replace(ctx context.Context, verb string, d, next Declaration) (Declaration, error) {
	if d.raw == nil {
		return Declaration{}, lake.Errorf(lake.Invalid, "%s: the declaration was not read from the catalog", verb)
	}
	next = next.stored()
	update := metastore.Update(d.key(), d.raw, next.raw)
	if err := c.commit(ctx, update, d.with(update)); err != nil {
		return Declaration{}, lake.Wrap(verb, err)
	}
	return next, nil
}

// ForgetDeclaration removes exactly the given, abandoned declaration, once
// nothing is left in its place. One that is gone already is no error.
func (c *Catalog) ForgetDeclaration(ctx context.Context, d Declaration) error {
	verb := "forget the declaration of table " + d.Name.String()
	if !d.Abandoned() || d.raw == nil {
		return lake.Errorf(lake.Invalid, "%s: it was not abandoned", verb)
	}
	remove := metastore.Remove(d.key(), d.raw)
	err := c.commit(ctx, remove, []metastore.Op{remove})
	if isConflict(err) {
		if _, e := c.Declaration(ctx, d.Name, d.Incarnation); lake.Is(e, lake.NotFound) {
			return nil
		}
	}
	return lake.Wrap(verb, err)
}
