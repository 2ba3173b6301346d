// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lakeplane/lake/lake"
)

// migrations are applied in the order of their names, each once. A released
// one never changes.
//
//go:embed migrations/*.sql
var migrations embed.FS

func migrationNames() ([]string, error) {
	entries, err := migrations.ReadDir("migrations")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	slices.Sort(names)
	return names, nil
}

// prepare checks the server's settings and brings the schema up to date.
func prepare(ctx context.Context, pool *pgxpool.Pool, schema string) error {
	if err := checkServer(ctx, pool); err != nil {
		return err
	}
	names, err := migrationNames()
	if err != nil {
		return err
	}
	version, err := versionOf(ctx, pool, schema)
	switch {
	case err != nil:
		return err
	case version > len(names):
		return lake.Errorf(lake.Unsupported, "schema %q has version %d: this release knows %d", schema, version, len(names))
	case version == len(names):
		return nil // also for a role that may not change the schema
	}
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error { return migrate(ctx, tx, schema, names) })
}

// checkServer refuses settings that would break the contract silently.
func checkServer(ctx context.Context, pool *pgxpool.Pool) error {
	var version int
	var isolation string
	err := pool.QueryRow(ctx, `SELECT current_setting('server_version_num')::int,
		current_setting('default_transaction_isolation')`).Scan(&version, &isolation)
	switch {
	case err != nil:
		return readError("check the server", err)
	case version < 13_00_00:
		return lake.Errorf(lake.Precondition, "server version %d: want PostgreSQL 13 or later", version/10000)
	case isolation != "read committed":
		return lake.Errorf(lake.Precondition, "default_transaction_isolation is %q: want \"read committed\"", isolation)
	}
	return nil
}

// versionOf returns the number of migrations applied, 0 for a missing schema.
func versionOf(ctx context.Context, db interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}, schema string,
) (version int, err error) {
	// A query of the catalog sees what was committed before it; to_regclass
	// may answer from a cache of the session.
	var there bool
	err = db.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relname = 'migration')`, schema).Scan(&there)
	if err != nil {
		return 0, readError("read the schema's version", err)
	}
	if !there {
		return 0, nil
	}
	err = db.QueryRow(ctx, inSchema(schema, `SELECT coalesce(max(version), 0) FROM {{schema}}.migration`)).Scan(&version)
	if err != nil {
		return 0, readError("read the schema's version", err)
	}
	return version, nil
}

// migrate applies what is missing, all or nothing. The lock lets one of
// several processes that start together do it.
func migrate(ctx context.Context, tx pgx.Tx, schema string, names []string) error {
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, lockID("migration", schema)); err != nil {
		return readError("lock the schema", err)
	}
	version, err := versionOf(ctx, tx, schema)
	if err != nil {
		return err
	}
	if version == 0 {
		_, err := tx.Exec(ctx, inSchema(schema, `CREATE SCHEMA IF NOT EXISTS {{schema}};
			CREATE TABLE {{schema}}.migration (version int PRIMARY KEY, name text NOT NULL, applied timestamptz NOT NULL DEFAULT now())`), pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			return readError("make the schema", err)
		}
	}
	for i := version; i < len(names); i++ {
		if err := apply(ctx, tx, schema, i+1, names[i]); err != nil {
			return err
		}
	}
	return nil
}

func apply(ctx context.Context, tx pgx.Tx, schema string, version int, name string) error {
	sql, err := migrations.ReadFile("migrations/" + name)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, inSchema(schema, string(sql)), pgx.QueryExecModeSimpleProtocol); err != nil {
		return errors.Join(fmt.Errorf("migration %s", name), readError("migrate", err))
	}
	_, err = tx.Exec(ctx, inSchema(schema, `INSERT INTO {{schema}}.migration (version, name) VALUES ($1, $2)`), version, name)
	return err
}
