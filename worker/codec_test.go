// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package worker_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/lakeplane/lake/worker"
	"github.com/lakeplane/lake/worker/payloadcodec"
	"github.com/lakeplane/lake/workflows"
)

// TestHistoriesHoldNothingInClear runs a drop that fails at first, with the
// codec, and reads its history as somebody would who has Temporal's database.
func TestHistoriesHoldNothingInClear(t *testing.T) {
	server := startTemporal(t, "")
	keys := filepath.Join(t.TempDir(), "keys.json")
	secret := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32)))
	require.NoError(t, os.WriteFile(keys, fmt.Appendf(nil, `{"active":%q}`, secret), 0o600))
	codec, err := payloadcodec.Open(keys, silent)
	require.NoError(t, err)

	d := deploy(t, memoryStore(t), server)
	d.client, err = client.Dial(client.Options{
		HostPort: server.Address(), Namespace: server.Namespace(), Logger: worker.Logger(silent), DataConverter: codec.Converter(),
		FailureConverter: temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
			DataConverter: codec.Converter(), EncodeCommonAttributes: true,
		}),
	})
	require.NoError(t, err)
	t.Cleanup(d.client.Close)
	d.starter = workflows.NewClient(d.client, server.Namespace(), "")
	away := &awayStore{Store: d.store}
	away.away.Store(true)
	opts := d.options()
	opts.Store = away
	d.work(t, opts)
	step := d.dropped(t, "hush", 60)
	d.start(t, step)
	require.Eventually(t, func() bool { return away.refused.Load() >= 2 }, 20*time.Second, 10*time.Millisecond)
	away.away.Store(false)
	d.wait(t, time.Minute, step)
	d.RequireGone(t, step)
	require.NoError(t, d.starter.Wait(t.Context(), step.Ref()))
	status, err := d.starter.Status(t.Context(), step.Ref())
	require.NoError(t, err)
	require.EqualValues(t, 60, status.Counters[workflows.CountObjects], "whoever has the keys reads it")

	plain := dial(t, server)
	h := historyOf(t, plain, step.Ref().String())
	sealed, clear := payloadsOf(h)
	require.GreaterOrEqual(t, sealed, 4, "inputs and results of the workflow and of at least one activity")
	require.Empty(t, clear)
	for _, e := range h.Events {
		// The name is in the workflow's id and attributes, by which Temporal finds
		// it, and nowhere else.
		for _, leak := range []string{workflows.CountObjects, "undrop window", "metastore"} {
			text, err := proto.Marshal(e)
			require.NoError(t, err)
			require.NotContains(t, string(text), leak, "event %d", e.EventId)
		}
	}
	var in workflows.DropTableInput
	require.Error(t, plain.GetWorkflow(t.Context(), step.Ref().String(), "").Get(t.Context(), &in), "without the keys nothing is read")
}

// payloadsOf counts the encrypted payloads of a history and describes the
// others, but for search attributes, which Temporal must read.
func payloadsOf(h *history.History) (sealed int, clear []string) {
	var walk func(path string, m protoreflect.Message)
	each := func(path string, v protoreflect.Value) {
		walk(path, v.Message())
	}
	walk = func(path string, m protoreflect.Message) {
		if p, ok := m.Interface().(*common.Payload); ok {
			if string(p.GetMetadata()["encoding"]) == payloadcodec.Encoding {
				sealed++
			} else {
				clear = append(clear, path+": "+string(p.GetData()))
			}
			return
		}
		m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			at := path + "." + string(f.Name())
			switch {
			case f.Name() == "search_attributes":
			case f.IsMap() && f.MapValue().Message() != nil:
				v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool { each(at, v); return true })
			case f.IsList() && f.Message() != nil:
				for i := range v.List().Len() {
					each(at, v.List().Get(i))
				}
			case f.Message() != nil && !f.IsMap():
				each(at, v)
			}
			return true
		})
	}
	walk("", h.ProtoReflect())
	return sealed, clear
}
