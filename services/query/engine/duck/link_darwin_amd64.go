// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

import _ "github.com/duckdb/duckdb-go-bindings/lib/darwin-amd64" // links libduckdb
