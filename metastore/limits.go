// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metastore

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits that every backend keeps. They are the tightest of all supported
// backends', so that data can move between them.
const (
	MaxKeyBytes     = 1024
	MaxSegmentBytes = 255
	MaxValueBytes   = 350 << 10
	MaxTxnBytes     = 3 << 20
	MaxOps          = 32
	MaxPage         = 10_000
	MaxTokenBytes   = 64

	// TokenWindow is how long a backend remembers a transaction's token, at
	// least.
	TokenWindow = 10 * time.Minute
)

// CheckKey refuses a key that is not 1..1,024 bytes of valid UTF-8 made of
// '/'-separated segments of 1..255 bytes, none of them "." or "..".
func CheckKey(key string) error {
	switch {
	case key == "":
		return fmt.Errorf("%w: empty key", ErrInvalid)
	case len(key) > MaxKeyBytes:
		return fmt.Errorf("%w: key of %d bytes, at most %d", ErrTooLarge, len(key), MaxKeyBytes)
	case !utf8.ValidString(key):
		return fmt.Errorf("%w: key %q is not valid UTF-8", ErrInvalid, key)
	}
	for segment := range strings.SplitSeq(key, "/") {
		if err := checkSegment(key, segment); err != nil {
			return err
		}
	}
	return nil
}

func checkSegment(key, segment string) error {
	switch {
	case segment == "":
		return fmt.Errorf("%w: key %q has an empty segment", ErrInvalid, key)
	case segment == "." || segment == "..":
		return fmt.Errorf("%w: key %q has a segment %q", ErrInvalid, key, segment)
	case len(segment) > MaxSegmentBytes:
		return fmt.Errorf("%w: key %q has a segment of %d bytes, at most %d", ErrTooLarge, key, len(segment), MaxSegmentBytes)
	}
	return nil
}

// CheckScan refuses a scan with a bad prefix or limit. A prefix is empty or
// the beginning of some valid key.
func CheckScan(prefix string, limit int) error {
	if limit < 1 || limit > MaxPage {
		return fmt.Errorf("%w: page limit %d, want 1..%d", ErrInvalid, limit, MaxPage)
	}
	if prefix == "" {
		return nil
	}
	// A prefix may end inside a segment or at a boundary, so one more
	// character makes it a key exactly when it can begin one.
	if len(prefix) == MaxKeyBytes {
		return CheckKey(prefix)
	}
	return CheckKey(prefix + "x")
}

// CheckTxn refuses a transaction that breaks a limit or says nothing.
func CheckTxn(txn Txn) error {
	if n := len(txn.Ops); n == 0 || n > MaxOps {
		return fmt.Errorf("%w: transaction of %d operations, want 1..%d", ErrInvalid, n, MaxOps)
	}
	if len(txn.Token) > MaxTokenBytes {
		return fmt.Errorf("%w: token of %d bytes, at most %d", ErrTooLarge, len(txn.Token), MaxTokenBytes)
	}
	total := 0
	seen := make(map[string]struct{}, len(txn.Ops))
	for _, op := range txn.Ops {
		if err := checkOp(op); err != nil {
			return err
		}
		if _, twice := seen[op.Key]; twice {
			return fmt.Errorf("%w: key %q twice in one transaction", ErrInvalid, op.Key)
		}
		seen[op.Key] = struct{}{}
		total += len(op.Key) + len(op.Expect) + len(op.Value)
	}
	if total > MaxTxnBytes {
		return fmt.Errorf("%w: transaction of %d bytes, at most %d", ErrTooLarge, total, MaxTxnBytes)
	}
	return nil
}

func checkOp(op Op) error {
	if err := CheckKey(op.Key); err != nil {
		return err
	}
	if n := max(len(op.Value), len(op.Expect)); n > MaxValueBytes {
		return fmt.Errorf("%w: key %q: value of %d bytes, at most %d", ErrTooLarge, op.Key, n, MaxValueBytes)
	}
	switch {
	case op.Effect > Delete:
		return fmt.Errorf("%w: key %q: unknown effect %d", ErrInvalid, op.Key, op.Effect)
	case op.Effect == Put && op.Value == nil:
		return fmt.Errorf("%w: key %q: put without a value", ErrInvalid, op.Key)
	case op.Effect != Put && op.Value != nil:
		return fmt.Errorf("%w: key %q: a value that is not put", ErrInvalid, op.Key)
	case op.Effect == Delete && op.Expect == nil:
		return fmt.Errorf("%w: key %q: delete of a key expected absent", ErrInvalid, op.Key)
	}
	return nil
}
