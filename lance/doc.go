// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package lance reads and writes datasets in the Lance table format: manifests,
// transactions, fragments, deletion files. Data files are the business of
// package file.
//
// A dataset is a folder. Each version is one immutable manifest,
// _versions/<2⁶⁴−1−version>.manifest, which names data files below data/ and
// deletion files below _deletions/. A [Manifest] is parsed from the exact bytes
// of such an object by [ParseManifest], changed into the next version by
// [Manifest.Append] and its kin, and turned into bytes by [Manifest.Encode].
// [Open] reads the rows of a manifest.
//
// The package never decides which version is current: whoever stores the bytes
// of a manifest under a name that readers look at does. It knows nothing of
// Lake's catalog and stores through the narrow [Storage].
//
// # What is read and written
//
// Tables of data files 2.0 to 2.2 are read, with deletion files, columns that
// were added, renamed or dropped, and stable row ids. Written are data files
// 2.1 and transactions that every Lance release reads. A table that needs a
// feature this package does not know is refused by the feature flag's name.
// Fields of a manifest that are unknown are kept from version to version.
//
// The format is that of the public specification, https://lance.org/format/.
//
// # Memory
//
// Batches point into mapped files where the encoding allows. Each such buffer
// holds a reference to its file, which is unmapped when the last batch is
// released and no dataset or cache needs it any more. A string or byte slice
// taken out of an array is good only until that array is released.
package lance
