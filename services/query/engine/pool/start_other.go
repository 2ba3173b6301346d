// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build !linux

package pool

import "github.com/lakeplane/lake/lake"

// Supported says whether slots work on this system; nil means yes.
func Supported() error {
	return lake.Errorf(lake.Unsupported, "engine slots in processes of their own need Linux")
}

func (e *Engine) start() (*process, error) { return nil, Supported() }

func (p *process) memory() int64 { return 0 }

// segments are the shared memory of a slot.
type segments struct{ rows, results []byte }

func (s *segments) enter() bool { return true }

func (s *segments) leave() {}

func (s *segments) close() {}

func (s *segments) trim(rows, results int) {}
