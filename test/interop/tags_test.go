// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/retention"
)

func (d *deployment) tag(t *testing.T, table, tag string, version lake.Version) (*lakepb.TableTag, error) {
	return d.tables.TagTable(t.Context(), &lakepb.TagTableRequest{
		Name: &lakepb.TableName{Namespace: "robots", Name: table}, Tag: tag, Version: uint64(version), Reason: "a model",
	})
}

// opens reports whether a version of the table can be opened.
func (d *deployment) opens(t *testing.T, table string, v lake.Version) bool {
	t.Helper()
	snap, found, err := retention.Find(t.Context(), d.records, d.engine.HistoryPrefix(d.now(t, table).Snapshot.Location), v)
	require.NoError(t, err)
	if !found {
		return false
	}
	dataset, err := d.engine.Open(t.Context(), snap)
	if err == nil {
		require.NoError(t, dataset.Close())
	}
	return err == nil
}

// TestTagsKeepVersions for as long as they are there, and say by whom.
func TestTagsKeepVersions(t *testing.T) {
	d := deploy(t, localPlace)
	d.create(t, "t")
	for i := range int64(6) {
		require.NoError(t, d.append(t.Context(), "t", i))
	}
	name := &lakepb.TableName{Namespace: "robots", Name: "t"}
	for range 2 {
		tag, err := d.tag(t, "t", "train-1", 3)
		require.NoError(t, err)
		require.EqualValues(t, 3, tag.GetVersion())
	}
	current, err := d.tag(t, "t", "now", 0)
	require.NoError(t, err)
	require.EqualValues(t, 7, current.GetVersion())
	for text, c := range map[string]struct {
		tag     string
		version lake.Version
		code    codes.Code
	}{
		"names version 3 already": {"train-1", 4, codes.AlreadyExists},
		"want letters":            {"a/b", 4, codes.InvalidArgument},
		"want 1..128":             {"", 4, codes.InvalidArgument},
		"the current one is 7":    {"later", 8, codes.NotFound},
	} {
		_, err := d.tag(t, "t", c.tag, c.version)
		require.Equal(t, c.code, status.Code(err), "%v", err)
		require.ErrorContains(t, err, text)
	}
	policy := retention.Policy{Versions: 2, For: time.Nanosecond, OrphanAge: time.Nanosecond}
	d.cleanUp(t, "t", policy)
	for v := lake.Version(1); v <= 7; v++ {
		require.Equal(t, v == 3 || v >= 6, d.opens(t, "t", v), "version %d", v)
	}
	_, err = d.tag(t, "t", "late", 2)
	require.Equal(t, codes.FailedPrecondition, status.Code(err), "%v", err)
	list, err := d.tables.ListTableTags(t.Context(), &lakepb.ListTableTagsRequest{Name: name})
	require.NoError(t, err)
	require.Equal(t, "now 7, train-1 3", fmt.Sprintf("%s %d, %s %d", list.Tags[0].Tag, list.Tags[0].Version, list.Tags[1].Tag, list.Tags[1].Version))
	require.Len(t, list.Tags, 2)

	untag := &lakepb.UntagTableRequest{Name: name, Tag: "train-1", Reason: "retrained"}
	gone, err := d.tables.UntagTable(t.Context(), untag)
	require.NoError(t, err)
	require.EqualValues(t, 3, gone.GetVersion())
	_, err = d.tables.UntagTable(t.Context(), untag)
	require.Equal(t, codes.NotFound, status.Code(err), "%v", err)
	require.NoError(t, d.append(t.Context(), "t", 100))
	d.cleanUp(t, "t", policy)
	require.False(t, d.opens(t, "t", 3))
	require.True(t, d.opens(t, "t", 7))
	d.requireWhole(t)

	lines, _, err := d.catalog.Audit(t.Context(), catalog.MaintenanceKind, catalog.MaintenanceID(lake.TableName{Namespace: "robots", Name: "t"}, d.now(t, "t").Snapshot.Incarnation), "", 100)
	require.NoError(t, err)
	var told []string
	for _, l := range lines {
		told = append(told, string(l.Action)+" "+l.Reason)
		require.NotEmpty(t, l.By)
	}
	require.Equal(t, []string{"tag version 3 as train-1: a model", "tag version 3 as train-1: a model", "tag version 7 as now: a model", "untag version 3 as train-1: retrained"}, told)
}

// TestTagsBesideACleanUp: a tag that was answered keeps its version, whatever
// clean-up was under way.
func TestTagsBesideACleanUp(t *testing.T) {
	d := deploy(t, localPlace)
	d.create(t, "t")
	kept := map[lake.Version]bool{}
	for round := range 12 {
		for i := range int64(4) {
			require.NoError(t, d.append(t.Context(), "t", int64(round)*10+i))
		}
		head := d.now(t, "t").Snapshot.Version
		var both sync.WaitGroup
		answers := make([]error, 4)
		both.Go(func() {
			for i := range answers {
				_, answers[i] = d.tag(t, "t", fmt.Sprintf("v%d", head-lake.Version(i)), head-lake.Version(i))
			}
		})
		d.cleanUp(t, "t", retention.Policy{Versions: 1, For: time.Nanosecond, OrphanAge: time.Nanosecond})
		both.Wait()
		for i, err := range answers {
			if err == nil {
				kept[head-lake.Version(i)] = true
				continue
			}
			require.Equal(t, codes.FailedPrecondition, status.Code(err), "%v", err)
		}
		for v := range kept {
			require.True(t, d.opens(t, "t", v), "version %d is tagged", v)
		}
	}
	d.requireWhole(t)
}
