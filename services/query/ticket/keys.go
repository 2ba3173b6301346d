// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package ticket

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/lakeplane/lake/lake"
)

const (
	// MaxKeyFileBytes bounds a key ring file.
	MaxKeyFileBytes = 64 << 10
	// MaxVerificationKeys bounds the retired keys a ring still accepts.
	MaxVerificationKeys = 3

	minSecretBytes = 32
	maxSecretBytes = 4096
	keyIDBytes     = 16
)

// A keyID is derived from the secret, so replicas that share a secret agree
// on it and nobody has to name keys.
type keyID [keyIDBytes]byte

type key struct {
	id   keyID
	aead cipher.AEAD
}

// ring is one immutable set of keys: the first seals, all of them open.
type ring struct {
	active key
	byID   map[keyID]key
}

func newKey(secret []byte) (key, error) {
	if n := len(secret); n < minSecretBytes || n > maxSecretBytes {
		return key{}, lake.Errorf(lake.Invalid, "a ticket secret has %d bytes: want %d..%d", n, minSecretBytes, maxSecretBytes)
	}
	var k key
	id, err := hkdf.Key(sha256.New, secret, nil, "lake.ticket.key-id.v1", keyIDBytes)
	if err != nil {
		return key{}, err
	}
	material, err := hkdf.Key(sha256.New, secret, nil, "lake.ticket.aes-256-gcm.v1", 32)
	if err != nil {
		return key{}, err
	}
	block, err := aes.NewCipher(material)
	if err != nil {
		return key{}, err
	}
	k.id = keyID(id)
	k.aead, err = cipher.NewGCM(block)
	return k, err
}

func newRing(active []byte, verify ...[]byte) (*ring, error) {
	if len(verify) > MaxVerificationKeys {
		return nil, lake.Errorf(lake.Invalid, "the key ring has %d verification keys: at most %d are allowed", len(verify), MaxVerificationKeys)
	}
	first, err := newKey(active)
	if err != nil {
		return nil, lake.Wrap("active key", err)
	}
	r := &ring{active: first, byID: map[keyID]key{first.id: first}}
	for i, secret := range verify {
		k, err := newKey(secret)
		if err != nil {
			return nil, lake.Wrap(fmt.Sprintf("verification key %d", i+1), err)
		}
		if _, ok := r.byID[k.id]; ok {
			return nil, lake.Errorf(lake.Invalid, "verification key %d repeats another key of the ring", i+1)
		}
		r.byID[k.id] = k
	}
	return r, nil
}

// keyFile is the JSON form of a ring: standard base64 secrets.
type keyFile struct {
	Active string   `json:"active"`
	Verify []string `json:"verify,omitempty"`
}

// parseRing reads a key ring file. Its errors never contain secret material.
func parseRing(b []byte) (*ring, error) {
	if len(b) > MaxKeyFileBytes {
		return nil, lake.Errorf(lake.Invalid, "the key ring has more than %d bytes", MaxKeyFileBytes)
	}
	var f keyFile
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
	return newRing(active, verify...)
}

// Keys is a source of the current key ring. Make one with [Ephemeral],
// [Static] or [OpenFile]. It is safe for concurrent use.
type Keys interface {
	ring() *ring
}

type fixedKeys struct{ r *ring }

func (k fixedKeys) ring() *ring { return k.r }

// Ephemeral returns a random key that no other process has. Tickets made with
// it end with the process, so it suits a single local server only.
func Ephemeral() Keys {
	secret := make([]byte, minSecretBytes)
	_, _ = rand.Read(secret) // crypto/rand.Read never returns an error since Go 1.24
	r, err := newRing(secret)
	if err != nil {
		panic(err) // 32 bytes are always a valid secret
	}
	return fixedKeys{r}
}

// Static returns a ring of the given secrets: active seals and opens, the
// others only open.
func Static(active []byte, verify ...[]byte) (Keys, error) {
	r, err := newRing(active, verify...)
	if err != nil {
		return nil, err
	}
	return fixedKeys{r}, nil
}
