// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/objstore"
	"github.com/lakeplane/lake/objstore/local"
	"github.com/lakeplane/lake/services/metasrv"
)

func TestListTableVersions(t *testing.T) {
	disk := onDisk{t.TempDir()}
	store, storage, closeAll := disk.open(t)
	defer closeAll()
	a := startOn(t, store, storage, func(o *metasrv.Options) { o.Engine = storage })
	defer a.stop()
	made := a.create(t, "a", "t")
	for i := range 4 {
		_, err := a.put(t.Context(), newOp(t, "a", "t", int64(i)))
		require.NoError(t, err)
	}
	objects, err := local.Open(disk.dir + "/objects")
	require.NoError(t, err)
	defer func() { _ = objects.Close() }()
	for _, tag := range []string{"trained", "frozen"} {
		key := made.GetSnapshot().GetLocation() + "/_refs/tags/" + tag + ".json"
		require.NoError(t, objects.Put(t.Context(), key, []byte(`{"branch":null,"version":2,"manifestSize":1}`)))
	}
	list := func(req *lakepb.ListTableVersionsRequest) ([]*lakepb.TableVersion, uint64) {
		req.Name = nameOf("a", "t")
		resp, err := a.catalog.ListTableVersions(t.Context(), req)
		require.NoError(t, err)
		return resp.GetVersions(), resp.GetNextBefore()
	}
	all, next := list(&lakepb.ListTableVersionsRequest{})
	require.Zero(t, next)
	require.Len(t, all, 5)
	for i, v := range all {
		require.EqualValues(t, 5-i, v.GetVersion())
		require.EqualValues(t, 4-i, v.GetRows())
		require.EqualValues(t, 4-i, v.GetParts())
		require.NotNil(t, v.GetMadeAt())
		if v.GetVersion() > 1 {
			require.Equal(t, "append", v.GetChange())
			require.EqualValues(t, 1, v.GetOperations())
			require.Positive(t, v.GetBytes())
		}
	}
	require.Equal(t, "create", all[4].GetChange())
	require.Equal(t, []string{"frozen", "trained"}, all[3].GetTags())

	page, next := list(&lakepb.ListTableVersionsRequest{PageSize: 2})
	require.EqualValues(t, []uint64{5, 4, 4}, []uint64{page[0].GetVersion(), page[1].GetVersion(), next})
	page, next = list(&lakepb.ListTableVersionsRequest{PageSize: 3, Before: next})
	require.Len(t, page, 3)
	require.Zero(t, next)
	page, next = list(&lakepb.ListTableVersionsRequest{Before: 100})
	require.Len(t, page, 5, "a version that is not there yet")
	require.Zero(t, next)

	// A version whose manifest is gone is not listed.
	for info := range versionObjects(t, objects, made.GetSnapshot().GetLocation(), "18446744073709551612.manifest") {
		require.NoError(t, objects.Delete(t.Context(), info))
	}
	all, _ = list(&lakepb.ListTableVersionsRequest{})
	require.Len(t, all, 4)

	for _, size := range []int32{-1, 201} {
		_, err = a.catalog.ListTableVersions(t.Context(), &lakepb.ListTableVersionsRequest{Name: nameOf("a", "t"), PageSize: size})
		requireCode(t, codes.InvalidArgument, err, "want 1..200, or 0 for 50")
	}
	_, err = a.catalog.ListTableVersions(as(t.Context(), "red"), &lakepb.ListTableVersionsRequest{Name: nameOf("a", "t")})
	requireCode(t, codes.NotFound, err)
	_, err = a.catalog.ListTableVersions(t.Context(), &lakepb.ListTableVersionsRequest{Name: nameOf("a", "none")})
	requireCode(t, codes.NotFound, err)
}

// versionObjects are the keys of a location that end in a name.
func versionObjects(t *testing.T, objects *local.Store, location, name string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	infos, _, err := objects.List(t.Context(), location+"/_versions/", "", objstore.MaxPage)
	require.NoError(t, err)
	for _, i := range infos {
		if i.Key == location+"/_versions/"+name {
			out[i.Key] = true
		}
	}
	require.NotEmpty(t, out)
	return out
}

func TestListTableVersionsNeedsAnEngineThatCan(t *testing.T) {
	a := start(t)
	a.create(t, "a", "t")
	_, err := a.catalog.ListTableVersions(t.Context(), &lakepb.ListTableVersionsRequest{Name: nameOf("a", "t")})
	requireCode(t, codes.Unimplemented, err, "does not tell what its versions are")
}
