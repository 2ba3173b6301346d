// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"context"
	"time"
)

// backgroundTimeout bounds what a server does beside its calls.
const backgroundTimeout = 10 * time.Second

// background runs f beside the call that needs it no more. A stopping server
// does not begin it: what runs here may be left undone.
func (s *Server) background(f func(ctx context.Context)) {
	if s.begin() != nil {
		return
	}
	go func() {
		defer s.working.Done()
		ctx, cancel := context.WithTimeout(s.work, backgroundTimeout)
		defer cancel()
		f(ctx)
	}()
}
