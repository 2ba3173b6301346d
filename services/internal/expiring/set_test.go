// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package expiring_test

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakeplane/lake/services/internal/expiring"
)

var start = time.Unix(1_700_000_000, 0)

func after(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

func TestKeysExpire(t *testing.T) {
	s := expiring.NewSet[string](10)
	s.Add(start, "a", after(10))
	s.Add(start, "b", after(20))
	s.Add(start, "over", start)
	require.Equal(t, map[string]time.Time{"a": after(10), "b": after(20)}, maps.Collect(s.All(after(9))))
	_, ok := s.Until(after(10), "a")
	require.False(t, ok, "at its time a key is over")
	until, ok := s.Until(after(10), "b")
	require.True(t, ok)
	require.Equal(t, after(20), until)
	require.Equal(t, 1, s.Len(after(10)))

	s.Add(after(10), "b", after(15))
	require.Equal(t, 1, s.Len(after(16)), "an earlier time takes nothing away")
	s.Add(after(16), "b", after(30))
	require.Equal(t, 1, s.Len(after(29)), "a later one adds")
	require.Zero(t, s.Len(after(30)))
}

func TestAFullSetForgetsWhatExpiresFirst(t *testing.T) {
	s := expiring.NewSet[string](2)
	s.Add(start, "a", after(20))
	s.Add(start, "b", after(10))
	s.Add(start, "c", after(30))
	require.Equal(t, map[string]time.Time{"a": after(20), "c": after(30)}, maps.Collect(s.All(start)))
	s.Add(start, "d", after(5))
	require.Equal(t, map[string]time.Time{"a": after(20), "c": after(30)}, maps.Collect(s.All(start)), "that would be the new one")
	s.Add(start, "a", after(40))
	s.Add(start, "e", after(35))
	require.Equal(t, map[string]time.Time{"a": after(40), "e": after(35)}, maps.Collect(s.All(start)))
	s.Add(after(36), "f", after(37))
	require.Equal(t, map[string]time.Time{"a": after(40), "f": after(37)}, maps.Collect(s.All(after(36))), "what has expired takes no room")
}

// TestAgainstAModel holds the set against a map that is looked through.
func TestAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 6).Draw(t, "most")
		s, model, second := expiring.NewSet[int](most), map[int]time.Time{}, 0
		for step := range rapid.IntRange(0, 60).Draw(t, "steps") {
			second += rapid.IntRange(0, 2).Draw(t, "pause")
			now := after(second)
			key := rapid.IntRange(0, 9).Draw(t, "key")
			// No two times are the same, so that one key expires first.
			until := after(second + rapid.IntRange(-1, 20).Draw(t, "life")).Add(time.Duration(step))
			s.Add(now, key, until)
			if until.After(now) && until.After(model[key]) {
				model[key] = until
			}
			maps.DeleteFunc(model, func(_ int, until time.Time) bool { return !until.After(now) })
			if len(model) > most {
				delete(model, firstOf(model))
			}
			require.Equal(t, model, maps.Collect(s.All(now)))
			for key := range 10 {
				until, ok := s.Until(now, key)
				want, kept := model[key]
				require.Equal(t, kept, ok)
				require.Equal(t, want, until)
			}
		}
	})
}

// firstOf returns the key that expires first.
func firstOf(m map[int]time.Time) (first int) {
	first = -1
	for key, until := range m {
		if first < 0 || until.Before(m[first]) {
			first = key
		}
	}
	return first
}
