// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package remote

import (
	"errors"
	"time"

	"github.com/lakeplane/lake/lake"
)

// Options tune a store. The zero value is good.
type Options struct {
	// Cluster is the cluster that must answer. The zero value takes the one
	// that answers first and stays with it.
	Cluster lake.ID
	// CallTimeout bounds one attempt of a call, so that a connection that went
	// silent ends it. An earlier deadline of the call's context goes before.
	// Default: 10 s.
	CallTimeout time.Duration
	// Patience is how long a call whose answer was lost, or whose server could
	// not be reached, is tried again. It must end inside the time the server
	// remembers a token. Default: 5 s.
	Patience time.Duration
}

// maxPatience and the longest attempt stay far under metastore.TokenWindow.
const (
	maxPatience    = 2 * time.Minute
	maxCallTimeout = 2 * time.Minute
)

func (o Options) withDefaults() Options {
	if o.CallTimeout == 0 {
		o.CallTimeout = 10 * time.Second
	}
	if o.Patience == 0 {
		o.Patience = 5 * time.Second
	}
	return o
}

// Validate reports every field that is out of range, as lake.Invalid.
func (o Options) Validate() error {
	o = o.withDefaults()
	var all []error
	if o.CallTimeout < 0 || o.CallTimeout > maxCallTimeout {
		all = append(all, lake.Errorf(lake.Invalid, "call timeout %v: want up to %v", o.CallTimeout, maxCallTimeout))
	}
	if o.Patience < 0 || o.Patience > maxPatience {
		all = append(all, lake.Errorf(lake.Invalid, "patience %v: want up to %v", o.Patience, maxPatience))
	}
	return errors.Join(all...)
}
