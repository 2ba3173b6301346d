// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package lakepb is the generated Go code of api/lake/v1.
package lakepb

//go:generate protoc -I ../lake/v1 --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative cancellations.proto lake.proto metastore.proto
