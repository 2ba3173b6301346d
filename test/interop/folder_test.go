// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/lance"
)

// Folder is the storage of a dataset in a folder, for one writer at a time.
type Folder string

func (f Folder) path(name string) string { return filepath.Join(string(f), filepath.FromSlash(name)) }

// Open maps a file.
func (f Folder) Open(_ context.Context, name string) (lance.Object, error) {
	file, err := os.Open(f.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, lake.Errorf(lake.NotFound, "no object %s", name)
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil {
		return nil, err
	}
	mem, err := syscall.Mmap(int(file.Fd()), 0, int(st.Size()), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return mappedFile{bytes.NewReader(mem), mem}, nil
}

// mappedFile is a [lance.Object] in memory, as those of a local store are.
type mappedFile struct {
	*bytes.Reader
	mem []byte
}

func (m mappedFile) Bytes() []byte { return m.mem }
func (m mappedFile) Close() error  { return syscall.Munmap(m.mem) }

// Create creates a file under its final name.
func (f Folder) Create(_ context.Context, name string) (lance.ObjectWriter, error) {
	if err := os.MkdirAll(filepath.Dir(f.path(name)), 0o777); err != nil {
		return nil, err
	}
	file, err := os.Create(f.path(name))
	return newFile{file}, err
}

type newFile struct{ *os.File }

func (n newFile) Commit() error { return n.Close() }
func (n newFile) Abort() error {
	if err := n.Close(); err != nil {
		return nil //nolint:nilerr // closed already: it was committed
	}
	return os.Remove(n.Name())
}

// Put writes a file that must not be there.
func (f Folder) Put(_ context.Context, name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(f.path(name)), 0o777); err != nil {
		return err
	}
	file, err := os.OpenFile(f.path(name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return lake.Errorf(lake.AlreadyExists, "object %s exists", name)
	}
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Close())
}

// List lists the files of one folder.
func (f Folder) List(_ context.Context, prefix, after string, limit int) (infos []lance.Info, more bool, err error) {
	entries, err := os.ReadDir(f.path(prefix))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, false, err
	}
	for _, e := range entries {
		name := prefix + e.Name()
		if e.IsDir() || name <= after {
			continue
		}
		if len(infos) == limit {
			return infos, true, nil
		}
		st, err := e.Info()
		if err != nil {
			return nil, false, err
		}
		infos = append(infos, lance.Info{Name: name, Size: st.Size(), Modified: st.ModTime()})
	}
	slices.SortFunc(infos, func(a, b lance.Info) int { return strings.Compare(a.Name, b.Name) })
	return infos, false, nil
}

// Delete removes a file.
func (f Folder) Delete(_ context.Context, name string) error {
	if err := os.Remove(f.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

var _ lance.Storage = Folder("")
