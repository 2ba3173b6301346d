// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package local

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/lakeplane/lake/objstore"
)

// Delete implements [objstore.Store]. It returns when the removal is durable.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	return s.folders.remove(ctx, []string{key}).cause
}

// DeleteAll implements [objstore.BatchDeleter]. Each folder is synced once.
func (s *Store) DeleteAll(ctx context.Context, keys []string) (deleted int, err error) {
	for _, key := range keys {
		if err := checkKey(key); err != nil {
			return 0, err
		}
	}
	if err := s.enter(ctx); err != nil {
		return objstore.Deleted(keys, func(int) bool { return false }, err)
	}
	defer s.leave()
	r := s.folders.remove(ctx, keys)
	return objstore.Deleted(keys, func(i int) bool { return r.gone[i] }, r.cause)
}

// removal deletes a batch of objects and the folders it leaves empty.
//
// It goes over the folders of the keys and their parents, the deepest first. In
// each it unlinks its keys and syncs the folder once. A key is gone when the
// folder its removal rides on is synced: that is its own folder, or, when that
// was removed in turn, the nearest one above it that stays, since there an
// entry is what became durable.
type removal struct {
	*folders
	ctx   context.Context
	keys  []string
	at    map[string]*leaving // by folder
	gone  []bool              // by key: durably
	cause error               // why the first key that is not gone is not
}

// leaving is what a removal does in one folder. The numbers are those of keys.
type leaving struct {
	unlink []int
	riding []int // gone as soon as the folder is synced
}

// remove deletes objects, durably, and the folders it leaves empty. A missing
// object counts as gone.
func (f *folders) remove(ctx context.Context, keys []string) *removal {
	r := &removal{folders: f, ctx: ctx, keys: keys, at: map[string]*leaving{}, gone: make([]bool, len(keys))}
	for i, key := range keys {
		folder, _ := split(key)
		at := r.in(folder)
		at.unlink = append(at.unlink, i)
	}
	order := make([]string, 0, len(r.at))
	for folder := range r.at {
		order = append(order, folder)
	}
	slices.Sort(order)
	for _, folder := range slices.Backward(order) { // what is inside sorts behind
		r.leave(folder, r.at[folder])
	}
	return r
}

// in returns the entry of a folder, made with those of its parents.
func (r *removal) in(folder string) *leaving {
	found := r.at[folder]
	if found != nil {
		return found
	}
	found = &leaving{}
	r.at[folder] = found
	if folder != "" {
		parent, _ := split(folder)
		r.in(parent)
	}
	return found
}

func (r *removal) leave(folder string, at *leaving) {
	if len(at.unlink)+len(at.riding) == 0 {
		return
	}
	dir, err := r.open(folder)
	if missing(err) && folder != "" {
		// Somebody removed it, an attempt before this one perhaps, and may
		// not have made that durable.
		r.rideOn(folder, append(at.riding, at.unlink...))
		return
	}
	if err != nil {
		r.fail(err, append(at.riding, at.unlink...))
		return
	}
	defer release(dir)
	r.unlinkAll(dir, at)
	switch {
	case len(at.riding) == 0: // all failed
	case folder != "" && empty(dir) && r.removeEmpty(folder):
		r.rideOn(folder, at.riding)
	default:
		// By the descriptor: the path may name a newer folder by now.
		r.settle(r.syncs.sync(dir), at.riding)
	}
}

// unlinkAll unlinks the keys of one folder, until the context ends.
func (r *removal) unlinkAll(dir int, at *leaving) {
	for _, i := range at.unlink {
		err := r.ctx.Err()
		if err == nil {
			_, base := split(r.keys[i])
			err = unlink(dir, base)
		}
		if err != nil {
			r.fail(err, []int{i})
			continue
		}
		at.riding = append(at.riding, i)
	}
}

// rideOn lets keys wait for the sync of the folder above.
func (r *removal) rideOn(folder string, keys []int) {
	parent, _ := split(folder)
	above := r.at[parent]
	above.riding = append(above.riding, keys...)
}

func (r *removal) settle(err error, keys []int) {
	if err != nil {
		r.fail(err, keys)
		return
	}
	for _, i := range keys {
		r.gone[i] = true
	}
}

// fail notes the first failure; the keys stay as they are, not gone.
func (r *removal) fail(err error, keys []int) {
	switch {
	case r.cause != nil:
	case r.ctx.Err() != nil && errors.Is(err, r.ctx.Err()):
		r.cause = err
	default:
		r.cause = systemError("delete", r.keys[keys[0]], err)
	}
}

// unlink removes a file's name. That nothing is there, or a folder, is no
// error: there is no such object.
func unlink(dir int, name string) error {
	err := retryInterrupted(func() error { return unix.Unlinkat(dir, name, 0) })
	// Linux says EISDIR for a folder, others EPERM.
	if err == nil || missing(err) || errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EPERM) && isFolder(dir, name) {
		return nil
	}
	return err
}

// removeEmpty removes a folder, not durably, and reports whether it is gone. A
// folder that cannot be removed, in use again or not, holds no removed object
// and may stay.
func (f *folders) removeEmpty(folder string) bool {
	f.prune.Lock()
	defer f.prune.Unlock()
	parent, name := split(folder)
	dir, err := f.open(parent)
	if err != nil {
		return missing(err)
	}
	defer release(dir)
	f.forget(folder)
	err = unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
	return err == nil || missing(err)
}
