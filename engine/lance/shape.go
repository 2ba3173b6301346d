// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	format "github.com/lakeplane/lake/lance"
	"github.com/lakeplane/lake/lance/schema"
)

// shape is what the data files of a table depend on, made of its schema.
type shape struct {
	layout  *format.Layout
	compact bool
}

func newShape(s *arrow.Schema) (*shape, error) {
	fields, err := schema.Stored(s)
	if err != nil {
		return nil, err
	}
	layout, err := format.NewLayout(fields)
	if err != nil {
		return nil, err
	}
	// Options were checked when the table was made. One of a later release is no
	// reason to refuse rows.
	options, _ := optionsOf(s)
	return &shape{layout, options.Compact}, nil
}

// shapes keeps the shapes of schemas, which never change. Callers hand the same
// one over with each append to a table; one that they do not is only made anew.
// The zero value is ready.
type shapes struct {
	mu    sync.Mutex
	known map[*arrow.Schema]*shape
}

// maxShapes bounds what is kept. A full cache is emptied, which costs a table
// what an append without one costs.
const maxShapes = 1024

func (c *shapes) of(s *arrow.Schema) (*shape, error) {
	c.mu.Lock()
	known := c.known[s]
	c.mu.Unlock()
	if known != nil {
		return known, nil
	}
	made, err := newShape(s)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxShapes {
		c.known = map[*arrow.Schema]*shape{}
	}
	c.known[s] = made
	return made, nil
}
