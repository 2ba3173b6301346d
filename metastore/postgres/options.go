// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"errors"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

// Options say where the store is. Only DSN is required.
type Options struct {
	// DSN is the connection string, a URL or keywords and values. It may name
	// a pooler in transaction mode.
	DSN string
	// ListenDSN is a connection string that leads to the server without a
	// pooler, for LISTEN. With it, watchers hear of the commits of every
	// process that has one as well. Default: none, and watchers hear of this
	// process's commits only; they poll for the others.
	ListenDSN string
	// Schema is the database schema that holds the tables. It is made if it is
	// missing. Default: lake_metastore.
	Schema string
	// MaxConns bounds the connections of this process. Default: 16.
	MaxConns int
	// TokenWindow is how long a transaction's token is remembered, at least,
	// by the database's clock. Default: 15 minutes.
	TokenWindow time.Duration
	// SweepInterval is the time between removals of older tokens; negative
	// leaves them to another process. Default: 1 minute.
	SweepInterval time.Duration
	// Logger receives what fails in the background. Default: [slog.Default].
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Schema == "" {
		o.Schema = "lake_metastore"
	}
	if o.MaxConns == 0 {
		o.MaxConns = 16
	}
	if o.TokenWindow == 0 {
		o.TokenWindow = 15 * time.Minute
	}
	if o.SweepInterval == 0 {
		o.SweepInterval = time.Minute
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

// Validate reports every field that is out of range, as lake.Invalid.
func (o Options) Validate() error {
	o = o.withDefaults()
	var all []error
	if o.DSN == "" {
		all = append(all, lake.Errorf(lake.Invalid, "no DSN: want a PostgreSQL connection string"))
	} else if _, err := pgxpool.ParseConfig(o.DSN); err != nil {
		all = append(all, lake.Errorf(lake.Invalid, "DSN: %w", err)) // pgx leaves the password out
	}
	if _, err := pgx.ParseConfig(o.ListenDSN); err != nil {
		all = append(all, lake.Errorf(lake.Invalid, "listen DSN: %w", err))
	}
	if len(o.Schema) > 63 {
		all = append(all, lake.Errorf(lake.Invalid, "schema %q: want at most 63 bytes", o.Schema))
	}
	if o.MaxConns < 1 || o.MaxConns > 1000 {
		all = append(all, lake.Errorf(lake.Invalid, "%d connections: want 1..1000", o.MaxConns))
	}
	if o.TokenWindow < metastore.TokenWindow {
		all = append(all, lake.Errorf(lake.Invalid, "token window %v: want at least %v", o.TokenWindow, metastore.TokenWindow))
	}
	return errors.Join(all...)
}

func (o Options) pool() (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(o.DSN)
	if err != nil {
		return nil, err
	}
	config.MaxConns = int32(o.MaxConns)
	// A pooler in transaction mode gives each transaction another session, so
	// nothing may be prepared in one.
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	config.ConnConfig.StatementCacheCapacity = 0
	config.ConnConfig.DescriptionCacheCapacity = 0
	return config, nil
}
