// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package dynamodb is the metastore backend on Amazon DynamoDB.
//
// # Layout
//
// A deployment has two on-demand tables. The registry, T, has the hash key pk
// and holds control records of the layout. The records themselves are in its
// companion, T_prefix_v2, with the hash key bucket and the range key pk: the
// bucket is the family of a key, its first segment, and a shard, so that a scan
// of a prefix is a query of the shards of one family, pays for nothing else, and
// no family is one hot partition. See docs/formats/dynamodb.md.
//
// # Commits
//
// A commit is one TransactWriteItems, also when it has one operation: its client
// request token is what keeps a repeated commit from applying twice, which a
// conditional put has nothing for. The SDK's own retries are off. A commit that
// met another transaction, or was throttled, is sent again with the same token
// after a random wait; one whose answer was lost too, and the token tells whether
// it applied. If the repetition finds a failed expectation instead, the first
// may still be under way, and the outcome is reported as unknown.
//
// # Reads
//
// Every read is strongly consistent. There are no watches: who waits for a
// change polls.
//
// Sources: the Amazon DynamoDB API reference and developer guide (transactions,
// limits, error handling).
package dynamodb
