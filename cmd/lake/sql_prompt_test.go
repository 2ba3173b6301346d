// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// asLake makes the test binary run as lake.
const asLake = "LAKE_TEST_AS_LAKE"

func init() {
	if os.Getenv(asLake) != "" {
		main()
	}
}

// session is `lake sql` at a terminal of its own.
type session struct {
	t        *testing.T
	keyboard *os.File
	cmd      *exec.Cmd
	ended    chan error

	mu     sync.Mutex
	screen bytes.Buffer
	seen   int // what expect has passed
}

// openTerminal returns both ends of a pseudo terminal (pts(4)).
func openTerminal(t *testing.T) (keyboard, tty *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminals here: %v", err)
	}
	t.Cleanup(func() { _ = keyboard.Close() })
	fd := int(keyboard.Fd())
	require.NoError(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	require.NoError(t, err)
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 160}))
	return keyboard, tty
}

func openSession(t *testing.T, state string, args ...string) *session {
	t.Helper()
	keyboard, tty := openTerminal(t)
	s := &session{t: t, keyboard: keyboard, ended: make(chan error, 1)}
	s.cmd = exec.Command(os.Args[0], append([]string{"sql", "--addr", served.State().Query}, args...)...)
	s.cmd.Env = append(os.Environ(), asLake+"=1", "XDG_STATE_HOME="+state)
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = tty, tty, tty
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(t, s.cmd.Start())
	require.NoError(t, tty.Close())
	go s.watch()
	go func() { s.ended <- s.cmd.Wait() }()
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	s.expect("Ctrl-D leaves")
	return s
}

func (s *session) watch() {
	buf := make([]byte, 4096)
	for {
		n, err := s.keyboard.Read(buf)
		s.mu.Lock()
		s.screen.Write(buf[:n])
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// expect waits until a text appears below what was expected before.
func (s *session) expect(text string) {
	s.t.Helper()
	for end := time.Now().Add(20 * time.Second); !s.appears(text); time.Sleep(2 * time.Millisecond) {
		require.False(s.t, time.Now().After(end), "%q does not appear; the screen:\n%s", text, s.text())
	}
}

func (s *session) appears(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := strings.Index(s.screen.String()[s.seen:], text)
	if i >= 0 {
		s.seen += i + len(text)
	}
	return i >= 0
}

func (s *session) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.screen.String()
}

// keys types at the prompt.
func (s *session) keys(keys string) {
	s.t.Helper()
	_, err := s.keyboard.WriteString(keys)
	require.NoError(s.t, err)
}

func (s *session) line(text string) {
	s.t.Helper()
	s.expect("> ")
	s.keys(text + "\r")
}

func (s *session) leave() {
	s.t.Helper()
	s.expect("lake> ")
	s.keys("\x04")
	select {
	case err := <-s.ended:
		require.NoError(s.t, err, s.text())
	case <-time.After(10 * time.Second):
		s.t.Fatalf("Ctrl-D does not end it; the screen:\n%s", s.text())
	}
}

func TestThePromptAnswersStatements(t *testing.T) {
	lakeRun(t, "table", "create", "prompt.notes", "--column", "id:i64", "--column", "note:utf8?")
	s := openSession(t, t.TempDir())
	s.line("SELECT 'a;b' AS x,")
	s.line("  6 * 7 AS n -- ; is no end here")
	s.line(";")
	s.expect("a;b  │  42")
	s.expect("1 row in ")
	s.line("SELECT 1 AS one; SELECT 2 AS two;")
	s.expect("one")
	s.expect("two")
	s.line(`\d`)
	s.expect("notes")
	s.line(`\d prompt.notes`)
	s.expect("BIGINT")
	s.line(`\o json`)
	s.line("SELECT 1 AS x;")
	s.expect(`{"x":1}`)
	s.line(`\timing`)
	s.expect("timing is off")
	s.line(`\bind 5 text:7 null`)
	s.line("SELECT ? + 1 AS a, ? AS b, ? AS c;")
	s.expect(`{"a":6,"b":"7","c":null}`)
	s.line("SELEC 1;")
	s.expect("syntax error")
	s.line(`\o xml`)
	s.expect("want table, json, csv or arrow")
	s.line(`\nonsense`)
	s.expect(`there is no \nonsense`)
	s.line(`\df regexp_match`)
	s.expect("regexp_matches")
	s.line(`\o arrow`)
	s.line("SELECT 1;")
	s.expect("not for a terminal")
	file := filepath.Join(t.TempDir(), "out.arrows")
	s.line(`\o arrow ` + file)
	s.line("SELECT 7 AS x;")
	s.leave()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	r, err := ipc.NewReader(f)
	require.NoError(t, err)
	require.True(t, r.Next())
	require.EqualValues(t, 1, r.RecordBatch().NumRows())
}

func TestCtrlCCancelsTheStatementAndNothingElse(t *testing.T) {
	s := openSession(t, t.TempDir())
	s.line("SELECT count(*) AS endless FROM range(1000000000000);")
	s.expect("\n")
	time.Sleep(300 * time.Millisecond) // the statement runs: a key is a signal
	began := time.Now()
	s.keys("\x03")
	s.expect("cancelled")
	require.Less(t, time.Since(began), 5*time.Second)
	s.line("SELECT 41 + 1 AS answer;")
	s.expect("42")
	s.expect("lake> ")
	s.keys("SELECT nonsense\x03") // drops the line
	s.line("SELECT 43;")
	s.expect("43")
	s.line("SELECT")
	s.expect("-> ")
	s.keys("\x03") // drops the statement
	s.line("SELECT 44;")
	s.expect("44")
	s.leave()
}

func TestTheHistoryOutlivesTheSession(t *testing.T) {
	state := t.TempDir()
	s := openSession(t, state)
	s.line("SELECT 'first' AS a,")
	s.line("12345 AS b;")
	s.expect("first")
	s.leave()
	info, err := os.Stat(filepath.Join(state, "lake", "sql_history"))
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm())
	s = openSession(t, state)
	s.expect("lake> ")
	s.keys("\x1b[A\r") // arrow up: the statement as a whole
	s.expect("12345 AS b;")
	s.expect("first │ 12345")
	s.leave()
}
