// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package secure

import (
	"context"
	"strings"

	"github.com/lakeplane/lake/internal/watchfile"
	"github.com/lakeplane/lake/lake"
)

// Secret is one line of text in a file of mode 0600: a token, a key, a
// connection string.
type Secret struct{ text *watchfile.Value[string] }

// OpenSecret reads the file at path. It is lake.Invalid when the file is
// readable by others, empty, or more than one line. Errors never hold the
// text.
func OpenSecret(path string) (*Secret, error) {
	w, err := watchfile.Watch(nil, func() (string, error) { return readLine(path) }, path)
	if err != nil {
		return nil, err
	}
	return &Secret{w}, nil
}

func readLine(path string) (string, error) {
	raw, err := watchfile.Read(path, true, maxFileBytes)
	if err != nil {
		return "", err
	}
	line := strings.TrimSpace(string(raw))
	if line == "" || strings.ContainsAny(line, "\r\n\x00") {
		return "", lake.Errorf(lake.Invalid, "%s: want one line of text", path)
	}
	return line, nil
}

// Text is the text in force.
func (s *Secret) Text() string { return s.text.Get() }

// Bearer sends a secret with every gRPC call. It implements
// credentials.PerRPCCredentials.
type Bearer struct {
	Token *Secret
	// Plaintext allows it over a connection without TLS.
	Plaintext bool
}

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b Bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + b.Token.Text()}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (b Bearer) RequireTransportSecurity() bool { return !b.Plaintext }
