// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/server/common/config"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/schema/sqlite"
)

// errTaken marks a start that cannot succeed until someone else lets go.
var errTaken = errors.New("taken")

// database is the SQLite store and the lock that keeps it ours.
type database struct {
	sql  *config.SQL
	lock *os.File
}

// openDatabase makes or opens the store at path; an empty path keeps it in
// memory. Two servers on one file would each believe they own every shard, so
// the second is refused.
func openDatabase(path string) (*database, error) {
	if path == "" {
		return &database{sql: &config.SQL{
			PluginName:        sqliteplugin.PluginName,
			DatabaseName:      "lake-" + strconv.Itoa(os.Getpid()),
			ConnectAttributes: map[string]string{"mode": "memory", "cache": "shared"},
		}}, nil
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("database file: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("database folder: %w", err)
	}
	lock, err := lockFile(path + ".lock")
	if err != nil {
		return nil, err
	}
	d := &database{lock: lock, sql: fileSQL(path)}
	if err := d.ensureSchema(path); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

// fileSQL says how the file is opened. A write-ahead log lets reads run beside
// the writer. It is synced when it is folded into the file and not for each
// transaction: nothing is lost when the server is killed, and a power cut leaves
// the file as it was some moments before. What workflows those were, the
// procedures' records say, and the sweep starts them again, as after the loss of
// the whole file. A small procedure is a dozen transactions, each of which would
// wait for the disk, one after the other.
func fileSQL(path string) *config.SQL {
	return &config.SQL{
		PluginName:   sqliteplugin.PluginName,
		DatabaseName: path,
		ConnectAttributes: map[string]string{
			"mode":         "rwc",
			"journal_mode": "wal",
			"synchronous":  "normal",
			"busy_timeout": "10000",
			// In pages of 4 KiB. Folding the log stops the one writer, and after
			// the usual 1,000 pages it would do so several times a second.
			"wal_autocheckpoint": "16384",
		},
	}
}

// ensureSchema creates the tables of a new file. The statements are many
// transactions, so a marker beside the file says that they are not all done: a
// start that finds one throws the half-made file away, since no workflow can be
// in it yet.
func (d *database) ensureSchema(path string) error {
	marker := path + ".creating"
	if _, err := os.Stat(marker); err == nil {
		if err := removeDatabase(path); err != nil {
			return err
		}
	}
	if info, err := os.Stat(path); err == nil && info.Size() > 0 {
		return nil
	}
	if err := os.WriteFile(marker, nil, 0o600); err != nil {
		return fmt.Errorf("mark database as incomplete: %w", err)
	}
	if err := sqlite.SetupSchema(d.sql); err != nil {
		return fmt.Errorf("create schema in %s: %w", path, err)
	}
	if err := os.Remove(marker); err != nil {
		return fmt.Errorf("mark database as complete: %w", err)
	}
	return nil
}

func removeDatabase(path string) error {
	for _, suffix := range []string{"-wal", "-shm", ""} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove half-made database: %w", err)
		}
	}
	return nil
}

// createNamespaces writes the namespaces that the store does not have yet,
// before the server starts; those it has are left alone.
func (d *database) createNamespaces(names []string, attributes map[string]enums.IndexedValueType) error {
	configs := make([]*sqlite.NamespaceConfig, 0, len(names))
	for _, name := range names {
		c, err := sqlite.NewNamespaceConfig(clusterName, name, false, attributes)
		if err != nil {
			return fmt.Errorf("namespace %s: %w", name, err)
		}
		configs = append(configs, c)
	}
	if err := sqlite.CreateNamespaces(d.sql, configs...); err != nil {
		return fmt.Errorf("create namespaces: %w", err)
	}
	return nil
}

// close lets another server have the file.
func (d *database) close() {
	if d.lock != nil {
		_ = d.lock.Close()
	}
}
