// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lake_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
)

func TestTableNameRules(t *testing.T) {
	for _, good := range []string{"robots.episodes", "a.b", "A-1._x", "ns.with.more.dots", strings.Repeat("n", 128) + "." + strings.Repeat("t", 128)} {
		name, err := lake.ParseTableName(good)
		require.NoError(t, err, good)
		require.Equal(t, good, name.String())
	}
	for bad, says := range map[string]string{
		"episodes":                           "want namespace.name",
		".episodes":                          "namespace is empty",
		"robots.":                            "table name is empty",
		"robots...":                          `table name ".." is reserved`,
		"a/b.c":                              `character '/' at byte 1`,
		"robots.epi sodes":                   `character ' ' at byte 3`,
		"robots.épisodes":                    `character 'é' at byte 0`,
		"rоbots.episodes":                    `character 'о' at byte 1`, // a Cyrillic о
		"robots.x\x00":                       `'\x00' at byte 1`,
		"robots.x\xff":                       `'�' at byte 1`,
		"robots." + strings.Repeat("t", 129): "has 129 bytes: at most 128",
	} {
		_, err := lake.ParseTableName(bad)
		require.Equal(t, lake.Invalid, lake.KindOf(err), "%q", bad)
		require.ErrorContains(t, err, says)
		require.Less(t, len(err.Error()), 400, "an error stays short whatever the input")
	}
}

func TestIDsSortInTheOrderTheyWereMade(t *testing.T) {
	last := ""
	for i := range 50_000 { // faster than the 12-bit counter lets one millisecond be
		id := lake.NewID().String()
		require.Greater(t, id, last, "id %d", i)
		last = id
	}
}

func TestIDTextRoundTrip(t *testing.T) {
	now := time.UnixMilli(1_900_000_000_123)
	id := lake.NewIDAt(now)
	require.Equal(t, now, id.Time())
	got, err := lake.ParseID(id.String())
	require.NoError(t, err)
	require.Equal(t, id, got)

	for _, bad := range []string{
		"", "x", strings.ToUpper(id.String()), strings.ReplaceAll(id.String(), "-", ""),
		"00000000-0000-4000-8000-000000000000", // version 4
		"00000000-0000-7000-0000-000000000000", // variant
		"0000000g-0000-7000-8000-000000000000", id.String() + "0",
	} {
		_, err := lake.ParseID(bad)
		require.Equal(t, lake.Invalid, lake.KindOf(err), "%q", bad)
	}
}

func TestDigestText(t *testing.T) {
	want := lake.Digest{0: 1, 31: 0xff}
	got, err := lake.ParseDigest(want.String())
	require.NoError(t, err)
	require.Equal(t, want, got)
	for _, bad := range []string{"", "00", strings.Repeat("g", 64), strings.Repeat("0", 65), strings.Repeat("0", 66)} {
		_, err := lake.ParseDigest(bad)
		require.Equal(t, lake.Invalid, lake.KindOf(err), "%q", bad)
	}
}

func TestErrorKeepsKindTextAndCause(t *testing.T) {
	cause := fmt.Errorf("open manifest: %w", fs.ErrNotExist)
	err := lake.Wrap("append robots.episodes", lake.Errorf(lake.Precondition, "snapshot gone: %w", cause))
	require.Equal(t, "append robots.episodes: snapshot gone: open manifest: file does not exist", err.Error())
	require.Equal(t, lake.Precondition, lake.KindOf(err))
	require.ErrorIs(t, err, fs.ErrNotExist)

	both := lake.Errorf(lake.Conflict, "%w, %w", fs.ErrExist, cause)
	require.Equal(t, "file already exists, open manifest: file does not exist", both.Error())
	require.ErrorIs(t, both, fs.ErrExist)
	require.ErrorIs(t, both, fs.ErrNotExist, "every cause is reachable")
	require.NoError(t, errors.Unwrap(lake.Errorf(lake.Invalid, "no cause")))

	require.NoError(t, lake.Wrap("x", nil))
	require.Equal(t, lake.Unavailable, lake.KindOf(fmt.Errorf("dial: %w", context.DeadlineExceeded)))
	require.Equal(t, lake.Unknown, lake.KindOf(errors.New("anything")))
	require.False(t, lake.Is(nil, lake.Unknown))
}

func TestPlaceKeepsNeighboursApart(t *testing.T) {
	a := lake.Place(lake.TableName{Namespace: "n", Name: "t"}, lake.NewID())
	require.True(t, strings.HasPrefix(string(a), "n/t/"))
	require.True(t, strings.HasSuffix(a.Prefix(), ".lance/"), "a prefix ends at a folder boundary")
}
