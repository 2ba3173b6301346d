// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

// Package pgtest runs a real PostgreSQL server for tests, from the binaries
// that are installed on the machine, in a directory and on a port of its own.
package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrMissing says that the machine has no PostgreSQL binaries, or none that
// may run here. Tests skip with it as their reason.
var ErrMissing = errors.New("no PostgreSQL server to run")

// binaries are the places where servers are looked for, besides the path.
var binaries = []string{"/usr/lib/postgresql/*/bin", "/opt/homebrew/opt/postgresql*/bin", "/usr/local/opt/postgresql*/bin", "/usr/pgsql-*/bin"}

// Server is a running server. Its superuser is "lake", without a password, and
// its database "postgres".
type Server struct{ process }

// process is a program in a directory and on a port of its own.
type process struct {
	dir  string
	port int

	owner  *syscall.Credential // who runs it, nil for the present user
	stop   io.Closer           // the guard's standard input
	exited chan struct{}
	log    syncBuffer
}

// Start starts a server with settings such as "fsync=off" and waits until it
// answers. The caller must call Stop. When the test process dies, so does the
// server.
func Start(settings ...string) (*Server, error) {
	bin, err := find()
	if err != nil {
		return nil, err
	}
	s := new(Server)
	if err := s.prepare(); err != nil {
		return nil, err
	}
	if err := s.start(bin, settings); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	return s, nil
}

// prepare makes the directory, which the program's user owns, and chooses a port.
func (p *process) prepare() (err error) {
	if p.owner, err = ownerID(); err != nil {
		return err
	}
	if p.port, err = freePort(); err != nil {
		return err
	}
	if p.dir, err = os.MkdirTemp("", "lake-pg-"); err != nil || p.owner == nil {
		return err
	}
	return os.Chown(p.dir, int(p.owner.Uid), int(p.owner.Gid))
}

func find() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	for _, pattern := range binaries {
		found, _ := filepath.Glob(filepath.Join(pattern, "initdb"))
		if len(found) > 0 {
			return filepath.Dir(slices.Max(found)), nil
		}
	}
	return "", fmt.Errorf("%w: no initdb on the path or in %v", ErrMissing, binaries)
}

// ownerID returns who runs the server, nil for the present user. PostgreSQL
// refuses to run as root.
func ownerID() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, fmt.Errorf("%w: running as root, and there is no user postgres or nobody", ErrMissing)
}

func (s *Server) start(bin string, settings []string) error {
	data := filepath.Join(s.dir, "data")
	initdb := s.command(filepath.Join(bin, "initdb"), "-D", data, "-U", "lake", "-A", "trust", "-N", "-E", "UTF8", "--no-locale", "--no-instructions")
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	args := []string{filepath.Join(bin, "postgres"), "-D", data, "-p", strconv.Itoa(s.port), "-k", s.dir}
	for _, setting := range append([]string{"listen_addresses=127.0.0.1", "max_connections=100"}, settings...) {
		args = append(args, "-c", setting)
	}
	if err := s.launch(args...); err != nil {
		return err
	}
	return s.await()
}

func (p *process) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "HOME="+p.dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.owner}
	return cmd
}

// guard runs the program until its own standard input ends, which is when the
// test stops it or dies, and then removes the directory.
const guard = `"$@" & pid=$!; cat >/dev/null; kill -INT $pid 2>/dev/null; wait $pid; cd /; rm -rf "$LAKE_PG_DIR"`

func (p *process) launch(program ...string) error {
	cmd := p.command("/bin/sh", append([]string{"-c", guard, "sh"}, program...)...)
	cmd.Env = append(cmd.Env, "LAKE_PG_DIR="+p.dir)
	cmd.Stdout, cmd.Stderr = &p.log, &p.log
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	p.stop, p.exited = stdin, make(chan struct{})
	go func() {
		_ = cmd.Wait() // its log tells more than its status
		close(p.exited)
	}()
	return nil
}

// await waits until queries are answered.
func (p *process) await() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, p.DSN())
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-ctx.Done():
			_ = p.Stop()
			return fmt.Errorf("no answer: %w: %s", err, p.log.String())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// DSN returns the connection string of the superuser.
func (p *process) DSN() string {
	return fmt.Sprintf("postgres://lake@%s/postgres?sslmode=disable", p.Addr())
}

// Addr returns the host and port that it listens on.
func (p *process) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.port)) }

// Log returns what it has logged.
func (p *process) Log() string { return p.log.String() }

// Stop stops it and removes its files.
func (p *process) Stop() error {
	err := p.stop.Close()
	select {
	case <-p.exited:
	case <-time.After(30 * time.Second):
		err = errors.Join(err, errors.New("it does not stop"))
	}
	return errors.Join(err, os.RemoveAll(p.dir))
}

// syncBuffer is written by the server's copier and read by the test.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
