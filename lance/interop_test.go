// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lance/lancepb"
)

// lancedb runs the stock client, which it finds in the folder node_modules
// named by LAKE_NODE_MODULES or in test/interop.
func lancedb(t *testing.T, args ...string) string {
	t.Helper()
	modules := os.Getenv("LAKE_NODE_MODULES")
	if modules == "" {
		modules, _ = filepath.Abs("../test/interop/node_modules")
	}
	if _, err := os.Stat(filepath.Join(modules, "@lancedb", "lancedb")); err != nil {
		t.Skipf("no stock LanceDB to test against: %v (npm install in test/interop, or set LAKE_NODE_MODULES)", err)
	}
	if _, err := exec.LookPath("node"); err != nil {
		t.Skipf("no node to run stock LanceDB with: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", append([]string{"testdata/lancedb.cjs"}, args...)...)
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(t, cmd.Run(), "node %v\n%s%s", args, stdout.String(), stderr.String())
	return strings.TrimSpace(stdout.String())
}

// readIPC returns the rows of an IPC file as JSON, and the number of columns.
func readIPC(t *testing.T, path string) ([]string, *arrow.Schema) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	r, err := ipc.NewFileReader(f)
	require.NoError(t, err)
	defer r.Close()
	var out []string
	for i := range r.NumRecords() {
		b, err := r.RecordBatch(i)
		require.NoError(t, err)
		out = append(out, lines(t, b)...)
	}
	return out, r.Schema()
}

func writeIPC(t *testing.T, path string, batch arrow.RecordBatch) {
	t.Helper()
	f, err := os.Create(path)
	require.NoError(t, err)
	w, err := ipc.NewFileWriter(f, ipc.WithSchema(batch.Schema()))
	require.NoError(t, err)
	require.NoError(t, w.Write(batch))
	require.NoError(t, w.Close())
	require.NoError(t, f.Close())
}

// save writes the objects of the fixture to a folder.
func (f *fixture) save(dir string) {
	f.t.Helper()
	for name, data := range f.st.objects {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(f.t, os.MkdirAll(filepath.Dir(path), 0o777))
		require.NoError(f.t, os.WriteFile(path, data, 0o666))
	}
}

// load reads a folder into the storage of the fixture.
func (f *fixture) load(dir string) {
	f.t.Helper()
	require.NoError(f.t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		f.st.objects[filepath.ToSlash(name)], err = os.ReadFile(path)
		return err
	}))
}

func TestLanceDBReadsOurVersions(t *testing.T) {
	f := newFixture(t)
	publish := func() { require.NoError(t, f.m.Write(t.Context(), f.st)) }
	publish()
	f.append(300)
	publish()
	f.append(1, 700)
	publish()
	next, err := f.open().Delete(t.Context(), f.st, []uint64{0, 5, 300, 1000}, "some", testCommit())
	require.NoError(t, err)
	f.m = f.reparse(next)
	publish()
	dir := t.TempDir()
	f.save(filepath.Join(dir, "t.lance"))

	said := stockRead(t, dir, "1", "2", "3", "4")
	for version, want := range map[int][]string{
		1: {}, 2: want(t, idsExcept(300)...), 3: want(t, idsExcept(1001)...), 4: want(t, idsExcept(1001, 0, 5, 300, 1000)...),
	} {
		require.Equal(t, stockVersion{version, len(want)}, said[fmt.Sprint(version)])
		got, schema := readIPC(t, filepath.Join(dir, fmt.Sprintf("%d.arrow", version)))
		require.Equal(t, len(want), len(got))
		if len(want) == 0 {
			continue // the client makes a table without columns of no rows
		}
		require.Equal(t, want, got)
		for i, field := range vecSchema().Fields() {
			require.Equal(t, field.Name, schema.Field(i).Name)
			require.Equal(t, field.Nullable, schema.Field(i).Nullable)
			require.Equal(t, field.Type.ID(), schema.Field(i).Type.ID())
		}
	}
}

// stockVersion is what the stock client says of a version.
type stockVersion struct{ Version, Rows int }

// stockRead dumps versions of the table t in a folder, each to <version>.arrow.
func stockRead(t *testing.T, dir string, versions ...string) map[string]stockVersion {
	t.Helper()
	var out map[string]stockVersion
	said := lancedb(t, append([]string{"read", dir, "t", dir}, versions...)...)
	require.NoError(t, json.Unmarshal([]byte(said), &out))
	return out
}

