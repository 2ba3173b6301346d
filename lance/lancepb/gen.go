// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package lancepb holds the protobuf messages of the Lance table format:
// schema, manifest and transactions. Its sub-packages hold the messages of the
// data file container and of the page encodings.
//
// The .proto files are Lake's own description of the format: names, field
// numbers and types are those of the public specification, and only what Lake
// needs is listed. Regenerate with protoc 3.21 and protoc-gen-go 1.36.12.
package lancepb

//go:generate sh -c "cd ../.. && protoc -I . --go_out=. --go_opt=module=github.com/lakeplane/lake lance/lancepb/*.proto lance/lancepb/containerpb/*.proto lance/lancepb/enc20pb/*.proto lance/lancepb/enc21pb/*.proto"
