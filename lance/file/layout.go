// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"github.com/apache/arrow-go/v18/arrow"
	"google.golang.org/protobuf/proto"

	"github.com/lakeplane/lake/lance/lancepb"
	"github.com/lakeplane/lake/lance/schema"
)

// Layout is what the files of one schema have in common. To make it takes longer
// than to write a file of a few rows. It is immutable and safe for concurrent
// use.
type Layout struct {
	fields  []*lancepb.Field
	roots   []arrow.Field
	columns []layoutColumn
	schema  []byte // as a piece of a file descriptor
}

// layoutColumn is a leaf and where it is in a batch.
type layoutColumn struct {
	leaf *leaf
	root int   // number of the root column
	path []int // see descend
}

// NewLayout returns the layout of files with the fields of a schema. Neither may
// be changed after. It fails as the function [NewWriter] does.
func NewLayout(s *arrow.Schema, fields []*lancepb.Field) (*Layout, error) {
	if err := schema.Check(s); err != nil {
		return nil, err
	}
	roots, err := schema.Tree(fields)
	if err != nil {
		return nil, invalid("fields: %w", err)
	}
	if err := matchSchema(s, roots); err != nil {
		return nil, err
	}
	l := &Layout{fields: fields, roots: s.Fields()}
	if l.schema, err = encodeSchema(fields, metadataOf(s)); err != nil {
		return nil, err
	}
	return l, l.addColumns(roots)
}

// encodeSchema returns the part of a file descriptor that tells the schema.
func encodeSchema(fields []*lancepb.Field, metadata map[string][]byte) ([]byte, error) {
	return proto.MarshalOptions{Deterministic: true}.Marshal(&lancepb.FileDescriptor{
		Schema: &lancepb.Schema{Fields: fields, Metadata: metadata},
	})
}

func metadataOf(s *arrow.Schema) map[string][]byte {
	md := s.Metadata()
	out := make(map[string][]byte, md.Len())
	for i, k := range md.Keys() {
		out[k] = []byte(md.Values()[i])
	}
	return out
}

// matchSchema checks that the fields describe the schema, in its order.
func matchSchema(s *arrow.Schema, roots []*schema.Node) error {
	if s.NumFields() != len(roots) {
		return invalid("%d columns, %d root fields", s.NumFields(), len(roots))
	}
	own, err := schema.FromArrow(s)
	if err != nil {
		return err
	}
	want, err := schema.Tree(own)
	if err != nil {
		return err
	}
	for i, n := range roots {
		if err := matchNode(want[i], n, n.Field.GetName()); err != nil {
			return err
		}
	}
	return nil
}

func matchNode(want, got *schema.Node, path string) error {
	w, g := want.Field, got.Field
	if w.GetName() != g.GetName() || w.GetLogicalType() != g.GetLogicalType() || w.GetNullable() && !g.GetNullable() {
		return invalid("column %s: field %q %s (nullable %t) does not describe %q %s (nullable %t)", path,
			g.GetName(), g.GetLogicalType(), g.GetNullable(), w.GetName(), w.GetLogicalType(), w.GetNullable())
	}
	if len(want.Children) != len(got.Children) {
		return invalid("column %s: %d children, not %d", path, len(got.Children), len(want.Children))
	}
	for i, c := range got.Children {
		if err := matchNode(want.Children[i], c, path+"."+c.Field.GetName()); err != nil {
			return err
		}
	}
	return nil
}

func (l *Layout) addColumns(roots []*schema.Node) error {
	for i, n := range roots {
		leaves, err := leavesOf(n, nil)
		if err != nil {
			return err
		}
		paths := structPaths(n, nil, nil)
		for k, leaf := range leaves {
			l.columns = append(l.columns, layoutColumn{leaf, i, paths[k]})
		}
	}
	return nil
}

// structPaths returns for each leaf below n the field numbers of the structs on
// the way to it.
func structPaths(n *schema.Node, path []int, out [][]int) [][]int {
	if len(n.Children) == 0 {
		return append(out, path)
	}
	for i, c := range n.Children {
		p := path
		if n.Type.ID() == arrow.STRUCT {
			p = append(path[:len(path):len(path)], i)
		}
		out = structPaths(c, p, out)
	}
	return out
}
