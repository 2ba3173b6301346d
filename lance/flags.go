// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"fmt"
	"math/bits"
	"strings"
)

// Feature flags of a manifest. A reader must know all reader flags of a table
// it reads, a writer all writer flags of one it changes.
const (
	FlagDeletionFiles     = 1 << 0
	FlagStableRowIDs      = 1 << 1
	flagV2Format          = 1 << 2 // no longer used
	FlagTableConfig       = 1 << 3
	FlagBasePaths         = 1 << 4
	FlagNoTransactionFile = 1 << 5
	flagOverlays          = 1 << 6
	FlagCoveredIndex      = 1 << 7
	FlagMixedFileVersions = 1 << 8
	flagReuseStableIDs    = 1 << 9
	flagReuseTransitions  = 1 << 10
	flagManagedBlobs      = 1 << 11
)

// readable are the flags under which rows read right here. Base paths are
// looked at file by file; index features do not touch rows.
const readable = FlagDeletionFiles | FlagStableRowIDs | flagV2Format | FlagTableConfig | FlagBasePaths |
	FlagNoTransactionFile | FlagCoveredIndex | FlagMixedFileVersions

// writable are the flags under which a new version can be derived. Stable row
// ids need sequences and indexes need remapping that this package does not do.
const writable = FlagDeletionFiles | flagV2Format | FlagTableConfig | FlagNoTransactionFile

var flagNames = map[uint64]string{
	FlagDeletionFiles: "deletion files", FlagStableRowIDs: "stable row ids", FlagTableConfig: "table config",
	FlagBasePaths: "base paths", FlagNoTransactionFile: "no transaction file", flagOverlays: "data overlays",
	FlagCoveredIndex: "covered index metadata", FlagMixedFileVersions: "mixed data file versions",
	flagReuseStableIDs: "fragment reuse with stable row ids", flagReuseTransitions: "fragment reuse transitions",
	flagManagedBlobs: "managed blobs",
}

// checkFlags refuses flags outside known and names them.
func checkFlags(what string, flags, known uint64) error {
	var names []string
	for rest := flags &^ known; rest != 0; rest &= rest - 1 {
		flag := uint64(1) << bits.TrailingZeros64(rest)
		name, ok := flagNames[flag]
		if !ok {
			name = "unknown"
		}
		names = append(names, fmt.Sprintf("%d (%s)", flag, name))
	}
	if names == nil {
		return nil
	}
	return unsupported("the table's %s feature flags hold %s, which this release does not know", what, strings.Join(names, ", "))
}
