// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
)

// dropFlags are the flags of table drop.
type dropFlags struct {
	opts         sdk.DropOptions
	incarnation  string
	undropWindow time.Duration
	yes          bool
}

func (a *app) tableDropCommand() *cobra.Command {
	var f dropFlags
	c := &cobra.Command{
		Use:   "drop NAMESPACE.TABLE",
		Short: "Drop a table and start the deletion of its objects",
		Long: "Takes the table out of the catalog at once and starts a durable procedure that\n" +
			"deletes its objects; it prints the procedure's id, to watch it with\n" +
			"`lake procedure watch`. Until purge_after, `lake table undrop` takes it back.",
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("undrop-window") {
				f.opts.UndropWindow = &f.undropWindow
			}
			return a.drop(cmd, args[0], f)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.opts.Reason, "reason", "", "why; kept with the record of the drop")
	flags.StringVar(&f.incarnation, "incarnation", "", "drop only this incarnation of the name")
	flags.DurationVar(&f.undropWindow, "undrop-window", 0, "how long the drop can be undone, such as 1h; default: the server's")
	flags.BoolVar(&f.opts.DryRun, "dry-run", false, "say what would be dropped and change nothing")
	flags.BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	return c
}

func (a *app) drop(cmd *cobra.Command, arg string, f dropFlags) error {
	name, err := tableName(arg)
	if err != nil {
		return err
	}
	if f.incarnation != "" {
		if f.opts.Incarnation, err = lake.ParseID(f.incarnation); err != nil {
			return usageError{err}
		}
	}
	if err := a.confirm(fmt.Sprintf("Drop table %s and delete its objects?", name), f.yes || f.opts.DryRun); err != nil {
		return err
	}
	client, err := a.client(cmd.Context())
	if err != nil {
		return err
	}
	defer client.Close()
	d, err := client.DropTable(cmd.Context(), name, f.opts)
	if err != nil {
		return err
	}
	out := a.rows([]heading{{name: "table"}, {name: "version"}, {name: "procedure"}, {name: "purge_after"}, {name: "dry_run"}, {name: "ui"}})
	err = out.Row([]cell{
		textCell(name.String()), numberCell(uint64(d.Table.Snapshot.Version)), textCell(d.Procedure.String()),
		timeCell(d.PurgeAfter),
		{text: fmt.Sprint(d.DryRun), value: d.DryRun},
		linkCell(d.UIURL),
	})
	if err != nil {
		return outputError(err)
	}
	if err := out.Close(); err != nil {
		return err
	}
	a.sayUndrop(d)
	return nil
}

// sayUndrop tells people until when the drop can be taken back, and how.
func (a *app) sayUndrop(d sdk.Drop) {
	left := time.Until(d.PurgeAfter).Round(time.Second)
	if left <= 0 {
		return
	}
	can := "it can"
	if d.DryRun {
		can = "it could"
	}
	a.note("%s be undone until %s (%s): lake table undrop %s --incarnation %s",
		can, d.PurgeAfter.UTC().Format(time.RFC3339), left, d.Table.Name, d.Table.Snapshot.Incarnation)
}

func linkCell(url string) cell { return cell{text: url, null: url == ""} }

// confirm asks on a terminal; elsewhere nobody could answer.
func (a *app) confirm(question string, yes bool) error {
	if yes {
		return nil
	}
	in, ok := a.stdin.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return usagef("%s Add --yes to confirm without a terminal", question)
	}
	if _, err := fmt.Fprint(a.stderr, question+" [y/N] "); err != nil {
		return outputError(err) // no answer counts to a question nobody saw
	}
	answer, _ := bufio.NewReader(in).ReadString('\n')
	if strings.EqualFold(strings.TrimSpace(answer), "y") || strings.EqualFold(strings.TrimSpace(answer), "yes") {
		return nil
	}
	return lake.Errorf(lake.Precondition, "nothing was dropped")
}
