// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lakeplane/lake/audit"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/cmd/lake/config"
	"github.com/lakeplane/lake/cmd/lake/process"
	"github.com/lakeplane/lake/internal/progress"
	"github.com/lakeplane/lake/lake"
)

// fsckFlags are the flags of fsck beside its settings.
type fsckFlags struct {
	repair bool
	grace  time.Duration
	depth  audit.Depth
}

func (a *app) fsckCommand() *cobra.Command {
	c := config.NewFsck()
	var f fsckFlags
	cmd := &cobra.Command{
		Use:   "fsck [NAMESPACE | NAMESPACE.TABLE]…",
		Short: "Hold the records of tables against the objects of their versions",
		Long: "Checks that every recorded version can be read: its manifest has the committed bytes, and\n" +
			"every object it names is there in its size. Says what lies about that no version needs.\n" +
			"It works on the stores themselves and may run beside a live deployment.\n\n" +
			"Problems: missing, short, damaged, gap and foreign mean that something promised is not\n" +
			"there, and make the exit status 1. unpublished (a crash came between commit and\n" +
			"publication; --repair finishes it) and orphan (costs room only) do not.",
		Example: "  lake fsck --metastore lake://127.0.0.1:50052 --objects file:///var/lib/lake/objects\n" +
			"  lake fsck robots --repair --format json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkTargets(args); err != nil {
				return err
			}
			if err := a.loadFsck(c, cmd.Flags()); err != nil {
				return err
			}
			return a.fsck(cmd.Context(), c, f, args)
		},
	}
	addConfig(cmd.Flags())
	c.Set().AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&f.repair, "repair", false, "publish committed versions that a crash left unpublished; nothing is ever deleted")
	cmd.Flags().DurationVar(&f.grace, "grace", time.Hour, "how old an object is before it counts as left behind")
	return cmd
}

// checkTargets refuses what names neither a namespace nor a table before anything
// is opened. An empty text is the variable of a script that is not set, and not
// everything.
func checkTargets(what []string) error {
	for _, w := range what {
		var err error
		if strings.Contains(w, ".") {
			_, err = lake.ParseTableName(w)
		} else {
			err = lake.ValidateNamespace(w)
		}
		if err != nil {
			return usageError{err}
		}
	}
	return nil
}

// loadFsck reads the settings of a command that works on the stores themselves,
// which must be there: opening would make what a mistyped name names, and find
// nothing wrong with it.
func (a *app) loadFsck(c *config.Fsck, flags *pflag.FlagSet) error {
	if flags.Changed("addr") {
		return usagef("--addr is for the commands that talk to a query server; this one reads the stores: give --metastore (lake://host:port of a metadata server will do) and --objects")
	}
	if err := a.load(c, flags); err != nil {
		return err
	}
	if !c.Objects.InBucket() {
		if err := isThere("objects", c.Objects.URL, "file"); err != nil {
			return err
		}
	}
	url, err := c.Metastore.Resolve()
	if err != nil || c.Metastore.Kind() != config.Pebble {
		return err
	}
	return isThere("metastore", url, config.Pebble)
}

// isThere refuses a URL of a directory that is missing or empty.
func isThere(setting, url, scheme string) error {
	path, err := config.FilePath(url, scheme)
	if err != nil {
		return lake.Errorf(lake.Invalid, "%s: %w", setting, err)
	}
	entries, err := os.ReadDir(path)
	switch {
	case errors.Is(err, os.ErrNotExist), err == nil && len(entries) == 0:
		return lake.Errorf(lake.NotFound, "%s: there is nothing in the directory %s", setting, path)
	case err != nil:
		return lake.Errorf(lake.Invalid, "%s: %w", setting, err)
	}
	return nil
}

