// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/lance/lancepb"
)

// maxAdded bounds the fragments a version may add to be checked, and
// checkParallel the objects looked at at once.
const (
	maxAdded      = 100_000
	checkParallel = 8
)

// Successor is what a version by another writer does.
type Successor struct {
	// Operation is its kind: "append", "delete", "update", "rewrite",
	// "create index" or "reserve fragments".
	Operation string
	// Added are the objects that it needs and its base does not, its own manifest
	// aside.
	Added []string
}

// CheckSuccessor decides whether a version that another writer made is the one
// after base and does what its transaction says, and nothing else: that it has
// the columns and the metadata of base, feature flags that this package can go on
// from, and every fragment of base that the operation does not touch; that what
// it adds is there, with readable footers and the rows it claims; that deletions
// only grow; and that rewritten fragments have as many rows as before.
//
// lake.Conflict: it is not of the version after base. lake.Unsupported: an
// operation or a feature that is not taken from others. lake.Invalid: it
// contradicts itself, base or its objects.
func CheckSuccessor(ctx context.Context, st Storage, base, next *Manifest) (Successor, error) {
	if next.Version() != base.Version()+1 {
		return Successor{}, lake.Errorf(lake.Conflict, "the manifest is of version %d, the next one is %d", next.Version(), base.Version()+1)
	}
	c := &successor{st: st, base: base, next: next}
	for _, check := range []func(context.Context) error{c.header, c.operation, c.fragments, c.indexes} {
		if err := check(ctx); err != nil {
			return Successor{}, invalidate(err)
		}
	}
	slices.Sort(c.added)
	return Successor{Operation: c.name, Added: c.added}, nil
}

// invalidate turns what would be damage in a committed version into a mistake of
// the writer's.
func invalidate(err error) error {
	switch lake.KindOf(err) {
	case lake.Corrupt, lake.Precondition, lake.NotFound:
		return invalid("%w", err)
	}
	return err
}

type successor struct {
	st         Storage
	base, next *Manifest
	name       string
	changes    allowed
	added      []string
}

// allowed says what an operation may do to fragments.
type allowed struct {
	add, remove, deleteRows bool
	// sameRows: what is added has the rows of what is removed.
	sameRows bool
}

// header checks everything but fragments and indexes.
func (c *successor) header(context.Context) error {
	a, b := c.base.pb, c.next.pb
	if err := c.flags(); err != nil {
		return err
	}
	if !slices.EqualFunc(a.GetFields(), b.GetFields(), sameField) {
		return invalid("the columns are not those of version %d: change columns by Lake", c.base.Version())
	}
	if !maps.Equal(a.GetTableMetadata(), b.GetTableMetadata()) || !maps.Equal(a.GetConfig(), b.GetConfig()) ||
		!maps.EqualFunc(a.GetSchemaMetadata(), b.GetSchemaMetadata(), slices.Equal[[]byte]) {
		return invalid("the table's metadata or configuration are not those of version %d", c.base.Version())
	}
	if f, g := a.GetDataFormat(), b.GetDataFormat(); g != nil && f.GetVersion() != g.GetVersion() {
		return invalid("the data format is %q, the table has %q", g.GetVersion(), f.GetVersion())
	}
	if b.GetTimestamp() == nil {
		return invalid("the manifest has no timestamp")
	}
	if a.MaxFragmentId != nil && b.GetMaxFragmentId() < a.GetMaxFragmentId() {
		return invalid("the highest fragment id is %d, it was %d: ids are never used again", b.GetMaxFragmentId(), a.GetMaxFragmentId())
	}
	return nil
}

// flags refuses features from which no version can be derived here.
func (c *successor) flags() error {
	pb := c.next.pb
	if err := c.next.checkCleanable(); err != nil {
		return err
	}
	if err := checkFlags("writer", pb.GetWriterFeatureFlags(), writable); err != nil {
		return err
	}
	if pb.GetReaderFeatureFlags()&FlagStableRowIDs != 0 || len(pb.GetBasePaths()) > 0 || pb.Branch != nil {
		return unsupported("stable row ids, base paths and branches are not taken from other writers")
	}
	return nil
}

func sameField(a, b *lancepb.Field) bool {
	return a.GetId() == b.GetId() && a.GetParentId() == b.GetParentId() && a.GetName() == b.GetName() &&
		a.GetLogicalType() == b.GetLogicalType() && a.GetNullable() == b.GetNullable()
}

