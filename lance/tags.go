// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/lakeplane/lake/lake"
)

const (
	tagsDir      = "_refs/tags/"
	tagExt       = ".json"
	maxTagBytes  = 64 << 10
	maxTagLength = 128
)

// Tag is a name for a version. Clients of the format that clean up keep tagged
// versions.
type Tag struct {
	// Name is made of letters, digits, '.', '-' and '_'; see [CheckTagName].
	Name string `json:"-"`
	// Branch is empty for the main history, the only one this package reads.
	Branch *string `json:"branch"`
	// Version is the version meant.
	Version uint64 `json:"version"`
	// ManifestSize is the size of its manifest in bytes.
	ManifestSize int64 `json:"manifestSize"`
}

// CheckTagName refuses, with lake.Invalid, names the format does not allow.
func CheckTagName(name string) error {
	allowed := "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"
	switch {
	case name == "" || len(name) > maxTagLength:
		return invalid("tag name of %d bytes: want 1..%d", len(name), maxTagLength)
	case strings.Trim(name, allowed) != "" || strings.ContainsFunc(name, func(r rune) bool { return !strings.ContainsRune(allowed, r) }):
		return invalid("tag name %q: want letters, digits, '.', '-' and '_'", name)
	case strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".") || strings.Contains(name, "..") || strings.HasSuffix(name, ".lock"):
		return invalid("tag name %q: it may not begin or end with '.', hold '..' or end with .lock", name)
	}
	return nil
}

// CreateTag names a version, whose manifest has the given size. A tag of that
// name, for whatever version, is lake.AlreadyExists; tags do not move.
func CreateTag(ctx context.Context, st Creator, t Tag) error {
	if err := CheckTagName(t.Name); err != nil {
		return err
	}
	if t.Version == 0 || t.ManifestSize <= 0 {
		return invalid("tag %q: version %d of %d bytes", t.Name, t.Version, t.ManifestSize)
	}
	raw, err := json.Marshal(t)
	if err != nil {
		return invalid("tag %q: %w", t.Name, err)
	}
	return lake.Wrap("create tag "+t.Name, st.Put(ctx, tagsDir+t.Name+tagExt, raw))
}

// DeleteTag removes a tag; removing a missing one succeeds.
func DeleteTag(ctx context.Context, st Storage, name string) error {
	if err := CheckTagName(name); err != nil {
		return err
	}
	return lake.Wrap("delete tag "+name, st.Delete(ctx, tagsDir+name+tagExt))
}

// Tags lists the tags by name. One that cannot be read is an error: cleaning up
// around a tag that was overlooked would lose what it protects.
func Tags(ctx context.Context, st Storage) ([]Tag, error) {
	var out []Tag
	for info, err := range listAll(ctx, st, tagsDir) {
		if err != nil {
			return nil, lake.Wrap("list tags", err)
		}
		name, ok := strings.CutSuffix(strings.TrimPrefix(info.Name, tagsDir), tagExt)
		if !ok {
			continue
		}
		raw, err := readAll(ctx, st, info.Name, maxTagBytes)
		if lake.Is(err, lake.NotFound) {
			continue // deleted since it was listed
		}
		if err != nil {
			return nil, lake.Wrap("read tag "+name, err)
		}
		t := Tag{Name: name}
		if err := json.Unmarshal(raw, &t); err != nil || t.Version == 0 {
			return nil, corrupt("tag %q: want JSON with a version, got %.100q", name, raw)
		}
		out = append(out, t)
	}
	return out, nil
}
