// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package file reads and writes Lance data files, version 2.x.
//
// A data file holds the columns of some fields for a run of rows. It knows
// nothing of datasets: which file belongs to which version, which rows are
// deleted and which fields were renamed is the business of the manifest.
//
// [NewWriter] writes version 2.1 in plain encodings: raw buffers for
// fixed-width values without nulls, mini-blocks for everything small, full-zip
// for large values. [Open] reads what Lake writes and what other
// implementations write by default in versions 2.0, 2.1 and 2.2.
//
// # Fields and columns
//
// Since 2.1 only leaves of the schema have a column; in 2.0 every list and
// struct has one too. [Options] takes the field list and the column numbers of
// the manifest, which may name fields the file does not have and lack fields it
// does have. A projection names field ids; an id stands for everything below
// it that the file has. Batches have the root fields of the projection, in
// schema order.
//
// # Memory
//
// A [Source] that is also a [Mapped] is not copied where the format allows:
// arrays then point into the mapping and must not outlive it. All other memory
// comes from the caller's allocator and is freed by releasing the batch.
//
// A [Pool] spares scans the cost of fresh memory. [Reader.Scan] is a sequence,
// [Reader.NewCursor] the same as calls.
//
// From a source that is not mapped, what a batch needs of a page is read ahead in
// joined requests; a scan reads the rest of the page at once.
//
// [WriterOptions.Compact] makes files about as small as those of other writers,
// and slower to read.
//
// # Other readers
//
// Stock LanceDB 0.31.0 reads what Lake writes. That takes care: it goes wrong on
// some pages the format allows, which docs/formats/lance.md lists. One shape is
// left that it does not read: a row with more than about 50,000 null or empty
// lists between two values, below a struct that may be null.
//
// # Not read
//
// Blob and sparse layouts, packed structs, Arrow dictionaries, fixed size lists
// of anything but numbers and versions 0.1 and 2.3 give errors of kind
// [lake.Unsupported]. Maps are read, and not written.
//
// # Damage
//
// Files are not trusted. Every offset, length and count is checked against the
// buffer it applies to before use; allocations are bounded by the size of the
// file and its number of rows. A file that contradicts itself gives an error of
// kind [lake.Corrupt] that wraps [ErrCorrupt], an encoding that is not
// implemented one of kind [lake.Unsupported] that wraps [ErrUnsupported] and
// names the encoding.
package file
