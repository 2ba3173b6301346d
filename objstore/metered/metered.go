// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package metered times the calls of an object store and tells how each ended.
// What becomes of that is for the process to say: this package knows no
// monitoring system.
package metered

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/objstore"
)

// Operation is a kind of call.
type Operation uint8

// The operations.
const (
	Put        Operation = iota
	Stage                // of an [objstore.Stager]
	Create               // the beginning of a streamed object
	Write                // a part of it
	Commit               // its end
	Open                 // which an object service may answer with its last bytes
	Read                 // of an object that is not in memory
	List                 // a page
	Delete               // one object
	DeleteMany           // a batch of an [objstore.BatchDeleter]
	Move                 // of an [objstore.Mover]
	Operations           // how many there are
)

// String is the word for it in metrics.
func (o Operation) String() string {
	return [Operations]string{"put", "stage", "create", "write", "commit", "open", "read", "list", "delete", "delete_many", "move"}[o]
}

// Outcome is how a call ended.
type Outcome uint8

// The outcomes. NotFound, Exists and Invalid are answers of a store that works.
// Canceled says that the caller gave up; a deadline that passed is Failed,
// since that is how a store which hangs shows.
const (
	OK        Outcome = iota
	NotFound          // no object under the key
	Exists            // the name is taken
	Invalid           // the arguments break the contract
	Retryable         // the store is not to be had now
	Undecided         // an object that may or may not have been stored
	Denied            // the store does not let this process
	Canceled          // the caller ended the call
	Failed            // everything else
	Outcomes          // how many there are
)

// String is the word for it in metrics.
func (o Outcome) String() string {
	return [Outcomes]string{"ok", "not_found", "exists", "invalid", "retryable", "unknown", "denied", "canceled", "error"}[o]
}

// OutcomeOf sorts the error of a call.
func OutcomeOf(err error) Outcome {
	switch {
	case err == nil:
		return OK
	case lake.Is(err, lake.Undetermined):
		return Undecided
	case errors.Is(err, context.Canceled):
		return Canceled
	case errors.Is(err, context.DeadlineExceeded):
		return Failed
	}
	switch lake.KindOf(err) {
	case lake.NotFound:
		return NotFound
	case lake.AlreadyExists:
		return Exists
	case lake.Invalid:
		return Invalid
	case lake.Unavailable:
		return Retryable
	case lake.Denied:
		return Denied
	}
	return Failed
}

// Observe hears of every call when it has ended. It must be safe for
// concurrent use and quick: the caller waits for it.
type Observe func(op Operation, outcome Outcome, took time.Duration)

// ended tells of a call that began then.
func (o Observe) ended(op Operation, began time.Time, err error) {
	o(op, OutcomeOf(err), time.Since(began))
}

// New returns a store that passes every call on to inner and tells observe how
// it went. It has each optional ability of this package's contract exactly when
// inner has it, and so have its objects: one that is [objstore.Mapped] is
// handed out as it is, and its reads are those of memory, which nobody times.
func New(inner objstore.Store, observe Observe) objstore.Store {
	s := &store{inner, observe}
	batcher, deletes := inner.(objstore.BatchDeleter)
	pager, pages := inner.(objstore.Pager)
	mover, moves := inner.(objstore.Mover)
	stager, stages := inner.(objstore.Stager)
	b, p, m, st := batch{batcher, observe}, paged{pager, observe}, move{mover, observe}, stage{stager, observe}
	switch [4]bool{deletes, pages, moves, stages} {
	case [4]bool{true, false, false, false}:
		return struct {
			*store
			batch
		}{s, b}
	case [4]bool{false, true, false, false}:
		return struct {
			*store
			paged
		}{s, p}
	case [4]bool{true, true, false, false}:
		return struct {
			*store
			batch
			paged
		}{s, b, p}
	case [4]bool{false, false, true, false}:
		return struct {
			*store
			move
		}{s, m}
	case [4]bool{true, false, true, false}:
		return struct {
			*store
			batch
			move
		}{s, b, m}
	case [4]bool{false, true, true, false}:
		return struct {
			*store
			paged
			move
		}{s, p, m}
	case [4]bool{true, true, true, false}:
		return struct {
			*store
			batch
			paged
			move
		}{s, b, p, m}
	case [4]bool{false, false, false, true}:
		return struct {
			*store
			stage
		}{s, st}
	case [4]bool{true, false, false, true}:
		return struct {
			*store
			batch
			stage
		}{s, b, st}
	case [4]bool{false, true, false, true}:
		return struct {
			*store
			paged
			stage
		}{s, p, st}
	case [4]bool{true, true, false, true}:
		return struct {
			*store
			batch
			paged
			stage
		}{s, b, p, st}
	case [4]bool{false, false, true, true}:
		return struct {
			*store
			move
			stage
		}{s, m, st}
	case [4]bool{true, false, true, true}:
		return struct {
			*store
			batch
			move
			stage
		}{s, b, m, st}
	case [4]bool{false, true, true, true}:
		return struct {
			*store
			paged
			move
			stage
		}{s, p, m, st}
	case [4]bool{true, true, true, true}:
		return struct {
			*store
			batch
			paged
			move
			stage
		}{s, b, p, m, st}
	}
	return s
}

