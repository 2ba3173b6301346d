// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package local

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lakeplane/lake/objstore"
)

// defaultWindow bounds the memory of a listing to some ten megabytes, and the
// times that it reads a folder of n names to n/window.
const defaultWindow = 1 << 16

// List implements [objstore.Store]. A page reads the names of the folders it
// passes through and the attributes of the objects it returns, no others.
func (s *Store) List(ctx context.Context, prefix, after string, limit int) ([]objstore.Info, bool, error) {
	if err := objstore.CheckList(prefix, after, limit); err != nil {
		return nil, false, err
	}
	if err := s.enter(ctx); err != nil {
		return nil, false, err
	}
	defer s.leave()
	p := page{ctx: ctx, after: after, want: limit + 1, window: max(s.window/10, 1)}
	p.full = func() bool { return false }
	dir, err := s.folders.open(strings.TrimSuffix(prefix, "/"))
	if err := p.start(dir, err, prefix); err != nil {
		return nil, false, err
	}
	if len(p.infos) > limit {
		return p.infos[:limit], true, nil
	}
	return p.infos, false, nil
}

// Pages implements [objstore.Pager]. It reads a folder once for each window of
// names that is in it.
func (s *Store) Pages(ctx context.Context, prefix, after string, limit int) iter.Seq2[[]objstore.Info, error] {
	return func(yield func([]objstore.Info, error) bool) {
		p := page{ctx: ctx, after: after, want: limit, window: s.window}
		p.full = func() bool {
			infos := p.infos
			p.infos = nil
			return yield(infos, nil)
		}
		err := s.walk(&p, prefix, limit)
		switch {
		case p.done: // by the loop
		case err != nil:
			yield(nil, err)
		case len(p.infos) > 0:
			yield(p.infos, nil)
		}
	}
}

// walk goes through what is under prefix. It does not keep the store from being
// closed meanwhile, since the loop it serves may last.
func (s *Store) walk(p *page, prefix string, limit int) error {
	if err := objstore.CheckList(prefix, p.after, limit); err != nil {
		return err
	}
	if err := s.enter(p.ctx); err != nil {
		return err
	}
	dir, err := s.folders.open(strings.TrimSuffix(prefix, "/"))
	s.leave()
	return p.start(dir, err, prefix)
}

// page collects objects in byte order of their keys until it has what it
// wants. List wants one more than its page holds, which tells whether there is
// more.
type page struct {
	ctx    context.Context
	after  string
	want   int
	window int         // how many names of a folder are held
	full   func() bool // called with what is wanted; false ends the walk
	done   bool        // full said so
	infos  []objstore.Info
}

// start walks a folder that was opened, or not.
func (p *page) start(fd int, err error, prefix string) error {
	if missing(err) {
		return nil
	}
	if err != nil {
		return systemError("list", prefix, err)
	}
	return p.walk(fd, prefix)
}

// walk adds the objects of a folder whose keys start with prefix. It closes
// the descriptor.
func (p *page) walk(fd int, prefix string) error {
	dir := os.NewFile(uintptr(fd), prefix)
	defer dir.Close()
	for past, more := "", true; more; {
		var names []string
		var err error
		if names, more, err = p.names(dir, prefix, past); err != nil {
			return systemError("list", prefix, err)
		}
		for _, name := range names {
			if err := p.ctx.Err(); err != nil {
				return err
			}
			if err := p.visit(fd, prefix, name); err != nil || p.done {
				return err
			}
			past = name
		}
	}
	return nil
}

// names returns the first entries past a name that may hold keys after the
// page's start, as many as the window holds, and whether there are more. They
// are in the order of whole keys: a folder sorts by its name with the '/', so
// that "a-b" comes before what is in "a".
func (p *page) names(dir *os.File, prefix, past string) (names []string, more bool, err error) {
	if _, err := dir.Seek(0, io.SeekStart); err != nil {
		return nil, false, err
	}
	for {
		const some = 1024 // entries at once
		entries, err := dir.ReadDir(some)
		if errors.Is(err, io.EOF) || missing(err) { // a loop may have deleted all, and so the folder
			names, cut := p.smallest(names)
			return names, more || cut, nil
		}
		if err != nil {
			return nil, false, err
		}
		for _, entry := range entries {
			if name, ok := p.name(prefix, entry); ok && name > past {
				names = append(names, name)
			}
		}
		if len(names) >= 2*p.window+some { // sorts each name about twice
			names, _ = p.smallest(names)
			more = true
		}
	}
}

// smallest sorts the names and cuts off what the window does not hold.
func (p *page) smallest(names []string) (kept []string, cut bool) {
	slices.SortFunc(names, cmp.Compare[string])
	if len(names) <= p.window {
		return names, false
	}
	clear(names[p.window:])
	return names[:p.window], true
}

// name returns the name of an entry that may hold keys after the page's start.
func (p *page) name(prefix string, entry os.DirEntry) (name string, ok bool) {
	name = entry.Name()
	if objstore.CheckKey(name) != nil || prefix == "" && name == scratchName {
		return "", false // not a key
	}
	if entry.IsDir() {
		name += "/"
	}
	return name, (entry.IsDir() || entry.Type().IsRegular()) && p.ahead(prefix, name)
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
	if len(p.infos) == p.want {
		p.done = !p.full()
	}
	return nil
}
