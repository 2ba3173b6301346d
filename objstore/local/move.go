// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package local

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"

	"github.com/lakeplane/lake/objstore"
)

var _ objstore.Mover = (*Store)(nil)

// Move implements [objstore.Mover]. The bytes are durable already, so the new
// name costs one sync of its folder. The old name is unlinked without one.
func (s *Store) Move(ctx context.Context, from, to string) error {
	if err := errors.Join(checkKey(from), checkKey(to)); err != nil {
		return err
	}
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	folder, base := split(from)
	dir, err := s.folders.open(folder)
	if missing(err) {
		return notFound(from)
	}
	if err != nil {
		return systemError("move", from, err)
	}
	defer release(dir)
	if !isFile(dir, base) {
		return notFound(from)
	}
	err = s.publish(source{dir: dir, name: base}, to, s.folders.syncs.sync)
	if errors.Is(err, unix.ENOENT) && !isFile(dir, base) {
		return notFound(from) // somebody else moved or deleted it meanwhile
	}
	if err == nil {
		_ = unlink(dir, base) // where it stays, it is a second name of the same bytes
	}
	return err
}
