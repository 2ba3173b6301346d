// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package secretfile_test

import (
	"io/fs"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/internal/secretfile"
	"github.com/lakeplane/lake/lake"
)

// file is a file's description with an owner and a group.
type file struct {
	mode     fs.FileMode
	uid, gid int
}

func (f file) Name() string       { return "secret" }
func (f file) Size() int64        { return 1 }
func (f file) Mode() fs.FileMode  { return f.mode }
func (f file) ModTime() time.Time { return time.Time{} }
func (f file) IsDir() bool        { return f.mode.IsDir() }
func (f file) Sys() any           { return &syscall.Stat_t{Uid: uint32(f.uid), Gid: uint32(f.gid)} }

func TestCheck(t *testing.T) {
	me, mine := os.Geteuid(), os.Getegid()
	somebody, theirs := me+1, mine+7919
	for _, c := range []struct {
		name string
		file file
		ok   bool
	}{
		{"mine alone", file{0o600, me, mine}, true},
		{"mine alone, read only", file{0o400, me, mine}, true},
		{"mine, and my group reads it", file{0o640, me, mine}, false},
		{"mine, and everybody reads it", file{0o644, me, mine}, false},
		{"mine, and others may write it", file{0o602, me, mine}, false},
		{"an administrator's for my group", file{0o640, somebody, mine}, true},
		{"a mounted secret", file{0o440, somebody, mine}, true},
		{"for my group, which may write", file{0o660, somebody, mine}, false},
		{"for my group and everybody", file{0o444, somebody, mine}, false},
		{"for another group", file{0o640, somebody, theirs}, false},
		{"a directory", file{fs.ModeDir | 0o700, me, mine}, false},
		{"a pipe", file{fs.ModeNamedPipe | 0o600, me, mine}, false},
	} {
		err := secretfile.Check(c.file)
		require.Equal(t, c.ok, err == nil, "%s: %v", c.name, err)
		if err != nil {
			require.Equal(t, lake.Invalid, lake.KindOf(err))
		}
	}
}
