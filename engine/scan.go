// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package engine

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake"
)

// Defaults of [ScanOptions].
const (
	DefaultBatchRows  = 65_536
	DefaultBatchBytes = 16 << 20
)

// Errors of the port; test with errors.Is.
var (
	// ErrUnavailable: a pinned version whose objects are gone, because its
	// table was dropped or its retention ended.
	ErrUnavailable error = &lake.Error{Kind: lake.Precondition, Message: "the pinned table snapshot is unavailable"}
	// ErrScanClosed: Next after Close.
	ErrScanClosed error = &lake.Error{Kind: lake.Invalid, Message: "the scan is closed"}
)

// Check validates the options against a dataset's schema and fills in the
// defaults, all columns included. It is for implementations of [Dataset].
func (o ScanOptions) Check(schema *arrow.Schema) (ScanOptions, error) {
	if o.BatchRows < 0 || o.BatchBytes < 0 || o.Parallel < 0 {
		return o, lake.Errorf(lake.Invalid, "scan options: batch rows %d, batch bytes %d, parallel %d: none may be negative", o.BatchRows, o.BatchBytes, o.Parallel)
	}
	if o.BatchRows == 0 {
		o.BatchRows = DefaultBatchRows
	}
	if o.BatchBytes == 0 {
		o.BatchBytes = DefaultBatchBytes
	}
	if o.Columns == nil {
		o.Columns = make([]int, schema.NumFields())
		for i := range o.Columns {
			o.Columns[i] = i
		}
	}
	if err := checkColumns(o.Columns, schema); err != nil || o.Glance == nil {
		return o, err
	}
	return o, checkColumns(o.Glance.Columns, schema)
}

func checkColumns(columns []int, schema *arrow.Schema) error {
	seen := make(map[int]bool, len(columns))
	for _, c := range columns {
		if c < 0 || c >= schema.NumFields() || seen[c] {
			return lake.Errorf(lake.Invalid, "scan options: column %d is repeated or not in 0..%d", c, schema.NumFields()-1)
		}
		seen[c] = true
	}
	return nil
}
