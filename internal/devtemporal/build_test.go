// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package devtemporal

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lakeplane/lake/lake"
)

// writeTree makes a folder of files and returns it.
func writeTree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// tinyModule has the server's module path and none of its weight.
func tinyModule(t *testing.T, main string) string {
	return writeTree(t, map[string]string{
		"go.mod":  modulePath + "\n\ngo 1.26.0\n",
		"go.sum":  "",
		"main.go": main,
	})
}

func TestBuildCompilesOnceAndAgainAfterAChange(t *testing.T) {
	source := tinyModule(t, "package main\n\nfunc main() {}\n")
	opts := BuildOptions{SourceDir: source, CacheDir: t.TempDir()}
	compiled := 0
	build := func() string {
		t.Helper()
		path, err := Build(t.Context(), opts, func(n int, _ time.Duration) { compiled++ })
		if err != nil {
			t.Fatal(err)
		}
		if !isExecutable(path) {
			t.Fatalf("%s is not executable", path)
		}
		return path
	}
	first := build()
	if compiled == 0 {
		t.Fatal("the first build reported no progress")
	}
	compiled = 0
	if again := build(); again != first || compiled != 0 {
		t.Fatalf("unchanged sources: path %s after %s, %d packages compiled", again, first, compiled)
	}
	if err := os.WriteFile(filepath.Join(source, "main.go"), []byte("package main\n\nfunc main() { println() }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if changed := build(); changed == first {
		t.Fatal("changed sources gave the same binary")
	}
}

func TestBuildForgetsWhatNobodyUses(t *testing.T) {
	cache := t.TempDir()
	age := func(path string, d time.Duration) string {
		t.Helper()
		if err := os.Chtimes(path, time.Now().Add(-d), time.Now().Add(-d)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	build := func(body string) string {
		t.Helper()
		path, err := Build(t.Context(), BuildOptions{SourceDir: tinyModule(t, "package main\n\nfunc main() {"+body+"}\n"), CacheDir: cache}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	unused, recent, used := build(""), build("println(1)"), build("println(2)")
	age(unused, 2*keepUnused)
	age(recent, keepUnused/2)
	age(used, 2*keepUnused)
	build("println(2)") // only a look at the cache
	build("println(3)")
	if isExecutable(unused) || !isExecutable(recent) || !isExecutable(used) {
		t.Errorf("unused kept %v, recent kept %v, used kept %v", isExecutable(unused), isExecutable(recent), isExecutable(used))
	}
}

func TestBuildReportsTheCompilersWords(t *testing.T) {
	source := tinyModule(t, "package main\n\nfunc main() { undefinedThing() }\n")
	_, err := Build(t.Context(), BuildOptions{SourceDir: source, CacheDir: t.TempDir()}, nil)
	if !lake.Is(err, lake.Precondition) || !strings.Contains(err.Error(), "undefinedThing") {
		t.Fatalf("got %v", err)
	}
}

func TestBuildHonoursCancellation(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	source := tinyModule(t, "package main\n\nfunc main() {}\n")
	if _, err := Build(ctx, BuildOptions{SourceDir: source, CacheDir: t.TempDir()}, nil); err == nil {
		t.Fatal("a cancelled build succeeded")
	}
}

func TestBinaryNamesTheWays(t *testing.T) {
	t.Run("variable wins", func(t *testing.T) {
		path := filepath.Join(writeTree(t, map[string]string{"x": "#!/bin/sh\n"}), "x")
		t.Setenv(EnvBinary, path)
		got, err := Binary(t.Context(), BuildOptions{}, nil)
		if err != nil || got != path {
			t.Fatalf("got %q, %v", got, err)
		}
	})
	t.Run("variable is wrong", func(t *testing.T) {
		t.Setenv(EnvBinary, "/does/not/exist")
		_, err := Binary(t.Context(), BuildOptions{}, nil)
		if !lake.Is(err, lake.Invalid) || !strings.Contains(err.Error(), "/does/not/exist") {
			t.Fatalf("got %v", err)
		}
	})
	t.Run("no way is open", func(t *testing.T) {
		t.Setenv(EnvBinary, "")
		_, err := Binary(t.Context(), BuildOptions{SourceDir: t.TempDir()}, nil)
		if !lake.Is(err, lake.Precondition) {
			t.Fatalf("got %v", err)
		}
		for _, way := range []string{EnvBinary, binaryName, "deploy/temporal", "--temporal-address"} {
			if !strings.Contains(err.Error(), way) {
				t.Errorf("%q does not name %s", err, way)
			}
		}
	})
}

func TestHashSourceCoversWhatDecidesTheBinary(t *testing.T) {
	base := map[string]string{"go.mod": "m", "go.sum": "s", "a.go": "a"}
	hash := func(change map[string]string) string {
		t.Helper()
		files := map[string]string{}
		for k, v := range base {
			files[k] = v
		}
		for k, v := range change {
			files[k] = v
		}
		sum, err := hashSource(writeTree(t, files))
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	want := hash(nil)
	for name, change := range map[string]map[string]string{
		"go.mod": {"go.mod": "m2"}, "go.sum": {"go.sum": "s2"}, "source": {"a.go": "b"}, "new file": {"b.go": ""},
	} {
		if hash(change) == want {
			t.Errorf("a change of %s does not change the hash", name)
		}
	}
	if hash(map[string]string{"a_test.go": "t"}) != want {
		t.Error("a test file changes the hash")
	}
}

func TestFindSourceFindsThisCheckout(t *testing.T) {
	dir, ok := findSource("")
	if !ok || !isSource(dir) {
		t.Fatalf("got %q, %v", dir, ok)
	}
}
