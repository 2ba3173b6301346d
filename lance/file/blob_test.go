// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"errors"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lance/schema"
)

// A blob of the second sort is one column of other fields than the schema says.
// The file is not damaged, so nobody should look for a backup.
func TestBlobsOfTheSecondSortAreNotSupported(t *testing.T) {
	blob := arrow.StructOf(arrow.Field{Name: "data", Type: arrow.BinaryTypes.LargeBinary, Nullable: true}, arrow.Field{Name: "uri", Type: arrow.BinaryTypes.String, Nullable: true})
	fields, err := schema.FromArrow(arrow.NewSchema([]arrow.Field{{Name: "b", Type: blob, Nullable: true}}, nil))
	if err != nil {
		t.Fatal(err)
	}
	fields[0].Metadata = map[string][]byte{"ARROW:extension:name": []byte("lance.blob.v2")}
	roots, err := schema.Tree(fields)
	if err != nil {
		t.Fatal(err)
	}
	packed := map[int32]*schema.Node{fields[0].GetId(): roots[0]}
	if _, err := leavesOf(roots[0], packed); !errors.Is(err, ErrUnsupported) {
		t.Fatalf("%v, want one that says it is not supported", err)
	}
}
