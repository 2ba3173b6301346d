// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package dynamodb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

// Control records, in the registry. The marker says that the companion decides.
// The barrier keeps out writers of releases that know the registry only and look
// for it.
const (
	markerKey    = "__lake_internal/dynamo-prefix-v2-authority"
	markerValue  = "complete-v1"
	barrierKey   = "__lake_internal/dynamo-prefix-v2-finalize-barrier"
	barrierValue = "locked-v1"
)

// prepare makes the tables where they are missing, and makes sure that the
// companion decides. Nothing is made beside tables that are refused.
func (s *Store) prepare(ctx context.Context) error {
	if err := s.ensureTable(ctx, s.opts.Table, attrKey); err != nil {
		return err
	}
	decided, err := s.decided(ctx, s.opts.Table)
	if err != nil {
		return err
	}
	if decided {
		// It was there when that was decided, and the records with it.
		table, err := s.describe(ctx, s.companion)
		if err != nil {
			return err
		}
		if table == nil {
			return lake.Errorf(lake.Precondition, "dynamodb: table %s is missing, which holds the records of %s: restore it", s.companion, s.opts.Table)
		}
	}
	if err := s.ensureTable(ctx, s.companion, attrBucket, attrKey); err != nil {
		return err
	}
	return s.ensureAuthority(ctx)
}

// makeTime bounds how long a table may be in the making, and lookTime is how long
// to wait between two looks.
const (
	makeTime = 2 * time.Minute
	lookTime = 100 * time.Millisecond
)

// ensureTable returns when a table with the given key attributes, all texts, is
// active.
func (s *Store) ensureTable(ctx context.Context, name string, keys ...string) error {
	ctx, cancel := context.WithTimeout(ctx, makeTime)
	defer cancel()
	for {
		table, err := s.describe(ctx, name)
		switch {
		case err != nil:
			return err
		case table == nil:
			err = s.makeTable(ctx, name, keys)
		case table.TableStatus == types.TableStatusActive || table.TableStatus == types.TableStatusUpdating:
			return checkKeys(table, keys)
		}
		if err != nil {
			return err
		}
		select {
		case <-time.After(lookTime):
		case <-ctx.Done():
			return lake.Errorf(lake.Unavailable, "dynamodb: table %s does not become active: %w", name, ctx.Err())
		}
	}
}

