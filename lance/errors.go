// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"errors"

	"github.com/lakeplane/lake/lake"
)

// ErrMissing is wrapped by errors about a version whose manifest names an
// object that is not there.
var ErrMissing = errors.New("an object of the version is missing")

func corrupt(format string, args ...any) error {
	return lake.Errorf(lake.Corrupt, format, args...)
}

func unsupported(format string, args ...any) error {
	return lake.Errorf(lake.Unsupported, format, args...)
}

func invalid(format string, args ...any) error {
	return lake.Errorf(lake.Invalid, format, args...)
}

// missing turns NotFound of an object the manifest names into Precondition.
func missing(name string, err error) error {
	if lake.Is(err, lake.NotFound) {
		return lake.Errorf(lake.Precondition, "object %q: %w", name, errors.Join(ErrMissing, err))
	}
	return lake.Wrap("object "+name, err)
}
