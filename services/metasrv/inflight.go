// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"context"
	"sync"

	"github.com/lakeplane/lake/lake"
)

// appended is the result of an append.
type appended struct {
	incarnation lake.Incarnation
	version     lake.Version
	rows        uint64
	replayed    bool
}

// operationKey identifies an operation.
type operationKey struct {
	tenant string
	table  lake.TableName
	id     lake.OperationID
}

// inflight runs each operation once at a time: a second stream with the same
// operation waits for the first's result. The zero value is ready.
type inflight struct {
	mu   sync.Mutex
	runs map[operationKey]*operationRun
}

type operationRun struct {
	key    operationKey
	digest lake.Digest
	done   chan struct{} // closed when result and err are set
	result appended
	err    error
}

// join returns the run of the operation. begun is true when the caller must
// run it and then call end. A running operation with another payload is
// lake.AlreadyExists.
func (f *inflight) join(key operationKey, digest lake.Digest) (run *operationRun, begun bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if run := f.runs[key]; run != nil {
		if run.digest != digest {
			return nil, false, lake.Errorf(lake.AlreadyExists, "operation %s on %s is under way with another payload, sha256 %s", key.id, key.table, run.digest)
		}
		return run, false, nil
	}
	if f.runs == nil {
		f.runs = map[operationKey]*operationRun{}
	}
	run = &operationRun{key: key, digest: digest, done: make(chan struct{})}
	f.runs[key] = run
	return run, true, nil
}

// end publishes the run's result and forgets the run: whoever comes later
// finds the operation's record.
func (f *inflight) end(run *operationRun, result appended, err error) {
	f.mu.Lock()
	delete(f.runs, run.key)
	f.mu.Unlock()
	run.result, run.err = result, err
	close(run.done)
}

// outcome returns the run's result, to the one who has begun it or to another
// who waits for it. When ctx ends first the run goes on.
func (r *operationRun) outcome(ctx context.Context, begun bool) (appended, error) {
	select {
	case <-r.done:
		result := r.result
		result.replayed = result.replayed || !begun
		return result, r.err
	case <-ctx.Done():
		return appended{}, lake.Errorf(lake.Undetermined, "the client gave up; the append goes on: %w", ctx.Err())
	}
}
