// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package access

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"

	"gopkg.in/yaml.v3"

	"github.com/lakeplane/lake/internal/watchfile"
	"github.com/lakeplane/lake/lake"
)

const (
	maxPrincipalsBytes = 1 << 20
	minTokenBytes      = 16
	maxTokenBytes      = 4096
)

// Principals authenticates by a file of tokens, in YAML or JSON:
//
//	principals:
//	  - name: ann
//	    tenant: default          # may be left out
//	    role: user
//	    namespaces: [robots]     # or ["*"]
//	    token_sha256: 9f86d0…    # hex SHA-256 of the token; or token: …
//
// The file must be private (internal/secretfile). A changed file is read again
// within a second; one that is broken then is reported and the last good one
// stays in force. Tokens are compared by their SHA-256 in constant time.
type Principals struct {
	entries *watchfile.Value[[]entry]
}

type entry struct {
	token     [sha256.Size]byte
	principal Principal
}

type principalsFile struct {
	Principals []struct {
		Name        string   `yaml:"name"`
		Tenant      string   `yaml:"tenant"`
		Role        Role     `yaml:"role"`
		Namespaces  []string `yaml:"namespaces"`
		Token       string   `yaml:"token"`
		TokenSHA256 string   `yaml:"token_sha256"`
	} `yaml:"principals"`
}

// OpenPrincipals reads the file at path. It fails with lake.Invalid, naming
// what is wrong, when the file is readable by others, too large or malformed.
// logger receives the failures of later reloads; nil means slog.Default.
func OpenPrincipals(path string, logger *slog.Logger) (*Principals, error) {
	entries, err := watchfile.Watch(logger, func() ([]entry, error) {
		raw, err := watchfile.Read(path, true, maxPrincipalsBytes)
		if err != nil {
			return nil, err
		}
		return parsePrincipals(raw)
	}, path)
	if err != nil {
		return nil, lake.Wrap("principals file "+path, err)
	}
	return &Principals{entries}, nil
}

// LoopbackOnly returns false: a token proves who calls.
func (p *Principals) LoopbackOnly() bool { return false }

// Authenticate implements [Authenticator].
func (p *Principals) Authenticate(_ context.Context, token string) (Principal, error) {
	if token == "" {
		return Principal{}, lake.Errorf(lake.Unauthenticated, "no credentials: send 'authorization: Bearer <token>'")
	}
	sum := sha256.Sum256([]byte(token))
	found := -1
	entries := p.entries.Get()
	for i, e := range entries { // all of them, whichever matches
		if subtle.ConstantTimeCompare(e.token[:], sum[:]) == 1 {
			found = i
		}
	}
	if found < 0 {
		return Principal{}, lake.Errorf(lake.Unauthenticated, "the token is not known")
	}
	return entries[found].principal, nil
}

// parsePrincipals reads the file's text. Its errors never quote the text,
// which holds tokens.
func parsePrincipals(raw []byte) ([]entry, error) {
	if len(raw) > maxPrincipalsBytes {
		return nil, lake.Errorf(lake.Invalid, "more than %d bytes", maxPrincipalsBytes)
	}
	var file principalsFile
	dec := yaml.NewDecoder(bytes.NewReader(raw))
	dec.KnownFields(true)
	if err := dec.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return nil, lake.Errorf(lake.Invalid, "not a YAML or JSON document with a list 'principals' of {name, tenant, role, namespaces, token or token_sha256}")
	}
	if len(file.Principals) == 0 {
		return nil, lake.Errorf(lake.Invalid, "no principals in it")
	}
	entries := make([]entry, 0, len(file.Principals))
	names, tokens := map[string]bool{}, map[[sha256.Size]byte]bool{}
	for i, f := range file.Principals {
		e := entry{principal: Principal{Name: f.Name, Tenant: f.Tenant, Role: f.Role, Namespaces: f.Namespaces}}
		if e.principal.Tenant == "" {
			e.principal.Tenant = lake.DefaultTenant
		}
		if err := e.principal.Validate(); err != nil {
			return nil, lake.Errorf(lake.Invalid, "entry %d: %w", i+1, err)
		}
		if e.principal.Role == Developer {
			return nil, lake.Errorf(lake.Invalid, "entry %d: role %q is for development servers without a principals file", i+1, Developer)
		}
		var err error
		if e.token, err = tokenSum(f.Token, f.TokenSHA256); err != nil {
			return nil, lake.Wrap("principal "+f.Name, err)
		}
		if names[f.Name] || tokens[e.token] {
			return nil, lake.Errorf(lake.Invalid, "principal %s: its name or its token is there twice", f.Name)
		}
		names[f.Name], tokens[e.token] = true, true
		entries = append(entries, e)
	}
	return entries, nil
}

func tokenSum(token, sum string) (out [sha256.Size]byte, err error) {
	switch {
	case (token == "") == (sum == ""):
		return out, lake.Errorf(lake.Invalid, "want exactly one of token and token_sha256")
	case token != "" && (len(token) < minTokenBytes || len(token) > maxTokenBytes):
		return out, lake.Errorf(lake.Invalid, "token of %d bytes: want %d..%d", len(token), minTokenBytes, maxTokenBytes)
	case token != "":
		return sha256.Sum256([]byte(token)), nil
	case len(sum) != hex.EncodedLen(sha256.Size):
		return out, lake.Errorf(lake.Invalid, "token_sha256: want %d hexadecimal digits", hex.EncodedLen(sha256.Size))
	}
	if _, err := hex.Decode(out[:], []byte(sum)); err != nil {
		return out, lake.Errorf(lake.Invalid, "token_sha256: want %d hexadecimal digits", hex.EncodedLen(sha256.Size))
	}
	return out, nil
}
