// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package payloadcodec_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/worker/payloadcodec"
)

func secret(b byte) string { return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{b}, 32)) }

func codec(t *testing.T, active byte, verify ...byte) *payloadcodec.Codec {
	t.Helper()
	var others []string
	for _, b := range verify {
		others = append(others, `"`+secret(b)+`"`)
	}
	path := filepath.Join(t.TempDir(), "keys.json")
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, `{"active":%q,"verify":[%s]}`, secret(active), strings.Join(others, ",")), 0o600))
	c, err := payloadcodec.Open(path, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	return c
}

func TestRoundTripAndRotation(t *testing.T) {
	first := codec(t, 'a')
	sealed, err := first.Converter().ToPayloads("robots.episodes", 7)
	require.NoError(t, err)
	again, err := first.Converter().ToPayloads("robots.episodes", 7)
	require.NoError(t, err)
	require.NotEqual(t, sealed.Payloads[0].Data, again.Payloads[0].Data, "equal values look equal")
	for _, p := range sealed.Payloads {
		require.Equal(t, payloadcodec.Encoding, string(p.Metadata["encoding"]))
		require.NotContains(t, string(p.Data), "robots")
	}
	read := func(c *payloadcodec.Codec) (name string, n int, err error) {
		err = c.Converter().FromPayloads(sealed, &name, &n)
		return name, n, err
	}
	for _, c := range []*payloadcodec.Codec{first, codec(t, 'b', 'a')} {
		name, n, err := read(c)
		require.NoError(t, err)
		require.Equal(t, "robots.episodes", name)
		require.Equal(t, 7, n)
	}
	_, _, err = read(codec(t, 'b'))
	require.ErrorContains(t, err, "which the ring does not have")
	plain, err := converter.GetDefaultDataConverter().ToPayloads("from before", 1)
	require.NoError(t, err)
	sealed = plain
	name, _, err := read(first)
	require.NoError(t, err, "what was not encrypted stays readable")
	require.Equal(t, "from before", name)
}

func TestForgedPayloadsAreRefused(t *testing.T) {
	c := codec(t, 'a')
	for name, damage := range map[string]func(*common.Payload){
		"data":   func(p *common.Payload) { p.Data[len(p.Data)-1]++ },
		"nonce":  func(p *common.Payload) { p.Data[0]++ },
		"short":  func(p *common.Payload) { p.Data = p.Data[:5] },
		"no key": func(p *common.Payload) { delete(p.Metadata, "lake-key-id") },
	} {
		sealed, err := c.Encode([]*common.Payload{{Data: []byte("x")}})
		require.NoError(t, err)
		damage(sealed[0])
		_, err = c.Decode(sealed)
		require.Equal(t, lake.Corrupt, lake.KindOf(err), "%s: %v", name, err)
	}
}

func TestTheEndpointAnswersItsPagesOnly(t *testing.T) {
	c := codec(t, 'a')
	server := httptest.NewServer(c.Handler("https://ui.example"))
	defer server.Close()
	sealed, err := c.Converter().ToPayloads("what the page shows")
	require.NoError(t, err)
	body, err := protojson.Marshal(sealed)
	require.NoError(t, err)
	ask := func(method, origin string) *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), method, server.URL+"/decode", bytes.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		if origin != "" {
			req.Header.Set("Origin", origin)
		}
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		t.Cleanup(func() { _ = resp.Body.Close() })
		return resp
	}
	resp := ask(http.MethodPost, "https://ui.example")
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, "https://ui.example", resp.Header.Get("Access-Control-Allow-Origin"))
	var text bytes.Buffer
	_, err = text.ReadFrom(resp.Body)
	require.NoError(t, err)
	var got common.Payloads
	require.NoError(t, protojson.Unmarshal(text.Bytes(), &got))
	require.Equal(t, `"what the page shows"`, string(got.Payloads[0].Data))

	require.Equal(t, http.StatusNoContent, ask(http.MethodOptions, "https://ui.example").StatusCode)
	require.Equal(t, http.StatusOK, ask(http.MethodPost, "").StatusCode, "Temporal's command line sends no origin")
	other := ask(http.MethodPost, "https://evil.example")
	require.Equal(t, http.StatusForbidden, other.StatusCode)
	require.Empty(t, other.Header.Get("Access-Control-Allow-Origin"))
}
