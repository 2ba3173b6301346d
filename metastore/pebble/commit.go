// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package pebble

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	driver "github.com/cockroachdb/pebble/v2"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/internal/rules"
)

// Commit implements [metastore.Store]. A context that ends during the call
// does not interrupt it: the outcome is known one sync later.
func (s *Store) Commit(ctx context.Context, txn metastore.Txn) error {
	if err := metastore.CheckTxn(txn); err != nil {
		return err
	}
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	c := commit{store: s, txn: txn, stripes: s.stripes.selectFor(txn), key: make([]byte, 0, usualKeyBytes)}
	if txn.Token != "" {
		c.digest = rules.Digest(txn)
	}
	return c.run()
}

// commit is one transaction on its way.
type commit struct {
	store   *Store
	txn     metastore.Txn
	digest  [sha256.Size]byte // of txn, when it has a token
	stripes selection
	batch   *driver.Batch
	flight  *flight
	key     []byte // memory for one key of the database at a time
}

// usualKeyBytes has room for nearly every key of the database.
const usualKeyBytes = 256

// errRepeated is the verdict on a transaction that was applied before.
var errRepeated = errors.New("applied before")

func (c *commit) run() error {
	c.stripes.lock()
	verdict := c.decide()
	if verdict == nil && c.writes() {
		verdict = c.apply()
	}
	c.stripes.unlock()

	if c.flight != nil {
		return c.land()
	}
	return c.answer(verdict)
}

// decide returns nil when the transaction may be applied. It reads state that
// may not be durable yet.
func (c *commit) decide() error {
	if err := c.repeated(); err != nil {
		return err
	}
	for _, op := range c.txn.Ops {
		if err := c.expect(op); err != nil {
			return err
		}
	}
	return nil
}

func (c *commit) recordKey(key string) []byte {
	c.key = recordKey(c.key[:0], key)
	return c.key
}

// expect compares in place: most values are equal and need no copy.
func (c *commit) expect(op metastore.Op) error {
	stripe := c.store.stripes.of(op.Key)
	switch {
	case op.Expect != nil && stripe.knows(op):
		return nil
	case op.Expect == nil && !c.store.keys.mayHold(op.Key):
		return nil
	}
	current, closer, err := c.store.db.Get(c.recordKey(op.Key))
	switch {
	case errors.Is(err, driver.ErrNotFound):
		if op.Holds(nil) {
			return nil
		}
		return &metastore.ConflictError{Key: op.Key, Known: true}
	case err != nil:
		return driverError("read", err)
	}
	defer closer.Close()
	if current == nil {
		current = []byte{} // present and empty
	}
	if op.Holds(current) {
		if op.Effect == metastore.Keep {
			stripe.remember(op.Key, current)
		}
		return nil
	}
	return &metastore.ConflictError{Key: op.Key, Known: true, Current: append([]byte{}, current...)}
}

func (c *commit) repeated() error {
	if c.txn.Token == "" {
		return nil
	}
	before, err := c.store.tokens.lookup(c.store.db, c.txn.Token)
	switch {
	case err != nil || before == nil:
		return err
	case string(before) != string(c.digest[:]):
		return rules.TokenReused(c.txn.Token)
	}
	return errRepeated
}

// writes reports whether there is anything to write. A transaction of guards
// only is a read, except that its token must be remembered.
func (c *commit) writes() bool {
	if c.txn.Token != "" {
		return true
	}
	for _, op := range c.txn.Ops {
		if op.Effect != metastore.Keep {
			return true
		}
	}
	return false
}

// apply makes the transaction visible and queues it for the log.
func (c *commit) apply() error {
	if c.store.full.Load() {
		return lake.Errorf(lake.Exhausted, "less than %d bytes free under %q: %w", c.store.opts.MinFreeBytes, c.store.dir, metastore.ErrRetryable)
	}
	if err := c.store.usable(); err != nil {
		return fmt.Errorf("%w: %w", metastore.ErrRetryable, err)
	}
	c.batch = c.store.db.NewBatchWithSize(batchBytes(c.txn))
	if err := c.fill(); err != nil {
		return errors.Join(driverError("fill batch", err), c.batch.Close())
	}
	c.flight = c.stripes.takeOff()
	if err := c.store.db.ApplyNoSyncWait(c.batch, driver.Sync); err != nil {
		c.stripes.land(c.flight, c.store.fail(err))
		return nil
	}
	c.remember()
	return nil
}

// remember keeps what is known of the stripes' records true. A record that was
// updated is likely to be expected next; one that was created is not.
func (c *commit) remember() {
	for _, op := range c.txn.Ops {
		switch {
		case op.Effect == metastore.Put && op.Expect != nil:
			c.store.stripes.of(op.Key).remember(op.Key, op.Value)
		case op.Effect != metastore.Keep:
			c.store.stripes.of(op.Key).remember(op.Key, nil)
		}
	}
}

// batchBytes is about the size of a transaction's batch, so that it need not
// grow.
func batchBytes(txn metastore.Txn) int {
	const perEntry = 32 // kind, lengths, family, and the token's generation
	size := 64 + perEntry + len(txn.Token) + sha256.Size
	for _, op := range txn.Ops {
		size += perEntry + len(op.Key) + len(op.Value)
	}
	return size
}

func (c *commit) fill() error {
	for _, op := range c.txn.Ops {
		var err error
		switch op.Effect {
		case metastore.Put:
			if op.Expect == nil {
				c.store.keys.add(op.Key)
			}
			err = c.batch.Set(c.recordKey(op.Key), op.Value, nil)
		case metastore.Delete:
			err = c.batch.Delete(c.recordKey(op.Key), nil)
		}
		if err != nil {
			return err
		}
	}
	if c.txn.Token == "" {
		return nil
	}
	return c.batch.Set(c.store.tokens.file(c.key[:0], c.txn.Token), c.digest[:], nil)
}

// land waits for the sync and tells everybody who waits for this flight.
func (c *commit) land() error {
	select {
	case <-c.flight.landed: // it never took off
	default:
		err := c.batch.SyncWait()
		if err != nil {
			err = c.store.fail(err)
		}
		c.stripes.land(c.flight, err)
	}
	if err := c.flight.err; err != nil {
		return fmt.Errorf("%w: %w", metastore.ErrUnknownOutcome, err)
	}
	c.store.hub.Changed(c.txn.Ops)
	_ = c.batch.Close() // gives memory back; the commit is durable whatever it says
	return nil
}

// answer gives a verdict that wrote nothing once what it is based on is
// durable.
func (c *commit) answer(verdict error) error {
	err := c.stripes.landed()
	repeated := errors.Is(verdict, errRepeated)
	switch {
	case err != nil && repeated:
		return fmt.Errorf("%w: %w", metastore.ErrUnknownOutcome, err)
	case err != nil:
		return fmt.Errorf("%w: %w", metastore.ErrRetryable, err)
	case repeated:
		return nil
	}
	return verdict
}
