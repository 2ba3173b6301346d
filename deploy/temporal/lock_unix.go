// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// A server whose parent was killed ends a moment after it. Whoever restarts at
// once meets it still closing the database, and waits for it this long.
const (
	lockPatience = 10 * time.Second
	lockPoll     = 20 * time.Millisecond
)

// lockFile takes an exclusive lock that the kernel drops when the process ends,
// however it ends.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("database lock: %w", err)
	}
	err = tryLock(f)
	for end := time.Now().Add(lockPatience); errors.Is(err, syscall.EWOULDBLOCK) && time.Now().Before(end); err = tryLock(f) {
		time.Sleep(lockPoll)
	}
	if err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w: another server has the database open (%s)", errTaken, path)
		}
		return nil, fmt.Errorf("database lock: %w", err)
	}
	return f, nil
}

func tryLock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
