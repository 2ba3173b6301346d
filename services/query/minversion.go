// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"
	"strconv"
	"strings"

	"google.golang.org/grpc/metadata"

	"github.com/lakeplane/lake/lake"
)

// MinVersionHeader is the request header by which a client asks for at least
// the version that one of its appends got, whichever replica answers:
// "namespace.table=7", repeated or separated by commas.
const MinVersionHeader = "x-lake-min-version"

// maxMinVersions bounds the header's entries.
const maxMinVersions = 64

func minVersions(ctx context.Context) (map[lake.TableName]lake.Version, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	var out map[lake.TableName]lake.Version
	for _, value := range md.Get(MinVersionHeader) {
		for item := range strings.SplitSeq(value, ",") {
			name, version, err := parseMinVersion(strings.TrimSpace(item))
			if err != nil {
				return nil, err
			}
			if out == nil {
				out = map[lake.TableName]lake.Version{}
			}
			out[name] = max(out[name], version)
			if len(out) > maxMinVersions {
				return nil, lake.Errorf(lake.Invalid, "header %s: at most %d tables are allowed", MinVersionHeader, maxMinVersions)
			}
		}
	}
	return out, nil
}

func parseMinVersion(item string) (lake.TableName, lake.Version, error) {
	left, right, ok := strings.Cut(item, "=")
	name, err := lake.ParseTableName(left)
	n, numErr := strconv.ParseUint(right, 10, 64)
	if !ok || err != nil || numErr != nil {
		return name, 0, lake.Errorf(lake.Invalid, "header %s: %.200q: want namespace.table=version", MinVersionHeader, item)
	}
	return name, lake.Version(n), nil
}