// describe returns nil for a table that does not exist.
func (s *Store) describe(ctx context.Context, name string) (*types.TableDescription, error) {
	var out *dynamodb.DescribeTableOutput
	err := s.read(ctx, "describe table "+name, func(ctx context.Context) (err error) {
		out, err = s.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
		return err
	})
	if _, missing := errors.AsType[*types.ResourceNotFoundException](err); missing {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return out.Table, nil
}

// makeTable asks for a table, which somebody else may do at the same time.
func (s *Store) makeTable(ctx context.Context, name string, keys []string) error {
	input := &dynamodb.CreateTableInput{TableName: &name, BillingMode: types.BillingModePayPerRequest, DeletionProtectionEnabled: aws.Bool(true)}
	for i, key := range keys {
		kind := types.KeyTypeRange
		if i == 0 {
			kind = types.KeyTypeHash
		}
		input.KeySchema = append(input.KeySchema, types.KeySchemaElement{AttributeName: aws.String(key), KeyType: kind})
		input.AttributeDefinitions = append(input.AttributeDefinitions, types.AttributeDefinition{AttributeName: aws.String(key), AttributeType: types.ScalarAttributeTypeS})
	}
	err := s.read(ctx, "make table "+name, func(ctx context.Context) error {
		_, err := s.client.CreateTable(ctx, input)
		return err
	})
	if _, exists := errors.AsType[*types.ResourceInUseException](err); exists {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the table is missing and cannot be made: want a table %s with the keys %v (text) and on-demand capacity: %w", name, keys, err)
	}
	s.opts.Logger.Info("dynamodb: made a table", "table", name)
	return nil
}

func checkKeys(table *types.TableDescription, want []string) error {
	var found []string
	for _, k := range table.KeySchema { // the hash key is the first
		found = append(found, aws.ToString(k.AttributeName))
	}
	if !slices.Equal(found, want) {
		return lake.Errorf(lake.Precondition, "dynamodb: table %s has the keys %v: want %v", aws.ToString(table.TableName), found, want)
	}
	for _, a := range table.AttributeDefinitions {
		if slices.Contains(want, aws.ToString(a.AttributeName)) && a.AttributeType != types.ScalarAttributeTypeS {
			return lake.Errorf(lake.Precondition, "dynamodb: table %s: key %s has the type %s: want S", aws.ToString(table.TableName), aws.ToString(a.AttributeName), a.AttributeType)
		}
	}
	return nil
}

// ensureAuthority gives an empty deployment its marker.
func (s *Store) ensureAuthority(ctx context.Context) error {
	over := time.Now().Add(s.opts.RetryTime)
	for n := 0; ; n++ {
		decided, err := s.decided(ctx, s.opts.Table, s.companion)
		if decided || err != nil {
			return err
		}
		err = s.publish(ctx)
		if _, conflict := errors.AsType[*metastore.ConflictError](err); !conflict {
			return err
		}
		// Somebody else publishes, and a part of that was seen.
		if !pause(ctx, n, over) {
			return lake.Errorf(lake.Precondition, "dynamodb: table %s has %s and not %s: a change of its layout is under way, or was given up", s.opts.Table, barrierKey, markerKey)
		}
	}
}

// decided reports whether the companion decides. Tables of another layout are
// refused, which are those with records and without the marker.
func (s *Store) decided(ctx context.Context, tables ...string) (bool, error) {
	full, err := s.withRecords(ctx, tables) // before the marker, which comes before records
	if err != nil {
		return false, err
	}
	marker, err := s.get(ctx, s.opts.Table, controlKey(markerKey))
	switch {
	case err != nil:
		return false, err
	case string(marker) == markerValue:
		return true, nil
	case marker != nil:
		return false, lake.Errorf(lake.Unsupported, "dynamodb: table %s has the layout %q: want %q; a newer release has changed it", s.opts.Table, marker, markerValue)
	case full != "":
		return false, lake.Errorf(lake.Precondition, "dynamodb: table %s holds records of another layout, without %s: want empty tables, or ones that this release has made", full, markerKey)
	}
	return false, nil
}

// withRecords names the first of the tables that holds records, other than those
// that publish stores.
func (s *Store) withRecords(ctx context.Context, tables []string) (full string, err error) {
	for _, table := range tables {
		var out *dynamodb.ScanOutput
		err := s.read(ctx, "look into table "+table, func(ctx context.Context) (err error) {
			out, err = s.client.Scan(ctx, &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true), Limit: aws.Int32(3)})
			return err
		})
		if err != nil {
			return "", err
		}
		for _, item := range out.Items {
			if key, _ := keyOf(item); table == s.companion || key != markerKey && key != barrierKey {
				return table, nil
			}
		}
	}
	return "", nil
}

// publish stores the marker behind its barrier, both at once.
func (s *Store) publish(ctx context.Context) error {
	txn := metastore.Txn{Token: lake.NewID().String(), Ops: []metastore.Op{
		metastore.Create(markerKey, []byte(markerValue)), metastore.Create(barrierKey, []byte(barrierValue)),
	}}
	input := &dynamodb.TransactWriteItemsInput{ClientRequestToken: aws.String(s.requestToken(txn.Token))}
	for _, op := range txn.Ops {
		item := controlKey(op.Key)
		item[attrValue] = binary(op.Value)
		input.TransactItems = append(input.TransactItems, types.TransactWriteItem{Put: &types.Put{
			TableName: &s.opts.Table, Item: item, ConditionExpression: isAbsent, ExpressionAttributeNames: map[string]string{"#k": attrKey},
		}})
	}
	return s.settle(ctx, txn, input)
}

// controlKey is the primary key of a record of the registry.
func controlKey(key string) attributes { return attributes{attrKey: text(key)} }
