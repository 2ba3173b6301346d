// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package watchfile keeps values that are made from files, and makes them again
// when one of the files changes: certificates, tokens, key rings, lists of
// principals. A rotation needs no restart.
package watchfile

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/lakeplane/lake/internal/secretfile"
	"github.com/lakeplane/lake/lake"
)

// LookEvery is how often the files are looked at, at most, and so how long a
// rotation takes to be seen: seldom enough for a busy server.
const LookEvery = time.Second

// Value is a value made from files. A change that cannot be read leaves the last
// good value in force and is logged: an operator's slip must not stop what runs.
// It is safe for concurrent use.
type Value[T any] struct {
	paths []string
	read  func() (T, error)
	log   *slog.Logger

	mu     sync.Mutex
	now    func() time.Time
	looked time.Time
	seen   []os.FileInfo
	value  T
}

// Watch makes the first value, or fails with what read says. log hears of
// changes; nil means the default logger.
func Watch[T any](log *slog.Logger, read func() (T, error), paths ...string) (*Value[T], error) {
	if log == nil {
		log = slog.Default()
	}
	v := &Value[T]{paths: paths, read: read, log: log, now: time.Now, looked: time.Now()}
	v.seen = v.stat() // before reading: a change between the two is seen later
	var err error
	v.value, err = read()
	return v, err
}

// Get returns the value in force.
func (v *Value[T]) Get() T {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.now()
	if now.Sub(v.looked) < LookEvery {
		return v.value
	}
	v.looked = now
	seen := v.stat()
	if slices.EqualFunc(seen, v.seen, same) {
		return v.value
	}
	value, err := v.read()
	if err != nil { // half of a pair may be replaced yet; the next look tries again
		v.log.Error("a file that changed could not be read again: the last good one stays in force", "files", v.paths, "error", err)
		return v.value
	}
	v.log.Info("read again", "files", v.paths)
	v.value, v.seen = value, seen
	return value
}

// SetClock makes the value look at another clock, for tests.
func (v *Value[T]) SetClock(now func() time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.now = now
}

// stat describes the files as they are; nil for one that cannot be found.
func (v *Value[T]) stat() []os.FileInfo {
	out := make([]os.FileInfo, len(v.paths))
	for i, path := range v.paths {
		if info, err := os.Stat(path); err == nil {
			out[i] = info
		}
	}
	return out
}

// same reports whether a file is the one it was. A file that was replaced is
// another one, whatever its time and size.
func same(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}

// Read returns the bytes of a file of at most so many. A secret one must be
// private (internal/secretfile). Errors are lake.Invalid, name the path and
// never quote the file.
func Read(path string, secret bool, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, lake.Errorf(lake.Invalid, "%w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && secret {
		err = secretfile.Check(info)
	}
	if err != nil {
		return nil, lake.Wrap(path, err)
	}
	raw, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(raw)) > most {
		err = fmt.Errorf("too large: more than %d bytes", most)
	}
	if err != nil {
		return nil, lake.Errorf(lake.Invalid, "%s: %w", path, err)
	}
	return raw, nil
}
