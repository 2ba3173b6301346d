// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"crypto/sha256"
	"encoding/json"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

func field(name string, dt arrow.DataType, nullable bool) arrow.Field {
	return arrow.Field{Name: name, Type: dt, Nullable: nullable}
}

func TestCheckSameSchema(t *testing.T) {
	i64, i32 := arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int32
	table := arrow.NewSchema([]arrow.Field{field("a", i64, false), field("b", arrow.StructOf(field("c", i32, true)), true)}, nil)
	cases := []struct {
		name string
		rows []arrow.Field
		want string
	}{
		{"same", table.Fields(), ""},
		{"name", []arrow.Field{field("x", i64, false), table.Field(1)}, `field 0 is named "x", the table has "a" there`},
		{"type", []arrow.Field{field("a", i32, false), table.Field(1)}, `field 0, "a", has type int32, the table has int64`},
		{"nullable", []arrow.Field{field("a", i64, true), table.Field(1)}, `field 0, "a", is nullable: true, in the table: false`},
		{"nested", []arrow.Field{table.Field(0), field("b", arrow.StructOf(field("d", i32, true)), true)}, `field 1, "b", has type`},
		{"missing", table.Fields()[:1], `field 1, "b", is missing`},
		{"extra", append(table.Fields(), field("z", i64, true)), `field 2, "z", is not in the table`},
		{"first difference", []arrow.Field{field("x", i64, false)}, `field 0 is named "x"`},
	}
	for _, c := range cases {
		err := engine.CheckSameSchema(table, arrow.NewSchema(c.rows, nil))
		if c.want == "" {
			require.NoError(t, err, c.name)
			continue
		}
		require.ErrorContains(t, err, c.want, c.name)
		require.Equal(t, lake.Invalid, lake.KindOf(err))
	}
	require.Error(t, engine.CheckSameSchema(table, nil))
	md := arrow.NewMetadata([]string{"k"}, []string{"v"})
	require.NoError(t, engine.CheckSameSchema(table, arrow.NewSchema(table.Fields(), &md)))
}

func TestCheckNulls(t *testing.T) {
	i32 := arrow.PrimitiveTypes.Int32
	cases := []struct {
		name string
		f    arrow.Field
		rows string
		want string
	}{
		{"nullable", field("a", i32, true), `[{"a":1},{"a":null}]`, ""},
		{"required", field("a", i32, false), `[{"a":1},{"a":2}]`, ""},
		{"required null", field("a", i32, false), `[{"a":1},{"a":null}]`, "column a holds 1 nulls"},
		{"child", field("s", arrow.StructOf(field("c", i32, false)), true), `[{"s":{"c":1}},{"s":{"c":null}}]`, "column s.c holds 1 nulls"},
		{"child of null", field("s", arrow.StructOf(field("c", i32, false)), true), `[{"s":{"c":1}},{"s":null}]`, ""},
		{"grandchild", field("s", arrow.StructOf(field("t", arrow.StructOf(field("c", i32, false)), true)), true), `[{"s":{"t":null}},{"s":null},{"s":{"t":{"c":null}}}]`, "column s.t.c holds 1 nulls"},
		{"item", field("l", arrow.ListOfNonNullable(i32), true), `[{"l":[1,2]},{"l":null},{"l":[]},{"l":[3,null,null]}]`, "column l.item holds 2 nulls"},
		{"items there", field("l", arrow.ListOfNonNullable(i32), true), `[{"l":[1,2]},{"l":null},{"l":[]}]`, ""},
		{"vector", field("v", arrow.FixedSizeListOfNonNullable(2, i32), true), `[{"v":[1,2]},{"v":[1,null]}]`, "column v.item holds 1 nulls"},
		{"null vector", field("v", arrow.FixedSizeListOfNonNullable(2, i32), true), `[{"v":[1,2]},{"v":null}]`, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			schema := arrow.NewSchema([]arrow.Field{c.f}, nil)
			batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(c.rows))
			require.NoError(t, err)
			defer batch.Release()
			err = engine.CheckNulls(schema, batch)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
			require.Equal(t, lake.Invalid, lake.KindOf(err))
			// A slice without the bad rows is fine.
			slice := batch.NewSlice(0, 1)
			defer slice.Release()
			require.NoError(t, engine.CheckNulls(schema, slice))
		})
	}
}

