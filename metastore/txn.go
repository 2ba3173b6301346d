// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metastore

import "bytes"

// Txn is a set of operations on distinct keys, applied together.
type Txn struct {
	// Ops are at most [MaxOps] operations. No two name the same key.
	Ops []Op
	// Token makes retries idempotent: the same token with the same operations
	// applies at most once within [TokenWindow]; with other operations it is
	// refused with [ErrInvalid]. Empty means that the store makes one, and
	// then a retry by the caller is a new transaction.
	Token string
}

// Op says what one key must hold and what it holds afterwards. There is no
// blind write. Make one with [Create], [Update], [Remove], [Guard] or
// [GuardAbsent].
type Op struct {
	Key string
	// Expect is the exact value that must be there, or nil when the key must
	// be absent. An empty value is not nil.
	Expect []byte
	// Effect says what happens when every expectation of the transaction holds.
	Effect Effect
	// Value is the new value of a [Put], otherwise nil.
	Value []byte
}

// Effect is what an operation leaves under its key.
type Effect uint8

// The effects.
const (
	// Keep leaves the key as it is: the operation is a guard.
	Keep Effect = iota
	// Put replaces or creates the value.
	Put
	// Delete removes the key. It needs an exact expectation.
	Delete
)

// Create expects key to be absent and puts value there.
func Create(key string, value []byte) Op {
	return Op{Key: key, Effect: Put, Value: present(value)}
}

// Update expects key to hold exactly old and puts value there.
func Update(key string, old, value []byte) Op {
	return Op{Key: key, Expect: present(old), Effect: Put, Value: present(value)}
}

// Remove expects key to hold exactly old and deletes it.
func Remove(key string, old []byte) Op {
	return Op{Key: key, Expect: present(old), Effect: Delete}
}

// Guard expects key to hold exactly old and leaves it.
func Guard(key string, old []byte) Op {
	return Op{Key: key, Expect: present(old), Effect: Keep}
}

// GuardAbsent expects key to be absent and leaves it so.
func GuardAbsent(key string) Op { return Op{Key: key, Effect: Keep} }

// present turns a nil value into an empty one, so that nil always means
// "absent".
func present(v []byte) []byte {
	if v == nil {
		return []byte{}
	}
	return v
}

// Holds reports whether the operation's expectation is met by the current
// value of its key, nil meaning absent.
func (op Op) Holds(current []byte) bool {
	if op.Expect == nil || current == nil {
		return op.Expect == nil && current == nil
	}
	return bytes.Equal(op.Expect, current)
}
