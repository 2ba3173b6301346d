// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package blackbox

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/apache/arrow-adbc/go/adbc"
	"github.com/apache/arrow-adbc/go/adbc/driver/flightsql"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
)

// page is the page of recipes; those of other languages are read from it by
// their suites.
const page = "../../docs/clients.md"

// goRecipe is the program of the page, which the test below compares.
func goRecipe(ctx context.Context, uri string) (int, error) {
	driver := flightsql.NewDriver(memory.DefaultAllocator)
	db, err := driver.NewDatabase(map[string]string{
		adbc.OptionKeyURI: uri, // grpc+tls:// with TLS
		// flightsql.OptionAuthorizationHeader: "Bearer " + token,
		// flightsql.OptionSSLRootCerts: pemOfAnAuthority,
	})
	if err != nil {
		return 0, err
	}
	defer db.Close()
	conn, err := db.Open(ctx)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	st, err := conn.NewStatement()
	if err != nil {
		return 0, err
	}
	defer st.Close()
	if err := st.SetSqlQuery("SELECT sum(i) AS total FROM range(10) t(i)"); err != nil {
		return 0, err
	}
	rows, _, err := st.ExecuteQuery(ctx)
	if err != nil {
		return 0, err
	}
	defer rows.Release()
	batches := 0
	for rows.Next() {
		fmt.Println(rows.RecordBatch())
		batches++
	}
	return batches, rows.Err()
}

func TestTheRecipeForGoIsThisProgram(t *testing.T) {
	batches, err := goRecipe(t.Context(), "grpc+tcp://"+shared.query)
	require.NoError(t, err)
	require.Equal(t, 1, batches)

	text, err := os.ReadFile(page)
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), "```go\n")
	require.True(t, found)
	recipe, _, _ := strings.Cut(rest, "```")
	recipe = strings.ReplaceAll(recipe, `"grpc+tcp://127.0.0.1:50051"`, "uri")
	recipe = "\t" + strings.ReplaceAll(strings.TrimSuffix(recipe, "\n"), "\n", "\n\t")
	source, err := os.ReadFile("recipe_test.go")
	require.NoError(t, err)
	require.Contains(t, string(source), recipe, "docs/clients.md and this file differ")
}
