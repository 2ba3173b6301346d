// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/lakeplane/lake/lake"
)

// recordFormat is the version of the records' JSON. A reader refuses a newer
// one instead of dropping fields it does not know when it writes it back.
const recordFormat = 1

// header begins every record.
type header struct {
	Format int `json:"v"`
	// Nonce makes the bytes of each write unique, so that comparing bytes
	// tells whose write a record is.
	Nonce lake.ID `json:"nonce"`
}

func newHeader() header { return header{Format: recordFormat, Nonce: lake.NewID()} }

func (h header) format() int { return h.Format }

// encode returns the record's compact JSON. Records are made of strings,
// numbers and times passed through [stamp], which always encode.
func encode(record any) []byte {
	raw, err := json.Marshal(record)
	if err != nil {
		panic(fmt.Sprintf("catalog: record %T does not encode: %v", record, err))
	}
	return raw
}

// decode reads a record written by encode.
func decode(key string, raw []byte, record interface{ format() int }) error {
	if err := json.Unmarshal(raw, record); err != nil {
		return lake.Errorf(lake.Corrupt, "record %q does not decode: %w", key, err)
	}
	switch v := record.format(); {
	case v > recordFormat:
		return lake.Errorf(lake.Unsupported, "record %q has format %d, written by a newer release: this one reads up to %d", key, v, recordFormat)
	case v < 1:
		return lake.Errorf(lake.Corrupt, "record %q has no format version", key)
	}
	return nil
}

// stamp makes a time fit for a record: UTC, microseconds, and inside the years
// that RFC 3339 can spell.
func stamp(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	t = t.UTC().Truncate(time.Microsecond)
	if latest := time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC); t.After(latest) {
		return latest
	}
	if t.Before(time.Time{}) {
		return time.Time{}
	}
	return t
}
