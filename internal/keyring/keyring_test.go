// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package keyring_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/internal/keyring"
)

// TestKeysAreOfOnePurpose: what one use of a secret encrypted, another cannot
// open, and ids do not give the secret's sharing away.
func TestKeysAreOfOnePurpose(t *testing.T) {
	secret := make([]byte, keyring.MinSecretBytes)
	one, err := keyring.New("lake.one", secret)
	require.NoError(t, err)
	other, err := keyring.New("lake.other", secret)
	require.NoError(t, err)
	require.NotEqual(t, one.Active().ID, other.Active().ID)
	nonce := make([]byte, one.Active().AEAD.NonceSize())
	sealed := one.Active().AEAD.Seal(nil, nonce, []byte("text"), nil)
	_, err = other.Active().AEAD.Open(nil, nonce, sealed, nil)
	require.Error(t, err)
	again, err := keyring.New("lake.one", append([]byte{1}, secret...), secret)
	require.NoError(t, err)
	old, ok := again.Find(one.Active().ID)
	require.True(t, ok)
	text, err := old.AEAD.Open(nil, nonce, sealed, nil)
	require.NoError(t, err)
	require.Equal(t, "text", string(text))
}
