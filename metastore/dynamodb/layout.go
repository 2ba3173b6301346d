// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package dynamodb

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Attributes of the tables. Two of the names are reserved words of the
// expression language, so expressions name all of them by [placeholders].
const (
	attrBucket = "bucket"
	attrKey    = "pk"
	attrValue  = "val"
)

// companionOf names the table that holds the records of a registry.
func companionOf(registry string) string { return registry + "_prefix_v2" }

// rootFamily holds the keys of one segment.
const rootFamily = "root"

// familyOf returns the family of a key, or of the keys that begin with a prefix.
// ok is false for a prefix that does not say: one without a '/'.
func familyOf(text string) (family string, ok bool) {
	first, _, ok := strings.Cut(text, "/")
	return first, ok
}

// shardsOf is how many buckets a family has. The numbers are part of the layout.
func shardsOf(family string) int {
	switch family {
	case "append-operation", "append-active":
		return 64
	case "lance-manifest", "lance-manifest-latest", "lance-manifest-cleanup":
		return 32
	}
	return 8
}

// shardOf is the shard of a key in its family.
func shardOf(family, key string) int {
	return int(sha256.Sum256([]byte(key))[0]) % shardsOf(family)
}

func bucketName(family string, shard int) string { return fmt.Sprintf("%s#%02x", family, shard) }

// bucketOf is the bucket of a key.
func bucketOf(key string) string {
	family, ok := familyOf(key)
	if !ok {
		family = rootFamily
	}
	return bucketName(family, shardOf(family, key))
}

// attributes is an item, or the key of one.
type attributes = map[string]types.AttributeValue

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// binary is never NULL: an empty value is not an absent one.
func binary(b []byte) types.AttributeValue {
	return &types.AttributeValueMemberB{Value: present(b)}
}

func present(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// primary is the primary key of a record.
func primary(key string) attributes {
	return attributes{attrBucket: text(bucketOf(key)), attrKey: text(key)}
}

// keyOf reads the key of an item, or of the key of one. ok is false when there is
// none that a metastore wrote.
func keyOf(item attributes) (key string, ok bool) {
	k, ok := item[attrKey].(*types.AttributeValueMemberS)
	if !ok {
		return "", false
	}
	return k.Value, true
}

// valueOf reads the value of an item, likewise.
func valueOf(item attributes) (value []byte, ok bool) {
	v, ok := item[attrValue].(*types.AttributeValueMemberB)
	if !ok {
		return nil, false
	}
	return present(v.Value), true
}
