// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/lakeplane/lake/lake"
)

const (
	// Files up to wholeBytes are hashed whole. Of larger ones, sampleCount
	// evenly spaced blocks of blockBytes are, with the first and the last among
	// them: 8 MiB, which is read in a moment however large the file is.
	wholeBytes  = 8 << 20
	sampleCount = 128
	blockBytes  = 64 << 10
)

// Identity says which file something was read from. Size and time find a file
// that was written to or replaced; the sample finds most that were replaced
// with their times kept, as copying tools do. Both formats that are read by
// position change where it is looked: a Parquet or Arrow file that is written
// anew has other sizes and offsets in its footer.
type Identity struct {
	// Path is absolute.
	Path string `json:"path"`
	// Size is in bytes.
	Size int64 `json:"size"`
	// ModTime is the time of the last modification.
	ModTime time.Time `json:"mod_time"`
	// Sample is a SHA-256 of the size and of the file's bytes: of all of them
	// up to 8 MiB, else of 128 blocks of 64 KiB from its beginning to its end.
	Sample lake.Digest `json:"sample_sha256"`
}

// Identify looks at a file. Its errors are those of [Open].
func Identify(path string) (Identity, error) {
	f, err := openCounted(path)
	if err != nil {
		return Identity{}, openError(path, err)
	}
	defer f.Close()
	id, err := stat(f.File, path)
	if err != nil {
		return Identity{}, openError(path, err)
	}
	if id.Sample, err = sample(f, id.Size); err != nil {
		return Identity{}, openError(path, err)
	}
	return id, nil
}

func stat(f *os.File, path string) (Identity, error) {
	info, err := f.Stat()
	if err != nil {
		return Identity{}, err
	}
	absolute, err := filepath.Abs(path)
	return Identity{Path: absolute, Size: info.Size(), ModTime: info.ModTime().UTC()}, err
}

func sample(f io.ReaderAt, size int64) (lake.Digest, error) {
	h := sha256.New()
	_ = binary.Write(h, binary.BigEndian, size) // a hash takes everything
	blocks, length := int64(sampleCount), int64(blockBytes)
	if size <= wholeBytes {
		blocks, length = 1, size
	}
	for i := range blocks {
		at := int64(0)
		if blocks > 1 {
			at = i * ((size - length) / (blocks - 1))
		}
		if i > 0 && i == blocks-1 {
			at = size - length
		}
		if n, err := io.Copy(h, io.NewSectionReader(f, at, length)); err != nil || n != length {
			return lake.Digest{}, errors.Join(err, fmt.Errorf("%d of %d bytes could be read at byte %d", n, length, at))
		}
	}
	return lake.Digest(h.Sum(nil)), nil
}

// Changed says in what now, a look at the same path, differs from id, or is
// empty. A file of which only the time is newer counts as changed: most of a
// large one was not compared.
func (id Identity) Changed(now Identity) string {
	switch {
	case id.Size != now.Size:
		return fmt.Sprintf("it had %d bytes and has %d", id.Size, now.Size)
	case !id.ModTime.Equal(now.ModTime):
		return fmt.Sprintf("it was modified at %s, and before at %s", now.ModTime.Format(time.RFC3339Nano), id.ModTime.Format(time.RFC3339Nano))
	case id.Sample != now.Sample:
		return "its content is another, though size and time are the same"
	}
	return ""
}

// Check fails with lake.Precondition when the open file is not as id says, by
// size and time: it was written to while it was read.
func (s *Source) Check(id Identity) error {
	now, err := stat(s.file.File, id.Path)
	if err != nil {
		return s.wrap(err)
	}
	now.Sample = id.Sample
	if what := id.Changed(now); what != "" {
		return s.wrap(lake.Errorf(lake.Precondition, "it changed while it was read: %s", what))
	}
	return nil
}
