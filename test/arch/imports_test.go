// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package arch holds the import map: who may know whom, and why. A failing
// test here means that a package moved into a room it has no key for; change
// the code, or change the map together with docs/architecture.md.
package arch

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/lakeplane/lake"

// rule says that packages under From import nothing under any of Never, except
// what is under Except. All are paths; inside the module they start with "./".
type rule struct {
	From   string
	Never  []string
	Except []string
	Why    string
}

// rules are the walls of docs/architecture.md. Tests (package x_test) are free
// to cross them: they wire real neighbours together.
var rules = []rule{
	{From: "./lake", Never: []string{"./", "."}, Except: []string{"./lake"}, Why: "everyone imports the nouns, so they import only the standard library"},
	{From: "./metastore", Never: []string{"./"}, Except: []string{"./lake", "./metastore", "./internal", "./api"}, Why: "the store of truth knows nothing of what it stores"},
	{From: "./objstore", Never: []string{"./"}, Except: []string{"./lake", "./objstore", "./internal"}, Why: "objects are bytes"},
	{From: "./lance", Never: []string{"./"}, Except: []string{"./lance", "./lake"}, Why: "the Lance library is of use to strangers: format only, no catalog"},
	{From: "./catalog", Never: []string{"./"}, Except: []string{"./catalog", "./lake", "./metastore"}, Why: "rules over the metastore know no transport, engine or procedure"},
	{From: "./catalog", Never: backends, Why: "the catalog works on any backend"},
	{From: "./engine", Never: []string{"./catalog", "./services", "./workflows", "./activities", "./worker", "./sdk", "./api"}, Why: "a storage engine is replaceable and serves, never calls, the tiers"},
	{From: "./engine", Never: backends, Why: "an engine hands out metastore operations and commits nothing itself"},
	{From: "./audit", Never: []string{"./"}, Except: []string{"./audit", "./catalog", "./engine", "./objstore", "./metastore", "./lake"}, Why: "an audit holds records against objects, whoever serves them"},
	{From: "./audit", Never: append([]string{"./engine/lance"}, backends...), Why: "an audit works on any engine and backend"},
	{From: "./retention", Never: []string{"./"}, Except: []string{"./retention", "./catalog", "./engine", "./metastore", "./lake"}, Why: "which versions stay is told by the authority and done by a worker"},
	{From: "./retention", Never: append([]string{"./engine/lance"}, backends...), Why: "retention works on any engine and backend"},
	{From: "./activities", Never: []string{"./services", "./worker", "./sdk", "./cmd"}, Why: "procedures work on the records and objects, not through servers"},
	{From: "./activities", Never: backends, Why: "procedures work on any backend"},
	{From: "./workflows", Never: []string{"./catalog", "./metastore", "./objstore", "./engine", "./lance", "./services", "./worker", "./sdk"}, Why: "workflows are deterministic: all I/O is in activities"},
	{From: "./workflows", Never: []string{"net", "net/http", "os", "database/sql", "math/rand", "crypto/rand"}, Except: []string{"net/url"}, Why: "workflows are deterministic: all I/O is in activities"},
	{From: "./services", Never: []string{"./activities", "./worker", "./cmd", "./sdk"}, Why: "hot paths never wait for procedures"},
	{From: "./services", Never: []string{"./lance", "./objstore", "./engine/lance"}, Why: "services see storage through the engine port only"},
	{From: "./services", Never: backends, Why: "services are wired to a backend by the binary"},
	{From: "./services/query", Never: []string{"./metastore", "./catalog", "./workflows"}, Why: "query replicas hold no metastore credentials; they ask metasrv"},
	{From: "./sdk", Never: []string{"./"}, Except: []string{"./sdk", "./api", "./lake", "./internal"}, Why: "a client links nothing of the servers"},
	{From: "./api", Never: []string{"./"}, Except: []string{"./api"}, Why: "generated code only"},
	{From: "./internal", Never: []string{"./services", "./workflows", "./activities", "./worker", "./catalog", "./cmd"}, Why: "small helpers sit below the tiers"},
	{From: "./", Never: []string{"./cmd", "./test"}, Except: []string{"./cmd", "./test"}, Why: "nothing depends on a binary or a test"},
}

var backends = []string{"./metastore/memory", "./metastore/pebble", "./metastore/postgres", "./metastore/dynamodb", "./metastore/remote", "./objstore/local", "./objstore/s3"}

