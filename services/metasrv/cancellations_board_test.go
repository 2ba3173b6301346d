// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"encoding/binary"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func numbered(n int) (q queryID) {
	binary.BigEndian.PutUint64(q[8:], uint64(n))
	return q
}

func emptyBoard(t *testing.T) *board {
	b, err := newBoard(nil)
	require.NoError(t, err)
	return b
}

// onBoard is what a watcher that comes now is told first.
func onBoard(b *board, now time.Time) []cancellation {
	all, _, leave := b.watch(now)
	leave()
	return all
}

func TestABoardKeepsAQueryUntilItsTicketIsOver(t *testing.T) {
	b, now := emptyBoard(t), time.Now()
	_, w, leave := b.watch(now)
	defer leave()
	first := cancellation{numbered(1), now.Add(time.Minute)}
	b.add(now, []cancellation{first})
	require.Equal(t, []cancellation{first}, <-w.news)
	require.Equal(t, []cancellation{first}, onBoard(b, now.Add(59*time.Second)))
	require.Empty(t, onBoard(b, now.Add(time.Minute)))
}

func TestABoardTellsOnlyNews(t *testing.T) {
	b, now := emptyBoard(t), time.Now()
	_, w, leave := b.watch(now)
	defer leave()
	a := cancellation{numbered(1), now.Add(time.Minute)}
	b.add(now, []cancellation{a})
	require.Equal(t, []cancellation{a}, <-w.news)
	for range maxUntold + 1 { // more than a watcher may fall behind
		b.add(now, []cancellation{{a.query, a.until.Add(longerBy)}})
	}
	require.Equal(t, []cancellation{a}, onBoard(b, now))
	longer, other := cancellation{a.query, a.until.Add(longerBy + 1)}, cancellation{numbered(2), a.until}
	b.add(now, []cancellation{a, longer, other})
	require.Equal(t, []cancellation{longer, other}, <-w.news, "a renewed ticket lives longer")
	require.ElementsMatch(t, []cancellation{longer, other}, onBoard(b, now))
	require.Empty(t, w.news)
}

func TestABoardIsBounded(t *testing.T) {
	b, now := emptyBoard(t), time.Now()
	for n := range maxCancelled {
		b.add(now, []cancellation{{numbered(n), now.Add(time.Hour + time.Duration(n))}})
	}
	_, w, leave := b.watch(now)
	defer leave()
	last := cancellation{numbered(maxCancelled), now.Add(2 * time.Hour)}
	b.add(now, []cancellation{last})
	all := onBoard(b, now)
	require.Len(t, all, maxCancelled)
	require.Contains(t, all, last)
	require.NotContains(t, all, cancellation{numbered(0), now.Add(time.Hour)}, "what expires first makes room")
	short := cancellation{numbered(-1), now.Add(time.Minute)}
	b.add(now, []cancellation{short})
	require.NotContains(t, onBoard(b, now), short)
	require.Equal(t, []cancellation{last}, <-w.news)
	require.Equal(t, []cancellation{short}, <-w.news, "whoever watches is told all the same")
}

func TestASlowWatcherIsDroppedAndBeginsAnew(t *testing.T) {
	b, now := emptyBoard(t), time.Now()
	_, slow, leaveSlow := b.watch(now)
	defer leaveSlow()
	_, quick, leave := b.watch(now)
	defer leave()
	for n := range maxUntold + 1 {
		b.add(now, []cancellation{{numbered(n), now.Add(time.Hour)}})
		require.Equal(t, numbered(n), (<-quick.news)[0].query)
	}
	told := 0
	for news := range slow.news {
		told += len(news)
	}
	require.Equal(t, maxUntold, told, "what it was told before, and then the end")
	require.Len(t, b.watchers, 1)
	require.Len(t, onBoard(b, now), maxUntold+1)
}

// TestNoWatcherMissesWhatComesWhileItBegins: each query is on the board that a
// watcher is shown, or in its news.
func TestNoWatcherMissesWhatComesWhileItBegins(t *testing.T) {
	b, now := emptyBoard(t), time.Now()
	const writers, each = 4, 50
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			for n := range each {
				b.add(now, []cancellation{{numbered(i*each + n), now.Add(time.Hour)}})
			}
		})
	}
	for range 8 {
		wg.Go(func() {
			all, w, leave := b.watch(now)
			defer leave()
			seen := map[queryID]bool{}
			for {
				for _, c := range all {
					seen[c.query] = true
				}
				if len(seen) == writers*each {
					return
				}
				select {
				case all = <-w.news:
				case <-time.After(20 * time.Second):
					t.Errorf("%d of %d queries", len(seen), writers*each)
					return
				}
			}
		})
	}
	wg.Wait()
	require.Empty(t, b.watchers)
}
