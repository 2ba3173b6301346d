// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"context"
	"errors"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

// Commit implements lakepb.MetastoreServer. It sends each request to the store
// once: the client decides what is repeated. A conflict is an answer; an error
// of any other kind than lake.Undetermined says that nothing was applied by
// this call.
func (s *MetastoreService) Commit(ctx context.Context, req *lakepb.MetastoreCommitRequest) (*lakepb.MetastoreCommitResponse, error) {
	return answer(ctx, s, "Commit", req.GetCluster(), func() (*lakepb.MetastoreCommitResponse, error) {
		txn, err := transaction(req)
		if err != nil {
			return nil, err
		}
		err = s.store.Commit(ctx, txn)
		var conflict *metastore.ConflictError
		switch {
		case err == nil:
			return &lakepb.MetastoreCommitResponse{}, nil
		case errors.As(err, &conflict):
			return &lakepb.MetastoreCommitResponse{Conflict: &lakepb.MetastoreConflict{
				Key: conflict.Key, Known: conflict.Known, Current: conflict.Current,
			}}, nil
		}
		return nil, commitError(err)
	})
}

// commitError makes sure that an error which leaves the outcome open says so.
func commitError(err error) error {
	var classified *lake.Error
	open := errors.Is(err, metastore.ErrUnknownOutcome) || !errors.As(err, &classified) || classified.Kind == lake.Unknown
	if open && !lake.Is(err, lake.Undetermined) {
		return lake.Errorf(lake.Undetermined, "commit: %w", err)
	}
	return err
}

// transaction reads a transaction from the wire. The store checks its limits.
func transaction(req *lakepb.MetastoreCommitRequest) (metastore.Txn, error) {
	if len(req.GetToken()) == 0 {
		return metastore.Txn{}, lake.Errorf(lake.Invalid, "commit without a token: the client makes it, so that it can repeat the call")
	}
	txn := metastore.Txn{Token: string(req.GetToken()), Ops: make([]metastore.Op, 0, len(req.GetOps()))}
	for _, m := range req.GetOps() {
		op, err := operation(m)
		if err != nil {
			return metastore.Txn{}, err
		}
		txn.Ops = append(txn.Ops, op)
	}
	return txn, nil
}

func operation(m *lakepb.MetastoreOp) (metastore.Op, error) {
	op := metastore.Op{Key: m.GetKey(), Expect: m.GetExpect()}
	if err := reserved(op.Key); err != nil {
		return op, err
	}
	switch m.GetEffect() {
	case lakepb.MetastoreEffect_METASTORE_EFFECT_KEEP:
		op.Effect = metastore.Keep
	case lakepb.MetastoreEffect_METASTORE_EFFECT_DELETE:
		op.Effect = metastore.Delete
	case lakepb.MetastoreEffect_METASTORE_EFFECT_PUT:
		op.Effect, op.Value = metastore.Put, m.GetValue()
		if op.Value == nil {
			op.Value = []byte{} // the wire does not tell empty from none
		}
		return op, nil
	default:
		return op, lake.Errorf(lake.Invalid, "key %q: unknown effect %d", op.Key, m.GetEffect())
	}
	if len(m.GetValue()) > 0 {
		return op, lake.Errorf(lake.Invalid, "key %q: a value that is not put", op.Key)
	}
	return op, nil
}
