// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package rpc builds the gRPC servers of Lake's services, so that all of them
// authenticate, limit, measure, log and translate errors alike.
//
// A call passes, from outside in: measure and log, translate errors
// (internal/grpcerr), recover panics, authenticate, then the handler.
package rpc
