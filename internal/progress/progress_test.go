// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package progress

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLineShowsWhatIsKnown(t *testing.T) {
	require.Equal(t, "x [████████████░░░░░░░░░░░░]  50% 5 rows about 10s left", Line("x", Status{Done: 5, Total: 10, Text: "5 rows"}, 10*time.Second))
	require.Equal(t, "x [████████████████████████] 100%", Line("x", Status{Done: 12, Total: 10, Text: ""}, time.Minute))
	require.Equal(t, "x [████████████░░░░░░░░░░░░]  50% about 50s left", Line("x", Status{Done: 5, Total: 10, Before: 4}, 10*time.Second), "one in ten seconds")
	require.Equal(t, "x [████████████░░░░░░░░░░░░]  50%", Line("x", Status{Done: 5, Total: 10, Before: 5}, 10*time.Second))
	require.Equal(t, "x 5 rows", Line("x", Status{Done: 5, Total: 0, Text: "5 rows"}, time.Minute))
	require.Equal(t, "x [░░░░░░░░░░░░░░░░░░░░░░░░]   0%", Line("x", Status{Done: -1, Total: 10, Text: ""}, time.Minute))
}

func TestPlainOutputIsALineNowAndThen(t *testing.T) {
	var out bytes.Buffer
	b := New(&out, "x")
	now := b.started
	b.now = func() time.Time { return now }
	for range 24 {
		now = now.Add(500 * time.Millisecond)
		b.Update(Status{Text: "a"})
	}
	b.Finish("done")
	require.Equal(t, "x a\nx a\ndone\n", out.String())
}

func TestTerminalLineIsDrawnOver(t *testing.T) {
	var out bytes.Buffer
	b := New(&out, "x")
	b.terminal, b.width = true, 6
	b.Update(Status{Text: "too long"})
	b.Update(Status{Text: "too soon"})
	b.Clear()
	b.Clear()
	require.Equal(t, "\r\x1b[Kx too\r\x1b[K", out.String())
}

func TestNumbers(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567", math.MinInt64: "-9,223,372,036,854,775,808"} {
		require.Equal(t, want, Count(n))
	}
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 999_949: "999.9 kB", 999_999: "1.0 MB", 1234567: "1.2 MB", math.MaxInt64: "9.2 EB"} {
		require.Equal(t, want, Bytes(n))
	}
}
