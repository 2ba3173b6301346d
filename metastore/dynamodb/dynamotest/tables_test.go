// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package dynamotest_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/metastore/dynamodb/dynamotest"
)

func TestTables(t *testing.T) {
	w := service(t)
	w.fact("a table is described as it was made", func(w *world, _ string) {
		out, err := w.client.DescribeTable(w.Context(), &dynamodb.DescribeTableInput{TableName: &w.ranged})
		require.NoError(w, err)
		require.Equal(w, types.TableStatusActive, out.Table.TableStatus)
		require.Equal(w, tableInput(w.ranged, "bucket", "pk").KeySchema, out.Table.KeySchema)
		require.ElementsMatch(w, tableInput(w.ranged, "bucket", "pk").AttributeDefinitions, out.Table.AttributeDefinitions)
		require.Equal(w, types.BillingModePayPerRequest, out.Table.BillingModeSummary.BillingMode)
		require.WithinDuration(w, time.Now(), *out.Table.CreationDateTime, 5*time.Minute)
	})
	w.fact("a name is taken once", func(w *world, _ string) {
		_, err := w.client.CreateTable(w.Context(), tableInput(w.plain, "pk"))
		refused(w, err, "ResourceInUseException", w.plain)
	})
	w.fact("a name has 3 to 255 of some characters", func(w *world, _ string) {
		for _, name := range []string{"ab", "a/b", "a b c"} {
			_, err := w.client.CreateTable(w.Context(), tableInput(name, "pk"))
			invalid(w, err, "")
		}
	})
	w.fact("definitions are of the keys and of nothing else", func(w *world, _ string) {
		in := tableInput(w.plain+"-2", "pk")
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: aws.String("x"), AttributeType: types.ScalarAttributeTypeS})
		_, err := w.client.CreateTable(w.Context(), in)
		invalid(w, err, "does not exactly match")
	})
	w.fact("a table that is not there", func(w *world, hash string) {
		missing := aws.String("lake-no-such-table")
		_, err := w.client.DescribeTable(w.Context(), &dynamodb.DescribeTableInput{TableName: missing})
		refused(w, err, "ResourceNotFoundException", "Table: lake-no-such-table not found")
		_, err = w.client.DeleteTable(w.Context(), &dynamodb.DeleteTableInput{TableName: missing})
		refused(w, err, "ResourceNotFoundException", "")
		_, err = w.client.GetItem(w.Context(), &dynamodb.GetItemInput{TableName: missing, Key: key(hash, "k")})
		refused(w, err, "ResourceNotFoundException", "Requested resource not found")
		_, err = w.client.Scan(w.Context(), &dynamodb.ScanInput{TableName: missing})
		refused(w, err, "ResourceNotFoundException", "Requested resource not found")
	})
	w.fact("names are listed in order, in pages", func(w *world, _ string) {
		var names []string
		pages := dynamodb.NewListTablesPaginator(w.client, &dynamodb.ListTablesInput{Limit: aws.Int32(1)})
		for pages.HasMorePages() {
			out, err := pages.NextPage(w.Context())
			require.NoError(w, err)
			require.LessOrEqual(w, len(out.TableNames), 1)
			names = append(names, out.TableNames...)
		}
		require.IsIncreasing(w, names)
		require.Subset(w, names, []string{w.ranged, w.plain})
	})
}

func TestTableStates(t *testing.T) {
	w, server := emulated(t, dynamotest.Options{TableTime: time.Hour})
	name := "states"
	status := func() types.TableStatus {
		out, err := w.client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &name})
		require.NoError(t, err)
		return out.Table.TableStatus
	}
	put := func() error {
		_, err := w.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: attributes{"pk": text("x")}})
		return err
	}
	remove := func() error {
		_, err := w.client.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: &name})
		return err
	}
	in := tableInput(name, "pk")
	in.DeletionProtectionEnabled = aws.Bool(true)
	made, err := w.client.CreateTable(t.Context(), in)
	require.NoError(t, err)
	require.Equal(t, types.TableStatusCreating, made.TableDescription.TableStatus)
	refused(t, put(), "ResourceNotFoundException", "")
	refused(t, remove(), "ResourceInUseException", "")

	server.Advance(time.Hour)
	require.Equal(t, types.TableStatusActive, status())
	require.NoError(t, put())
	invalid(t, remove(), "protected against deletion")

	_, err = w.client.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{TableName: &name, DeletionProtectionEnabled: aws.Bool(false)})
	require.NoError(t, err)
	require.NoError(t, remove())
	require.Equal(t, types.TableStatusDeleting, status())
	refused(t, put(), "ResourceNotFoundException", "")
	_, err = w.client.CreateTable(t.Context(), in)
	refused(t, err, "ResourceInUseException", "")

	server.Advance(time.Hour)
	_, err = w.client.CreateTable(t.Context(), in)
	require.NoError(t, err)
	server.Advance(time.Hour)
	require.Empty(t, server.Items(name), "a table that is made again is empty")
}

func TestWhatIsNotSupportedIsRefused(t *testing.T) {
	w, _ := emulated(t, dynamotest.Options{})
	ctx := t.Context()
	query := w.queryOf("h")
	query.IndexName = aws.String("by-value")
	provisioned := tableInput("provisioned", "pk")
	provisioned.BillingMode = types.BillingModeProvisioned
	numeric := tableInput("numeric", "pk")
	numeric.AttributeDefinitions[0].AttributeType = types.ScalarAttributeTypeN
	update := types.TransactWriteItem{Update: &types.Update{TableName: &w.ranged, Key: key("h", "k"), UpdateExpression: aws.String("SET val = :v")}}
	for name, call := range map[string]func() error{
		"indexes":              func() error { _, err := w.client.Query(ctx, query); return err },
		"provisioned capacity": func() error { _, err := w.client.CreateTable(ctx, provisioned); return err },
		"numeric keys":         func() error { _, err := w.client.CreateTable(ctx, numeric); return err },
		"Update":               func() error { return w.transact("", update) },
		"sets": func() error {
			return w.put(with(key("h", "k"), "val", &types.AttributeValueMemberSS{Value: []string{"a"}}), condition{})
		},
		"projections of nested attributes": func() error {
			_, err := w.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &w.ranged, Key: key("h", "k"), ProjectionExpression: aws.String("a.b")})
			return err
		},
		"legacy conditions": func() error {
			_, err := w.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &w.ranged, Item: key("h", "k"), Expected: map[string]types.ExpectedAttributeValue{"val": {Exists: aws.Bool(false)}}})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) { invalid(t, call(), "dynamotest does not support") })
	}
	_, err := w.client.DescribeLimits(ctx, &dynamodb.DescribeLimitsInput{})
	refused(t, err, "UnknownOperationException", "DescribeLimits")
}
