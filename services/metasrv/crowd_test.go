// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
)

// version lets n appends arrive, join one version, and be answered after took.
func (w *crowd) version(n int, took time.Duration) {
	for i := range n {
		w.arrive(i + 1)
	}
	w.begin(n)
	for range n {
		w.leave(took)
	}
}

func TestWhoIsAloneWaitsForNobody(t *testing.T) {
	var w crowd
	for range 5 {
		w.arrive(1)
		full, _ := w.begin(1)
		require.Nil(t, full)
		w.leave(time.Millisecond)
	}
}

func TestAVersionWaitsForThoseThatWereThere(t *testing.T) {
	for name, c := range map[string]struct {
		writers int
		took    time.Duration
		want    int
		most    time.Duration
	}{
		"as long as the last version took": {writers: 8, took: 2 * time.Millisecond, want: 8, most: 2 * time.Millisecond},
		"and no longer than it may":        {writers: 8, took: 15 * time.Millisecond, want: 8, most: crowdWait},
		"for no more than have room":       {writers: 40, took: time.Millisecond, want: catalog.MaxGroup, most: time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			var w crowd
			w.version(c.writers, c.took)
			w.arrive(1)
			full, most := w.begin(1)
			require.NotNil(t, full)
			require.Equal(t, c.want, w.enough)
			require.Equal(t, c.most, most)
			for i := 2; i < c.want; i++ {
				w.arrive(i)
			}
			select {
			case <-full:
				require.Fail(t, "one is missing")
			default:
			}
			w.arrive(c.want)
			<-full
			w.end()
			require.Zero(t, w.doubt)
		})
	}
}

func TestAVersionWaitsForThoseBeingPublishedWhereThatIsQuick(t *testing.T) {
	for took, want := range map[time.Duration]bool{2 * time.Millisecond: true, 2 * crowdNear: false} {
		var w crowd
		w.version(8, took)
		for i := range 4 {
			w.arrive(i + 1)
		}
		w.begin(4) // four are on their way to be published
		w.enough = 0
		for i := range 4 {
			w.arrive(i + 1)
		}
		full, _ := w.begin(4)
		require.Equal(t, want, full != nil, took)
	}
}

func TestWhoWaitsInVainWaitsMoreSeldom(t *testing.T) {
	var w crowd
	w.version(2, time.Millisecond)
	skipped, runs := 0, []int{}
	for range 300 {
		w.arrive(1)
		w.most = 2 // others come and go between versions
		if full, _ := w.begin(1); full == nil {
			skipped++
		} else {
			w.end()
			runs, skipped = append(runs, skipped), 0
		}
		w.leave(time.Millisecond)
	}
	require.Equal(t, []int{0, 1, 3, 7, 15, 31, 63, 63, 63}, runs)
	w.skip = 0
	w.arrive(1)
	w.most = 2
	full, _ := w.begin(1)
	w.arrive(2)
	<-full
	w.end()
	require.Equal(t, crowdDoubt/2, w.doubt, "and trusts again by and by")
}

func TestWritersThatLeftAreForgottenAfterTwoVersions(t *testing.T) {
	var w crowd
	w.version(8, time.Millisecond)
	waited := 0
	for range 10 {
		w.arrive(1)
		if full, _ := w.begin(1); full != nil {
			waited++
			w.end()
		}
		w.leave(time.Millisecond)
	}
	require.Equal(t, 1, waited)
}

func TestGather(t *testing.T) {
	table := lake.TableName{Namespace: "n", Name: "t"}
	for others, want := range map[int]time.Duration{0: 4 * time.Millisecond, 1: 4 * time.Millisecond, 2: time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			m, err := newMetrics(nil, nil)
			require.NoError(t, err)
			c := newCommitters(&Server{metrics: m})
			arrive := func() {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.queues[table] = append(c.queues[table], &stagedAppend{})
				c.crowd(table).arrive(len(c.queues[table]))
			}
			c.crowd(table).version(3, 4*time.Millisecond)
			start := time.Now()
			c.gather(table)
			require.Zero(t, time.Since(start), "nobody is there")
			arrive()
			go func() {
				time.Sleep(time.Millisecond)
				for range others {
					arrive()
				}
			}()
			c.gather(table)
			require.Equal(t, want, time.Since(start), "%d others", others)
			synctest.Wait()
		})
	}
}

func TestFewCrowdsAreRemembered(t *testing.T) {
	c := newCommitters(&Server{})
	busy := lake.TableName{Namespace: "n", Name: "busy"}
	c.crowd(busy).arrive(1)
	for i := range 3 * crowdsKept {
		c.crowd(lake.TableName{Namespace: "n", Name: fmt.Sprint(i)})
		require.LessOrEqual(t, len(c.crowds), crowdsKept)
	}
	require.Equal(t, 1, c.crowd(busy).here, "those in use stay")
}
