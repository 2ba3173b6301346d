// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
)

func TestQueriesAskForTheClientsOwnWrites(t *testing.T) {
	s, c := withTable(t)
	other := lake.TableName{Namespace: "robots", Name: "other"}
	_, err := c.CreateTable(t.Context(), other, schema)
	require.NoError(t, err)
	const sql = `SELECT * FROM robots."Episodes"`
	s.Answer(sql, schema, nil)
	query := func(params ...any) {
		t.Helper()
		r, err := c.Query(t.Context(), sql, params...)
		require.NoError(t, err)
		r.Release()
	}
	query()
	require.Empty(t, s.MinVersions(), "it wrote nothing")
	for range 2 {
		_, err := c.Append(t.Context(), episodes, rows(1, "a"))
		require.NoError(t, err)
	}
	_, err = c.Append(t.Context(), other, rows(1, "a"))
	require.NoError(t, err)
	query()
	query("with a parameter")
	require.Equal(t, []string{"robots.episodes=3", "robots.episodes=3"}, s.MinVersions(), "of the table that the text names")

	// Somebody made the table again: its versions begin anew, and the query
	// goes on.
	recreate(t, another(t, s), schema)
	query()
	query()
	require.Len(t, s.MinVersions(), 3, "asked once more, and not again")

	_, err = c.Append(t.Context(), episodes, rows(1, "a"))
	require.True(t, lake.Is(err, lake.Precondition), "%v", err)
	_, err = c.Append(t.Context(), episodes, rows(1, "a"))
	require.NoError(t, err)
	recreate(t, c, schema)
	query()
	require.Len(t, s.MinVersions(), 3, "forgotten with the table")
}