func TestRecords(t *testing.T) {
	r := engine.Records{Latest: "latest", History: "history"}
	inc, err := lake.ParseID("0198c0de-0000-7000-8000-000000000001")
	require.NoError(t, err)
	one := lake.Snapshot{Engine: "e", Location: "n/t/x", Incarnation: inc, Version: 1, Manifest: lake.Manifest{Path: "p1", Size: 7}}
	two := one
	two.Version, two.Manifest.Path = 2, "p2"

	ops := r.Advance(one, two, []engine.Append{{Operation: engine.Operation{Tenant: "acme", ID: inc}}})
	require.Equal(t, "latest/n/t/x", ops[0].Key)
	require.Equal(t, "history/n/t/x/00000000000000000002", ops[1].Key)
	require.Equal(t, r.Create(one)[0].Value, ops[0].Expect, "what create leaves is what the first append expects")
	const zeros = "0000000000000000000000000000000000000000000000000000000000000000"
	require.JSONEq(t, `{"engine":"e","location":"n/t/x","incarnation":"0198c0de-0000-7000-8000-000000000001","version":2,
		"manifest":{"path":"p2","size":7,"sha256":"`+zeros+`"}}`, string(ops[0].Value))
	require.Contains(t, string(ops[1].Value), `"operations":[{"tenant":"acme","id":"`+inc.String()+`","sha256":"`+zeros+`"}]`)
	require.Equal(t, "history/n/t/x/", r.HistoryPrefix("n/t/x"))

	retire, restore, forget := r.Retire(two)[0], r.Restore(two)[0], r.Forget(two)[0]
	require.Equal(t, ops[0].Value, retire.Expect)
	require.JSONEq(t, `{"state":"deleting","incarnation":"`+inc.String()+`"}`, string(retire.Value))
	require.Equal(t, retire.Value, restore.Expect)
	require.Equal(t, retire.Expect, restore.Value)
	require.Equal(t, retire.Value, forget.Expect)
	require.Equal(t, metastore.Delete, forget.Effect)
	for _, op := range append(append(ops, retire, restore, forget), r.Create(one)...) {
		require.NoError(t, metastore.CheckTxn(metastore.Txn{Ops: []metastore.Op{op}}))
	}
}

// TestRecordsAreTheJSONOfTheLibrary: a pointer is compared by its bytes, also
// with one that an older process wrote.
func TestRecordsAreTheJSONOfTheLibrary(t *testing.T) {
	marshal := func(rt *rapid.T, v any) string {
		raw, err := json.Marshal(v)
		require.NoError(rt, err)
		return string(raw)
	}
	texts := rapid.OneOf(rapid.StringMatching(`[A-Za-z0-9_./-]{0,20}`), rapid.String(), rapid.Just("\u2028<&>\"\\\x00\x7f\xff"))
	bytes16 := rapid.SliceOfN(rapid.Byte(), 16, 16)
	snapshot := func(rt *rapid.T) lake.Snapshot {
		return lake.Snapshot{
			Engine: texts.Draw(rt, "engine"), Location: lake.Location(texts.Draw(rt, "location")),
			Incarnation: lake.ID(bytes16.Draw(rt, "incarnation")), Version: lake.Version(rapid.Uint64().Draw(rt, "version")),
			Manifest: lake.Manifest{Path: texts.Draw(rt, "path"), Size: rapid.Int64().Draw(rt, "size"), SHA256: sha256.Sum256(bytes16.Draw(rt, "sha256"))},
		}
	}
	r := engine.Records{Latest: "latest", History: "history"}
	rapid.Check(t, func(rt *rapid.T) {
		base, next := snapshot(rt), snapshot(rt)
		adds := make([]engine.Append, rapid.IntRange(0, 3).Draw(rt, "appends"))
		entry := engine.Entry{Snapshot: next, Operations: make([]engine.EntryOperation, len(adds))}
		for i := range adds {
			adds[i].Operation = engine.Operation{Tenant: texts.Draw(rt, "tenant"), ID: lake.ID(bytes16.Draw(rt, "id")), Digest: next.Manifest.SHA256}
			entry.Operations[i] = engine.EntryOperation(adds[i].Operation)
		}
		ops := r.Advance(base, next, adds)
		require.Equal(rt, marshal(rt, base), string(ops[0].Expect))
		require.Equal(rt, marshal(rt, next), string(ops[0].Value))
		require.Equal(rt, marshal(rt, entry), string(ops[1].Value))
		require.Equal(rt, marshal(rt, engine.Entry{Snapshot: base}), string(r.Create(base)[1].Value))
	})
}
