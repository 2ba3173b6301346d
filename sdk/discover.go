// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lakeplane/lake/lake"
)

const (
	// maxListedCheckpoints bounds the names read from a directory.
	maxListedCheckpoints = 100_000
	// unfinishedAge is when a file that never got its name is no other
	// process's work any more. Writing one takes seconds.
	unfinishedAge = time.Hour
)

// CheckpointError says why a file of the checkpoint directory is not an append
// that can be resumed. The file stays as it is. Its kind is lake.Corrupt for a
// damaged one, lake.Unsupported for one of a later release, lake.Precondition
// for one older than the server's memory of operations, and lake.Invalid for a
// file that is none of ours or that others may write.
type CheckpointError struct {
	Path string
	Err  error
}

// Error names the file and says what is wrong with it.
func (e *CheckpointError) Error() string { return "checkpoint " + e.Path + ": " + e.Err.Error() }

// Unwrap returns the reason.
func (e *CheckpointError) Unwrap() error { return e.Err }

// PendingAppends yields the appends that an earlier process, or this one, left
// in the client's checkpoint directory, oldest first, without those that are
// being sent by this client. Each is read when its turn comes, so that one at
// a time is in memory; it can be resumed, also by several processes at once.
//
// A file that cannot be resumed is yielded as a [*CheckpointError] beside a nil
// append, and the loop goes on. Any other error ends it: lake.Precondition
// without [WithCheckpoints], lake.Exhausted when the directory holds more than
// 100,000 files, after those were yielded.
//
// Appends are resumable for seven days from their operation id's time, as long
// as the server remembers them. What is older is a CheckpointError: resuming it
// could add its rows a second time.
func (c *Client) PendingAppends(ctx context.Context) iter.Seq2[*PendingAppend, error] {
	return func(yield func(*PendingAppend, error) bool) {
		if c.checkpoints == nil {
			yield(nil, lake.Errorf(lake.Precondition, "pending appends: the client keeps no checkpoints, see WithCheckpoints"))
			return
		}
		names, listErr := c.checkpoints.list()
		for _, name := range names {
			if ctx.Err() != nil {
				yield(nil, lake.Wrap("pending appends", context.Cause(ctx)))
				return
			}
			if p, err := c.found(name); (p != nil || err != nil) && !yield(p, err) {
				return
			}
		}
		if listErr != nil {
			yield(nil, diskError("checkpoint directory "+c.checkpoints.path, listErr))
		}
	}
}

// list returns the names in the directory in their order, which is that of the
// operations' times.
func (d *checkpointDir) list() ([]string, error) {
	dir, err := d.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	var names []string
	for len(names) < d.most {
		page, err := dir.Readdirnames(min(1000, d.most-len(names)))
		names = append(names, page...)
		if errors.Is(err, io.EOF) {
			err = nil
			page = nil
		}
		if err != nil || len(page) == 0 {
			slices.Sort(names)
			return names, err
		}
	}
	slices.Sort(names)
	if _, err := dir.Readdirnames(1); errors.Is(err, io.EOF) {
		return names, nil
	}
	return names, lake.Errorf(lake.Exhausted, "it holds more than %d files: resume or remove some", d.most)
}

// found reads one file: an append, an error, or neither for what is in use or
// went away.
func (c *Client) found(name string) (*PendingAppend, error) {
	d := c.checkpoints
	if strings.HasPrefix(name, ".") && strings.HasSuffix(name, unfinishedSuffix) && strings.Contains(name, checkpointSuffix) {
		return nil, d.sweep(name)
	}
	fail := func(err error) (*PendingAppend, error) {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil // somebody resumed it
		}
		return nil, &CheckpointError{filepath.Join(d.path, name), diskError("", err)}
	}
	op, ok := operationOf(name)
	if !ok {
		return fail(lake.Errorf(lake.Invalid, "it is not a checkpoint, by its name"))
	}
	d.mu.Lock()
	_, busy := d.inUse[name]
	d.mu.Unlock()
	if busy {
		return nil, nil
	}
	read, err := d.load(name)
	if err != nil {
		return fail(err)
	}
	if age := time.Since(op.Time()); age > lake.OperationRetention {
		return fail(lake.Errorf(lake.Precondition, "its operation is %s old: operations are remembered for %s, so whether it was applied is no longer known; look for its %d rows in table %s, then remove the file",
			age.Round(time.Hour), lake.OperationRetention, read.data.rows, read.command.Table))
	}
	return &PendingAppend{client: c, data: read.data, command: read.command, inDoubt: true, checked: true}, nil
}

// sweep removes what a process left that ended while it wrote a checkpoint. It
// had sent nothing.
func (d *checkpointDir) sweep(name string) error {
	info, err := d.root.Lstat(name)
	if err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > unfinishedAge {
		err = d.root.Remove(name)
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return &CheckpointError{filepath.Join(d.path, name), diskError("", err)}
}
