// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package dynamodb

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/internal/rules"
)

// Commit implements [metastore.Store].
func (s *Store) Commit(ctx context.Context, txn metastore.Txn) error {
	if err := metastore.CheckTxn(txn); err != nil {
		return err
	}
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	if txn.Token == "" {
		txn.Token = lake.NewID().String()
	}
	// In one order, since a token stands for one body.
	txn.Ops = slices.Clone(txn.Ops)
	slices.SortFunc(txn.Ops, func(a, b metastore.Op) int { return cmp.Compare(a.Key, b.Key) })
	input := &dynamodb.TransactWriteItemsInput{ClientRequestToken: aws.String(s.requestToken(txn.Token))}
	for _, op := range txn.Ops {
		input.TransactItems = append(input.TransactItems, s.item(op))
	}
	defer s.turns.take(ctx, txn.Ops)()
	return s.settle(ctx, txn, input)
}

// requestToken is a transaction's token in the 36 characters that the service
// takes, which knows tokens by account and not by table.
func (s *Store) requestToken(token string) string {
	sum := sha256.Sum256([]byte(s.companion + "\x00" + token))
	return hex.EncodeToString(sum[:16])
}

// settle sends a transaction until its outcome is known or its time is over.
func (s *Store) settle(ctx context.Context, txn metastore.Txn, input *dynamodb.TransactWriteItemsInput) error {
	var unknown error // why an attempt before may have applied
	over := time.Now().Add(s.opts.RetryTime)
	for n := 0; ; n++ {
		outcome, err := s.attempt(ctx, func(ctx context.Context) error {
			_, err := s.client.TransactWriteItems(ctx, input)
			return err
		})
		if cancelled, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
			outcome, err = judgeCancelled(txn, cancelled)
		}
		switch {
		case outcome == done:
			return nil
		case outcome == failed && unknown != nil:
			return fmt.Errorf("%w: dynamodb: commit: %w; sent again: %w", metastore.ErrUnknownOutcome, unknown, err)
		case outcome == failed:
			return commitError(txn, err)
		case outcome == lost:
			unknown = err
		}
		if pause(ctx, n, over) {
			continue
		}
		if unknown != nil {
			return fmt.Errorf("%w: dynamodb: commit: %w", metastore.ErrUnknownOutcome, unknown)
		}
		return unavailable(ctx, "commit", err)
	}
}

// commitError is the error of a commit that certainly did not apply, nor will.
func commitError(txn metastore.Txn, err error) error {
	if _, conflict := errors.AsType[*metastore.ConflictError](err); conflict {
		return err
	}
	if _, reused := errors.AsType[*types.IdempotentParameterMismatchException](err); reused {
		return rules.TokenReused(txn.Token)
	}
	return classify("commit", err)
}

// Reasons of a cancelled transaction, one for each of its items.
const (
	reasonNone      = "None"
	reasonCondition = "ConditionalCheckFailed"
)

// transient are the reasons that go away.
var transient = map[string]bool{
	"TransactionConflict": true, "ThrottlingError": true, "ProvisionedThroughputExceeded": true, "RequestLimitExceeded": true,
}

// judgeCancelled looks why a transaction was cancelled. An expectation that
// failed decides, whatever the other items met: the transaction is cancelled as a
// whole, and a later attempt has the same expectation.
func judgeCancelled(txn metastore.Txn, err *types.TransactionCanceledException) (outcome, error) {
	verdict := refused
	for i, reason := range err.CancellationReasons {
		switch code := aws.ToString(reason.Code); {
		case code == reasonCondition && i < len(txn.Ops):
			conflict := &metastore.ConflictError{Key: txn.Ops[i].Key, Known: true}
			conflict.Current, _ = valueOf(reason.Item)
			return failed, conflict
		case code != reasonNone && code != "" && !transient[code]:
			verdict = failed
		}
	}
	return verdict, err
}

// The expectations, as conditions.
var (
	isAbsent = aws.String("attribute_not_exists(#k)")
	isValue  = aws.String("#v = :old")
)

// item is an operation as a part of a transaction.
func (s *Store) item(op metastore.Op) types.TransactWriteItem {
	table, tell := aws.String(s.companion), types.ReturnValuesOnConditionCheckFailureAllOld
	condition, names, values := isAbsent, map[string]string{"#k": attrKey}, attributes(nil)
	if op.Expect != nil {
		condition, names, values = isValue, map[string]string{"#v": attrValue}, attributes{":old": binary(op.Expect)}
	}
	switch op.Effect {
	case metastore.Put:
		item := primary(op.Key)
		item[attrValue] = binary(op.Value)
		return types.TransactWriteItem{Put: &types.Put{
			TableName: table, Item: item, ConditionExpression: condition,
			ExpressionAttributeNames: names, ExpressionAttributeValues: values, ReturnValuesOnConditionCheckFailure: tell,
		}}
	case metastore.Delete:
		return types.TransactWriteItem{Delete: &types.Delete{
			TableName: table, Key: primary(op.Key), ConditionExpression: condition,
			ExpressionAttributeNames: names, ExpressionAttributeValues: values, ReturnValuesOnConditionCheckFailure: tell,
		}}
	}
	return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: table, Key: primary(op.Key), ConditionExpression: condition,
		ExpressionAttributeNames: names, ExpressionAttributeValues: values, ReturnValuesOnConditionCheckFailure: tell,
	}}
}
