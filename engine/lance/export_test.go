// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"github.com/lakeplane/lake/lake"
	format "github.com/lakeplane/lake/lance"
)

// Folder is the storage an engine hands to the format.
func Folder(e *Engine, loc lake.Location) format.Storage { return e.folder(loc) }

// Settle waits for the deletes of superseded manifests.
func Settle(e *Engine) { e.discarding.Wait() }
