// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package keyring reads files of secrets and makes AES-256-GCM keys of them. One
// secret is active and encrypts, a few more only decrypt, so that secrets can be
// exchanged while everything runs.
//
// Keys are derived for one purpose each: two uses that share a file share no
// key.
package keyring

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/lakeplane/lake/internal/watchfile"
	"github.com/lakeplane/lake/lake"
)

const (
	// MaxFileBytes bounds a key ring file.
	MaxFileBytes = 64 << 10
	// MaxVerify bounds the retired secrets a ring still accepts.
	MaxVerify = 3
	// MinSecretBytes and MaxSecretBytes bound a secret.
	MinSecretBytes, MaxSecretBytes = 32, 4096
	// IDBytes is the length of a key's id.
	IDBytes = 16
)

// ID names a key. It is derived from the secret, so processes that share a
// secret agree on it and nobody has to name keys.
type ID [IDBytes]byte

// Key is one key of a ring. Its AEAD is safe for concurrent use.
type Key struct {
	ID   ID
	AEAD cipher.AEAD
}

// Ring is one immutable set of keys: the active one encrypts, all of them
// decrypt.
type Ring struct {
	active Key
	byID   map[ID]Key
}

// Active is the key that encrypts.
func (r *Ring) Active() Key { return r.active }

// Find returns the key of an id.
func (r *Ring) Find(id ID) (Key, bool) {
	k, ok := r.byID[id]
	return k, ok
}

// New returns a ring of the given secrets for a purpose, such as "lake.ticket".
func New(purpose string, active []byte, verify ...[]byte) (*Ring, error) {
	if len(verify) > MaxVerify {
		return nil, lake.Errorf(lake.Invalid, "the key ring has %d verification keys: at most %d are allowed", len(verify), MaxVerify)
	}
	first, err := newKey(purpose, active)
	if err != nil {
		return nil, lake.Wrap("active key", err)
	}
	r := &Ring{active: first, byID: map[ID]Key{first.ID: first}}
	for i, secret := range verify {
		k, err := newKey(purpose, secret)
		if err != nil {
			return nil, lake.Wrap(fmt.Sprintf("verification key %d", i+1), err)
		}
		if _, ok := r.byID[k.ID]; ok {
			return nil, lake.Errorf(lake.Invalid, "verification key %d repeats another key of the ring", i+1)
		}
		r.byID[k.ID] = k
	}
	return r, nil
}

func newKey(purpose string, secret []byte) (Key, error) {
	if n := len(secret); n < MinSecretBytes || n > MaxSecretBytes {
		return Key{}, lake.Errorf(lake.Invalid, "a secret has %d bytes: want %d..%d", n, MinSecretBytes, MaxSecretBytes)
	}
	id, err := hkdf.Key(sha256.New, secret, nil, purpose+".key-id.v1", IDBytes)
	if err != nil {
		return Key{}, err
	}
	material, err := hkdf.Key(sha256.New, secret, nil, purpose+".aes-256-gcm.v1", 32)
	if err != nil {
		return Key{}, err
	}
	block, err := aes.NewCipher(material)
	if err != nil {
		return Key{}, err
	}
	k := Key{ID: ID(id)}
	k.AEAD, err = cipher.NewGCM(block)
	return k, err
}

// file is the JSON form of a ring: standard base64 secrets.
type file struct {
	Active string   `json:"active"`
	Verify []string `json:"verify,omitempty"`
}

// Parse reads the text of a key ring file:
//
//	{"active":"<base64>","verify":["<base64>",…]}
//
// Its errors never contain secret material.
func Parse(purpose string, b []byte) (*Ring, error) {
	if len(b) > MaxFileBytes {
		return nil, lake.Errorf(lake.Invalid, "the key ring has more than %d bytes", MaxFileBytes)
	}
	var f file
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil || dec.More() {
		return nil, lake.Errorf(lake.Invalid, `the key ring is not JSON of the form {"active":"<base64>","verify":["<base64>",…]}`)
	}
	active, err := base64.StdEncoding.DecodeString(f.Active)
	if err != nil {
		return nil, lake.Errorf(lake.Invalid, "the active key is not standard base64")
	}
	verify := make([][]byte, len(f.Verify))
	for i, s := range f.Verify {
		if verify[i], err = base64.StdEncoding.DecodeString(s); err != nil {
			return nil, lake.Errorf(lake.Invalid, "verification key %d is not standard base64", i+1)
		}
	}
	return New(purpose, active, verify...)
}

// Open reads a key ring from a private file and reads it again when the file
// changes. While the file is missing or wrong the last good ring stays in force.
func Open(purpose, path string, log *slog.Logger) (*watchfile.Value[*Ring], error) {
	return watchfile.Watch(log, func() (*Ring, error) {
		b, err := watchfile.Read(path, true, MaxFileBytes)
		if err != nil {
			return nil, err
		}
		return Parse(purpose, b)
	}, path)
}