type store struct {
	inner   objstore.Store
	observe Observe
}

// Put implements [objstore.Store].
func (s *store) Put(ctx context.Context, key string, data []byte) error {
	began := time.Now()
	err := s.inner.Put(ctx, key, data)
	s.observe.ended(Put, began, err)
	return err
}

// Create implements [objstore.Store].
func (s *store) Create(ctx context.Context, key string) (objstore.Writer, error) {
	began := time.Now()
	w, err := s.inner.Create(ctx, key)
	s.observe.ended(Create, began, err)
	if err != nil {
		return nil, err
	}
	return &writer{w, s.observe}, nil
}

// Open implements [objstore.Store].
func (s *store) Open(ctx context.Context, key string) (objstore.Object, error) {
	began := time.Now()
	obj, err := s.inner.Open(ctx, key)
	s.observe.ended(Open, began, err)
	if err != nil {
		return nil, err
	}
	if _, mapped := obj.(objstore.Mapped); mapped {
		return obj, nil
	}
	return &object{obj, s.observe}, nil
}

// List implements [objstore.Store].
func (s *store) List(ctx context.Context, prefix, after string, limit int) ([]objstore.Info, bool, error) {
	began := time.Now()
	infos, more, err := s.inner.List(ctx, prefix, after, limit)
	s.observe.ended(List, began, err)
	return infos, more, err
}

// Delete implements [objstore.Store].
func (s *store) Delete(ctx context.Context, key string) error {
	began := time.Now()
	err := s.inner.Delete(ctx, key)
	s.observe.ended(Delete, began, err)
	return err
}

type writer struct {
	objstore.Writer
	observe Observe
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (int, error) {
	began := time.Now()
	n, err := w.Writer.Write(p)
	w.observe.ended(Write, began, err)
	return n, err
}

// Commit implements [objstore.Writer].
func (w *writer) Commit() error {
	began := time.Now()
	err := w.Writer.Commit()
	w.observe.ended(Commit, began, err)
	return err
}

type object struct {
	objstore.Object
	observe Observe
}

// ReadAt implements io.ReaderAt.
func (o *object) ReadAt(p []byte, off int64) (int, error) {
	began := time.Now()
	n, err := o.Object.ReadAt(p, off)
	failed := err
	if errors.Is(err, io.EOF) { // the end of the object is an answer
		failed = nil
	}
	o.observe.ended(Read, began, failed)
	return n, err
}

type batch struct {
	inner    objstore.BatchDeleter
	observed Observe
}

// DeleteAll implements [objstore.BatchDeleter].
func (b batch) DeleteAll(ctx context.Context, keys []string) (int, error) {
	began := time.Now()
	n, err := b.inner.DeleteAll(ctx, keys)
	b.observed.ended(DeleteMany, began, err)
	return n, err
}

type paged struct {
	inner    objstore.Pager
	observed Observe
}

// Pages implements [objstore.Pager]. The time of a page is that of the store
// alone, without what the loop does with the page before.
func (p paged) Pages(ctx context.Context, prefix, after string, limit int) iter.Seq2[[]objstore.Info, error] {
	return func(yield func([]objstore.Info, error) bool) {
		began := time.Now()
		for infos, err := range p.inner.Pages(ctx, prefix, after, limit) {
			p.observed.ended(List, began, err)
			if !yield(infos, err) || err != nil {
				return
			}
			began = time.Now()
		}
		p.observed.ended(List, began, nil) // looking for a page that was not there
	}
}

type move struct {
	inner    objstore.Mover
	observed Observe
}

// Move implements [objstore.Mover].
func (m move) Move(ctx context.Context, from, to string) error {
	began := time.Now()
	err := m.inner.Move(ctx, from, to)
	m.observed.ended(Move, began, err)
	return err
}

type stage struct {
	inner    objstore.Stager
	observed Observe
}

// Stage implements [objstore.Stager].
func (s stage) Stage(ctx context.Context, key string, data []byte) error {
	began := time.Now()
	err := s.inner.Stage(ctx, key, data)
	s.observed.ended(Stage, began, err)
	return err
}
