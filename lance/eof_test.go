// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// shortStorage hands out objects that claim to be longer than they are, as a
// file does that was cut after it was opened.
type shortStorage struct{ *poisonStorage }

type shortObject struct {
	Object
	keep int64
}

func (o shortObject) ReadAt(p []byte, off int64) (int, error) {
	if off >= o.keep || off+int64(len(p)) > o.Size()-100 && off > 0 {
		return o.Object.ReadAt(p, off)
	}
	return 0, io.EOF
}

func (s shortStorage) Open(ctx context.Context, name string) (Object, error) {
	o, err := s.poisonStorage.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	return shortObject{o, o.Size()}, nil
}

// TestEndOfFileIsNotTheEndOfTheRows: an end of file inside a data file must not
// look like the end of a scan.
func TestEndOfFileIsNotTheEndOfTheRows(t *testing.T) {
	f := newFixture(t)
	f.append(50_000)
	d, err := Open(t.Context(), shortStorage{f.st}, f.m, Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	s, err := d.Scan(t.Context(), ScanOptions{})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	b, err := s.Next(t.Context())
	require.Nil(t, b)
	require.Error(t, err)
	require.NotErrorIs(t, err, io.EOF)
}
