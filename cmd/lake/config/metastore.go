// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"slices"
	"strings"

	"github.com/lakeplane/lake/cmd/lake/secure"
	"github.com/lakeplane/lake/metastore/dynamodb"
	"github.com/lakeplane/lake/metastore/postgres"
)

// The kinds of metastores, by the scheme of their URL.
const (
	Pebble   = "pebble"
	Postgres = "postgres"
	DynamoDB = dynamodb.Scheme
	Remote   = "lake"
)

// Metastore is which store holds the records.
type Metastore struct {
	// URL names it, File is a file that holds the URL.
	URL, File string
	// MaxConns bounds the connections to a database.
	MaxConns int
}

func (c *Metastore) add(s *Set, forms string) {
	c.MaxConns = 16
	s.add("metastore", "LAKE_METASTORE", urlValue{&c.URL}, "metastore: "+forms)
	s.add("metastore_file", "LAKE_METASTORE_FILE", stringValue{&c.File}, "file that holds the metastore's URL, and with it a password (mode 0600)")
	s.add("metastore_max_conns", "LAKE_METASTORE_MAX_CONNS", intValue{&c.MaxConns, 1, 1000}, "most connections to a PostgreSQL server")
}

// Resolve returns the URL, from the file if that is where it is.
func (c *Metastore) Resolve() (string, error) {
	if c.File == "" {
		return c.URL, nil
	}
	secret, err := secure.OpenSecret(c.File)
	if err != nil {
		return "", err
	}
	return secret.Text(), nil
}

// Kind is the scheme of the URL: [Pebble], [Postgres], [DynamoDB], [Remote] or something
// that is not a metastore. It is empty when the URL cannot be read.
func (c *Metastore) Kind() string {
	text, err := c.Resolve()
	if err != nil {
		return ""
	}
	return kindOf(text)
}

func kindOf(text string) string {
	scheme, _, ok := strings.Cut(text, "://")
	switch {
	case !ok:
		return ""
	case scheme == "postgresql":
		return Postgres
	}
	return scheme
}

// check reports what is wrong; kinds are the ones this process can use.
func (c *Metastore) check(s *Set, m *Mistakes, kinds ...string) {
	if c.URL != "" && c.File != "" {
		s.report(m, "metastore_file", "excludes metastore")
		return
	}
	switch source := s.byKey["metastore"].Source; {
	case !HoldsSecret(c.URL):
	case strings.HasPrefix(source, "flag "):
		s.report(m, "metastore", "a password on the command line can be read by everybody on the machine: put the URL into a file and name it by metastore_file")
	case !strings.HasPrefix(source, "environment ") && s.open:
		s.report(m, "metastore", "a password in a file that others may read: want mode 0600, or put the URL into a file of its own and name it by metastore_file")
	}
	key := "metastore"
	if c.File != "" {
		key = "metastore_file"
	}
	text, err := c.Resolve()
	if err != nil {
		s.report(m, key, "%w", err)
		return
	}
	if text == "" {
		s.report(m, "metastore", "a metastore is needed: want %s", forms(kinds))
		return
	}
	checkURL(s, m, key, text, kinds)
}

func checkURL(s *Set, m *Mistakes, key, text string, kinds []string) {
	kind := kindOf(text)
	if !slices.Contains(kinds, kind) {
		s.report(m, key, "a metastore %q cannot be used by lake %s: want %s", kind, s.Process, forms(kinds))
		return
	}
	var err error
	switch kind {
	case Pebble:
		var path string
		if path, err = FilePath(text, Pebble); err == nil {
			checkDirectory(s, m, key, path)
		}
	case Postgres:
		err = postgres.Options{DSN: text}.Validate()
	case DynamoDB:
		_, err = dynamodb.ParseURL(text)
	case Remote:
		_, err = RemoteAddresses(text)
	}
	if err != nil {
		s.report(m, key, "%w", err)
	}
}

// RemoteAddresses returns the servers of a URL lake://host:port,host:port.
func RemoteAddresses(text string) ([]string, error) {
	rest, ok := strings.CutPrefix(text, Remote+"://")
	addresses := strings.Split(strings.TrimSuffix(rest, "/"), ",")
	for _, a := range addresses {
		if !ok || !isHostPort(a, false) {
			return nil, errors.New("want lake://host:port, with commas between several")
		}
	}
	return addresses, nil
}

// checkLender reports that a metadata server on another machine is to lend its
// store to a process that has no token, which key would name, to show it.
func (c *Metastore) checkLender(s *Set, m *Mistakes, key, token, role string) {
	text, err := c.Resolve()
	if err != nil || token != "" {
		return
	}
	addresses, _ := RemoteAddresses(text) // an error is reported by check
	if slices.ContainsFunc(addresses, func(a string) bool { return !loopback(a) }) {
		s.report(m, key, "is needed: a metadata server on another machine asks for a token, of role %s", role)
	}
}

func forms(kinds []string) string {
	var out []string
	for _, k := range kinds {
		switch k {
		case Pebble:
			out = append(out, "pebble:///directory")
		case Postgres:
			out = append(out, "postgres://user@host/database")
		case DynamoDB:
			out = append(out, "dynamodb://table?region=REGION")
		case Remote:
			out = append(out, "lake://host:port of a metadata server")
		}
	}
	return strings.Join(out, ", ")
}
