// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lake_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
)

func TestParseTableOptions(t *testing.T) {
	cases := []struct {
		name, key, value string
		want             lake.TableOptions
		err              string
	}{
		{"none", "owner", "arm-7", lake.TableOptions{}, ""},
		{"compact", lake.OptionCompact, "true", lake.TableOptions{Compact: true}, ""},
		{"not compact", lake.OptionCompact, "false", lake.TableOptions{}, ""},
		{"another value", lake.OptionCompact, "yes", lake.TableOptions{}, `schema metadata "lake.option.compact" is "yes", want true or false`},
		{"an unknown one", "lake.option.fast", "true", lake.TableOptions{}, `schema metadata "lake.option.fast": there is no such option of tables, want lake.option.compact`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := lake.ParseTableOptions([]string{"a", c.key}, []string{"b", c.value})
			if c.err != "" {
				require.EqualError(t, err, c.err)
				require.Equal(t, lake.Invalid, lake.KindOf(err))
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}
