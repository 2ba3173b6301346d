// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package s3 keeps objects in an S3 bucket, or in one of a service that speaks
// its protocol. The object "a/b" is the key <prefix>a/b of the bucket, so other
// tools can read a table in place.
//
// # Put if absent
//
// A put carries If-None-Match: *, and the service decides races (Amazon S3 User
// Guide, "Conditional writes"). Some services accept the header and ignore it:
// call objstore.Probe before the first write. An attempt whose answer is lost
// is repeated, and may then be refused because it had succeeded; so after an
// unclear attempt a refusal is settled by comparing what is there with what was
// meant.
//
// # Requests
//
// The retries of the SDK are off: they cannot tell a repeated put that met its
// own object from one that lost a race. A request that fails for the moment is
// repeated here, with full jitter, until its time is over. How many requests
// are under way is bounded, and the bound follows what the service bears: it is
// halved when the service asks to slow down, and grows again with success.
//
// # Reading
//
// Opening an object is one request for its last bytes, which also tells its
// size: a manifest is read with it, and so is the footer of a data file. Reads
// are one range request each, and share it with those they touch within one
// call only; put a cache of blocks before the store (package blockcache) where
// objects are read again.
//
// # Versioned buckets
//
// In a bucket with versioning a plain delete only hides an object, whose bytes
// stay. There, every version of the key is deleted, by its id.
package s3
