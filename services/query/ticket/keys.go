// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package ticket

import (
	"crypto/rand"
	"log/slog"

	"github.com/lakeplane/lake/internal/keyring"
	"github.com/lakeplane/lake/internal/watchfile"
	"github.com/lakeplane/lake/lake"
)

// purpose separates the keys of tickets from those of other uses of a secret.
const purpose = "lake.ticket"

const keyIDBytes = keyring.IDBytes

// Keys is a source of the current key ring. Make one with [Ephemeral],
// [Static] or [OpenFile]. It is safe for concurrent use.
type Keys interface {
	ring() *keyring.Ring
}

type fixedKeys struct{ r *keyring.Ring }

func (k fixedKeys) ring() *keyring.Ring { return k.r }

// Ephemeral returns a random key that no other process has. Tickets made with
// it end with the process, so it suits a single local server only.
func Ephemeral() Keys {
	secret := make([]byte, keyring.MinSecretBytes)
	_, _ = rand.Read(secret) // crypto/rand.Read never returns an error since Go 1.24
	r, err := keyring.New(purpose, secret)
	if err != nil {
		panic(err) // 32 bytes are always a valid secret
	}
	return fixedKeys{r}
}

// Static returns a ring of the given secrets: active seals and opens, the
// others only open.
func Static(active []byte, verify ...[]byte) (Keys, error) {
	r, err := keyring.New(purpose, active, verify...)
	if err != nil {
		return nil, err
	}
	return fixedKeys{r}, nil
}

// File is a key ring read from a file and read again when the file changes.
// While the file is missing or wrong the last good ring stays in use: a slip
// of an operator must not refuse every ticket in flight.
type File struct {
	value *watchfile.Value[*keyring.Ring]
}

// OpenFile reads a key ring (package keyring): one active secret and up to three
// to verify with, in a private file. To rotate, first add the new secret to
// "verify" on every replica, then make it "active" and keep the old one in
// "verify" for as long as a ticket lives.
func OpenFile(path string, log *slog.Logger) (*File, error) {
	v, err := keyring.Open(purpose, path, log)
	if err != nil {
		return nil, lake.Wrap("ticket keys "+path, err)
	}
	return &File{v}, nil
}

func (f *File) ring() *keyring.Ring { return f.value.Get() }
