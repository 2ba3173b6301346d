// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/lakeplane/lake/sdk"
)

const (
	promptFirst = "lake> "
	promptMore  = "   -> "
)

// prompt asks for statements at a terminal.
//
// The terminal is in raw mode only while a line is edited. While a statement
// runs, Ctrl-C is a signal, which cancels the statement and nothing else.
type prompt struct {
	app     *app
	client  *sdk.Client
	lines   *lineEditor
	format  string
	timing  bool
	params  []any
	file    string // where results go instead of the terminal, or empty
	pending string // the statement so far
}

func newPrompt(a *app, c *sdk.Client, in, out *os.File, f sqlFlags) *prompt {
	return &prompt{app: a, client: c, lines: newLineEditor(in, out), format: a.format, timing: f.timing, params: parameters(f.params)}
}

// run asks until the end of the input or \q.
func (p *prompt) run(ctx context.Context) error {
	terminate := make(chan os.Signal, 1)
	signal.Notify(terminate, syscall.SIGTERM)
	defer signal.Stop(terminate)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-terminate:
			cancel()
		case <-ctx.Done():
		}
	}()
	p.app.note(`Statements end with ";". \? tells what else there is, Ctrl-D leaves.`)
	for ctx.Err() == nil {
		line, err := p.ask()
		switch {
		case errors.Is(err, errInterrupted):
			p.pending = ""
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case p.pending == "" && strings.HasPrefix(strings.TrimSpace(line), `\`):
			p.lines.remember(line)
			if p.command(ctx, strings.TrimSpace(line)) {
				return nil
			}
		default:
			p.statements(ctx, line)
		}
	}
	return ctx.Err()
}

func (p *prompt) ask() (string, error) {
	if p.pending != "" {
		return p.lines.read(promptMore)
	}
	return p.lines.read(promptFirst)
}

// statements takes one more line and runs what it completes.
func (p *prompt) statements(ctx context.Context, line string) {
	p.pending += line + "\n"
	for {
		statement, rest, complete := cutStatement(p.pending)
		if !complete {
			if saysNothing(p.pending) {
				p.pending = ""
			}
			return
		}
		p.pending = rest
		if !saysNothing(statement) {
			p.lines.remember(strings.TrimSpace(statement) + ";")
			p.execute(ctx, statement, p.params)
			p.params = nil
		}
	}
}

// execute runs one statement, which Ctrl-C cancels.
func (p *prompt) execute(ctx context.Context, statement string, params []any) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	out, closeOut, err := p.output()
	if err != nil {
		p.app.complain(err)
		return
	}
	done, err := printQuery(ctx, p.client, out, p.format, statement, params)
	err = errors.Join(err, closeOut())
	switch {
	case ctx.Err() != nil:
		p.app.note("cancelled")
	case err != nil:
		p.app.complain(err)
	case p.timing:
		p.app.note("%s in %s", counted(done.rows, "row"), done.took.Round(time.Millisecond))
	}
}

// output is where a result goes.
func (p *prompt) output() (io.Writer, func() error, error) {
	if p.file == "" {
		return p.app.stdout, func() error { return nil }, checkArrowOutput(p.app.stdout, p.format)
	}
	f, err := os.Create(p.file)
	if err != nil {
		return nil, nil, usagef("%w", err)
	}
	return f, f.Close, nil
}
