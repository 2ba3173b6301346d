// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package lake names the nouns of Lake: tables, incarnations, versions,
// append operations, errors and limits. Every other package speaks in these
// types. It imports only the standard library, so anything may import it.
package lake
