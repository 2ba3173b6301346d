// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakeplane/lake/services/internal/expiring"
)

const (
	// maxCancelled bounds the queries on a board, and those of one call.
	maxCancelled = 10_000
	// maxUntold bounds what a watcher may have to be told, in pieces of news. One
	// that is so far behind gets the whole board instead.
	maxUntold = 256
	// longerBy is by how much an expiry has to move to be told again. A client that
	// asks again and again then costs the watchers nothing; replicas have a
	// query kept for longer than they need by more than this.
	longerBy = 30 * time.Second
)

// queryID names a query; it is random.
type queryID [16]byte

// cancellation is a query on the board, and until when.
type cancellation struct {
	query queryID
	until time.Time
}

// board holds the cancelled queries of which a ticket may still be redeemed, and
// tells them to its watchers. It is in memory alone, and that of a process that
// does not lead has no watchers: the replicas bring to a new leader what its
// board lacks. It is safe for concurrent use.
type board struct {
	mu       sync.Mutex
	queries  *expiring.Set[queryID]
	watchers map[*boardWatcher]struct{}
}

// boardWatcher is one who is told.
type boardWatcher struct {
	// news is closed when the watcher fell behind.
	news chan []cancellation
}

// newBoard returns an empty board, with its series if there is a registry.
func newBoard(r prometheus.Registerer) (*board, error) {
	b := &board{queries: expiring.NewSet[queryID](maxCancelled), watchers: map[*boardWatcher]struct{}{}}
	if r == nil {
		return b, nil
	}
	return b, r.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "lake_metasrv_cancellation_watchers",
		Help: "Query replicas and followers that this process, as the leader, tells which queries are cancelled.",
	}, func() float64 {
		b.mu.Lock()
		defer b.mu.Unlock()
		return float64(len(b.watchers))
	}))
}

// add puts queries on the board and tells the watchers what is new of them.
func (b *board) add(now time.Time, all []cancellation) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var news []cancellation
	for _, c := range all {
		if until, known := b.queries.Until(now, c.query); known && c.until.Sub(until) <= longerBy {
			continue
		}
		b.queries.Add(now, c.query, c.until)
		news = append(news, c)
	}
	if len(news) == 0 {
		return
	}
	for w := range b.watchers {
		select {
		case w.news <- news:
		default: // nobody waits for a slow one
			close(w.news)
			delete(b.watchers, w)
		}
	}
}

// watch returns what is on the board, and a watcher that is told what follows
// until leave is called.
func (b *board) watch(now time.Time) (all []cancellation, w *boardWatcher, leave func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for query, until := range b.queries.All(now) {
		all = append(all, cancellation{query, until})
	}
	w = &boardWatcher{news: make(chan []cancellation, maxUntold)}
	b.watchers[w] = struct{}{}
	return all, w, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.watchers, w)
	}
}
