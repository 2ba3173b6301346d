// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package pebble

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	driver "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/lakeplane/lake/lake"
)

// infoFile says who holds the directory's lock. It is written after the lock
// was taken and means nothing without the lock: a crash leaves it behind.
const infoFile = "LOCK-info"

// LockedError says that the directory is in use. Its kind is
// [lake.Precondition]: stop the holder first.
type LockedError struct {
	// Dir is the directory of the store.
	Dir string
	// Holder is the process that has it, with a zero PID where that is unknown.
	Holder Holder
}

// Holder is a process that holds a store's directory.
type Holder struct {
	PID   int       `json:"pid"`
	Host  string    `json:"host"`
	Since time.Time `json:"since"`
}

// Error names the directory and its holder.
func (e *LockedError) Error() string {
	who := "another process"
	if e.Holder.PID != 0 {
		who = fmt.Sprintf("process %d on %s since %s", e.Holder.PID, e.Holder.Host, e.Holder.Since.Format(time.RFC3339))
	}
	return fmt.Sprintf("metastore directory %q is in use by %s: one process may hold it at a time", e.Dir, who)
}

// Unwrap gives the error its kind.
func (e *LockedError) Unwrap() error { return errLocked }

var errLocked error = &lake.Error{Kind: lake.Precondition, Message: "directory in use"}

func lockDirectory(dir string, fs vfs.FS) (*driver.Lock, error) {
	lock, err := driver.LockDirectory(dir, fs)
	if err != nil {
		if heldByOther(err) {
			return nil, &LockedError{Dir: dir, Holder: readHolder(dir, fs)}
		}
		return nil, lake.Errorf(lake.Unavailable, "lock metastore directory %q: %w", dir, err)
	}
	if err := writeHolder(dir, fs); err != nil {
		return nil, errors.Join(lake.Errorf(lake.Unavailable, "write %s of %q: %w", infoFile, dir, err), lock.Close())
	}
	return lock, nil
}

// heldByOther tells a lock that is held from one that cannot be taken. The
// system's answer is a bare errno, while a file that cannot be made is a
// PathError; within one process the driver has only a text.
func heldByOther(err error) bool {
	var path *os.PathError
	if errors.As(err, &path) {
		return false
	}
	return errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) ||
		strings.Contains(err.Error(), "lock held by current process")
}

func writeHolder(dir string, fs vfs.FS) error {
	host, _ := os.Hostname() // for people only
	data, err := json.Marshal(Holder{PID: os.Getpid(), Host: host, Since: time.Now().UTC().Truncate(time.Second)})
	if err != nil {
		return err
	}
	file, err := fs.Create(fs.PathJoin(dir, infoFile), vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Close())
}

// readHolder returns what the file says, or zero where it says nothing yet.
func readHolder(dir string, fs vfs.FS) Holder {
	var h Holder
	file, err := fs.Open(fs.PathJoin(dir, infoFile))
	if err != nil {
		return h
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, 4096))
	if err != nil || json.Unmarshal(data, &h) != nil {
		return Holder{}
	}
	return h
}
