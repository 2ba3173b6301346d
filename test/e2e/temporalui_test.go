// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
)

// webUI speaks the HTTP API that Temporal's web pages use.
type webUI struct {
	base   string
	client *http.Client
}

func (w *webUI) call(t *testing.T, method, path string, body any, into any) {
	t.Helper()
	raw, err := json.Marshal(body)
	require.NoError(t, err)
	req, err := http.NewRequestWithContext(t.Context(), method, w.base+path, bytes.NewReader(raw))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	if u, err := url.Parse(w.base); err == nil {
		for _, c := range w.client.Jar.Cookies(u) { // what the pages do against forged requests
			if c.Name == "_csrf" {
				req.Header.Set("X-Csrf-Token", c.Value)
			}
		}
	}
	resp, err := w.client.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode, "%s %s: %s", method, path, text)
	require.NoError(t, json.Unmarshal(text, into), "%s", text)
}

// payload is a value as the pages get it: base64 of its JSON.
type payload struct{ Data []byte }

func (p payload) text(t *testing.T) (s string) {
	t.Helper()
	require.NoError(t, json.Unmarshal(p.Data, &s), "%q", p.Data)
	return s
}

// TestAProcedureIsReadableInTemporalsUI reads what the page of a run shows: a
// summary, what the procedure does, how it stands, and attributes to search by.
func TestAProcedureIsReadableInTemporalsUI(t *testing.T) {
	d := startDev(t, t.TempDir())
	id := d.dropLarge(t, lake.TableName{Namespace: "shown", Name: "t"}, 3, "--undrop-window", "1h")
	link := d.awaitShown(t, id, func(s shown) bool { return s.Phase == "waiting" }).UI
	require.True(t, strings.HasPrefix(link, d.state.TemporalUI+"/namespaces/lake/workflows/"), link)

	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	ui := &webUI{base: d.state.TemporalUI, client: &http.Client{Jar: jar, Timeout: 10 * time.Second}}
	page, err := ui.client.Get(link)
	require.NoError(t, err)
	_ = page.Body.Close()
	require.Equal(t, http.StatusOK, page.StatusCode)
	require.Contains(t, page.Header.Get("Content-Type"), "text/html")

	path := "/api/v1/namespaces/lake/workflows/" + url.PathEscape(id)
	var run struct {
		ExecutionConfig struct {
			UserMetadata struct{ Summary, Details payload }
		}
		WorkflowExecutionInfo struct {
			Type             struct{ Name string }
			Status           string
			SearchAttributes struct{ IndexedFields map[string]payload }
		}
	}
	ui.call(t, http.MethodGet, path, nil, &run)
	require.Equal(t, "DropTable", run.WorkflowExecutionInfo.Type.Name)
	require.Equal(t, "WORKFLOW_EXECUTION_STATUS_RUNNING", run.WorkflowExecutionInfo.Status)
	require.Equal(t, "Drop table shown.t", run.ExecutionConfig.UserMetadata.Summary.text(t))
	require.Contains(t, run.ExecutionConfig.UserMetadata.Details.text(t), "which left the catalog when it was dropped")
	attributes := map[string]string{}
	for name, value := range run.WorkflowExecutionInfo.SearchAttributes.IndexedFields {
		if strings.HasPrefix(name, "Lake") {
			attributes[name] = value.text(t)
		}
	}
	require.Equal(t, map[string]string{"LakeProcedure": "drop-table", "LakePhase": "waiting", "LakeNamespace": "shown", "LakeTable": "t"}, attributes)

	ask := func(query string, into any) {
		var answer struct{ QueryResult struct{ Payloads []payload } }
		ui.call(t, http.MethodPost, path+"/query/"+query, map[string]any{"query": map[string]string{"queryType": query}}, &answer)
		require.Len(t, answer.QueryResult.Payloads, 1)
		require.NoError(t, json.Unmarshal(answer.QueryResult.Payloads[0].Data, into))
	}
	var now struct {
		CurrentDetails string
		Definition     struct {
			UpdateDefinitions []struct{ Name string }
		}
	}
	ask("__temporal_workflow_metadata", &now)
	require.Contains(t, now.CurrentDetails, "**waiting**: undrop window is open; nothing was deleted")
	require.Contains(t, now.CurrentDetails, "waiting until ")
	require.Equal(t, []struct{ Name string }{{"set-rate"}}, now.Definition.UpdateDefinitions, "what operators may send from the page")
	var status struct{ Phase, Note string }
	ask("status", &status)
	require.Equal(t, "waiting", status.Phase)

	// The list of the pages finds it by its table.
	var list struct {
		Executions []struct{ Execution struct{ WorkflowID string } }
	}
	require.Eventually(t, func() bool {
		ui.call(t, http.MethodGet, "/api/v1/namespaces/lake/workflows?query="+url.QueryEscape("LakeTable = 't' AND LakePhase = 'waiting'"), nil, &list)
		return len(list.Executions) == 1 && list.Executions[0].Execution.WorkflowID == id
	}, 20*time.Second, 200*time.Millisecond)
}
