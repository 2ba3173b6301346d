// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

// Package s3test runs a real S3 server for tests: versitygw over a directory of
// its own, on a loopback port of its own.
package s3test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"
)

// ErrMissing says that the machine has no server to run. Tests skip with it as
// their reason.
var ErrMissing = errors.New("no S3 server to run")

// The credentials of the server's one user, and a bucket that exists.
const (
	AccessKey = "lake-test-access"
	SecretKey = "lake-test-secret"
	Bucket    = "lake"
	// VersionedBucket keeps every version of an object.
	VersionedBucket = "lake-versioned"
)

// Server is a running server.
type Server struct {
	dir  string
	port int
	bin  string

	mu     sync.Mutex
	stop   io.Closer // the guard's standard input
	exited chan struct{}
	log    *os.File
}

// Start starts a server and waits until it answers. The caller must call Stop.
// When the test process dies, so does the server.
func Start() (*Server, error) {
	bin, err := find()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "lake-s3-")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, bin: bin}
	for _, d := range []string{"objects/" + Bucket, "objects/" + VersionedBucket, "versions"} {
		err = errors.Join(err, os.MkdirAll(filepath.Join(dir, d), 0o755))
	}
	if err == nil {
		s.log, err = os.Create(filepath.Join(dir, "log"))
	}
	if err == nil {
		s.port, err = freePort()
	}
	if err == nil {
		err = s.Restart()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

func find() (string, error) {
	if path := os.Getenv("LAKE_VERSITYGW_BIN"); path != "" {
		return path, nil
	}
	_, file, _, _ := runtime.Caller(0)
	path := filepath.Join(filepath.Dir(file), "..", "..", "bin", "versitygw")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if path, err := exec.LookPath("versitygw"); err == nil {
		return path, nil
	}
	return "", fmt.Errorf("%w: no versitygw in bin, on the path or in LAKE_VERSITYGW_BIN (make test builds it)", ErrMissing)
}

// guard runs the server until its own standard input ends, which is when the
// test stops it or dies.
const guard = `"$@" & pid=$!; cat >/dev/null; kill -KILL $pid 2>/dev/null; wait $pid`

// Restart starts the server again, after Kill or Stop, on the same data.
func (s *Server) Restart() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	args := []string{
		"-c", guard, "sh", s.bin, "--port", s.Addr(), "--quiet", "posix",
		"--versioning-dir", filepath.Join(s.dir, "versions"), filepath.Join(s.dir, "objects"),
	}
	cmd := exec.Command("/bin/sh", args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+AccessKey, "ROOT_SECRET_KEY="+SecretKey)
	cmd.Stdout, cmd.Stderr = s.log, s.log
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	s.stop, s.exited = stdin, exited
	go func() {
		_ = cmd.Wait() // killed, always
		close(exited)
	}()
	return s.await()
}

// await waits until the server answers.
func (s *Server) await() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL(), nil)
		if err != nil {
			return err
		}
		answer, err := http.DefaultClient.Do(req)
		if err == nil {
			http.DefaultClient.CloseIdleConnections()
			return answer.Body.Close()
		}
		select {
		case <-ctx.Done():
			text, _ := os.ReadFile(s.log.Name())
			return fmt.Errorf("the S3 server does not answer: %w: %s", err, text)
		case <-s.exited:
			text, _ := os.ReadFile(s.log.Name())
			return fmt.Errorf("the S3 server ended: %s", text)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Kill ends the server at once, as a crash would, and keeps its data.
func (s *Server) Kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.stop.Close()
	<-s.exited
	return err
}

// Stop ends the server and removes its data.
func (s *Server) Stop() error {
	return errors.Join(s.Kill(), s.log.Close(), os.RemoveAll(s.dir))
}

// Addr is the server's host and port.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// URL is the server's endpoint.
func (s *Server) URL() string { return "http://" + s.Addr() }

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}
