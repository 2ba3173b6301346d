// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package local

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/lakeplane/lake/objstore"
)

// List implements [objstore.Store]. A page reads the names of the folders it
// passes through and the attributes of the objects it returns, no others.
func (s *Store) List(ctx context.Context, prefix, after string, limit int) ([]objstore.Info, bool, error) {
	if err := checkList(prefix, after, limit); err != nil {
		return nil, false, err
	}
	if err := s.enter(ctx); err != nil {
		return nil, false, err
	}
	defer s.leave()
	dir, err := s.folders.open(strings.TrimSuffix(prefix, "/"))
	if missing(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, systemError("list", prefix, err)
	}
	p := page{ctx: ctx, after: after, want: limit + 1}
	if err := p.walk(dir, prefix); err != nil {
		return nil, false, err
	}
	if len(p.infos) > limit {
		return p.infos[:limit], true, nil
	}
	return p.infos, false, nil
}

func checkList(prefix, after string, limit int) error {
	if err := objstore.CheckPrefix(prefix); err != nil {
		return err
	}
	if limit < 1 || limit > objstore.MaxPage {
		return fmt.Errorf("%w: page limit %d, want 1..%d", objstore.ErrInvalid, limit, objstore.MaxPage)
	}
	if after == "" {
		return nil
	}
	return objstore.CheckKey(after)
}

// page collects objects in byte order of their keys until it has what it
// wants: one more than the page holds, which tells whether there is more.
type page struct {
	ctx   context.Context
	after string
	want  int
	infos []objstore.Info
}

// walk adds the objects of a folder whose keys start with prefix. It closes
// the descriptor.
func (p *page) walk(fd int, prefix string) error {
	dir := os.NewFile(uintptr(fd), prefix)
	defer dir.Close()
	names, err := p.names(dir, prefix)
	if err != nil {
		return systemError("list", prefix, err)
	}
	for _, name := range names {
		if len(p.infos) == p.want {
			return nil
		}
		if err := p.ctx.Err(); err != nil {
			return err
		}
		if err := p.visit(fd, prefix, name); err != nil {
			return err
		}
	}
	return nil
}

// names returns the entries that may hold keys after the page's start, in the
// order of whole keys: a folder sorts by its name with the '/', so that "a-b"
// comes before what is in "a".
func (p *page) names(dir *os.File, prefix string) ([]string, error) {
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(entries))
	for _, entry := range entries {
		name := entry.Name()
		if !utf8.ValidString(name) || prefix == "" && name == scratchName {
			continue // not a key
		}
		if entry.IsDir() {
			name += "/"
		}
		if p.ahead(prefix, name) && (entry.IsDir() || entry.Type().IsRegular()) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, cmp.Compare[string])
	return names, nil
}

// ahead reports whether prefix+name, or something inside it, comes after the
// page's start.
func (p *page) ahead(prefix, name string) bool {
	n := min(len(prefix), len(p.after))
	if c := strings.Compare(prefix[:n], p.after[:n]); c != 0 {
		return c > 0
	}
	if n < len(prefix) {
		return true // after is a proper beginning of prefix
	}
	rest := p.after[n:]
	return name > rest || strings.HasSuffix(name, "/") && strings.HasPrefix(rest, name)
}

func (p *page) visit(fd int, prefix, name string) error {
	if folder, ok := strings.CutSuffix(name, "/"); ok {
		sub, err := openat(fd, folder, openFolder)
		if missing(err) {
			return nil // removed meanwhile
		}
		if err != nil {
			return systemError("list", prefix+name, err)
		}
		return p.walk(sub, prefix+name)
	}
	var st unix.Stat_t
	err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if missing(err) || err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil
	}
	if err != nil {
		return systemError("list", prefix+name, err)
	}
	p.infos = append(p.infos, objstore.Info{Key: prefix + name, Size: st.Size, Modified: time.Unix(st.Mtim.Unix())})
	return nil
}
