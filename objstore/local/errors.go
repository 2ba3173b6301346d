// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package local

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/objstore"
)

// scratchName is the folder under the root that holds scratch files.
const scratchName = ".tmp"

var errClosed error = &lake.Error{Kind: lake.Unavailable, Message: "object store closed"}

// checkKey refuses what [objstore.CheckKey] refuses, and the reserved folder.
func checkKey(key string) error {
	if err := objstore.CheckKey(key); err != nil {
		return err
	}
	if first, _, _ := strings.Cut(key, "/"); first == scratchName {
		return fmt.Errorf("%w: key %q: the first segment %s is reserved", objstore.ErrInvalid, key, scratchName)
	}
	return nil
}

// systemError classifies an error of the file system by what a caller can do.
func systemError(op, key string, err error) error {
	if err == nil {
		return nil
	}
	kind := lake.Unavailable
	switch {
	case anyOf(err, unix.ENOSPC, unix.EDQUOT, unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.EMLINK):
		kind = lake.Exhausted
	case anyOf(err, unix.EACCES, unix.EPERM, unix.EROFS, unix.ELOOP):
		kind = lake.Denied
	case anyOf(err, unix.ENAMETOOLONG, unix.EFBIG, unix.EILSEQ):
		kind = lake.Invalid
	}
	return lake.Errorf(kind, "%s object %q: %w", op, key, err)
}

func anyOf(err error, targets ...error) bool {
	for _, target := range targets {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// missing reports whether a path leads nowhere: something is absent, or a
// folder on the way is an object.
func missing(err error) bool { return anyOf(err, unix.ENOENT, unix.ENOTDIR) }

func notFound(key string) error { return fmt.Errorf("%w: %q", objstore.ErrNotFound, key) }

func exists(key string) error { return fmt.Errorf("%w: %q", objstore.ErrExists, key) }

// clash is the refusal of a key that would be the folder of another.
func clash(key, other string) error {
	return lake.Errorf(lake.Precondition, "object %q cannot exist beside %q: on a local file system a key cannot be the folder of another", key, other)
}
