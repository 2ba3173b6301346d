// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestSessionsLeaveRoomForCalls: as many sessions as anybody likes, through one
// replica, are refused before they take all the calls that its connection to the
// metadata server can have under way.
func TestSessionsLeaveRoomForCalls(t *testing.T) {
	s := newSessionServers(t)
	refused := 0
	for range 4 {
		conn := dialPlain(t, s.query.address)
		for range 300 {
			ctx, giveUp := context.WithCancel(t.Context())
			stuck := time.AfterFunc(10*time.Second, giveUp)
			r, err := trySession(ctx, conn, s.table)
			stuck.Stop()
			if err != nil {
				require.Equal(t, codes.ResourceExhausted, status.Code(err), "%v", err)
				giveUp()
				refused++
				continue
			}
			t.Cleanup(r.end)
			t.Cleanup(giveUp)
		}
	}
	require.Positive(t, refused)
	s.requireAppends(t, "beside all the sessions there may be")
}
