// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"slices"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

// Commit implements [metastore.Store]. A context that ends during the call
// leaves the outcome unknown, unless nothing was sent yet.
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
	req := s.request(txn)
	return s.settle(ctx, func(ctx context.Context, p *probe) error {
		resp, err := s.client.Commit(ctx, req, p.options()...)
		if err != nil {
			return err
		}
		return verdict(txn, resp)
	})
}

func (s *Store) request(txn metastore.Txn) *lakepb.MetastoreCommitRequest {
	req := &lakepb.MetastoreCommitRequest{Cluster: s.cluster.String(), Token: []byte(txn.Token), Ops: make([]*lakepb.MetastoreOp, len(txn.Ops))}
	for i, op := range txn.Ops {
		req.Ops[i] = &lakepb.MetastoreOp{Key: op.Key, Expect: op.Expect, Effect: effects[op.Effect], Value: op.Value}
	}
	return req
}

var effects = [...]lakepb.MetastoreEffect{
	metastore.Keep:   lakepb.MetastoreEffect_METASTORE_EFFECT_KEEP,
	metastore.Put:    lakepb.MetastoreEffect_METASTORE_EFFECT_PUT,
	metastore.Delete: lakepb.MetastoreEffect_METASTORE_EFFECT_DELETE,
}

// verdict reads the answer to a commit. A conflict that is none is not
// believed, and says nothing about the outcome.
func verdict(txn metastore.Txn, resp *lakepb.MetastoreCommitResponse) error {
	c := resp.GetConflict()
	if c == nil {
		return nil
	}
	at := slices.IndexFunc(txn.Ops, func(op metastore.Op) bool { return op.Key == c.GetKey() })
	switch {
	case at < 0:
		return &answerError{lake.Errorf(lake.Corrupt, "the server answered with a conflict on key %.100q, which is not in the transaction", c.GetKey())}
	case c.GetKnown() && txn.Ops[at].Holds(c.Current):
		return &answerError{lake.Errorf(lake.Corrupt, "the server answered with a conflict on key %q, which holds what is expected", c.GetKey())}
	case !c.GetKnown():
		return &answerError{&metastore.ConflictError{Key: c.GetKey()}}
	}
	return &answerError{&metastore.ConflictError{Key: c.GetKey(), Known: true, Current: c.Current}}
}
