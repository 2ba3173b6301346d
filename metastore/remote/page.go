// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package remote

import (
	"strings"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

// page checks a page of the server's: within its limit, every key good, under
// the prefix and above the one before, and a cursor that moves.
func page(req *lakepb.MetastoreScanRequest, resp *lakepb.MetastoreScanResponse) (metastore.Page, error) {
	next, limit := resp.GetNext(), int(req.GetLimit())
	switch {
	case len(resp.GetRecords()) > limit:
		return metastore.Page{}, badPage(req, "%d records, at most %d", len(resp.GetRecords()), limit)
	case len(next) > maxCursorBytes:
		return metastore.Page{}, badPage(req, "a cursor of %d bytes", len(next))
	case next != "" && next == req.GetCursor():
		return metastore.Page{}, badPage(req, "a cursor that does not move")
	}
	result := metastore.Page{Records: make([]metastore.Record, 0, len(resp.GetRecords())), Next: next}
	before := ""
	for _, m := range resp.GetRecords() {
		key := m.GetKey()
		if !strings.HasPrefix(key, req.GetPrefix()) || key <= before {
			return metastore.Page{}, badPage(req, "key %.100q outside of the prefix or of the order", key)
		}
		if err := metastore.CheckKey(key); err != nil {
			return metastore.Page{}, badPage(req, "a bad key: %v", err)
		}
		rec, err := record(m)
		if err != nil {
			return metastore.Page{}, err
		}
		result.Records, before = append(result.Records, rec), key
	}
	return result, nil
}

func badPage(req *lakepb.MetastoreScanRequest, format string, args ...any) error {
	return lake.Wrap("the server's page of prefix "+req.GetPrefix(), lake.Errorf(lake.Corrupt, format, args...))
}
