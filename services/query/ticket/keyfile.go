// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package ticket

import (
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lakeplane/lake/internal/secretfile"
	"github.com/lakeplane/lake/lake"
)

// checkEvery bounds how often a key file is looked at. It is the longest a
// rotation takes to be seen, and cheap enough for a busy replica.
const checkEvery = time.Second

// File is a key ring read from a file and read again when the file changes.
// While the file is missing or wrong the last good ring stays in use: a slip
// of an operator must not refuse every ticket in flight.
type File struct {
	path    string
	log     *slog.Logger
	now     func() time.Time
	current atomic.Pointer[ring]
	next    atomic.Int64 // Unix nanoseconds before which the file is not looked at

	mu      sync.Mutex // one reader at a time
	changed time.Time
	size    int64
}

// OpenFile reads a key ring. The file must be a regular file of mode 0600 or
// stricter, of at most [MaxKeyFileBytes], holding
//
//	{"active":"<base64>","verify":["<base64>",…]}
//
// with one active and up to [MaxVerificationKeys] verification secrets of
// 32..4096 bytes. To rotate, first add the new secret to "verify" on every
// replica, then make it "active" and keep the old one in "verify" for as long
// as a ticket lives.
func OpenFile(path string, log *slog.Logger) (*File, error) {
	f := &File{path: path, log: log, now: time.Now}
	if err := f.load(); err != nil {
		return nil, lake.Wrap("ticket keys "+path, err)
	}
	return f, nil
}

func (f *File) ring() *ring {
	now := f.now().UnixNano()
	due := f.next.Load()
	if now >= due && f.next.CompareAndSwap(due, now+int64(checkEvery)) {
		if err := f.load(); err != nil && f.log != nil {
			f.log.Error("the ticket keys could not be reloaded; the previous ones stay in use", "path", f.path, "error", err)
		}
	}
	return f.current.Load()
}

func (f *File) load() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	file, err := os.Open(f.path)
	if err != nil {
		return lake.Errorf(lake.Invalid, "%w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return lake.Errorf(lake.Invalid, "%w", err)
	}
	if f.current.Load() != nil && info.ModTime().Equal(f.changed) && info.Size() == f.size {
		return nil
	}
	if err := secretfile.Check(info); err != nil {
		return err
	}
	b, err := io.ReadAll(io.LimitReader(file, MaxKeyFileBytes+1))
	if err != nil {
		return lake.Errorf(lake.Invalid, "%w", err)
	}
	r, err := parseRing(b)
	if err != nil {
		return err
	}
	f.changed, f.size = info.ModTime(), info.Size()
	f.current.Store(r)
	return nil
}
