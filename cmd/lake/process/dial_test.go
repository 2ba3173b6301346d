// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package process_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/cmd/lake/config"
	"github.com/lakeplane/lake/cmd/lake/process"
	"github.com/lakeplane/lake/sdk/sdktest"
)

// TestReadsOfAMetadataServerThatEndsAreRepeated also when it had begun to answer,
// where gRPC's retry policy gives up; what changes something is not repeated.
func TestReadsOfAMetadataServerThatEndsAreRepeated(t *testing.T) {
	s := sdktest.New(t)
	conn, err := process.DialMeta([]string{s.Addr()}, config.Caller{}, true)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	catalog := lakepb.NewCatalogClient(conn)
	list := func() error {
		_, err := catalog.ListTables(t.Context(), &lakepb.ListTablesRequest{})
		return err
	}
	s.Cut(lakepb.Catalog_ListTables_FullMethodName, 3)
	require.NoError(t, list())
	require.Zero(t, s.Left(lakepb.Catalog_ListTables_FullMethodName))
	s.Cut(lakepb.Catalog_ListTables_FullMethodName, 100)
	require.Equal(t, codes.Unavailable, status.Code(list()))
	require.Equal(t, 96, s.Left(lakepb.Catalog_ListTables_FullMethodName), "four attempts")

	s.Cut(lakepb.Catalog_DropTable_FullMethodName, 2)
	_, err = catalog.DropTable(t.Context(), &lakepb.DropTableRequest{Name: &lakepb.TableName{Namespace: "a", Name: "b"}})
	require.Equal(t, codes.Unavailable, status.Code(err), "%v", err)
	require.Equal(t, 1, s.Left(lakepb.Catalog_DropTable_FullMethodName), "a write is not repeated")
}
