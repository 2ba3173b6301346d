// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package audit_test

import (
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/audit"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/engine/enginetest"
	enginelance "github.com/lakeplane/lake/engine/lance"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	memstore "github.com/lakeplane/lake/metastore/memory"
	"github.com/lakeplane/lake/objstore"
	"github.com/lakeplane/lake/objstore/local"
)

// deployment is a table of three versions, the last of which is not published.
type deployment struct {
	t       *testing.T
	records metastore.Store
	objects objstore.Store
	engine  *enginelance.Engine
	catalog *catalog.Catalog
	table   catalog.Table
	fence   catalog.Fence
}

var schema = arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)

func deploy(t *testing.T) *deployment {
	t.Helper()
	objects, err := local.Open(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { _ = objects.Close() })
	e, err := enginelance.New(enginelance.Options{Store: objects})
	require.NoError(t, err)
	t.Cleanup(func() { _ = e.Close() })
	d := &deployment{t: t, records: memstore.New(), objects: objects, engine: e}
	d.catalog = catalog.New(d.records, catalog.Options{})
	d.fence = lead(t, d.records)
	name := lake.TableName{Namespace: "robots", Name: "episodes"}
	inc := lake.NewID()
	staged, err := e.Create(t.Context(), lake.Place(name, inc), inc, schema)
	require.NoError(t, err)
	d.table, err = d.catalog.Create(t.Context(), d.fence, catalog.Table{Name: name, Snapshot: staged.Snapshot, Schema: flight.SerializeSchema(schema, memory.DefaultAllocator)}, staged.Ops)
	require.NoError(t, err)
	require.NoError(t, e.Publish(t.Context(), d.table.Snapshot))
	for i := range int64(2) {
		d.append(i)
		if i == 0 {
			require.NoError(t, e.Publish(t.Context(), d.table.Snapshot))
		}
	}
	return d
}

// lead takes the leadership of the store.
func lead(t *testing.T, store metastore.Store) catalog.Fence {
	t.Helper()
	e, err := catalog.NewElection(store, catalog.ElectionOptions{Exclusive: true})
	require.NoError(t, err)
	go e.Run(t.Context())
	var fence catalog.Fence
	require.Eventually(t, func() bool { fence, err = e.Fence(); return err == nil }, 20*time.Second, time.Millisecond)
	return fence
}

func (d *deployment) append(n int64) {
	d.t.Helper()
	b := array.NewInt64Builder(memory.DefaultAllocator)
	b.Append(n)
	batch := array.NewRecordBatch(schema, []arrow.Array{b.NewArray()}, 1)
	rows, err := array.NewRecordReader(schema, []arrow.RecordBatch{batch})
	require.NoError(d.t, err)
	data, err := d.engine.StageData(d.t.Context(), d.table.Snapshot.Location, schema, rows)
	require.NoError(d.t, err)
	op := catalog.Operation{Tenant: "default", ID: lake.NewID(), Rows: 1}
	staged, err := d.engine.StageAppend(d.t.Context(), d.table.Snapshot, []engine.Append{{Operation: engine.Operation{Tenant: op.Tenant, ID: op.ID}, Data: data}})
	require.NoError(d.t, err)
	d.table, err = d.catalog.Advance(d.t.Context(), d.fence, d.table, staged.Snapshot, staged.Ops, []catalog.Operation{op})
	require.NoError(d.t, err)
}

// audit returns the findings as "problem version name", sorted by occurrence.
func (d *deployment) audit(change ...func(*audit.Options)) (out []string) {
	d.t.Helper()
	o := audit.Options{Catalog: d.catalog, Records: d.records, Objects: d.objects, Engine: d.engine, Grace: time.Nanosecond}
	for _, f := range change {
		f(&o)
	}
	a, err := audit.New(o)
	require.NoError(d.t, err)
	require.NoError(d.t, a.All(d.t.Context(), "", func(f audit.Finding) error {
		require.Equal(d.t, d.table.Name, f.Table)
		text := string(f.Problem)
		if f.Version > 0 {
			text += " " + string(rune('0'+f.Version))
		}
		if f.Repaired {
			text += " repaired"
		}
		out = append(out, text)
		return nil
	}))
	return out
}

func (d *deployment) keys(part string) (out []string) {
	d.t.Helper()
	infos, _, err := d.objects.List(d.t.Context(), d.table.Snapshot.Location.Prefix(), "", objstore.MaxPage)
	require.NoError(d.t, err)
	for _, i := range infos {
		if strings.Contains(i.Key, part) {
			out = append(out, i.Key)
		}
	}
	return out
}

func (d *deployment) replace(key string, data []byte) {
	d.t.Helper()
	require.NoError(d.t, d.objects.Delete(d.t.Context(), key))
	if data != nil {
		require.NoError(d.t, d.objects.Put(d.t.Context(), key, data))
	}
}

