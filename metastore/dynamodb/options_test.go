// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package dynamodb

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
)

func TestParseURL(t *testing.T) {
	for raw, want := range map[string]Options{
		"dynamodb://lake_registry":                                               {Table: "lake_registry"},
		"dynamodb://Lake.Registry-1/?region=eu-central-1":                        {Table: "Lake.Registry-1", Region: "eu-central-1"},
		"dynamodb://lake?endpoint=http%3A%2F%2F127.0.0.1%3A8000&region=here":     {Table: "lake", Endpoint: "http://127.0.0.1:8000", Region: "here"},
		"dynamodb://lake?endpoint=https://vpce-1.dynamodb.eu-west-1.example.com": {Table: "lake", Endpoint: "https://vpce-1.dynamodb.eu-west-1.example.com"},
	} {
		got, err := ParseURL(raw)
		require.NoError(t, err, raw)
		require.Equal(t, want, got, raw)
	}
	for raw, says := range map[string]string{
		"dynamodb://":                               `table "": want 3..245 of`,
		"dynamodb://ab":                             `table "ab": want 3..245 of`,
		"dynamodb://" + strings.Repeat("a", 246):    "want 3..245 of",
		"dynamodb://lake/registry":                  "want dynamodb://table?region=REGION&endpoint=URL",
		"dynamodb://id:secret@lake":                 "credentials come from the environment, files or roles",
		"dynamodb://lake#x":                         "want dynamodb://table",
		"postgres://lake":                           "want dynamodb://table",
		"dynamodb://lake?zone=a":                    `parameter "zone" of the URL: want region and endpoint`,
		"dynamodb://lake?region=a&region=b":         `parameter "region" of the URL: want region and endpoint, each once`,
		"dynamodb://lake?region=%zz":                "parameters of the URL",
		"dynamodb://lake?endpoint=127.0.0.1:8000":   `endpoint "127.0.0.1:8000": want an http or https URL`,
		"dynamodb://lake?endpoint=ftp://127.0.0.1/": "want an http or https URL",
	} {
		_, err := ParseURL(raw)
		require.True(t, lake.Is(err, lake.Invalid), "%s: %v", raw, err)
		require.ErrorContains(t, err, says, raw)
		require.NotContains(t, err.Error(), "secret@")
	}
	err := Options{Table: "!", Endpoint: "x", RetryTime: -1}.Validate()
	require.ErrorContains(t, err, "table")
	require.ErrorContains(t, err, "endpoint")
	require.ErrorContains(t, err, "times")
}
