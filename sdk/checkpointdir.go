// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"bufio"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"

	"github.com/lakeplane/lake/internal/appendwire"
	"github.com/lakeplane/lake/lake"
)

const (
	checkpointSuffix = ".lakeappend"
	unfinishedSuffix = ".tmp"
)

// checkpointDir keeps checkpoints, one a file. A file gets its name only when
// it is whole and synced, and the directory is synced before anything is sent
// and after a file is removed. So after a crash, an append that may have
// reached the server has a whole file, and one that is known to be over has
// none, or one that is found to be over when it is resumed.
//
// Several processes may share a directory: a file is the same operation
// whoever resumes it. Nothing is reached through a symbolic link. A nil
// checkpointDir keeps nothing.
type checkpointDir struct {
	path string
	root *os.Root
	most int // names that are read at once

	mu    sync.Mutex // also held while a name appears or vanishes
	inUse map[string]*checkpointUse
}

// checkpointUse counts the calls of Resume that rely on a file.
type checkpointUse struct {
	calls   int
	unknown bool // one of them ended without knowing the outcome
}

// openCheckpoints opens a directory, or makes it.
func openCheckpoints(path string) (*checkpointDir, error) {
	fail := func(err error) (*checkpointDir, error) {
		return nil, diskError("checkpoint directory "+path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fail(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fail(err)
	}
	info, err := os.Lstat(path)
	if err != nil {
		return fail(err)
	}
	if err := private(info, true); err != nil {
		return fail(err)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return fail(err)
	}
	if opened, err := root.Stat("."); err != nil || !os.SameFile(info, opened) {
		return fail(errors.Join(err, root.Close(), lake.Errorf(lake.Precondition, "it was replaced while it was opened")))
	}
	return &checkpointDir{path: path, root: root, most: maxListedCheckpoints, inUse: map[string]*checkpointUse{}}, nil
}

// private refuses what is not a plain directory or file of this user alone:
// the rows are nobody else's to read, and who can replace a file decides what
// is appended.
func private(info fs.FileInfo, dir bool) error {
	switch mode := info.Mode(); {
	case dir && !mode.IsDir():
		return lake.Errorf(lake.Invalid, "it is not a directory (symbolic links are not followed)")
	case !dir && !mode.IsRegular():
		return lake.Errorf(lake.Invalid, "it is not a regular file (symbolic links are not followed)")
	case runtime.GOOS != "windows" && mode.Perm()&0o077 != 0:
		return lake.Errorf(lake.Invalid, "its mode is %#o: others may use it; only its owner should (0700 for a directory, 0600 for a file)", mode.Perm())
	}
	return nil
}

// diskError classifies a failure of the local disk.
func diskError(op string, err error) error {
	if err == nil {
		return nil
	}
	var classified *lake.Error
	kind := lake.Unavailable
	switch {
	case errors.As(err, &classified):
		kind = classified.Kind
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		kind = lake.Exhausted
	case errors.Is(err, fs.ErrPermission):
		kind = lake.Denied
	}
	return &lake.Error{Kind: kind, Op: op, Err: err}
}

func (d *checkpointDir) close() error { return d.root.Close() }

// checkpointName is the name of an operation's file: the operation id, which
// sorts by time, and what tells its table from others with the same id.
func checkpointName(c appendwire.Command) string {
	table := sha256.Sum256([]byte(c.Table.Path()))
	return c.Operation.String() + "-" + hex.EncodeToString(table[:4]) + checkpointSuffix
}

// operationOf reads the id off a name made by checkpointName.
func operationOf(name string) (lake.OperationID, bool) {
	rest, ok := strings.CutSuffix(name, checkpointSuffix)
	if !ok || len(rest) != 36+1+8 || rest[36] != '-' || strings.Trim(rest[37:], "0123456789abcdef") != "" {
		return lake.OperationID{}, false
	}
	id, err := lake.ParseID(rest[:36])
	return id, err == nil
}

// keep makes sure that the append is on the disk. existed means that it was
// there before, so that an attempt may have been applied. What keep succeeds
// for must be released.
func (d *checkpointDir) keep(command appendwire.Command, data *payload) (existed bool, err error) {
	if d == nil {
		return false, nil
	}
	name := checkpointName(command)
	d.mu.Lock()
	use := d.inUse[name]
	if use == nil {
		use = new(checkpointUse)
		d.inUse[name] = use
	}
	use.calls++
	d.mu.Unlock()
	existed, err = d.write(name, &checkpoint{command, data})
	if err != nil {
		d.mu.Lock()
		d.doneLocked(name, use)
		d.mu.Unlock()
		return false, diskError("checkpoint "+filepath.Join(d.path, name), err)
	}
	return existed, nil
}

// write brings a file about, unless it is there.
func (d *checkpointDir) write(name string, c *checkpoint) (existed bool, err error) {
	if existed, err := d.appear(name, "", c.command); existed || err != nil {
		return existed, err
	}
	var random [8]byte
	_, _ = rand.Read(random[:])
	unfinished := "." + name + "." + hex.EncodeToString(random[:]) + unfinishedSuffix
	if err := d.writeFile(unfinished, c); err != nil {
		return false, errors.Join(err, d.root.Remove(unfinished))
	}
	existed, err = d.appear(name, unfinished, c.command)
	if existed || err != nil {
		return existed, errors.Join(err, d.root.Remove(unfinished))
	}
	return false, d.sync()
}

// appear gives a file its name, or finds that it is there already, which must
// be with the same payload.
func (d *checkpointDir) appear(name, unfinished string, command appendwire.Command) (existed bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch _, err := d.root.Lstat(name); {
	case err == nil:
		return true, d.sameAs(name, command)
	case !errors.Is(err, fs.ErrNotExist):
		return false, err
	case unfinished == "":
		return false, nil
	}
	return false, d.root.Rename(unfinished, name)
}

func (d *checkpointDir) sameAs(name string, command appendwire.Command) error {
	c, err := d.load(name)
	if err != nil {
		return err
	}
	if c.command.Table != command.Table || c.command.Digest != command.Digest {
		return lake.Errorf(lake.AlreadyExists, "operation %s is kept with another payload, sha256 %s", command.Operation, c.command.Digest)
	}
	return nil
}

func (d *checkpointDir) writeFile(name string, c *checkpoint) error {
	f, err := d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<18)
	err = errors.Join(c.writeTo(w), w.Flush())
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// sync makes the names durable.
func (d *checkpointDir) sync() error {
	if runtime.GOOS == "windows" {
		return nil // a directory cannot be synced, and need not be
	}
	dir, err := d.root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// load reads a file whole.
func (d *checkpointDir) load(name string) (*checkpoint, error) {
	info, err := d.root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if err := private(info, false); err != nil {
		return nil, err
	}
	if info.Size() > maxCheckpointBytes {
		return nil, lake.Errorf(lake.Corrupt, "it has %d bytes, no checkpoint has more than %d", info.Size(), maxCheckpointBytes)
	}
	f, err := d.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if opened, err := f.Stat(); err != nil || !os.SameFile(info, opened) {
		return nil, errors.Join(err, lake.Errorf(lake.Precondition, "it was replaced while it was opened"))
	}
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, lake.Errorf(lake.Corrupt, "it cannot be read whole: %w", err)
	}
	c, err := parseCheckpoint(data)
	if err != nil {
		return nil, err
	}
	if want := checkpointName(c.command); want != name {
		return nil, lake.Errorf(lake.Corrupt, "it holds the append of %s", want)
	}
	return c, nil
}

// outcome is how a call of Resume ended.
type outcome int

const (
	applied outcome = iota
	refused         // for certain, with nothing applied
	unknown
)

// release ends the use that keep began. The file of a known outcome goes,
// unless another call still relies on it.
func (d *checkpointDir) release(command appendwire.Command, how outcome) error {
	if d == nil {
		return nil
	}
	name := checkpointName(command)
	d.mu.Lock()
	use := d.inUse[name]
	use.unknown = use.unknown || how == unknown
	gone := d.doneLocked(name, use)
	gone = how == applied || how == refused && gone && !use.unknown
	var err error
	if gone {
		err = d.removeLocked(name)
	}
	d.mu.Unlock()
	if gone && err == nil {
		err = d.sync()
	}
	return diskError("checkpoint "+filepath.Join(d.path, name), err)
}

// doneLocked counts a call off and reports whether it was the last.
func (d *checkpointDir) doneLocked(name string, use *checkpointUse) bool {
	use.calls--
	if use.calls > 0 {
		return false
	}
	delete(d.inUse, name)
	return true
}

// remove removes an append's file, if there is one.
func (d *checkpointDir) remove(command appendwire.Command) error {
	if d == nil {
		return nil
	}
	name := checkpointName(command)
	d.mu.Lock()
	err := d.removeLocked(name)
	d.mu.Unlock()
	if err == nil {
		err = d.sync()
	}
	return diskError("checkpoint "+filepath.Join(d.path, name), err)
}

func (d *checkpointDir) removeLocked(name string) error {
	err := d.root.Remove(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
