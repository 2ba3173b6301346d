// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/metasrv"
)

// TestARefusalIsNoOlderThanTheCall: who sends an operation while it is under way
// for somebody else is not told what was so before that, as that there is no
// table, which was created meanwhile.
func TestARefusalIsNoOlderThanTheCall(t *testing.T) {
	for label, send := range map[string]func(t *testing.T, a *authority, o op) (*lakepb.AppendResult, error){
		"by a call": func(t *testing.T, a *authority, o op) (*lakepb.AppendResult, error) { return a.put(t.Context(), o) },
		"in a session": func(t *testing.T, a *authority, o op) (*lakepb.AppendResult, error) {
			return a.session(t, t.Context(), "a", "t", lake.Incarnation{}).put(t, o)
		},
	} {
		t.Run(label, func(t *testing.T) {
			registry := prometheus.NewRegistry()
			a := start(t, func(o *metasrv.Options) { o.Metrics = registry })
			a.create(t, "a", "t")
			holding, refuse := make(chan struct{}), make(chan struct{})
			a.engine.set(func(d *disturbed) {
				d.stageData = func(context.Context) error {
					close(holding)
					<-refuse
					return lake.Errorf(lake.Precondition, "as it was then")
				}
			})
			o := newOp(t, "a", "t", 0)
			first := make(chan error, 1)
			go func() { _, err := a.put(t.Context(), o); first <- err }()
			<-holding
			a.engine.set(func(d *disturbed) { d.stageData = nil })
			var result *lakepb.AppendResult
			second := make(chan error, 1)
			go func() {
				var err error
				result, err = send(t, a, o)
				second <- err
			}()
			// The second has joined the first: it was admitted, and holds no slot.
			require.Eventually(t, func() bool {
				now := valuesOf(t, registry)
				return now["lake_metasrv_append_admission_total"] == 2 && now["lake_metasrv_inflight_appends"] == 1
			}, 20*time.Second, time.Millisecond)
			close(refuse)
			requireCode(t, codes.FailedPrecondition, <-first, "as it was then")
			require.NoError(t, <-second)
			require.EqualValues(t, 2, result.GetVersion())
			require.Equal(t, []int64{0}, a.numbers(t, "a", "t"))
			require.Zero(t, valuesOf(t, registry)["lake_metasrv_reserved_append_bytes"])
		})
	}
}

// TestAReplayIsNoOlderThanTheCall: nor is it told that the operation was applied to
// a table which has been dropped before the call.
func TestAReplayIsNoOlderThanTheCall(t *testing.T) {
	registry := prometheus.NewRegistry()
	a := start(t, func(o *metasrv.Options) { o.Metrics = registry })
	a.create(t, "a", "t")
	holding, publish := make(chan struct{}), make(chan struct{})
	var once sync.Once
	a.engine.set(func(d *disturbed) {
		d.publish = func(lake.Snapshot) error {
			once.Do(func() { close(holding); <-publish })
			return nil
		}
	})
	o := newOp(t, "a", "t", 0)
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { _, err := a.put(t.Context(), o); first <- err }()
	<-holding // it is committed
	a.drop(t, "t", time.Hour)
	go func() { _, err := a.put(t.Context(), o); second <- err }()
	require.Eventually(t, func() bool {
		now := valuesOf(t, registry)
		return now["lake_metasrv_append_admission_total"] == 2 && now["lake_metasrv_inflight_appends"] == 0
	}, 20*time.Second, time.Millisecond)
	close(publish)
	require.NoError(t, <-first)
	requireCode(t, codes.FailedPrecondition, <-second, "dropped")
	require.Zero(t, valuesOf(t, registry)["lake_metasrv_reserved_append_bytes"])
}
