// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package secure

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/lakeplane/lake/internal/secretfile"
	"github.com/lakeplane/lake/lake"
)

// lookEvery is how long a rotation takes to be seen, at most.
const lookEvery = time.Second

// maxFileBytes bounds a certificate or a token.
const maxFileBytes = 1 << 20

// watched is a value made from files, and made again when one of them changes.
// A broken change leaves the last good value in force, and the default logger
// is told. It is safe for concurrent use.
type watched[T any] struct {
	paths []string
	make  func() (T, error)

	mu     sync.Mutex
	looked time.Time
	seen   []stamp
	value  T
}

// stamp tells versions of a file apart.
type stamp struct {
	modified time.Time
	size     int64
}

// watch makes the first value, or fails.
func watch[T any](read func() (T, error), paths ...string) (*watched[T], error) {
	w := &watched[T]{paths: paths, make: read, looked: time.Now()}
	w.seen = w.stamps() // before reading: a change between the two is seen later
	var err error
	w.value, err = read()
	return w, err
}

// get returns the value in force.
func (w *watched[T]) get() T {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if now.Sub(w.looked) < lookEvery {
		return w.value
	}
	w.looked = now
	stamps := w.stamps()
	if equal(stamps, w.seen) {
		return w.value
	}
	v, err := w.make()
	if err != nil { // half of a pair may be replaced yet; the next look tries again
		slog.Warn("a file that changed could not be read again: the last good one stays in force", "files", w.paths, "error", err)
		return w.value
	}
	slog.Info("read again", "files", w.paths)
	w.value, w.seen = v, stamps
	return v
}

func (w *watched[T]) stamps() []stamp {
	out := make([]stamp, len(w.paths))
	for i, path := range w.paths {
		if info, err := os.Stat(path); err == nil {
			out[i] = stamp{info.ModTime(), info.Size()}
		}
	}
	return out
}

func equal(a, b []stamp) bool {
	for i := range a {
		if !a[i].modified.Equal(b[i].modified) || a[i].size != b[i].size {
			return false
		}
	}
	return true
}

// read returns a file's bytes; secret ones must be the owner's alone.
func read(path string, secret bool) ([]byte, error) {
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
	raw, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err == nil && len(raw) > maxFileBytes {
		err = errors.New("too large")
	}
	if err != nil {
		return nil, lake.Errorf(lake.Invalid, "%s: %w", path, err)
	}
	return raw, nil
}
