// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package process puts Lake's processes together from their configuration: the
// authority (lake meta), a replica (lake query) and a worker (lake worker).
// Package devserver runs the same three in one process.
//
// A tier is made by NewMeta, NewQuery or NewWorker from what it needs, and run
// by its Serve or Run; RunMeta, RunQuery and RunWorker are whole processes:
// they open the stores, listen, work until their context ends, and stop within
// the grace period.
package process
