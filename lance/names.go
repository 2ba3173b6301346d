// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/lakeplane/lake/lance/lancepb"
)

const (
	versionsDir  = "_versions/"
	dataDir      = "data/"
	deletionsDir = "_deletions/"
	manifestExt  = ".manifest"

	// detachedBit marks versions that are not part of the history.
	detachedBit = 1 << 63
)

// ManifestName returns the name of a version's manifest in the naming scheme
// V2: the newest version comes first in byte order.
func ManifestName(version uint64) string {
	return fmt.Sprintf("%s%020d%s", versionsDir, math.MaxUint64-version, manifestExt)
}

// oldManifestName returns the name in the naming scheme V1.
func oldManifestName(version uint64) string {
	return fmt.Sprintf("%s%d%s", versionsDir, version, manifestExt)
}

// ParseManifestName returns the version a manifest name stands for, in either
// naming scheme. ok is false for anything else below _versions, such as a
// staged manifest or a detached version.
func ParseManifestName(name string) (version uint64, ok bool) {
	digits, ok := strings.CutPrefix(name, versionsDir)
	if ok {
		digits, ok = strings.CutSuffix(digits, manifestExt)
	}
	if !ok || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return 0, false
	}
	if len(digits) == 20 {
		n = math.MaxUint64 - n
	}
	return n, n > 0 && n < detachedBit
}

// newDataName returns a fresh name below data/. Leading binary digits spread
// the names over the key ranges of an object store.
func newDataName() string {
	var id [16]byte
	_, _ = rand.Read(id[:])
	return fmt.Sprintf("%08b%08b%08b%s.lance", id[0], id[1], id[2], hex.EncodeToString(id[3:]))
}

// deletionName returns the object name of a fragment's deletion file.
func deletionName(fragment uint64, d *lancepb.DeletionFile) (string, error) {
	var ext string
	switch d.GetFileType() {
	case lancepb.DeletionFile_ARROW_ARRAY:
		ext = "arrow"
	case lancepb.DeletionFile_BITMAP:
		ext = "bin"
	default:
		return "", unsupported("fragment %d: deletion file type %d", fragment, d.GetFileType())
	}
	return fmt.Sprintf("%s%d-%d-%d.%s", deletionsDir, fragment, d.GetReadVersion(), d.GetId(), ext), nil
}

// checkFileName refuses a data file name that could leave the data folder.
func checkFileName(name string) error {
	if name == "" || len(name) > 1024 || strings.ContainsAny(name, "\\\x00") {
		return corrupt("data file name %q is not allowed", name)
	}
	for s := range strings.SplitSeq(name, "/") {
		if s == "" || s == "." || s == ".." {
			return corrupt("data file name %q is not allowed", name)
		}
	}
	return nil
}
