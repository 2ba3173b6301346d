// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package fold

import (
	"errors"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake"
)

// A fold that needs more is the engine's, which can write to disk.
const (
	maxGroups = 64 << 10
	maxBytes  = 16 << 20 // of keys and states
	// maxNumbers is how many values one key may have, null apart.
	maxNumbers = maxGroups
)

// A fold whose rows keep being new groups will not end within maxGroups: after
// so many rows, at most a share of as many is new in each stretch of them.
const (
	patientRows = 256 << 10
	stretchRows = 64 << 10
	newShare    = stretchRows / 8
)

// ErrEngine says that the SQL engine has to answer: there are too many groups,
// too much to keep, or a value whose result is not certain. Nothing is lost: a
// fold only reads. The fold is of no use any more.
var ErrEngine = errors.New("the SQL engine has to compute this")

// Aggregate is a function of a column of the batches.
type Aggregate struct {
	Func   Func
	Column int // of the batches; not looked at by CountRows
	// Filter is a boolean column of the batches: only rows where it is true
	// count, as in FILTER (WHERE ok). -1: all rows do.
	Filter int
}

// Spec is what is computed. Columns are named by their place in the batches.
type Spec struct {
	Keys       []int
	Aggregates []Aggregate
}

// Fold is aggregates of the batches that it was given. It is not safe for
// concurrent use: each goroutine has its own, which are merged at the end.
type Fold struct {
	spec   Spec
	schema *arrow.Schema

	keys  []numberer
	pairs []*pairs // pairs[i] joins the keys up to i with key i+1

	// all are all rows; it is the first of selections.
	all        *selection
	selections []*selection
	parts      []*accumulated
	outputs    []output

	groups int
	rows   int
	// patience is the next number of rows at which new groups are counted, and
	// before how many groups there were at the last.
	patience, before int

	views        []view   // by column
	filter       booleans // looks at filters
	numbers      [chunkRows]uint32
	otherNumbers [chunkRows]uint32
}

// accumulated is an accumulator, and what goes into it.
type accumulated struct {
	accumulator
	of   need
	rows *selection
}

// need is what an aggregate is computed of: a Func that stands for several.
type need struct {
	f              Func
	column, filter int
}

// output is how an aggregate is read from what was accumulated; only counts need
// nothing but their rows.
type output struct {
	f    Func
	part *accumulated
	rows *selection
}

// New returns an empty fold of batches of a schema. What [Func.Type] or [Groups]
// does not know is lake.Unsupported.
func New(schema *arrow.Schema, spec Spec) (*Fold, error) {
	f := &Fold{spec: spec, schema: schema, patience: patientRows, views: make([]view, schema.NumFields())}
	for i, c := range spec.Keys {
		k, err := f.newKey(c)
		if err != nil {
			return nil, err
		}
		f.keys = append(f.keys, k)
		if i > 0 {
			f.pairs = append(f.pairs, &pairs{})
		}
	}
	f.all = f.selection(-1, -1)
	for _, a := range spec.Aggregates {
		if err := f.plan(a); err != nil {
			return nil, err
		}
	}
	if len(f.keys) == 0 {
		f.groups = 1
	}
	f.grow()
	return f, nil
}

// Add folds the rows of a batch, of which it keeps nothing. After an error, the
// fold is of no use any more: [ErrEngine], or lake.Corrupt for values that are
// not what their type says.
func (f *Fold) Add(batch arrow.RecordBatch) error {
	rows := int(batch.NumRows())
	if rows == 0 {
		return nil
	}
	if err := f.bind(batch); err != nil {
		return err
	}
	for from := 0; from < rows; from += chunkRows {
		if err := f.chunk(from, min(chunkRows, rows-from)); err != nil {
			return err
		}
	}
	return f.check()
}

// bind shows a batch to all that read from it.
func (f *Fold) bind(batch arrow.RecordBatch) error {
	if int(batch.NumCols()) != f.schema.NumFields() {
		return lake.Errorf(lake.Invalid, "a batch of %d columns, not %d", batch.NumCols(), f.schema.NumFields())
	}
	bind := func(column int, to interface{ bind(arrow.Array) error }) error {
		a := batch.Column(column)
		if a.DataType().ID() != f.schema.Field(column).Type.ID() {
			return lake.Errorf(lake.Invalid, "column %s is %s", f.schema.Field(column).Name, a.DataType())
		}
		if err := to.bind(a); err != nil {
			return f.damaged(column, err)
		}
		return nil
	}
	for i, k := range f.keys {
		f.views[f.spec.Keys[i]] = viewOf(batch.Column(f.spec.Keys[i]))
		if err := bind(f.spec.Keys[i], k); err != nil {
			return err
		}
	}
	for _, s := range f.selections {
		if s.column >= 0 {
			f.views[s.column] = viewOf(batch.Column(s.column))
		}
		if s.filter >= 0 {
			f.views[s.filter] = viewOf(batch.Column(s.filter))
			if err := bind(s.filter, &f.filter); err != nil {
				return err
			}
		}
	}
	for _, p := range f.parts {
		if err := bind(p.of.column, p); err != nil {
			return err
		}
	}
	return nil
}

// damaged says which column an error is about.
func (f *Fold) damaged(column int, err error) error {
	if errors.Is(err, ErrEngine) {
		return err
	}
	return lake.Wrap("column "+f.schema.Field(column).Name+" is damaged", err)
}

// chunk folds n rows of the batch from row from on.
func (f *Fold) chunk(from, n int) error {
	var g []uint32
	if len(f.keys) > 0 {
		g = f.numbers[:n]
		if err := f.number(g, from); err != nil {
			return err
		}
	}
	for _, s := range f.selections {
		s.load(f.views, from, n, g, f.all)
	}
	for _, p := range f.parts {
		if p.rows.count == 0 {
			continue
		}
		if err := p.add(from, n, p.rows); err != nil {
			return f.damaged(p.of.column, err)
		}
	}
	return nil
}

func (f *Fold) grow() {
	for _, s := range f.selections {
		s.grow(f.groups)
	}
	for _, p := range f.parts {
		p.grow(f.groups)
	}
}

// check keeps to the memory that a fold may have.
func (f *Fold) check() error {
	size := 0
	for _, k := range f.keys {
		size += k.size()
	}
	for _, p := range f.pairs {
		size += p.size()
	}
	for _, s := range f.selections {
		size += 8 * cap(s.counts)
	}
	for _, p := range f.parts {
		size += p.size()
	}
	if size > maxBytes {
		return ErrEngine
	}
	return nil
}

// Merge adds what another fold of the same schema and spec was given. The other
// one is left as it is. Errors are those of Add.
func (f *Fold) Merge(other *Fold) error {
	if !slices.Equal(f.spec.Keys, other.spec.Keys) || !slices.Equal(f.spec.Aggregates, other.spec.Aggregates) {
		return lake.Errorf(lake.Invalid, "folds of different aggregates")
	}
	to := []uint32{0, 1}
	if len(f.keys) > 0 {
		var err error
		if to, err = f.adopt(other); err != nil {
			return err
		}
	}
	for i, s := range f.selections {
		s.merge(other.selections[i], to)
	}
	for i, p := range f.parts {
		if err := p.merge(other.parts[i].accumulator, to); err != nil {
			return err
		}
	}
	return f.check()
}
