// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/term"
)

// errInterrupted says that Ctrl-C was typed into a line.
var errInterrupted = errors.New("interrupted")

const (
	ctrlC = 0x03
	// dropLine is typed in place of Ctrl-C: go to the end, delete to the
	// beginning, enter.
	dropLine = "\x05\x15\r"
	// maxHistory is how many statements are kept, here and in the file.
	maxHistory = 1000
)

// lineEditor reads lines from a terminal, with editing and a history that
// outlives it.
type lineEditor struct {
	in       *os.File
	out      *os.File
	terminal *term.Terminal
	keys     *keyReader
	past     *history
}

func newLineEditor(in, out *os.File) *lineEditor {
	e := &lineEditor{in: in, out: out, keys: &keyReader{in: in}, past: openHistory()}
	e.terminal = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{e.keys, out}, "")
	e.terminal.History = e.past
	return e
}

// read edits one line. The terminal is as before when it returns.
func (e *lineEditor) read(prompt string) (string, error) {
	fd := int(e.in.Fd())
	before, err := term.MakeRaw(fd)
	if err != nil {
		return "", err
	}
	defer func() { _ = term.Restore(fd, before) }()
	if width, height, err := term.GetSize(int(e.out.Fd())); err == nil && width > 0 {
		_ = e.terminal.SetSize(width, height)
	}
	e.terminal.SetPrompt(prompt)
	line, err := e.terminal.ReadLine()
	if e.keys.interrupted {
		e.keys.interrupted = false
		return "", errInterrupted
	}
	return line, err
}

// remember adds a statement to the history.
func (e *lineEditor) remember(statement string) { e.past.remember(statement) }

// keyReader types dropLine for Ctrl-C, at which the editor would end for good.
type keyReader struct {
	in          io.Reader
	left        []byte
	interrupted bool
}

// Read implements io.Reader.
func (k *keyReader) Read(b []byte) (int, error) {
	if len(k.left) == 0 {
		buf := make([]byte, 256)
		n, err := k.in.Read(buf)
		if n == 0 {
			return 0, err
		}
		for _, c := range buf[:n] {
			if c == ctrlC {
				k.interrupted = true
				k.left = append(k.left, dropLine...)
			} else {
				k.left = append(k.left, c)
			}
		}
	}
	n := copy(b, k.left)
	k.left = k.left[n:]
	return n, nil
}

// history holds statements, the newest last, and keeps them in a file with one
// a line. A file that cannot be used is done without.
type history struct {
	entries []string
	path    string
}

var _ term.History = (*history)(nil)

// openHistory reads the file of the user's state directory.
func openHistory() *history {
	h := &history{}
	dir, err := stateDirectory()
	if err != nil {
		return h
	}
	h.path = filepath.Join(dir, "sql_history")
	f, err := os.Open(h.path)
	if err != nil {
		return h
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		h.push(lines.Text())
	}
	return h
}

func (h *history) push(entry string) {
	h.entries = append(h.entries, entry)
	if over := len(h.entries) - maxHistory; over > 0 {
		h.entries = h.entries[over:]
	}
}

// Add implements term.History. The editor offers every line; statements are
// added whole, by remember.
func (h *history) Add(string) {}

// Len implements term.History.
func (h *history) Len() int { return len(h.entries) }

// At implements term.History: 0 is the newest.
func (h *history) At(i int) string { return h.entries[len(h.entries)-1-i] }

// remember adds a statement, on one line where no comment forbids that, unless
// it is the newest already.
func (h *history) remember(statement string) {
	entries := strings.Split(statement, "\n")
	if !strings.Contains(statement, "--") {
		entries = []string{strings.Join(strings.Fields(statement), " ")}
		if strings.ContainsAny(statement, `'"$`) { // blanks in texts matter
			entries = []string{strings.ReplaceAll(statement, "\n", " ")}
		}
	}
	for _, e := range entries {
		if e != "" && (len(h.entries) == 0 || h.entries[len(h.entries)-1] != e) {
			h.push(e)
		}
	}
	h.save()
}

// save writes all anew, for its owner only: statements may hold secrets.
func (h *history) save() {
	if h.path == "" || os.MkdirAll(filepath.Dir(h.path), 0o700) != nil {
		return
	}
	next := h.path + ".new"
	if os.WriteFile(next, []byte(strings.Join(h.entries, "\n")+"\n"), 0o600) == nil {
		_ = os.Rename(next, h.path)
	}
}

// stateDirectory is where the command line keeps what it remembers.
func stateDirectory() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "lake"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, ".local", "state", "lake"), nil
}
