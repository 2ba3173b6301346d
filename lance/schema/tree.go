// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package schema

import (
	"sort"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/lance/lancepb"
)

// Node is a field with its children and its Arrow type.
type Node struct {
	// Field is the Lance field; it is shared with the caller of [Tree].
	Field *lancepb.Field
	// Type is the Arrow type, built from the children where there are any.
	Type arrow.DataType
	// Children are the fields of a struct or the one item of a list, a map or a
	// fixed size list of structs. Other fixed size lists are leaves.
	Children []*Node
}

// ToArrow returns the Arrow schema of a list of Lance fields. Root fields keep
// their order in the list, and so do the children of one parent. The metadata
// becomes schema metadata.
//
// Malformed lists fail with a [lake.Corrupt] error, logical types that are not
// supported with a [lake.Unsupported] error; both name the column path.
func ToArrow(fields []*lancepb.Field, metadata map[string][]byte) (*arrow.Schema, error) {
	roots, err := Tree(fields)
	if err != nil {
		return nil, err
	}
	return SchemaOf(roots, metadata), nil
}

// SchemaOf returns the Arrow schema of root nodes.
func SchemaOf(roots []*Node, metadata map[string][]byte) *arrow.Schema {
	out := make([]arrow.Field, len(roots))
	for i, n := range roots {
		out[i] = n.Arrow()
	}
	if len(metadata) == 0 {
		return arrow.NewSchema(out, nil)
	}
	md := arrowMetadata(metadata)
	return arrow.NewSchema(out, &md)
}

// Tree arranges a list of fields by parent. It refuses duplicate ids, unknown
// parents, children of leaves, nesting beyond [MaxDepth] and lists longer than
// [MaxFields], with the errors of [ToArrow].
func Tree(fields []*lancepb.Field) ([]*Node, error) {
	if len(fields) > MaxFields {
		return nil, lake.Errorf(lake.Corrupt, "the schema has %d fields, at most %d are allowed", len(fields), MaxFields)
	}
	ids := make(map[int32]bool, len(fields))
	children := make(map[int32][]*Node)
	for _, f := range fields {
		if f.GetId() < 0 || ids[f.GetId()] {
			return nil, lake.Errorf(lake.Corrupt, "field %q: id %d is negative or used twice", f.GetName(), f.GetId())
		}
		ids[f.GetId()] = true
		children[f.GetParentId()] = append(children[f.GetParentId()], &Node{Field: f})
	}
	b := treeBuilder{children: children}
	roots, err := b.level(-1, nil)
	if err == nil && b.placed != len(fields) {
		err = lake.Errorf(lake.Corrupt, "%d fields of the schema have no path to a root", len(fields)-b.placed)
	}
	return roots, err
}

type treeBuilder struct {
	children map[int32][]*Node
	placed   int
}

func (b *treeBuilder) level(parent int32, path []string) ([]*Node, error) {
	if len(path) > MaxDepth {
		return nil, lake.Errorf(lake.Corrupt, "column %s: nested deeper than %d levels", strings.Join(path, "."), MaxDepth)
	}
	nodes := b.children[parent]
	for _, n := range nodes {
		b.placed++
		at := append(path[:len(path):len(path)], n.Field.GetName())
		var err error
		if n.Children, err = b.level(n.Field.GetId(), at); err != nil {
			return nil, err
		}
		if err := n.setType(at); err != nil {
			return nil, err
		}
	}
	return nodes, nil
}

func (n *Node) setType(path []string) error {
	name := n.Field.GetLogicalType()
	switch name {
	case "struct":
		n.Type = arrow.StructOf(arrowFields(n.Children)...)
	case "list", "list.struct", "large_list", "large_list.struct":
		if len(n.Children) != 1 {
			return lake.Errorf(lake.Corrupt, "column %s: a list has one child, not %d", strings.Join(path, "."), len(n.Children))
		}
		n.Type = listType(name, n.Children[0].Arrow())
	case "map":
		var ok bool
		if n.Type, ok = mapType(n.Children); !ok {
			return lake.Errorf(lake.Unsupported, "column %s: a map of other than one struct of a key that is not null and a value", strings.Join(path, "."))
		}
	default:
		if size, ok := structsIn(name); ok && len(n.Children) == 1 && n.Children[0].Type.ID() == arrow.STRUCT {
			n.Type = arrow.FixedSizeListOfField(size, n.Children[0].Arrow())
			return nil
		}
		dt, known := leafType(name)
		if !known {
			return lake.Errorf(lake.Unsupported, "column %s: logical type %q is not supported", strings.Join(path, "."), name)
		}
		if len(n.Children) != 0 {
			return lake.Errorf(lake.Corrupt, "column %s: type %q has no children", strings.Join(path, "."), name)
		}
		n.Type = dt
	}
	return nil
}

