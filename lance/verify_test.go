// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/lance/lancepb"
	"github.com/lakeplane/lake/lance/stats"
)

// faults are what a verification of the current version finds, as "name: error".
func (f *fixture) faults(data bool) (out []string) {
	f.t.Helper()
	d, err := Open(f.t.Context(), f.st, f.m, Options{Root: "t", Files: NewFileCache(0, f.mem)})
	require.NoError(f.t, err)
	defer func() { require.NoError(f.t, d.Close()) }()
	defer d.files.Close()
	require.NoError(f.t, d.Verify(f.t.Context(), VerifyOptions{Data: data, Found: func(x Fault) error {
		text := x.Name + ": " + x.Err.Error()
		if x.Sidecar {
			text = "harmless " + text
		}
		out = append(out, text)
		return nil
	}}))
	return out
}

func TestVerify(t *testing.T) {
	cases := []struct {
		name string
		harm func(f *fixture, data, sidecar string)
		deep bool // found only in the data
		want string
	}{
		{"nothing", func(*fixture, string, string) {}, false, ""},
		{"a missing file", func(f *fixture, data, _ string) { delete(f.st.objects, data) }, false, ""},
		{"a cut file", func(f *fixture, data, _ string) {
			f.st.objects[data] = f.st.objects[data][:100]
		}, false, "the manifest says"},
		{"a file of another fragment", func(f *fixture, data, _ string) {
			f.edit(func(pb *lancepb.Manifest) { pb.Fragments[1].PhysicalRows = 9 })
		}, false, "it has 10 rows, the manifest says 9"},
		{"a damaged footer", func(f *fixture, data, _ string) {
			b := bytes.Clone(f.st.objects[data])
			copy(b[len(b)-32:], bytes.Repeat([]byte{0xff}, 8))
			f.st.objects[data] = b
		}, false, itsName},
		{"damaged statistics", func(f *fixture, _, sidecar string) { f.st.objects[sidecar][20] ^= 1 }, false, "harmless " + statsDir},
		{"statistics of another file", func(f *fixture, _, sidecar string) {
			s, err := stats.Decode(f.st.objects[sidecar])
			require.NoError(f.t, err)
			s.Size++
			f.st.objects[sidecar] = stats.Encode(s)
		}, false, "of another file"},
		{"wrong statistics", func(f *fixture, _, sidecar string) {
			s, err := stats.Decode(f.st.objects[sidecar])
			require.NoError(f.t, err)
			s.Columns[0].Stats.Max = s.Columns[0].Stats.Min
			f.st.objects[sidecar] = stats.Encode(s)
		}, true, "scans lose rows"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f, _ := statsFixture(t)
			path := f.m.Fragments()[1].GetFiles()[0].GetPath()
			c.harm(f, dataDir+path, StatsName(path))
			for _, data := range []bool{false, true} {
				got := f.faults(data)
				if c.want == "" || c.deep && !data {
					require.Empty(t, got)
					continue
				}
				require.NotEmpty(t, got)
				require.Contains(t, got[0], strings.ReplaceAll(c.want, itsName, dataDir+path))
			}
		})
	}
}

const itsName = "<the data file>"

func TestVerifyDeletions(t *testing.T) {
	f, _ := statsFixture(t)
	f.delete(1, 2, 3)
	require.Empty(t, f.faults(true))
	f.edit(func(pb *lancepb.Manifest) { pb.Fragments[1].DeletionFile.NumDeletedRows = 3 })
	got := f.faults(true)
	require.Len(t, got, 1)
	require.Contains(t, got[0], deletionsDir)
	require.Contains(t, got[0], "deletes 2 rows, the manifest says 3")
}

// TestVerifyLeavesOut: what is skipped is not opened, and an error of Found ends
// it.
func TestVerifyLeavesOut(t *testing.T) {
	f, _ := statsFixture(t)
	path := f.m.Fragments()[0].GetFiles()[0].GetPath()
	f.st.objects[dataDir+path] = []byte("x")
	d := f.open()
	opened := f.st.opened
	skipAll := VerifyOptions{Data: true, Skip: func(string) bool { return true }, Found: func(Fault) error { return errors.New("told") }}
	require.NoError(t, d.Verify(t.Context(), skipAll))
	require.Equal(t, opened, f.st.opened)
	skipAll.Skip = nil
	require.ErrorContains(t, d.Verify(t.Context(), skipAll), "told")
}

func TestDamageIsNotTrouble(t *testing.T) {
	require.True(t, damage(corrupt("x")))
	require.False(t, damage(lake.Errorf(lake.Unavailable, "x")))
	require.False(t, damage(nil))
}
