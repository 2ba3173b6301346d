// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package dynamotest emulates Amazon DynamoDB on the wire, for tests: it answers
// the real client of the AWS SDK, from memory, and it is less kind than the
// service.
//
// # What it knows
//
// CreateTable, UpdateTable (of the protection from deletion), DescribeTable,
// DeleteTable, ListTables, PutItem, GetItem, DeleteItem, Query, Scan,
// TransactWriteItems without Update, and TransactGetItems. Keys are of type S,
// tables are on demand and have no indexes, values are of type S, N, B, BOOL, NULL,
// L or M. Whatever else a request asks for is refused with a ValidationException
// that says so; nothing is ignored that would change an answer.
//
// # How it is nastier
//
//   - A read that does not ask to be consistent sees the state of long ago
//     ([Options.ReplicaLag]).
//   - A transaction takes time and changes its items one by one in any order
//     ([Options.TransactionTime]); who meets its items meanwhile is rejected.
//   - A page holds a few items ([Options.PageItems]), and the last one may be empty.
//   - A partition takes what it is documented to take, with no burst of unused
//     capacity of more than a second ([Options.WriteUnits]).
//   - By plan it refuses, delays, cuts, or does what was asked and does not say so
//     ([Fault]).
//
// # Sources
//
// All of what it does is from public documents: the Amazon DynamoDB API reference
// (operations, errors, limits of parameters) and the Amazon DynamoDB developer
// guide ("Quotas", "Expressions", "Reserved words", "Managing complex workflows with
// transactions", "Working with queries", "Working with scans", "Read consistency",
// "Error handling", "Item sizes and formats"). The tests of the package name the
// facts one by one. LAKE_DYNAMODB_AWS=1 runs those that need none of the knobs
// against the service, with the credentials and the region of the environment;
// LAKE_DYNAMODB_CHECK_ENDPOINT names another endpoint instead.
//
// Where the documents leave a choice, it takes the stricter one: an empty text in a
// key condition is refused, and a transaction whose items were throttled is
// cancelled with either of the two reasons that there are for it.
package dynamotest
