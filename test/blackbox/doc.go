// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package blackbox drives a real `lake dev` with stock clients that know
// nothing of Lake. It is a module of its own because the ADBC driver needs
// other versions of Arrow and gRPC than Lake does.
package blackbox
