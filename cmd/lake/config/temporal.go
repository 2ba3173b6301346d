// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package config

import "github.com/lakeplane/lake/worker/payloadcodec"

// Temporal is the server that drives procedures.
type Temporal struct {
	// Address is its host:port, Namespace the namespace that holds Lake's
	// workflows, UI the URL of its web pages.
	Address, Namespace, UI string
	// UseTLS turns TLS on; the fields below do too.
	UseTLS bool
	Trust
	// APIKey is the file of an API key.
	APIKey string
	// PayloadKeys is the file of the keys that encrypt what Temporal keeps;
	// empty leaves it readable.
	PayloadKeys string
}

func (c *Temporal) add(s *Set, address string) {
	c.Namespace = "lake"
	s.add("temporal_address", "LAKE_TEMPORAL_ADDRESS", stringValue{&c.Address}, address)
	s.add("temporal_namespace", "LAKE_TEMPORAL_NAMESPACE", stringValue{&c.Namespace}, "its namespace for Lake's procedures")
	s.add("temporal_ui", "LAKE_TEMPORAL_UI", stringValue{&c.UI}, "URL of its web pages, for links")
	s.add("temporal_tls", "LAKE_TEMPORAL_TLS", boolValue{&c.UseTLS}, "connect to it by TLS; implied by the settings below")
	c.Trust.add(s, "temporal", "the Temporal server")
	s.add("temporal_payload_keys_file", "LAKE_TEMPORAL_PAYLOAD_KEYS_FILE", stringValue{&c.PayloadKeys}, "secrets that encrypt the payloads of procedures in Temporal (mode 0600, read again when it changes), the same in all metadata servers and workers; empty leaves them readable")
	s.add("temporal_api_key_file", "LAKE_TEMPORAL_API_KEY_FILE", stringValue{&c.APIKey}, "API key for it (mode 0600, read again when it changes)")
}

func (c *Temporal) check(s *Set, m *Mistakes, needed bool) {
	if needed || c.Address != "" {
		checkHostPort(s, m, "temporal_address", c.Address, false)
	}
	if c.Namespace == "" {
		s.report(m, "temporal_namespace", "must not be empty")
	}
	if c.UI != "" && !IsLink(c.UI) {
		s.report(m, "temporal_ui", "want an http or https URL without a user or password: everybody who looks at a procedure gets links that begin with it")
	}
	c.Trust.check(s, m, "temporal")
	checkSecret(s, m, "temporal_api_key_file", c.APIKey)
	if c.PayloadKeys != "" {
		if _, err := payloadcodec.Open(c.PayloadKeys, nil); err != nil {
			s.report(m, "temporal_payload_keys_file", "%w", err)
		}
	}
}

// Encrypted reports whether the connection uses TLS.
func (c *Temporal) Encrypted() bool {
	return c.UseTLS || c.APIKey != "" || c.configured()
}