func TestUnpublishedVersionsAreFoundAndFinished(t *testing.T) {
	d := deploy(t)
	require.Equal(t, []string{"unpublished 3"}, d.audit())
	repair := func(o *audit.Options) { o.Repair = true }
	require.Equal(t, []string{"unpublished 3 repaired"}, d.audit(repair))
	require.Empty(t, d.audit())
	require.Empty(t, d.audit(repair))
}

func TestEveryProblemIsNamed(t *testing.T) {
	finish := func(d *deployment) { require.NoError(t, d.engine.Publish(t.Context(), d.table.Snapshot)) }
	for name, c := range map[string]struct {
		harm func(d *deployment)
		want []string
	}{
		"a data file is gone":  {func(d *deployment) { d.replace(d.keys("/data/")[0], nil) }, []string{"missing"}},
		"a data file is short": {func(d *deployment) { d.replace(d.keys("/data/")[0], []byte("x")) }, []string{"short"}},
		"a manifest is gone":   {func(d *deployment) { d.replace(d.keys("18446744073709551613.manifest")[0], nil) }, []string{"missing 2"}},
		"a manifest is damaged": {
			func(d *deployment) { d.replace(d.keys("18446744073709551613.manifest")[0], []byte("x")) },
			[]string{"damaged 2"},
		},
		"a stranger's version": {func(d *deployment) {
			require.NoError(t, d.objects.Put(t.Context(), d.table.Snapshot.Location.Prefix()+"_versions/18446744073709551611.manifest", nil))
		}, []string{"foreign 4"}},
		"left behind": {func(d *deployment) {
			require.NoError(t, d.objects.Put(t.Context(), d.table.Snapshot.Location.Prefix()+"data/x.lance", nil))
		}, []string{"orphan"}},
		"a record is gone": {func(d *deployment) {
			page, err := d.records.Scan(t.Context(), d.engine.HistoryPrefix(d.table.Snapshot.Location), "", 10)
			require.NoError(t, err)
			require.NoError(t, d.records.Commit(t.Context(), metastore.Txn{Ops: []metastore.Op{metastore.Remove(page.Records[1].Key, page.Records[1].Value)}}))
		}, []string{"gap 2", "orphan"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := deploy(t)
			finish(d)
			require.Empty(t, d.audit())
			c.harm(d)
			got := d.audit()
			require.Len(t, got, len(c.want), "%v", got)
			for i, want := range c.want {
				require.Contains(t, got[i], want)
			}
		})
	}
}

// TestDeepAudit: what has the length it should and other bytes is found by
// looking into it.
func TestDeepAudit(t *testing.T) {
	d := deploy(t)
	require.NoError(t, d.engine.Publish(t.Context(), d.table.Snapshot))
	depth := func(depth audit.Depth) func(*audit.Options) { return func(o *audit.Options) { o.Depth = depth } }
	for _, deep := range []audit.Depth{audit.Shallow, audit.Deep, audit.Data} {
		require.Empty(t, d.audit(depth(deep)))
	}
	key := d.keys("/data/")[0]
	raw, err := objstore.ReadAll(t.Context(), d.objects, key, 1<<20)
	require.NoError(t, err)
	d.replace(key, make([]byte, len(raw)))
	require.Empty(t, d.audit())
	for _, deep := range []audit.Depth{audit.Deep, audit.Data} {
		got := d.audit(depth(deep))
		require.Len(t, got, 1, "once, however many versions need it: %v", got)
		require.Contains(t, got[0], "damaged")
	}
	_, err = audit.New(audit.Options{Engine: enginetest.NewMemory(), Depth: audit.Deep})
	require.Equal(t, lake.Unsupported, lake.KindOf(err))
}

func TestYoungObjectsAreSomebodysWork(t *testing.T) {
	d := deploy(t)
	require.NoError(t, d.objects.Put(t.Context(), d.table.Snapshot.Location.Prefix()+"data/x.lance", nil))
	require.Equal(t, []string{"unpublished 3"}, d.audit(func(o *audit.Options) { o.Grace = time.Hour }))
}

func TestAnUnknownTableIsSaid(t *testing.T) {
	d := deploy(t)
	a, err := audit.New(audit.Options{Catalog: d.catalog, Records: d.records, Objects: d.objects, Engine: d.engine})
	require.NoError(t, err)
	err = a.Table(t.Context(), lake.TableName{Namespace: "no", Name: "where"}, nil)
	require.Equal(t, lake.NotFound, lake.KindOf(err))
	_, err = audit.New(audit.Options{Engine: enginetest.NewMemory()})
	require.Equal(t, lake.Unsupported, lake.KindOf(err))
}
