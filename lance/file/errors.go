// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"errors"
	"fmt"

	"github.com/lakeplane/lake/lake"
)

var (
	// ErrCorrupt is wrapped by every error about bytes that contradict the
	// format or each other.
	ErrCorrupt = errors.New("corrupt lance file")
	// ErrUnsupported is wrapped by every error about a version, type or
	// encoding that this package does not read.
	ErrUnsupported = errors.New("not supported in lance files")
)

func corrupt(format string, args ...any) error {
	return lake.Errorf(lake.Corrupt, "%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
}

func unsupported(format string, args ...any) error {
	return lake.Errorf(lake.Unsupported, "%w: %s", ErrUnsupported, fmt.Sprintf(format, args...))
}

func invalid(format string, args ...any) error {
	return lake.Errorf(lake.Invalid, format, args...)
}

// inColumn adds the column path to an error and keeps its kind.
func inColumn(path string, err error) error {
	return lake.Wrap("column "+path, err)
}
