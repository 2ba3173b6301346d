// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package payloadcodec

import (
	"net/http"

	"go.temporal.io/sdk/converter"
)

// maxBody bounds a request: a page of a history.
const maxBody = 16 << 20

// Handler is the codec endpoint that Temporal's web pages ask to decrypt what
// they show: POST /decode, and /encode for what is sent from the pages. origin is
// that of the pages, such as https://temporal.example; a browser lets no other
// site read the answers. Whoever reaches the endpoint may decrypt: serve it on
// loopback, or behind a proxy that asks who it is.
func (c *Codec) Handler(origin string) http.Handler {
	codec := converter.NewPayloadCodecHTTPHandler(c)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Vary", "Origin")
		if origin != "" && r.Header.Get("Origin") == origin {
			header.Set("Access-Control-Allow-Origin", origin)
			header.Set("Access-Control-Allow-Methods", "POST, OPTIONS")
			header.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, X-Namespace")
			header.Set("Access-Control-Allow-Credentials", "true")
		}
		switch {
		case r.Method == http.MethodOptions:
			w.WriteHeader(http.StatusNoContent)
		case r.Header.Get("Origin") != "" && r.Header.Get("Origin") != origin:
			http.Error(w, "this origin may not ask: set payload_codec_origin", http.StatusForbidden)
		default:
			r.Body = http.MaxBytesReader(w, r.Body, maxBody)
			codec.ServeHTTP(w, r)
		}
	})
}
