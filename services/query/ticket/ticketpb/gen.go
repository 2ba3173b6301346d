// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package ticketpb is the generated Go code of ticket.proto.
package ticketpb

//go:generate protoc -I . --go_out=. --go_opt=paths=source_relative ticket.proto
