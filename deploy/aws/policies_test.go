// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package aws tests the policies beside it.
package aws

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rights are what the calls of the SDK need, from the service authorization
// references of S3 and DynamoDB.
var rights = map[string][]string{
	"AbortMultipartUpload":    {"s3:AbortMultipartUpload"},
	"CompleteMultipartUpload": {"s3:PutObject"},
	"CreateMultipartUpload":   {"s3:PutObject"},
	"DeleteObjects":           {"s3:DeleteObject", "s3:DeleteObjectVersion"},
	"GetBucketVersioning":     {"s3:GetBucketVersioning"},
	"GetObject":               {"s3:GetObject"},
	"HeadObject":              {"s3:GetObject"},
	"ListObjectVersions":      {"s3:ListBucketVersions"},
	"ListObjectsV2":           {"s3:ListBucket"},
	"PutObject":               {"s3:PutObject"},
	"UploadPart":              {"s3:PutObject"},

	"CreateTable":        {"dynamodb:CreateTable"},
	"DescribeTable":      {"dynamodb:DescribeTable"},
	"GetItem":            {"dynamodb:GetItem"},
	"Query":              {"dynamodb:Query"},
	"Scan":               {"dynamodb:Scan"},
	"TransactWriteItems": {"dynamodb:ConditionCheckItem", "dynamodb:DeleteItem", "dynamodb:PutItem"},
}

var call = regexp.MustCompile(`\bclient\.([A-Z]\w+)\(`)

// needed returns the rights that the calls in a package need.
func needed(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../..", folder, "*.go"))
	require.NoError(t, err)
	all := map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range call.FindAllStringSubmatch(string(text), -1) {
			require.Contains(t, rights, m[1], "%s makes a call whose rights the test does not know", file)
			for _, right := range rights[m[1]] {
				all[right] = true
			}
		}
	}
	require.NotEmpty(t, all, folder)
	return slices.Sorted(maps.Keys(all))
}

// policy is what the test reads of an IAM policy.
type policy struct {
	Version   string
	Statement []struct {
		Sid, Effect string
		Action      []string
		Resource    any
	}
}

func allowed(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(name + ".json")
	require.NoError(t, err)
	var p policy
	require.NoError(t, json.Unmarshal(text, &p))
	require.Equal(t, "2012-10-17", p.Version)
	var all []string
	for _, s := range p.Statement {
		require.Equal(t, "Allow", s.Effect, s.Sid)
		require.NotEmpty(t, s.Resource, s.Sid)
		require.NotEqual(t, "*", s.Resource, s.Sid)
		all = append(all, s.Action...)
	}
	slices.Sort(all)
	return all
}

// TestPoliciesAllowWhatTheCodeCalls and nothing else: a process that makes another
// call is found here, and not by a user whom it fails.
func TestPoliciesAllowWhatTheCodeCalls(t *testing.T) {
	objects, records := needed(t, "objstore/s3"), needed(t, "metastore/dynamodb")
	tables := []string{"dynamodb:CreateTable"}
	records = slices.DeleteFunc(records, func(right string) bool { return slices.Contains(tables, right) })
	all := slices.Sorted(slices.Values(append(records, objects...)))
	require.Equal(t, all, allowed(t, "meta"))
	require.Equal(t, all, allowed(t, "worker"))
	require.Equal(t, tables, allowed(t, "tables"))
	require.Equal(t, []string{"s3:GetBucketVersioning", "s3:GetObject", "s3:ListBucket"}, allowed(t, "query"))
	require.Subset(t, objects, allowed(t, "query"))
}