// drivers may be imported by the packages named only.
var drivers = map[string][]string{
	"github.com/cockroachdb/pebble":          {"./metastore/pebble"},
	"github.com/jackc/pgx":                   {"./metastore/postgres", "./internal/pgtest", "./test/bench"},
	"github.com/aws/aws-sdk-go-v2":           {"./metastore/dynamodb", "./objstore/s3", "./sdk"},
	"github.com/duckdb/duckdb-go-bindings":   {"./services/query/engine/duck", "./test/bench"},
	"go.temporal.io":                         {"./workflows", "./activities", "./worker", "./internal/devtemporal", "./cmd", "./test/bench"},
	"github.com/spf13/cobra":                 {"./cmd"},
	"github.com/prometheus/client_golang":    {"./services", "./worker", "./activities", "./cmd"},
	"github.com/stretchr/testify":            testHelpers,
	"pgregory.net/rapid":                     testHelpers,
	"go.uber.org/goleak":                     testHelpers,
	"github.com/anishathalye/porcupine":      testHelpers,
	"github.com/apache/arrow-go/v18/parquet": {"./internal/ingest", "./cmd", "./test"},
}

// testHelpers are packages for tests of other packages: a conformance suite, a
// fixture. Their names say so.
var testHelpers = []string{"./test", "*test"}

type pkg struct {
	ImportPath string
	Imports    []string
}

func TestImportsGoOneWay(t *testing.T) {
	for _, p := range packages(t) {
		for _, r := range rules {
			if !under(p.ImportPath, r.From) {
				continue
			}
			for _, imp := range p.Imports {
				if forbidden(imp, r) {
					t.Errorf("%s imports %s: %s", p.ImportPath, imp, r.Why)
				}
			}
		}
	}
}

func TestOnlyABackendImportsItsDriver(t *testing.T) {
	for _, p := range packages(t) {
		for _, imp := range p.Imports {
			for driver, allowed := range drivers {
				if !under(imp, driver) || slices.ContainsFunc(allowed, func(a string) bool { return allows(p.ImportPath, a) }) {
					continue
				}
				t.Errorf("%s imports %s: only %s may", p.ImportPath, imp, strings.Join(allowed, ", "))
			}
		}
	}
}

// TestRulesBite makes sure that the matching itself works: a map that matches
// nothing would pass for ever.
func TestRulesBite(t *testing.T) {
	require.True(t, under(module+"/lance/file", "./lance"))
	require.False(t, under(module+"/lancet", "./lance"), "a folder boundary, not a prefix")
	require.True(t, under("go.temporal.io/sdk/client", "go.temporal.io"))
	require.True(t, forbidden(module+"/services/query", rule{Never: []string{"./services"}}))
	require.False(t, forbidden(module+"/lake", rule{Never: []string{"./"}, Except: []string{"./lake"}}))
	require.True(t, forbidden("github.com/google/uuid", rule{Never: []string{"."}}))
	require.False(t, forbidden("strings", rule{Never: []string{"."}}))
	for _, r := range rules {
		require.NotEmpty(t, r.Why)
	}
}

func TestNoRoomForEverything(t *testing.T) {
	for _, p := range packages(t) {
		last := p.ImportPath[strings.LastIndex(p.ImportPath, "/")+1:]
		require.NotContains(t, []string{"util", "utils", "common", "helpers", "misc", "shared"}, last, "%s: name the noun", p.ImportPath)
	}
}

// allows is under, with "*test" for every package whose name ends in test.
func allows(imp, folder string) bool {
	if folder == "*test" {
		return strings.HasSuffix(imp, "test")
	}
	return under(imp, folder)
}

func forbidden(imp string, r rule) bool {
	hit := func(path string) bool { return under(imp, path) }
	return slices.ContainsFunc(r.Never, hit) && !slices.ContainsFunc(r.Except, hit)
}

// under reports whether an import path is the folder or inside it. "./" is the
// whole module and "." everything outside both the module and the standard
// library.
func under(imp, folder string) bool {
	switch {
	case folder == "./":
		return imp == module || strings.HasPrefix(imp, module+"/")
	case folder == ".":
		first, _, _ := strings.Cut(imp, "/")
		return strings.Contains(first, ".") && !under(imp, "./")
	}
	if rest, ok := strings.CutPrefix(folder, "./"); ok {
		folder = module + "/" + rest
	}
	return imp == folder || strings.HasPrefix(imp, folder+"/")
}

// packages parses the imports of every file of the module that is not a test,
// whatever its build tags. It reads the files itself, so that the test cache
// knows what the result depends on.
func packages(t *testing.T) []pkg {
	t.Helper()
	const root = "../.."
	imports := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			return skip(root, path)
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, i := range file.Imports {
			imports[folder] = append(imports[folder], strings.Trim(i.Path.Value, `"`))
		}
		return nil
	})
	require.NoError(t, err)
	var all []pkg
	for folder, list := range imports {
		all = append(all, pkg{ImportPath: module + "/" + filepath.ToSlash(folder), Imports: list})
	}
	require.NotEmpty(t, all)
	return all
}

// skip leaves out what is not part of the module: hidden folders, data, and
// nested modules.
func skip(root, path string) error {
	name := filepath.Base(path)
	if path == root {
		return nil
	}
	if strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules" {
		return filepath.SkipDir
	}
	if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
		return filepath.SkipDir
	}
	return nil
}
