// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package pebble

import (
	"fmt"
	"log/slog"
)

// logger hands Pebble's reports to slog. Its information lines describe
// flushes and compactions and are for debugging only.
type logger struct{ to *slog.Logger }

// Infof implements the driver's Logger.
func (l logger) Infof(format string, args ...any) {
	l.to.Debug("pebble: " + fmt.Sprintf(format, args...))
}

// Errorf implements the driver's Logger.
func (l logger) Errorf(format string, args ...any) {
	l.to.Error("pebble: " + fmt.Sprintf(format, args...))
}

// Fatalf implements the driver's Logger, which demands that it not return: the
// state in memory contradicts the disk.
func (l logger) Fatalf(format string, args ...any) {
	message := "pebble: " + fmt.Sprintf(format, args...)
	l.to.Error(message)
	panic(message)
}
