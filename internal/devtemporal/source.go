// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package devtemporal

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// modulePath is the first line of the go.mod that marks the server's sources.
const modulePath = "module github.com/lakeplane/lake/deploy/temporal"

// findSource returns the folder of the server's sources: the one given, else
// deploy/temporal of the checkout around the working directory, around the
// running executable, or around the place this package was compiled from.
func findSource(given string) (string, bool) {
	if given != "" {
		return given, isSource(given)
	}
	var starts []string
	if wd, err := os.Getwd(); err == nil {
		starts = append(starts, wd)
	}
	if exe, err := executable(); err == nil {
		starts = append(starts, filepath.Dir(exe))
	}
	if _, file, _, ok := runtime.Caller(0); ok {
		starts = append(starts, filepath.Dir(file))
	}
	for _, start := range starts {
		if dir, ok := searchUp(start); ok {
			return dir, true
		}
	}
	return "", false
}

func searchUp(dir string) (string, bool) {
	for {
		if candidate := filepath.Join(dir, "deploy", "temporal"); isSource(candidate) {
			return candidate, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", false
		}
		dir = parent
	}
}

func isSource(dir string) bool {
	b, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	return err == nil && strings.HasPrefix(string(b), modulePath)
}

// hashSource names the contents of everything that decides the binary.
func hashSource(dir string) (string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return "", err
	}
	files = slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, "_test.go") })
	files = append(files, filepath.Join(dir, "go.mod"), filepath.Join(dir, "go.sum"))
	slices.Sort(files)
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%s/%s\n", runtime.GOOS, runtime.GOARCH)
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return "", err
		}
		_, _ = fmt.Fprintf(h, "%s %d\n%s", filepath.Base(f), len(b), b)
	}
	return hex.EncodeToString(h.Sum(nil))[:16], nil
}

// executable is the running program with symbolic links resolved, so that a
// link in ~/bin finds what was installed beside its target.
func executable() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(exe)
}
