// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"context"
	"errors"
	"io"
	"time"
)

// Opener opens objects of a dataset for reading.
type Opener interface {
	// Open returns an object by its name relative to the dataset's root, with
	// '/' between segments. A missing one is an error of kind lake.NotFound.
	// Reads of the object must go on working after ctx ended.
	Open(ctx context.Context, name string) (Object, error)
}

// Creator makes objects of a dataset.
type Creator interface {
	// Create streams a new object; see [ObjectWriter].
	Create(ctx context.Context, name string) (ObjectWriter, error)
	// Put stores data under a name where nothing is, else it fails with kind
	// lake.AlreadyExists.
	Put(ctx context.Context, name string, data []byte) error
}

// Storage is the folder of one dataset. It is safe for concurrent use.
type Storage interface {
	Opener
	Creator
	// List returns a page of the objects below a folder, in byte order of
	// their names, after the name given. prefix is empty or ends in '/'.
	List(ctx context.Context, prefix, after string, limit int) (infos []Info, more bool, err error)
	// Delete removes an object; removing a missing one succeeds.
	Delete(ctx context.Context, name string) error
}

// Object is an open immutable object. Reads are safe for concurrent use. If it
// also has a method Bytes() []byte, that must return the whole object, good
// until Close; reading is then free of copies.
type Object interface {
	io.ReaderAt
	Size() int64
	Close() error
}

// ObjectWriter streams an object that becomes visible, durable and whole at
// Commit. Abort drops it, and does nothing after Commit.
type ObjectWriter interface {
	io.Writer
	Commit() error
	Abort() error
}

// Info describes an object in a listing.
type Info struct {
	Name     string
	Size     int64
	Modified time.Time
}

// readAll returns a whole object of at most most bytes.
func readAll(ctx context.Context, st Opener, name string, most int64) ([]byte, error) {
	obj, err := st.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = obj.Close() }()
	if obj.Size() > most {
		return nil, corrupt("object %q has %d bytes, at most %d are allowed", name, obj.Size(), most)
	}
	data := make([]byte, obj.Size())
	if n, err := obj.ReadAt(data, 0); n < len(data) {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return data, nil
}
