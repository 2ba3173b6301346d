// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
	"github.com/lakeplane/lake/sdk/sdktest"
)

const crashEnv = "LAKE_SDK_TEST_APPENDS_OF"

// appendForever is the child of TestKilledAppendsAreResumedOnce: it appends
// rows that name it, from several goroutines, until it is killed.
func appendForever(name string) {
	c, err := sdk.Connect(context.Background(), os.Getenv("LAKE_SDK_TEST_ADDR"), sdk.WithCheckpoints(os.Getenv("LAKE_SDK_TEST_DIR")))
	check(err)
	for worker := range 4 {
		go func() {
			for i := 0; ; i++ {
				_, err := c.Append(context.Background(), episodes, rows(1, fmt.Sprintf("%s/%d/%d", name, worker, i)))
				check(err)
			}
		}()
	}
	select {}
}

// TestKilledAppendsAreResumedOnce kills a process in the middle of its appends,
// again and again. Every append that reached the server is applied or is found
// by the next process, and in the end each is there once.
func TestKilledAppendsAreResumedOnce(t *testing.T) {
	s := sdktest.New(t)
	dir := filepath.Join(t.TempDir(), "checkpoints")
	c := another(t, s, sdk.WithCheckpoints(dir))
	_, err := c.CreateTable(t.Context(), episodes, schema)
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	resumed := 0
	for round := range 6 {
		// Attempts that are refused, answered too late or not at all leave
		// more time to be killed in.
		faults := make([]sdktest.Fault, 400)
		for i := range faults {
			faults[i] = []sdktest.Fault{sdktest.None, sdktest.Refuse, sdktest.LoseAck, sdktest.Busy, sdktest.EndEarly}[rand.IntN(5)]
		}
		s.Plan(faults...)
		before := len(s.Attempts())
		child := exec.Command(self, "-test.run=^$")
		child.Env = append(os.Environ(), crashEnv+"="+strconv.Itoa(round), "LAKE_SDK_TEST_ADDR="+s.Addr(), "LAKE_SDK_TEST_DIR="+dir)
		child.Stderr = os.Stderr
		require.NoError(t, child.Start())
		require.Eventually(t, func() bool { return len(s.Attempts()) > before+20 }, 30*time.Second, time.Millisecond)
		time.Sleep(time.Duration(rand.IntN(150)) * time.Millisecond)
		require.NoError(t, child.Process.Kill())
		_ = child.Wait()
		s.Plan()
		found, broken := pendings(t, c)
		require.Empty(t, broken, "a checkpoint is whole or absent")
		var wg sync.WaitGroup
		for _, p := range found {
			wg.Go(func() {
				if _, err := p.Resume(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		resumed += len(found)
	}
	requireAttemptsAppliedOnce(t, s)
	require.Positive(t, resumed, "no kill hit an append")
	found, _ := pendings(t, c)
	require.Empty(t, found)
	t.Logf("%d rows, %d resumed", s.Rows(episodes), resumed)
}

// requireAttemptsAppliedOnce: as many rows as operations were attempted, no two
// the same.
func requireAttemptsAppliedOnce(t *testing.T, s *sdktest.Server) {
	t.Helper()
	operations, seen := map[lake.OperationID]bool{}, map[string]bool{}
	for _, a := range s.Attempts() {
		operations[a.Operation] = true
		require.False(t, a.Incarnation.IsZero())
	}
	for _, b := range s.Batches(episodes) {
		text := b.Column(0).(*array.String).Value(0)
		require.False(t, seen[text], "%s is there twice", text)
		seen[text] = true
	}
	require.Len(t, seen, len(operations))
}
