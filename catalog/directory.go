// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package catalog

// directoryBuilder lets one directory be built at a time.
type directoryBuilder struct{ turn chan struct{} }
