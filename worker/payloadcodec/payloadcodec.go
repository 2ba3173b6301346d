// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package payloadcodec encrypts what procedures give to Temporal: inputs,
// results, failures' texts, summaries and details. Lake puts nothing secret
// there; with this, whoever reads Temporal's database does not learn how far a
// drop is, either. Workflow ids and search attributes, which hold names of
// tables, stay readable: Temporal must find them.
//
// An encrypted payload has the encoding [Encoding], the id of its key, and as
// data a nonce of 12 bytes and the AES-256-GCM ciphertext of the payload's
// protobuf. Payloads without that encoding pass through, so that the codec can be
// turned on while procedures run.
package payloadcodec

import (
	"crypto/rand"
	"encoding/hex"
	"log/slog"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"

	"github.com/lakeplane/lake/internal/keyring"
	"github.com/lakeplane/lake/internal/watchfile"
	"github.com/lakeplane/lake/lake"
)

const (
	// Encoding marks an encrypted payload.
	Encoding = "binary/encrypted"
	// purpose separates the keys from those of other uses of a secret.
	purpose = "lake.temporal.payload"
	// keyIDField holds the id of the key, in hexadecimal digits.
	keyIDField = "lake-key-id"
)

// authenticated is what the ciphertext is bound to beside the key.
var authenticated = []byte("lake.temporal.payload.v1")

// Codec encrypts and decrypts payloads. It is safe for concurrent use.
type Codec struct {
	keys *watchfile.Value[*keyring.Ring]
}

var _ converter.PayloadCodec = (*Codec)(nil)

// Open reads the key ring of a codec (package keyring) from a private file. The
// file is read again when it changes. To rotate, first add the new secret to
// "verify" in every process, then make it "active", and keep the old one in
// "verify" for as long as Temporal keeps histories.
func Open(path string, log *slog.Logger) (*Codec, error) {
	keys, err := keyring.Open(purpose, path, log)
	if err != nil {
		return nil, lake.Wrap("payload keys "+path, err)
	}
	return &Codec{keys}, nil
}

// Converter is the data converter of a Temporal client that uses the codec.
func (c *Codec) Converter() converter.DataConverter {
	return converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), c)
}

// Encode implements [converter.PayloadCodec].
func (c *Codec) Encode(payloads []*common.Payload) ([]*common.Payload, error) {
	key := c.keys.Get().Active()
	out := make([]*common.Payload, len(payloads))
	for i, p := range payloads {
		plain, err := proto.Marshal(p)
		if err != nil {
			return nil, err
		}
		nonce := make([]byte, key.AEAD.NonceSize())
		_, _ = rand.Read(nonce) // never fails; random nonces are safe for 2^32 payloads a key
		out[i] = &common.Payload{
			Metadata: map[string][]byte{converter.MetadataEncoding: []byte(Encoding), keyIDField: []byte(hex.EncodeToString(key.ID[:]))},
			Data:     key.AEAD.Seal(nonce, nonce, plain, authenticated),
		}
	}
	return out, nil
}

// Decode implements [converter.PayloadCodec]. A payload under a key that the
// ring does not have is lake.Precondition, and a forged or damaged one
// lake.Corrupt.
func (c *Codec) Decode(payloads []*common.Payload) ([]*common.Payload, error) {
	ring := c.keys.Get()
	out := make([]*common.Payload, len(payloads))
	for i, p := range payloads {
		if string(p.GetMetadata()[converter.MetadataEncoding]) != Encoding {
			out[i] = p
			continue
		}
		plain, err := open(ring, p)
		if err != nil {
			return nil, err
		}
		out[i] = plain
	}
	return out, nil
}

func open(ring *keyring.Ring, p *common.Payload) (*common.Payload, error) {
	name := string(p.GetMetadata()[keyIDField])
	raw, err := hex.DecodeString(name)
	if err != nil || len(raw) != keyring.IDBytes {
		return nil, lake.Errorf(lake.Corrupt, "an encrypted payload names no key")
	}
	key, ok := ring.Find(keyring.ID(raw))
	if !ok {
		return nil, lake.Errorf(lake.Precondition, "a payload is encrypted under key %s, which the ring does not have: keep retired secrets in \"verify\"", name)
	}
	n := key.AEAD.NonceSize()
	if len(p.GetData()) < n {
		return nil, lake.Errorf(lake.Corrupt, "an encrypted payload is too short")
	}
	text, err := key.AEAD.Open(nil, p.GetData()[:n], p.GetData()[n:], authenticated)
	if err != nil {
		return nil, lake.Errorf(lake.Corrupt, "an encrypted payload does not open: it was damaged or forged")
	}
	out := new(common.Payload)
	if err := proto.Unmarshal(text, out); err != nil {
		return nil, lake.Errorf(lake.Corrupt, "an encrypted payload holds no payload")
	}
	return out, nil
}