// operation reads the transaction.
func (c *successor) operation(ctx context.Context) error {
	tx, err := c.readTransaction(ctx)
	if err != nil {
		return err
	}
	if tx.GetReadVersion() > c.base.Version() {
		return invalid("the transaction was made on version %d, which is not there yet", tx.GetReadVersion())
	}
	if err := c.repeated(ctx, tx); err != nil {
		return err
	}
	switch op := tx.GetOperation().(type) {
	case *lancepb.Transaction_Append_:
		c.name, c.changes = "append", allowed{add: true}
	case *lancepb.Transaction_Delete_:
		c.name, c.changes = "delete", allowed{remove: true, deleteRows: true}
	case *lancepb.Transaction_Update_:
		if op.Update.GetUpdateMode() == lancepb.Transaction_REWRITE_COLUMNS {
			return unsupported("an update that rewrites columns in place is not taken from other writers")
		}
		c.name, c.changes = "update", allowed{add: true, remove: true, deleteRows: true}
	case *lancepb.Transaction_Rewrite_:
		c.name, c.changes = "rewrite", allowed{add: true, remove: true, sameRows: true}
	case *lancepb.Transaction_CreateIndex_:
		c.name = "create index"
	case *lancepb.Transaction_ReserveFragments_:
		c.name = "reserve fragments"
	default:
		return unsupported("an operation of kind %s is not taken from other writers: want append, delete, update, rewrite, create index or reserve fragments", operationKind(tx))
	}
	return nil
}

// readTransaction reads what made the version, from the manifest or the file
// beside it.
func (c *successor) readTransaction(ctx context.Context) (*lancepb.Transaction, error) {
	name := c.next.pb.GetTransactionFile()
	if name != "" {
		if err := checkFileName(name); err != nil {
			return nil, err
		}
		c.added = append(c.added, transactionsDir+name)
	}
	if c.next.transaction != nil {
		return c.next.transaction, nil
	}
	return c.transactionFile(ctx)
}

// maxRepeated bounds the versions that are looked at for a repetition.
const maxRepeated = 64

// repeated refuses a transaction that is in a version already: a writer that
// missed the answer to its commit takes that for a conflict, makes another version
// of the same transaction, and its rows would be there twice.
func (c *successor) repeated(ctx context.Context, tx *lancepb.Transaction) error {
	at := c.base.Version()
	for n := 0; at > tx.GetReadVersion() && at > 0 && n < maxRepeated; n, at = n+1, at-1 {
		m := c.base
		if at < m.Version() {
			var err error
			if m, err = ReadManifest(ctx, c.st, at); lake.Is(err, lake.NotFound) {
				continue
			} else if err != nil {
				return err
			}
		}
		if id := m.transaction.GetUuid(); id != "" && id == tx.GetUuid() {
			return invalid("the transaction is version %d already: do not repeat it", at)
		}
	}
	return nil
}

// operationKind names a transaction's operation for people.
func operationKind(tx *lancepb.Transaction) string {
	m := tx.ProtoReflect()
	if field := m.WhichOneof(m.Descriptor().Oneofs().ByName("operation")); field != nil {
		return string(field.Name())
	}
	return "unknown"
}

func (c *successor) transactionFile(ctx context.Context) (*lancepb.Transaction, error) {
	name := c.next.pb.GetTransactionFile()
	if name == "" {
		return nil, invalid("the manifest tells no transaction")
	}
	raw, err := readAll(ctx, c.st, transactionsDir+name, MaxManifestBytes)
	if err != nil {
		return nil, err
	}
	tx := new(lancepb.Transaction)
	if err := proto.Unmarshal(raw, tx); err != nil {
		return nil, corrupt("transaction %q: %w", name, err)
	}
	return tx, nil
}

// fragments holds the fragments against those of base.
func (c *successor) fragments(ctx context.Context) error {
	d, err := Open(ctx, c.st, c.next, Options{Files: NewFileCache(checkParallel, nil)})
	if err != nil {
		return err
	}
	defer func() { _ = d.files.Close() }()
	old := make(map[uint64]*lancepb.DataFragment, len(c.base.Fragments()))
	for _, f := range c.base.Fragments() {
		old[f.GetId()] = f
	}
	var fresh []*fragment
	var rowsAdded, rowsRemoved uint64
	for _, f := range d.fragments {
		was, ok := old[f.pb.GetId()]
		if !ok {
			fresh = append(fresh, f)
			rowsAdded += f.live
			continue
		}
		delete(old, f.pb.GetId())
		if err := c.changed(ctx, was, f); err != nil {
			return err
		}
	}
	for _, f := range old {
		rowsRemoved += f.GetPhysicalRows() - f.GetDeletionFile().GetNumDeletedRows()
	}
	switch {
	case len(fresh) > 0 && !c.changes.add:
		return invalid("a transaction of kind %s adds fragment %d", c.name, fresh[0].pb.GetId())
	case len(old) > 0 && !c.changes.remove:
		return invalid("a transaction of kind %s loses %d of the fragments of version %d", c.name, len(old), c.base.Version())
	case c.changes.sameRows && rowsAdded != rowsRemoved:
		return invalid("fragments with %d rows are rewritten to ones with %d", rowsRemoved, rowsAdded)
	case len(fresh) > maxAdded:
		return invalid("%d fragments are added at once, at most %d are looked at", len(fresh), maxAdded)
	}
	return c.fresh(ctx, d, fresh)
}