func TestWeReadLanceDBVersions(t *testing.T) {
	for _, fileVersion := range []string{"2.0", "2.1", "2.2"} {
		t.Run(fileVersion, func(t *testing.T) {
			f := newFixture(t)
			dir := t.TempDir()
			input := filepath.Join(dir, "in.arrow")
			writeIPC(t, input, rows(0, 3000))
			said := lancedb(t, "make", dir, "t", input, dir, fileVersion,
				"append:0:1000", "append:1000:1001", "append:1001:3000",
				"delete:id % 7 = 3", "add:twice:id * 2", "delete:id > 1500 AND id < 2900", "rename:name:label", "drop:vec", "compact")
			var made struct{ Versions []uint64 }
			require.NoError(t, json.Unmarshal([]byte(said), &made))
			f.load(filepath.Join(dir, "t.lance"))
			listed, err := Versions(t.Context(), f.st)
			require.NoError(t, err)
			require.Subset(t, listed, made.Versions)
			for _, v := range made.Versions {
				m, err := ReadManifest(t.Context(), f.st, v)
				require.NoError(t, err)
				f.m = m
				want, schema := readIPC(t, filepath.Join(dir, fmt.Sprintf("%d.arrow", v)))
				d := f.open()
				require.EqualValues(t, len(want), d.Rows(), "version %d", v)
				require.Equal(t, fieldNames(schema), fieldNames(d.Schema()))
				require.Equal(t, want, collect(t, d, ScanOptions{Ordered: true, BatchRows: 170}), "version %d", v)
				picks := []uint64{d.Rows() - 1, 0, d.Rows() / 2}
				b, err := d.Take(t.Context(), picks, nil)
				require.NoError(t, err)
				require.Equal(t, []string{want[picks[0]], want[picks[1]], want[picks[2]]}, lines(t, b))
				b.Release()
			}
		})
	}
}

func fieldNames(s *arrow.Schema) []string {
	var out []string
	for _, f := range s.Fields() {
		out = append(out, f.Name)
	}
	return out
}

// TestWeExtendLanceDBTables appends to a foreign table and lets the stock
// client read and extend the result.
func TestWeExtendLanceDBTables(t *testing.T) {
	f := newFixture(t)
	dir := t.TempDir()
	input := filepath.Join(dir, "in.arrow")
	writeIPC(t, input, rows(0, 50))
	lancedb(t, "make", dir, "t", input, dir, "2.1", "append:0:20", "append:20:50", "delete:id = 4")
	root := filepath.Join(dir, "t.lance")
	f.load(root)
	m, err := ReadManifest(t.Context(), f.st, 3)
	require.NoError(t, err)
	f.m = m
	next, err := m.Append([]*lancepb.DataFragment{f.write(rows(50, 10))}, testCommit("who", "us"))
	require.NoError(t, err)
	require.NoError(t, next.Write(t.Context(), f.st))
	f.save(root)
	require.Equal(t, stockVersion{4, 59}, stockRead(t, dir, "latest")["latest"])
	got, _ := readIPC(t, filepath.Join(dir, "latest.arrow"))
	require.Equal(t, want(t, idsExcept(60, 4)...), got)
}

// TestLanceDBReadsOurChanges takes a table through every kind of change this
// package makes; the stock client reads each version, then changes the last.
func TestLanceDBReadsOurChanges(t *testing.T) {
	f := newFixture(t)
	f.append(40, 30)
	f.append(10)
	versions := map[uint64]*Manifest{}
	step := func(next *Manifest, err error) {
		f.become(next, err)
		require.NoError(t, f.m.Write(t.Context(), f.st))
		versions[f.m.Version()] = f.m
	}
	step(f.open().Delete(t.Context(), f.st, []uint64{3, 41, 79}, "some", testCommit()))
	step(f.open().AddColumns(t.Context(), f.st, []arrow.Field{twiceField()}, &Backfill{Columns: []int{0}, Compute: doubled}, testCommit()))
	step(f.open().AddColumns(t.Context(), f.st, []arrow.Field{{Name: "empty", Type: arrow.BinaryTypes.String, Nullable: true}}, nil, testCommit()))
	step(f.open().RenameColumn(1, "label", testCommit()))
	step(f.open().DropColumns([]int{2}, testCommit()))
	step(f.open().Compact(t.Context(), f.st, [][]int{{0, 1}}, testCommit()))
	size := int64(len(mustEncode(t, versions[6])))
	require.NoError(t, CreateTag(t.Context(), f.st, Tag{Name: "pinned", Version: 6, ManifestSize: size}))
	dir := t.TempDir()
	root := filepath.Join(dir, "t.lance")
	f.save(root)
	check := func(names map[string]*Manifest) {
		t.Helper()
		said := stockRead(t, dir, slices.Collect(maps.Keys(names))...)
		for name, m := range names {
			f.m = m
			want := collect(t, f.open(), ScanOptions{Ordered: true})
			require.Equal(t, stockVersion{int(m.Version()), len(want)}, said[name])
			got, schema := readIPC(t, filepath.Join(dir, name+".arrow"))
			require.Equal(t, want, got, "version %s", name)
			require.Equal(t, fieldNames(f.open().Schema()), fieldNames(schema))
		}
	}
	names := map[string]*Manifest{"pinned": versions[6]}
	for v, m := range versions {
		names[fmt.Sprint(v)] = m
	}
	check(names)

	input := filepath.Join(dir, "in.arrow")
	writeIPC(t, input, rows(0, 1))
	said := lancedb(t, "change", dir, "t", input, "delete:id < 5", "add:more:id + 1", "compact")
	f.load(root)
	listed, err := Versions(t.Context(), f.st)
	require.NoError(t, err)
	last := listed[len(listed)-1]
	require.JSONEq(t, fmt.Sprintf(`{"version": %d, "rows": 73}`, last), said)
	m, err := ReadManifest(t.Context(), f.st, last)
	require.NoError(t, err)
	check(map[string]*Manifest{"latest": m})
}
