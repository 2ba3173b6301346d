// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package devserver_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
)

// TestLanceNamespaceAnswers: other Lance clients find a table where the server
// says, and where its objects are.
func TestLanceNamespaceAnswers(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir)
	client := connect(t, s)
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)
	table, err := client.CreateTable(t.Context(), lake.TableName{Namespace: "robots", Name: "t"}, schema)
	require.NoError(t, err)
	resp, err := http.Post(s.State().LanceNamespace+"/v1/table/robots$t/describe", "application/json", strings.NewReader("{}"))
	require.NoError(t, err)
	defer resp.Body.Close()
	var got struct {
		Location string       `json:"location"`
		Managed  bool         `json:"managed_versioning"`
		Version  lake.Version `json:"version"`
	}
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&got))
	require.True(t, got.Managed)
	require.Equal(t, lake.Version(1), got.Version)
	require.Equal(t, dir+"/objects/"+string(table.Snapshot.Location), got.Location)
	require.NoError(t, client.Close())
	require.NoError(t, s.Stop())
	_, err = http.Get(s.State().LanceNamespace + "/v1/table")
	require.Error(t, err, "it stopped")
}
