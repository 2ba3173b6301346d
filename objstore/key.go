// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package objstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/lakeplane/lake/lake"
)

// Limits of every backend.
const (
	MaxKeyBytes     = 1024
	MaxSegmentBytes = 255
	MaxPage         = 1000
)

// Errors of the contract; test with errors.Is.
var (
	ErrNotFound error = &lake.Error{Kind: lake.NotFound, Message: "no such object"}
	ErrExists   error = &lake.Error{Kind: lake.AlreadyExists, Message: "object exists"}
	ErrInvalid  error = &lake.Error{Kind: lake.Invalid, Message: "invalid object request"}
)

// CheckKey refuses a key that is not 1..1,024 bytes of valid UTF-8, made of
// '/'-separated segments of 1..255 bytes, none "." or "..". NUL and the other
// characters that XML cannot hold are refused everywhere: object services list
// and delete in XML, and would name another object.
func CheckKey(key string) error {
	if key == "" || len(key) > MaxKeyBytes {
		return fmt.Errorf("%w: key of %d bytes, want 1..%d", ErrInvalid, len(key), MaxKeyBytes)
	}
	if !utf8.ValidString(key) || strings.ContainsFunc(key, outsideXML) {
		return fmt.Errorf("%w: key %q is not UTF-8 text without control characters other than tabs and line ends", ErrInvalid, key)
	}
	for s := range strings.SplitSeq(key, "/") {
		if s == "" || s == "." || s == ".." || len(s) > MaxSegmentBytes {
			return fmt.Errorf("%w: key %q: segment %q, want 1..%d bytes other than . and ..", ErrInvalid, key, s, MaxSegmentBytes)
		}
	}
	return nil
}

// outsideXML says that XML 1.0 has no such character.
func outsideXML(r rune) bool {
	return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == '\ufffe' || r == '\uffff'
}

// CheckPrefix refuses a listing prefix that is neither empty nor a key with a
// trailing '/'. Listing by a part of a name is how a neighbour's data gets
// deleted.
func CheckPrefix(prefix string) error {
	if prefix == "" {
		return nil
	}
	folder, ok := strings.CutSuffix(prefix, "/")
	if !ok {
		return fmt.Errorf("%w: prefix %q does not end in /", ErrInvalid, prefix)
	}
	return CheckKey(folder)
}

// CheckList refuses the arguments of a listing that break the contract of
// [Store.List].
func CheckList(prefix, after string, limit int) error {
	if err := CheckPrefix(prefix); err != nil {
		return err
	}
	if limit < 1 || limit > MaxPage {
		return fmt.Errorf("%w: page limit %d, want 1..%d", ErrInvalid, limit, MaxPage)
	}
	if after == "" {
		return nil
	}
	return CheckKey(after)
}

// ReadAll returns a whole object, which must not be longer than most bytes.
func ReadAll(ctx context.Context, s Store, key string, most int64) ([]byte, error) {
	obj, err := s.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	defer obj.Close()
	if obj.Size() > most {
		return nil, lake.Errorf(lake.Corrupt, "object %q has %d bytes, at most %d expected", key, obj.Size(), most)
	}
	data := make([]byte, obj.Size())
	n, err := obj.ReadAt(data, 0)
	if err != nil && (n < len(data) || !errors.Is(err, io.EOF)) { // EOF may come with the last byte
		return nil, fmt.Errorf("read object %q: %w", key, err)
	}
	return data, nil
}

// PutIdentical puts data under key and also succeeds when the same bytes are
// there already: a repeated attempt, or one whose acknowledgement was lost.
// Other bytes are [ErrExists].
func PutIdentical(ctx context.Context, s Store, key string, data []byte) error {
	return identical(ctx, s, s.Put, key, data)
}

func identical(ctx context.Context, s Store, put func(context.Context, string, []byte) error, key string, data []byte) error {
	err := put(ctx, key, data)
	if !errors.Is(err, ErrExists) {
		return err
	}
	there, readErr := ReadAll(ctx, s, key, int64(len(data)))
	if readErr != nil {
		return errors.Join(err, readErr)
	}
	if !bytes.Equal(there, data) {
		return fmt.Errorf("%w with other bytes: %q", ErrExists, key)
	}
	return nil
}
