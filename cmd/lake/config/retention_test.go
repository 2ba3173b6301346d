// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/cmd/lake/config"
	"github.com/lakeplane/lake/lake"
)

// TestObjectsAreKeptAsLongAsSomethingRefersToThem: who would have objects deleted
// sooner than the longest ticket, or the longest write, may refer to them is refused at
// the start, by whichever way it was configured, with what was asked for and the least
// that is allowed. (Report 33: a clean-up deletes files that logs still refer to.)
func TestObjectsAreKeptAsLongAsSomethingRefersToThem(t *testing.T) {
	for _, c := range []struct {
		setting, flag, variable, seconds string
		asked, least, enough             string
	}{
		{"table_retain_for", "--table-retain-for", "LAKE_TABLE_RETAIN_SECS", "3600", "1h", "1h5m", "1h5m"},
		{"table_orphan_age", "--table-orphan-age", "LAKE_TABLE_ORPHAN_SECS", "1800", "30m", "1h", "1h"},
	} {
		for _, process := range []string{"worker", "meta"} { // one deletes, the other tells what would be
			complete := map[string][]string{"worker": {"--objects", "file:///x", "--metastore", "postgres://u@db/lake"}, "meta": whole(t)}[process]
			for source, attempt := range map[string]func(config.Process) error{
				"flag": func(p config.Process) error { return load(t, p, "", nil, append(complete, c.flag, c.asked)...) },
				"environment": func(p config.Process) error {
					return load(t, p, "", []string{c.variable + "=" + c.seconds}, complete...)
				},
				"file": func(p config.Process) error { return load(t, p, c.setting+": "+c.asked+"\n", nil, complete...) },
			} {
				p, err := config.Named(process)
				require.NoError(t, err)
				err = attempt(p)
				require.Equal(t, lake.Invalid, lake.KindOf(err), "%s of %s by %s", c.setting, process, source)
				asked := c.asked
				if source == "environment" {
					asked = c.seconds
				}
				require.ErrorContains(t, err, `"`+asked+`"`, source)
				require.ErrorContains(t, err, c.least+" ", source)
			}
			p, err := config.Named(process)
			require.NoError(t, err)
			require.NoError(t, load(t, p, "", nil, append(complete, c.flag, c.enough)...))
		}
	}
}
