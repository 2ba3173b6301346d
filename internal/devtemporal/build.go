// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package devtemporal

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/lakeplane/lake/lake"
)

const (
	// EnvBinary names a ready-made server binary. It wins over everything else.
	EnvBinary = "LAKE_TEMPORAL_DEV_BIN"
	// binaryName is the server's file name without the suffix of the system.
	binaryName = "lake-temporal-dev"
)

// BuildOptions says where to build from and where to keep the result. The zero
// value finds both.
type BuildOptions struct {
	// SourceDir is the deploy/temporal folder of a checkout. Empty means the
	// checkout around the working directory, the executable, or this package.
	SourceDir string
	// CacheDir keeps one folder per version of the sources. Empty means
	// lake/temporal-dev under the user's cache folder.
	CacheDir string
}

// Progress is called from time to time while the server is compiled, which
// takes about five minutes of one machine's two cores the first time.
type Progress func(packages int, elapsed time.Duration)

// Binary returns the path of a server binary: the one LAKE_TEMPORAL_DEV_BIN
// names, the one beside the running executable, or the one [Build] makes. The
// error is lake.Precondition and names these ways when none is open.
func Binary(ctx context.Context, opts BuildOptions, progress Progress) (string, error) {
	if path := os.Getenv(EnvBinary); path != "" {
		if !isExecutable(path) {
			return "", lake.Errorf(lake.Invalid, "%s=%q is not an executable file", EnvBinary, path)
		}
		return path, nil
	}
	if exe, err := executable(); err == nil {
		if path := filepath.Join(filepath.Dir(exe), fileName()); isExecutable(path) {
			return path, nil
		}
	}
	return Build(ctx, opts, progress)
}

// Build compiles the server into the cache and returns its path; when the
// sources have not changed since, it only returns the path. Several processes
// may call it at once: one compiles, the others wait.
func Build(ctx context.Context, opts BuildOptions, progress Progress) (string, error) {
	source, ok := findSource(opts.SourceDir)
	if !ok {
		return "", lake.Errorf(lake.Precondition, "no Temporal development server: set %s to a binary, put %s beside the lake executable, "+
			"run inside a checkout of Lake (it is compiled from deploy/temporal), or use a running server with --temporal-address", EnvBinary, fileName())
	}
	dir, err := opts.outputDir(source)
	if err != nil {
		return "", lake.Wrap("build the Temporal development server", err)
	}
	path := filepath.Join(dir, fileName())
	if isExecutable(path) {
		_ = os.Chtimes(path, time.Now(), time.Now()) // in use, for prune
		return path, nil
	}
	unlock, err := lockDir(ctx, dir)
	if err != nil {
		return "", lake.Wrap("build the Temporal development server", err)
	}
	defer unlock()
	if isExecutable(path) { // another process built it while this one waited
		return path, nil
	}
	if err := compile(ctx, source, path, progress); err != nil {
		return "", err
	}
	prune(filepath.Dir(dir), path)
	return path, nil
}

// keepUnused is how long a binary that nobody starts stays in the cache. One
// takes 150 MB and every change of the sources makes another.
const keepUnused = 14 * 24 * time.Hour

// prune removes the folders of binaries that were not used for long, as well as
// it can.
func prune(cache, keep string) {
	binaries, _ := filepath.Glob(filepath.Join(cache, "*", fileName())) // the pattern is well-formed
	for _, path := range binaries {
		info, err := os.Stat(path)
		if err == nil && path != keep && time.Since(info.ModTime()) > keepUnused {
			_ = os.RemoveAll(filepath.Dir(path))
		}
	}
}

func (o BuildOptions) outputDir(source string) (string, error) {
	sum, err := hashSource(source)
	if err != nil {
		return "", err
	}
	cache := o.CacheDir
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		cache = filepath.Join(user, "lake", "temporal-dev")
	}
	dir := filepath.Join(cache, sum)
	return dir, os.MkdirAll(dir, 0o755)
}

// compile builds into a temporary name and renames, so that a path in the cache
// is always a whole binary.
func compile(ctx context.Context, source, path string, progress Progress) error {
	tmp := path + ".partial"
	defer func() { _ = os.Remove(tmp) }() // gone already when all went well
	cmd := exec.CommandContext(ctx, "go", "build", "-v", "-ldflags=-s -w", "-o", tmp, ".")
	cmd.Dir = source
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // lets go remove its work folder
	cmd.WaitDelay = 10 * time.Second
	pipe, err := cmd.StderrPipe()
	if err != nil {
		return lake.Wrap("build the Temporal development server", err)
	}
	if err := cmd.Start(); err != nil {
		return lake.Errorf(lake.Precondition, "build the Temporal development server: the Go toolchain is needed once, or a binary in %s: %w", EnvBinary, err)
	}
	tail := follow(pipe, progress)
	if err := cmd.Wait(); err != nil {
		return lake.Errorf(lake.Precondition, "build the Temporal development server in %s: %w\n%s", source, err, tail)
	}
	return lake.Wrap("build the Temporal development server", os.Rename(tmp, path))
}

// follow counts the packages that go build names and keeps the last lines, in
// which an error would be.
func follow(r io.Reader, progress Progress) string {
	var (
		start    = time.Now()
		packages int
		last     []string
	)
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := lines.Text()
		if last = append(last, line); len(last) > 20 {
			last = last[1:]
		}
		if strings.ContainsAny(line, " :") {
			continue // a message, not a package
		}
		packages++
		if progress != nil {
			progress(packages, time.Since(start))
		}
	}
	return strings.Join(last, "\n")
}

func fileName() string {
	if runtime.GOOS == "windows" {
		return binaryName + ".exe"
	}
	return binaryName
}

func isExecutable(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	return runtime.GOOS == "windows" || info.Mode().Perm()&0o111 != 0
}

// lastLines is the end of a log, for an error message.
func lastLines(b []byte, n int) string {
	lines := bytes.Split(bytes.TrimSpace(b), []byte("\n"))
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return string(bytes.Join(lines, []byte("\n")))
}