// changed checks a fragment that base has too: only its deletions may differ,
// and only by more of them.
func (c *successor) changed(ctx context.Context, was *lancepb.DataFragment, f *fragment) error {
	id := was.GetId()
	if !slices.EqualFunc(was.GetFiles(), f.pb.GetFiles(), sameFile) || was.GetPhysicalRows() != 0 && was.GetPhysicalRows() != f.rows {
		return invalid("fragment %d has other data files or rows than in version %d", id, c.base.Version())
	}
	if sameDeletions(was.GetDeletionFile(), f.pb.GetDeletionFile()) {
		return nil
	}
	if !c.changes.deleteRows {
		return invalid("a transaction of kind %s changes the deletions of fragment %d", c.name, id)
	}
	before, err := readDeletions(ctx, c.st, was, f.rows)
	if err != nil {
		return err
	}
	after, err := c.deletions(ctx, f)
	if err != nil {
		return err
	}
	if before != nil && (after == nil || before.AndCardinality(after) != before.GetCardinality()) {
		return invalid("fragment %d: rows that were deleted in version %d come back", id, c.base.Version())
	}
	return nil
}

func sameFile(a, b *lancepb.DataFile) bool {
	sizes := a.GetFileSizeBytes() == b.GetFileSizeBytes() || a.GetFileSizeBytes() == 0 || b.GetFileSizeBytes() == 0
	return a.GetPath() == b.GetPath() && slices.Equal(a.GetFields(), b.GetFields()) && slices.Equal(a.GetColumnIndices(), b.GetColumnIndices()) && sizes
}

func sameDeletions(a, b *lancepb.DeletionFile) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a.GetFileType() == b.GetFileType() && a.GetReadVersion() == b.GetReadVersion() && a.GetId() == b.GetId() &&
		a.GetNumDeletedRows() == b.GetNumDeletedRows()
}

// fresh checks that the data of new fragments are there.
func (c *successor) fresh(ctx context.Context, d *Dataset, fragments []*fragment) error {
	group, bounded := errgroup.WithContext(ctx)
	group.SetLimit(checkParallel)
	for _, f := range fragments {
		if len(f.pb.GetFiles()) == 0 {
			return invalid("fragment %d has no data file", f.pb.GetId())
		}
		if _, err := c.deletions(ctx, f); err != nil {
			return err
		}
		for _, df := range f.pb.GetFiles() {
			c.added = append(c.added, dataDir+df.GetPath())
			if bounded.Err() == nil {
				group.Go(func() error { return lake.Wrap("data file "+df.GetPath(), c.dataFile(bounded, d, f, df)) })
			}
		}
	}
	return group.Wait()
}

// dataFile reads the footer of a new data file.
func (c *successor) dataFile(ctx context.Context, d *Dataset, f *fragment, df *lancepb.DataFile) error {
	h, err := d.files.acquire(ctx, d.view, df)
	if err != nil {
		return err
	}
	defer h.release()
	if h.reader.Rows() != f.pb.GetPhysicalRows() {
		return invalid("it has %d rows, fragment %d says %d", h.reader.Rows(), f.pb.GetId(), f.pb.GetPhysicalRows())
	}
	types := make(map[int32]string)
	for _, field := range c.next.Fields() {
		types[field.GetId()] = field.GetLogicalType()
	}
	for _, field := range h.reader.Fields() {
		if want, ok := types[field.GetId()]; ok && want != field.GetLogicalType() {
			return invalid("field %d is stored as %q, the table has %q", field.GetId(), field.GetLogicalType(), want)
		}
	}
	return nil
}

// deletions reads the deletion file of a fragment, if there is one, which must
// hold what the manifest says.
func (c *successor) deletions(ctx context.Context, f *fragment) (*roaring.Bitmap, error) {
	entry := f.pb.GetDeletionFile()
	if entry == nil {
		return nil, nil
	}
	deleted, err := f.deletions(ctx, c.st)
	if err != nil {
		return nil, err
	}
	name, err := deletionName(f.pb.GetId(), entry)
	c.added = append(c.added, name)
	return deleted, err
}

// indexes checks that new indexes are there.
func (c *successor) indexes(ctx context.Context) error {
	had, err := c.base.indexFolders()
	if err != nil {
		return err
	}
	has, err := c.next.indexFolders()
	if err != nil {
		return err
	}
	for _, folder := range has {
		if slices.Contains(had, folder) {
			continue
		}
		n := 0
		for info, err := range listAll(ctx, c.st, indexesDir+folder+"/") {
			if err != nil {
				return err
			}
			if n++; n > maxAdded {
				return invalid("index %s has more than %d objects", folder, maxAdded)
			}
			c.added = append(c.added, info.Name)
		}
		if n == 0 {
			return invalid("index %s has no objects", strings.TrimSuffix(folder, "/"))
		}
	}
	return nil
}