func listType(name string, item arrow.Field) arrow.DataType {
	if strings.HasPrefix(name, "large_") {
		return arrow.LargeListOfField(item)
	}
	return arrow.ListOfField(item)
}

// mapType is the type of a map whose only child is a struct of key and value.
func mapType(children []*Node) (arrow.DataType, bool) {
	if len(children) != 1 {
		return nil, false
	}
	entries, ok := children[0].Type.(*arrow.StructType)
	if !ok || entries.NumFields() != 2 || entries.Field(0).Nullable {
		return nil, false
	}
	return arrow.MapOfFields(entries.Field(0), entries.Field(1)), true
}

// Arrow returns the Arrow field of the node.
func (n *Node) Arrow() arrow.Field {
	f := arrow.Field{Name: n.Field.GetName(), Type: n.Type, Nullable: n.Field.GetNullable()}
	md := n.Field.GetMetadata()
	if len(md) > 0 {
		f.Metadata = arrowMetadata(md)
	}
	return f
}

func arrowFields(nodes []*Node) []arrow.Field {
	out := make([]arrow.Field, len(nodes))
	for i, n := range nodes {
		out[i] = n.Arrow()
	}
	return out
}

// arrowMetadata sorts by key, so that equal maps give equal metadata.
func arrowMetadata(md map[string][]byte) arrow.Metadata {
	keys := make([]string, 0, len(md))
	for k := range md {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	values := make([]string, len(keys))
	for i, k := range keys {
		values[i] = string(md[k])
	}
	return arrow.NewMetadata(keys, values)
}

// Prune returns a copy of the node without the leaves keep refuses and without
// inner fields that lost all of theirs, or nil when nothing is left. Types are
// those of what is kept; fields are shared.
func (n *Node) Prune(keep func(leaf *Node) bool) *Node {
	if len(n.Children) == 0 {
		if !keep(n) {
			return nil
		}
		return &Node{Field: n.Field, Type: n.Type}
	}
	out := &Node{Field: n.Field}
	for _, c := range n.Children {
		if kept := c.Prune(keep); kept != nil {
			out.Children = append(out.Children, kept)
		}
	}
	if len(out.Children) == 0 {
		return nil
	}
	switch n.Type.ID() {
	case arrow.STRUCT:
		out.Type = arrow.StructOf(arrowFields(out.Children)...)
	case arrow.FIXED_SIZE_LIST:
		out.Type = arrow.FixedSizeListOfField(n.Type.(*arrow.FixedSizeListType).Len(), out.Children[0].Arrow())
	case arrow.MAP:
		// A map without its keys or its values is a list of what is left.
		var ok bool
		if out.Type, ok = mapType(out.Children); !ok {
			out.Type = arrow.ListOfField(out.Children[0].Arrow())
		}
	default:
		out.Type = listType(n.Field.GetLogicalType(), out.Children[0].Arrow())
	}
	return out
}

// Packed tells whether the metadata of a struct asks for its fields to be stored
// in one column, row by row.
func (n *Node) Packed() bool {
	if n.Type.ID() != arrow.STRUCT {
		return false
	}
	for _, key := range packedKeys {
		if strings.EqualFold(string(n.Field.GetMetadata()[key]), "true") {
			return true
		}
	}
	return false
}

// Walk calls f for the node and everything below it, in pre-order.
func (n *Node) Walk(f func(*Node)) {
	f(n)
	for _, c := range n.Children {
		c.Walk(f)
	}
}
