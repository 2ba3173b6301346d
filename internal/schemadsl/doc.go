// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package schemadsl reads and writes the short notation for table columns that
// the command line uses:
//
//	column  = name ":" type
//	type    = base [ "?" ]                  "?" makes the value nullable
//	base    = "bool" | "i8" | "i16" | "i32" | "i64" | "u8" | "u16" | "u32" | "u64"
//	        | "f16" | "f32" | "f64" | "utf8" | "binary" | "date"
//	        | "ts[" unit [ "," zone ] "]"   unit: s, ms, us, ns; zone: IANA name
//	        | "decimal(" precision "," scale ")"
//	        | "list<" type ">"
//	        | "fsl<" type "," size ">"      a list of a fixed size
//	        | "struct<" column { "," column } ">"
//	name    = any text without ":" , or a Go string in double quotes
//
// For example robot_id:utf8, reward:f64?, pose:fsl<f32,7>,
// contacts:list<struct<link:utf8,force:f64?>>?. Spaces around names and types
// are ignored.
package schemadsl
