// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package ingest opens Parquet, Arrow IPC and CSV files as streams of record
// batches that a table can take: in bounded memory, with supported types and
// usable names, and with one clear error for what cannot be read.
//
// # Formats
//
// The format is recognised by the file's first bytes; only a text file is told
// by its name (.csv, .tsv, .txt, also with .gz).
//
// # Types
//
// A file's types are kept, except:
//
//	dictionary<T>                     T
//	float16                           float32
//	large_utf8, string_view           utf8
//	large_binary, binary_view,
//	fixed_size_binary                 binary
//	date64                            date32 (whole days)
//	decimal32, 64, 256                decimal128, up to 38 digits
//	null                              utf8, all null
//	large_list                        list
//	fixed_size_list of non-numbers    list
//	extension types                   their storage type
//	JSON and ENUM of Parquet          utf8
//	INT96 of Parquet                  timestamp[us] without a zone; what is
//	                                  below a microsecond is dropped
//	timestamp with a zone like +02:00 timestamp with zone UTC (same instants)
//
// Maps, unions, durations, intervals and other types are refused by the name of
// the column; [Options.Columns] reads the others. Field and schema metadata are
// dropped.
//
// # Names
//
// SQL finds columns without regard to case and Lake has no '.' in names, so
// names are changed where needed: an empty one becomes "column<position>", '.'
// becomes '_', and one that repeats an earlier one gets "_1", "_2", …
// [Source.Notes] lists what was changed.
//
// # CSV
//
// The first record is the header, unless [Options.NoHeader]. The delimiter is
// the one of , ; tab | that splits the first records most evenly. Lines end with
// \n or \r\n, or with \r where no line ends with \n. Fields may be quoted with ",
// doubled inside, and are kept to the byte. An empty field is null; a quoted one
// ("") is an empty text in columns of text. An empty line is passed over, except
// in a file of one column, where it is a null. A column's type is the
// narrowest that holds every value of the whole file: bool (true, false), i64,
// f64 (both not with zeros in front, nor as a whole number with a plus: these are
// codes), date (2006-01-02), ts[us] (date and time, with an optional fraction),
// ts[us,UTC] (when every value has an offset), else utf8; a column without
// values is utf8. The text must be UTF-8.
package ingest
