// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strings"

	"github.com/lakeplane/lake/lake"
)

const promptHelp = `  \d                  tables
  \d NAMESPACE.TABLE  columns of a table
  \df [TEXT]          functions that statements may call
  \o FORMAT [FILE]    print results as table, json, csv or arrow, here or into FILE
  \timing [on|off]    say how many rows there were and how long it took
  \bind VALUE ...     values of the placeholders (?) of the next statement
  \q                  leave, as Ctrl-D does
Ctrl-C cancels the statement that runs, or drops what was typed.`

// command runs a line that begins with a backslash, and reports whether it was
// the last.
func (p *prompt) command(ctx context.Context, line string) (leave bool) {
	word, rest, _ := strings.Cut(line, " ")
	args := strings.Fields(strings.TrimSuffix(strings.TrimSpace(rest), ";"))
	var err error
	switch strings.TrimSuffix(word, ";") {
	case `\q`:
		return true
	case `\?`, `\h`, `\help`:
		p.app.note("%s", promptHelp)
	case `\d`, `\dt`:
		err = p.describe(ctx, args)
	case `\df`:
		p.execute(ctx, "SELECT routine_name, routine_type FROM information_schema.routines WHERE contains(routine_name, ?) ORDER BY ALL", []any{strings.Join(args, " ")})
	case `\o`:
		err = p.setOutput(args)
	case `\timing`:
		err = p.setTiming(args)
	case `\bind`:
		p.params = parameters(args)
	default:
		err = usagef(`there is no %s: \? tells what there is`, word)
	}
	if err != nil {
		p.app.complain(err)
	}
	return false
}

func (p *prompt) describe(ctx context.Context, args []string) error {
	if len(args) == 0 {
		p.execute(ctx, "SHOW TABLES", nil)
		return nil
	}
	if len(args) > 1 {
		return usagef(`\d takes one table`)
	}
	name, err := lake.ParseTableName(args[0])
	if err != nil {
		return err
	}
	quote := func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
	p.execute(ctx, "DESCRIBE "+quote(name.Namespace)+"."+quote(name.Name), nil)
	return nil
}

func (p *prompt) setOutput(args []string) error {
	if len(args) == 0 || len(args) > 2 {
		return usagef(`\o takes a format, table, json, csv or arrow, and may be a file`)
	}
	if err := checkFormat(args[0], true); err != nil {
		return err
	}
	p.format, p.file = args[0], ""
	if len(args) == 2 {
		p.file = args[1]
	}
	return nil
}

func (p *prompt) setTiming(args []string) error {
	switch {
	case len(args) == 0:
		p.timing = !p.timing
	case len(args) == 1 && (args[0] == "on" || args[0] == "off"):
		p.timing = args[0] == "on"
	default:
		return usagef(`\timing takes on or off`)
	}
	p.app.note("timing is %s", map[bool]string{true: "on", false: "off"}[p.timing])
	return nil
}