func (a *app) fsck(ctx context.Context, c *config.Fsck, f fsckFlags, what []string) (err error) {
	if f.grace <= 0 {
		return usagef("--grace %s: want a positive time", f.grace)
	}
	objects, err := process.OpenObjects(ctx, c.Objects, process.ObjectUse{Write: f.repair})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, objects.Close()) }()
	records, err := process.OpenRecords(ctx, c.Metastore, c.Caller, c.AllowInsecure == config.Insecure, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, records.Close()) }()
	r := &fsckReport{app: a, bar: progress.New(a.stderr, "checking")}
	auditor, err := audit.New(audit.Options{
		Catalog: catalog.New(records.Store, catalog.Options{}), Records: records.Store, Objects: objects.Store, Engine: objects.Tables,
		Depth: f.depth, Repair: f.repair, Grace: f.grace, Done: r.done,
	})
	if err != nil {
		return err
	}
	r.out = a.rows([]heading{{name: "table"}, {name: "version"}, {name: "problem"}, {name: "repaired"}, {name: "object"}, {name: "detail"}})
	if err := r.audit(ctx, auditor, what); err != nil {
		return r.broken(err)
	}
	if err := r.out.Close(); err != nil {
		return outputError(err)
	}
	return r.verdict()
}

// fsckReport prints findings and counts.
type fsckReport struct {
	app                       *app
	bar                       *progress.Bar
	out                       *listing
	tables, versions, objects int
	damage, others            int
}

// audit audits the namespaces and tables named, or everything.
func (r *fsckReport) audit(ctx context.Context, auditor *audit.Auditor, what []string) error {
	if len(what) == 0 {
		return auditor.All(ctx, "", r.found)
	}
	for _, w := range what {
		if !strings.Contains(w, ".") {
			before := r.tables
			if err := auditor.All(ctx, w, r.found); err != nil {
				return err
			}
			if r.tables == before {
				return lake.Errorf(lake.NotFound, "no table in namespace %s", w)
			}
			continue
		}
		name, err := tableName(w)
		if err != nil {
			return err
		}
		if err := auditor.Table(ctx, name, r.found); err != nil {
			return err
		}
	}
	return nil
}

func (r *fsckReport) done(c audit.Checked) {
	r.tables, r.versions, r.objects = r.tables+1, r.versions+c.Versions, r.objects+c.Objects
	r.bar.Update(progress.Status{Text: formatNumber(r.tables) + " tables"})
}

func (r *fsckReport) found(f audit.Finding) error {
	switch {
	case f.Repaired:
	case f.Problem.Harmless():
		r.others++
	default:
		r.damage++
	}
	version := cell{null: true}
	if f.Version > 0 {
		version = numberCell(uint64(f.Version))
	}
	repaired := cell{text: "no", value: false}
	if f.Repaired {
		repaired = cell{text: "yes", value: true}
	}
	if err := r.out.Row([]cell{textCell(f.Table.String()), version, textCell(string(f.Problem)), repaired, textCell(f.Key), textCell(f.Detail)}); err != nil {
		return outputError(err)
	}
	return nil
}

// broken tells what was found before the check failed: on a large deployment that
// is hours of work, and damage is damage.
func (r *fsckReport) broken(err error) error {
	err = r.out.broken(err)
	r.sum("so far ")
	return err
}

// verdict says what was looked at, and fails when something promised is not
// there.
func (r *fsckReport) verdict() error {
	r.sum("")
	switch r.damage {
	case 0:
		return nil
	case 1:
		return lake.Errorf(lake.Corrupt, "1 finding means that something promised is not there")
	}
	return lake.Errorf(lake.Corrupt, "%d findings mean that something promised is not there", r.damage)
}

func (r *fsckReport) sum(when string) {
	r.bar.Clear()
	r.app.note("%s%s, %s, %s: %d damaged, %s", when, counted(int64(r.tables), "table"), counted(int64(r.versions), "version"),
		counted(int64(r.objects), "object"), r.damage, counted(int64(r.others), "other finding"))
}
