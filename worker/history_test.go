// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package worker_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/worker"
)

type store = metastore.Store

type storeFunc = func(*testing.T) store

// update makes the tests that run real procedures write their histories into
// the replay corpus.
var update = flag.Bool("update-histories", false, "write the histories of this run into the replay corpus of the workflows")

// corpus is where the histories of a procedure are: one folder per workflow
// package.
const corpus = "../workflows"

// historyOf fetches the history of the last run under an id.
func historyOf(t *testing.T, c client.Client, id string) *history.History {
	t.Helper()
	var h history.History
	events := c.GetWorkflowHistory(t.Context(), id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		require.NoError(t, err)
		h.Events = append(h.Events, e)
	}
	return &h
}

// capture writes a history into the corpus when asked to, and always checks
// that it holds nothing it should not.
func capture(t *testing.T, c client.Client, name, id string) {
	t.Helper()
	h := historyOf(t, c, id)
	text, err := protojson.MarshalOptions{Indent: " "}.Marshal(h)
	require.NoError(t, err)
	requireNothingSensitive(t, string(text))
	if !*update {
		return
	}
	procedure, shape, _ := strings.Cut(name, "/")
	path := filepath.Join(corpus, procedure, "testdata", shape+".json")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, anonymous(text), 0o644))
}

// anonymous replaces what names the machine the history was made on.
func anonymous(text []byte) []byte {
	identity := regexp.MustCompile(`"identity":\s*"[^"]*"`)
	return append(identity.ReplaceAll(text, []byte(`"identity": "worker"`)), '\n')
}

// requireNothingSensitive scans a history for addresses, keys and file paths.
func requireNothingSensitive(t *testing.T, text string) {
	t.Helper()
	for _, bad := range []string{`[a-z0-9]+://`, `/tmp/`, `\.lance`, `0123456789`} {
		require.NotRegexp(t, regexp.MustCompile(bad), text)
	}
}

// requireSmallHistory holds the budget of design: what replays and shows well.
func requireSmallHistory(t *testing.T, c client.Client, id string) {
	t.Helper()
	h := historyOf(t, c, id)
	require.LessOrEqual(t, len(h.Events), 2000)
	text, err := protojson.Marshal(h)
	require.NoError(t, err)
	require.LessOrEqual(t, len(text), 1<<20)
}

// TestHistoriesReplay runs today's workflow code against every history that was
// ever captured. A difference means that running procedures would get stuck:
// put the change behind workflow.GetVersion instead.
func TestHistoriesReplay(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(corpus, "*", "testdata", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files, "the corpus is empty")
	for _, file := range files {
		t.Run(strings.TrimPrefix(file, corpus+"/"), func(t *testing.T) {
			replayer := sdk.NewWorkflowReplayer()
			worker.RegisterWorkflows(replayer)
			require.NoError(t, replayer.ReplayWorkflowHistoryFromJSONFile(worker.Logger(silent), file))
		})
	}
}

// registered notes the names under which workflows are registered.
type registered struct {
	sdk.WorkflowRegistry
	names []string
}

func (r *registered) RegisterWorkflowWithOptions(_ any, o workflow.RegisterOptions) {
	r.names = append(r.names, o.Name)
}

// TestEveryWorkflowHasAHistory: one without would be changed, and its running
// procedures get stuck, with every test passing.
func TestEveryWorkflowHasAHistory(t *testing.T) {
	var want registered
	worker.RegisterWorkflows(&want)
	files, err := filepath.Glob(filepath.Join(corpus, "*", "testdata", "*.json"))
	require.NoError(t, err)
	have := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var h history.History
		require.NoError(t, protojson.Unmarshal(text, &h), file)
		have[h.Events[0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowType().GetName()] = true
	}
	require.NotEmpty(t, want.names)
	for _, name := range want.names {
		require.True(t, have[name], "no history of %s: capture one with -update-histories", name)
	}
}
