// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package rules

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/lakeplane/lake/metastore"
)

// A cursor is base64url of: one version byte, 8 bytes of the SHA-256 of the
// prefix it belongs to, and the last key that was returned. Holding the key
// itself, not a row, it stays good when that row is deleted.
const (
	cursorVersion = 1
	cursorSum     = 8
)

// EncodeCursor returns the cursor that continues a scan of prefix after the
// key last.
func EncodeCursor(prefix, last string) string {
	sum := sha256.Sum256([]byte(prefix))
	raw := append([]byte{cursorVersion}, sum[:cursorSum]...)
	return base64.RawURLEncoding.EncodeToString(append(raw, last...))
}

// DecodeCursor returns the key after which a scan of prefix continues, empty
// for an empty cursor. A cursor made for another prefix, by another version of
// the format, or by nobody is refused with [metastore.ErrInvalid].
func DecodeCursor(prefix, cursor string) (after string, err error) {
	after, err = DecodePosition(prefix, cursor)
	if err == nil && !strings.HasPrefix(after, prefix) && cursor != "" {
		return "", otherPrefix(prefix)
	}
	return after, err
}

func otherPrefix(prefix string) error {
	return fmt.Errorf("%w: cursor of another prefix than %q", metastore.ErrInvalid, prefix)
}

// DecodePosition is DecodeCursor for a scan that also passes over keys without
// the prefix, and may have stopped at one.
func DecodePosition(prefix, cursor string) (after string, err error) {
	if cursor == "" {
		return "", nil
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	// The decoder passes over line ends, which no cursor has.
	if err != nil || strings.ContainsAny(cursor, "\r\n") || len(raw) <= 1+cursorSum || raw[0] != cursorVersion {
		return "", fmt.Errorf("%w: malformed cursor: want the Next of the page before", metastore.ErrInvalid)
	}
	sum := sha256.Sum256([]byte(prefix))
	if string(raw[1:1+cursorSum]) != string(sum[:cursorSum]) {
		return "", otherPrefix(prefix)
	}
	after = string(raw[1+cursorSum:])
	if err := metastore.CheckKey(after); err != nil {
		return "", fmt.Errorf("malformed cursor: %w", err)
	}
	return after, nil
}

// BeginScan checks the arguments of a scan and returns the key after which its
// page begins, empty for the first page.
func BeginScan(prefix, cursor string, limit int) (after string, err error) {
	if err := metastore.CheckScan(prefix, limit); err != nil {
		return "", err
	}
	return DecodeCursor(prefix, cursor)
}

// PrefixEnd returns the smallest string above every string that starts with
// prefix, or false when there is none.
func PrefixEnd(prefix string) (string, bool) {
	end := []byte(prefix)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i] != 0xff {
			end[i]++
			return string(end[:i+1]), true
		}
	}
	return "", false
}
