// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	"github.com/lakeplane/lake/cmd/lake/config"
	enginelance "github.com/lakeplane/lake/engine/lance"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/dynamodb"
	"github.com/lakeplane/lake/metastore/pebble"
	"github.com/lakeplane/lake/metastore/postgres"
	"github.com/lakeplane/lake/metastore/remote"
	"github.com/lakeplane/lake/objstore"
	"github.com/lakeplane/lake/objstore/blockcache"
	"github.com/lakeplane/lake/objstore/local"
	"github.com/lakeplane/lake/objstore/s3"
)

// Objects is an object store that is open, with the engine that keeps tables
// in it.
type Objects struct {
	Store  objstore.Store
	Tables *enginelance.Engine
	// Folder is where a store of files is, empty for one in a bucket.
	Folder string
	closer io.Closer
}

// ObjectUse says what a process does with the object store.
type ObjectUse struct {
	// Write is for a process that makes objects: the store is refused when it
	// does not keep the promises that appends depend on.
	Write bool
	// Cache is how much of a far store's objects is kept in memory, in bytes;
	// 0 means nothing.
	Cache int64
	// Metrics is where requests to the store are counted and timed; nil means
	// nowhere.
	Metrics prometheus.Registerer
}

// OpenObjects opens an object store.
func OpenObjects(ctx context.Context, c config.Objects, use ObjectUse) (*Objects, error) {
	metrics, err := newObjectMetrics(use.Metrics)
	if err != nil {
		return nil, err
	}
	o, err := openObjects(ctx, c, metrics)
	if err != nil {
		return nil, lake.Wrap("open object store", err)
	}
	o.Store = metrics.measure(o.Store)
	if use.Write {
		err = objstore.Probe(ctx, o.Store)
	}
	read := o.Store
	if err == nil && use.Cache > 0 && c.InBucket() {
		read, err = blockcache.New(o.Store, blockcache.Options{Bytes: use.Cache, BlockBytes: min(use.Cache, 256<<10)})
	}
	if err == nil {
		o.Tables, err = enginelance.New(enginelance.Options{Store: read})
	}
	if err != nil {
		return nil, errors.Join(err, o.Close())
	}
	return o, nil
}

func openObjects(ctx context.Context, c config.Objects, metrics *objectMetrics) (*Objects, error) {
	if !c.InBucket() {
		path, err := config.FilePath(c.URL, "file")
		if err != nil {
			return nil, lake.Errorf(lake.Invalid, "%w", err)
		}
		store, err := local.Open(path)
		if err != nil {
			return nil, err
		}
		return &Objects{Store: store, Folder: path, closer: store}, nil
	}
	bucket, folder, err := c.Bucket()
	if err != nil {
		return nil, lake.Errorf(lake.Invalid, "%w", err)
	}
	store, err := s3.Open(ctx, s3.Options{Bucket: bucket, Prefix: folder, Endpoint: c.Endpoint, Region: c.Region, PathStyle: c.PathStyle, OnRetry: metrics.retried()})
	if err != nil {
		return nil, err
	}
	return &Objects{Store: store, closer: store}, nil
}

// Close closes both.
func (o *Objects) Close() error {
	if o == nil {
		return nil
	}
	var err error
	if o.Tables != nil {
		err = o.Tables.Close()
	}
	return errors.Join(err, o.closer.Close())
}

// sweep deletes what lies under a location that never became a table.
func (o *Objects) sweep(ctx context.Context, loc lake.Location) error {
	for page, err := range objstore.Pages(ctx, o.Store, loc.Prefix(), "", objstore.MaxPage) {
		if err != nil {
			return err
		}
		if _, err := objstore.DeleteListed(ctx, o.Store, page); err != nil {
			return err
		}
	}
	return nil
}

// Records is a metastore that is open.
type Records struct {
	Store metastore.Store
	// Kind is the scheme of its URL.
	Kind string
	conn *grpc.ClientConn // of a remote one
}

// Exclusive reports that no other process can use the store while this one
// does: the embedded one is locked.
func (r *Records) Exclusive() bool { return r.Kind == config.Pebble }

// OpenRecords opens the metastore that c names. caller and insecure say how a
// metadata server is called that lends its store.
func OpenRecords(ctx context.Context, c config.Metastore, caller config.Caller, insecure bool, log *slog.Logger) (*Records, error) {
	url, err := c.Resolve()
	if err != nil {
		return nil, err
	}
	r := &Records{Kind: c.Kind()}
	switch r.Kind {
	case config.Pebble:
		var path string
		if path, err = config.FilePath(url, config.Pebble); err != nil {
			return nil, lake.Errorf(lake.Invalid, "metastore: %w", err)
		}
		r.Store, err = opened(pebble.Open(path, pebble.Options{Logger: log}))
	case config.Postgres:
		r.Store, err = opened(postgres.Open(ctx, postgres.Options{DSN: url, MaxConns: c.MaxConns, Logger: log}))
	case config.DynamoDB:
		r.Store, err = openDynamoDB(ctx, url, log)
	case config.Remote:
		err = r.openRemote(ctx, url, caller, insecure)
	default:
		err = lake.Errorf(lake.Invalid, "a metastore %q is not known", r.Kind)
	}
	if err != nil {
		return nil, errors.Join(lake.Wrap("open metastore", err), r.Close())
	}
	return r, nil
}

// opened keeps a nil store of a failed open out of the interface.
func opened[S metastore.Store](store S, err error) (metastore.Store, error) {
	if err != nil {
		return nil, err
	}
	return store, nil
}

func openDynamoDB(ctx context.Context, url string, log *slog.Logger) (metastore.Store, error) {
	opts, err := dynamodb.ParseURL(url)
	if err != nil {
		return nil, err
	}
	opts.Logger = log
	return opened(dynamodb.Open(ctx, opts))
}

func (r *Records) openRemote(ctx context.Context, url string, caller config.Caller, insecure bool) error {
	addresses, err := config.RemoteAddresses(url)
	if err != nil {
		return err
	}
	if r.conn, err = DialMeta(addresses, caller, insecure); err != nil {
		return err
	}
	r.Store, err = opened(remote.Open(ctx, r.conn, remote.Options{}))
	return err
}

// Measure counts and times what is asked of the store from now on. Call it once,
// before anybody has the store.
func (r *Records) Measure(metrics prometheus.Registerer) error {
	store, err := MeasureRecords(r.Store, metrics)
	if err == nil {
		r.Store = store
	}
	return err
}

// Close closes the store and its connection.
func (r *Records) Close() error {
	if r == nil {
		return nil
	}
	var err error
	if r.Store != nil {
		err = r.Store.Close()
	}
	if r.conn != nil {
		err = errors.Join(err, r.conn.Close())
	}
	return err
}
