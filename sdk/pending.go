// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/lakeplane/lake/internal/appendwire"
	"github.com/lakeplane/lake/lake"
)

// PendingAppend is an append that is not known to be committed. As an error it
// says that the outcome is unknown. Resume continues the same operation, as
// long as the server remembers operations (seven days); calling it again after
// success is harmless and returns the original version. It is safe for
// concurrent use.
type PendingAppend struct {
	client *Client
	data   *payload
	// inDoubt: an attempt may have been applied, by this process or by one
	// that left a checkpoint.
	inDoubt bool
	err     error // why the last attempts gave up, or nil

	mu      sync.Mutex
	command appendwire.Command
	checked bool // against the table as the client knows it
}

// Table is the table appended to.
func (p *PendingAppend) Table() lake.TableName { return p.announced().Table }

// Operation is the id of the append.
func (p *PendingAppend) Operation() lake.OperationID { return p.announced().Operation }

// Digest covers the encoded rows.
func (p *PendingAppend) Digest() lake.Digest { return p.announced().Digest }

// Incarnation is the only incarnation of the table it may apply to; zero means
// any.
func (p *PendingAppend) Incarnation() lake.Incarnation { return p.announced().Incarnation }

// Rows is the number of rows.
func (p *PendingAppend) Rows() int64 { return p.data.rows }

// Bytes is the size of the encoded rows, as it counts against the limit of one
// append: every message's header and body, and 64 bytes for each.
func (p *PendingAppend) Bytes() int64 { return p.data.bytes }

// WithOperation returns the append under an id of the caller's choice, a
// UUIDv7 whose time is not older than seven days and not more than five minutes
// ahead; another is refused when it is sent. The same id with the same rows is
// the same append, whoever sends it and whenever: it is applied once. With
// other rows it is lake.AlreadyExists. Rows are the same when their encoding
// is, see Digest. p itself is not changed.
func (p *PendingAppend) WithOperation(id lake.OperationID) *PendingAppend {
	q := p.copy()
	q.command.Operation = id
	return q
}

// WithIncarnation returns the append pinned to one incarnation of the table,
// whatever the client knows: it fails with lake.Precondition when the name
// stands for another. p itself is not changed.
func (p *PendingAppend) WithIncarnation(inc lake.Incarnation) *PendingAppend {
	q := p.copy()
	q.checked = q.checked && q.command.Incarnation == inc
	q.command.Incarnation = inc
	return q
}

func (p *PendingAppend) copy() *PendingAppend {
	p.mu.Lock()
	defer p.mu.Unlock()
	return &PendingAppend{client: p.client, data: p.data, inDoubt: p.inDoubt, err: p.err, command: p.command, checked: p.checked}
}

func (p *PendingAppend) announced() appendwire.Command {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.command
}

// Error says what is pending and why.
func (p *PendingAppend) Error() string {
	text := fmt.Sprintf("append to %s: operation %s: the outcome is unknown, resume it to find out", p.Table(), p.Operation())
	if p.err != nil {
		text += ": " + p.err.Error()
	}
	return text
}

// Unwrap makes it an error of kind lake.Undetermined, with the last failure as
// its cause.
func (p *PendingAppend) Unwrap() error {
	return &lake.Error{Kind: lake.Undetermined, Err: p.err}
}

// Resume sends the append until its outcome is known, for at most the client's
// retry window. See [Client.Append] for its errors.
func (p *PendingAppend) Resume(ctx context.Context) (AppendResult, error) {
	command, err := p.check(ctx)
	existed := false
	if err == nil {
		existed, err = p.client.checkpoints.keep(command, p.data)
	}
	if err != nil {
		err = withOp("append to "+command.Table.String(), err)
		if p.inDoubt {
			err = p.pending(command, err)
		}
		return AppendResult{}, err
	}
	t := newTries(p, command)
	t.ambiguous = p.inDoubt || existed
	result, err := t.run(ctx)
	t.end(result, err)
	return result, err
}

// Discard gives the append up: its checkpoint, if there is one, is removed, and
// nobody will resume it. Whether it was applied stays unknown.
func (p *PendingAppend) Discard() error {
	command := p.announced()
	return withOp("append to "+command.Table.String(), p.client.checkpoints.remove(command))
}

// pending returns the operation as an error, to be resumed.
func (p *PendingAppend) pending(command appendwire.Command, err error) error {
	return &PendingAppend{client: p.client, data: p.data, inDoubt: true, err: err, command: command, checked: true}
}

// check refuses what cannot succeed, before anything is sent, and pins the
// append to the table as the client knows it.
func (p *PendingAppend) check(ctx context.Context) (appendwire.Command, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ctx.Err() != nil {
		return p.command, &lake.Error{Kind: lake.Unavailable, Err: context.Cause(ctx)}
	}
	if _, err := lake.ParseID(p.command.Operation.String()); err != nil {
		return p.command, lake.Wrap("operation", err)
	}
	if p.checked || p.inDoubt {
		return p.command, nil
	}
	return p.command, p.pin(ctx)
}

// pin checks the rows against the table. Memory alone refuses nothing: what
// contradicts it is asked about first, since the table may be a new one.
// Without checkpoints a table nobody knows is not asked for.
func (p *PendingAppend) pin(ctx context.Context) error {
	known, ok := p.client.memory.recall(p.command.Table)
	if !ok && p.client.checkpoints == nil {
		return nil
	}
	if !ok || differ(known.schema, p.data.schema, "the table") != nil {
		var err error
		switch known, err = p.client.lookup(ctx, p.command.Table); {
		case lake.Is(err, lake.Unavailable), lake.Is(err, lake.Undetermined), lake.Is(err, lake.Exhausted):
			return nil // the append itself is repeated and tells why it fails
		case err != nil:
			return err
		}
	}
	if want := p.command.Incarnation; !want.IsZero() && want != known.incarnation {
		return nil // the authority refuses it, or memory was wrong
	}
	if err := differ(known.schema, p.data.schema, "the table"); err != nil {
		return err
	}
	p.command.Incarnation, p.checked = known.incarnation, true
	return nil
}

// endedBy adds the end of ctx to the failure of what it ended.
func endedBy(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return errors.Join(cause, err)
	}
	return err
}
