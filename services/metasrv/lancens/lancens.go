// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package lancens serves Lake's tables to other Lance clients over the Lance REST
// Namespace protocol, with the versions managed here: a stock client asks for a
// table's location, reads and writes its objects itself, and has every new version
// committed through [Options.Adopt], which checks it first.
//
// What the protocol calls a namespace is one of Lake's, a table's identifier is
// namespace and name with the delimiter between them, "$" unless the request says
// otherwise, and the delimiter alone is the root. Facts of the protocol are from
// the public specification of lance-namespace and from what LanceDB 0.31.0 sends.
//
// A table is made in two steps: a client declares it, which reserves the name for
// a while and says where its objects go, and then has its first version committed
// as any other; until then nobody sees the table. A drop is Lake's own.
//
// Operations that Lake has in its own way are refused and say where they are:
// namespaces come and go with their tables, tables are altered by Lake, and old
// versions are deleted by its table maintenance.
package lancens

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/services/access"
)

const (
	// maxBody bounds a request's body, in bytes.
	maxBody = 1 << 20
	// callTimeout bounds a call.
	callTimeout = 90 * time.Second
	// DefaultStagedFor is how old the new objects of a proposed version may be.
	DefaultStagedFor = 3 * time.Hour
)

// Engine is what the server needs of a storage engine.
type Engine interface {
	HistoryPrefix(loc lake.Location) string
	VersionKey(snap lake.Snapshot) string
}

// Authority is what decides about tables and versions, which is the metadata
// server. Callers have checked that the principal may write to the namespace.
type Authority interface {
	// Adopt commits a version of a table.
	Adopt(ctx context.Context, name lake.TableName, p engine.Proposal) (catalog.Table, error)
	// Publish makes the current version openable.
	Publish(ctx context.Context, table catalog.Table) error
	// Declare reserves a name, and AdoptFirst makes the table of a declared
	// incarnation.
	Declare(ctx context.Context, name lake.TableName, by string) (catalog.Declaration, error)
	AdoptFirst(ctx context.Context, name lake.TableName, inc lake.Incarnation, p engine.Proposal) (catalog.Table, error)
	// DropNamed drops the table of a name, or its declaration.
	DropNamed(ctx context.Context, name lake.TableName, by string) error
}

// Options say what a server works with. All but the last three are required.
type Options struct {
	// Catalog and Records are where tables and their versions are.
	Catalog *catalog.Catalog
	Records metastore.Store
	Engine  Engine
	// Authority is the metadata server.
	Authority Authority
	// Auth authenticates every call, as on the other listeners.
	Auth access.Authenticator
	// Place says where clients find the objects.
	Place Place
	// ReadOnly refuses every write, and says why.
	ReadOnly string
	// StagedFor is how old the new objects of a proposed version may be: half of
	// the age at which orphans are deleted, at most. 0 means [DefaultStagedFor].
	StagedFor time.Duration
	// Concurrent is how many calls are answered at once; more are told to try
	// again. 0 means 64.
	Concurrent int
	// Logger; nil means slog.Default.
	Logger *slog.Logger
	// Metrics receives the server's series; nil means none.
	Metrics prometheus.Registerer
}

func (o Options) normalize() (Options, error) {
	if o.Catalog == nil || o.Records == nil || o.Engine == nil || o.Authority == nil || o.Auth == nil {
		return o, lake.Errorf(lake.Invalid, "lance namespace: catalog, records, engine, authority and auth are all needed")
	}
	if o.StagedFor == 0 {
		o.StagedFor = DefaultStagedFor
	}
	if o.Concurrent == 0 {
		o.Concurrent = 64
	}
	if o.StagedFor < 0 || o.Concurrent < 0 {
		return o, lake.Errorf(lake.Invalid, "lance namespace: the age of staged objects and the number of calls must not be negative")
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o, o.Place.check()
}

// Server answers the protocol's requests. It is safe for concurrent use.
type Server struct {
	opts    Options
	places  chan struct{} // one for each call under way
	calls   *prometheus.HistogramVec
	handler http.Handler
}

// New returns a server. It does no I/O.
func New(opts Options) (*Server, error) {
	opts, err := opts.normalize()
	if err != nil {
		return nil, err
	}
	s := &Server{opts: opts, places: make(chan struct{}, opts.Concurrent), calls: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "lake_lance_namespace_seconds",
		Help:    "Time of calls of the Lance REST namespace, by operation and HTTP status.",
		Buckets: prometheus.ExponentialBuckets(0.0005, 3, 12),
	}, []string{"operation", "status"})}
	if opts.Metrics != nil {
		if err := opts.Metrics.Register(s.calls); err != nil {
			return nil, lake.Errorf(lake.Invalid, "lance namespace: metrics: %w", err)
		}
	}
	s.handler = s.routes()
	return s, nil
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// operation answers one kind of request with what is encoded as JSON.
type operation func(ctx context.Context, p access.Principal, r *request) (any, error)

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	for pattern, op := range map[string]operation{
		"/v1/namespace/{id}/list":         s.listNamespaces,
		"/v1/namespace/{id}/describe":     s.describeNamespace,
		"/v1/namespace/{id}/exists":       s.describeNamespace,
		"/v1/namespace/{id}/table/list":   s.listTables,
		"/v1/table":                       s.listAllTables,
		"/v1/table/{id}/describe":         s.describeTable,
		"/v1/table/{id}/exists":           s.tableExists,
		"/v1/table/{id}/declare":          s.declareTable,
		"/v1/table/{id}/drop":             s.dropTable,
		"/v1/table/{id}/version/list":     s.listVersions,
		"/v1/table/{id}/version/create":   s.createVersion,
		"/v1/table/{id}/version/describe": s.describeVersion,

		"/v1/namespace/{id}/create":     refuse("a namespace is there as soon as it has a table: create tables by Lake (lake table create, or the SDK)"),
		"/v1/namespace/{id}/drop":       refuse("a namespace goes with its last table: drop tables by Lake (lake table drop)"),
		"/v1/table/{id}/create":         refuse("rows are not taken over this protocol: declare the table and write its first version, as LanceDB's clients do, or create it by Lake (lake table create, or the SDK)"),
		"/v1/table/{id}/deregister":     refuse("a table and its objects go together: drop it"),
		"/v1/table/{id}/version/delete": refuse("old versions are deleted by Lake's table maintenance (lake table maintain)"),
	} {
		mux.Handle(pattern, s.serve(pattern, op))
	}
	mux.Handle("/", s.serve("other", refuse("this operation is not served")))
	return mux
}

// refuse is an operation that Lake does in another way.
func refuse(why string) operation {
	return func(context.Context, access.Principal, *request) (any, error) {
		return nil, lake.Errorf(lake.Unsupported, "%s", why)
	}
}

// serve authenticates a call, reads its body, and answers.
func (s *Server) serve(name string, op operation) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
		defer cancel()
		answer, err := s.call(ctx, w, r, op)
		status := http.StatusOK
		if err != nil {
			status, answer = s.failure(r, err)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(answer) // the caller may be gone
		s.calls.WithLabelValues(name, http.StatusText(status)).Observe(time.Since(began).Seconds())
	})
}

func (s *Server) call(ctx context.Context, w http.ResponseWriter, r *http.Request, op operation) (any, error) {
	p, err := s.authenticate(ctx, r)
	if err != nil {
		return nil, err
	}
	select {
	case s.places <- struct{}{}:
		defer func() { <-s.places }()
	default:
		return nil, lake.Errorf(lake.Exhausted, "%d calls are under way: try again", s.opts.Concurrent)
	}
	if r.Method != http.MethodGet && r.Method != http.MethodPost {
		return nil, lake.Errorf(lake.Invalid, "method %s: want GET or POST", r.Method)
	}
	in, err := readRequest(w, r)
	if err != nil {
		return nil, err
	}
	return op(ctx, p, in)
}

// authenticate takes a bearer token, as the other listeners do.
func (s *Server) authenticate(ctx context.Context, r *http.Request) (access.Principal, error) {
	headers := r.Header.Values("Authorization")
	if len(headers) > 1 {
		return access.Principal{}, lake.Errorf(lake.Unauthenticated, "more than one Authorization header")
	}
	token := ""
	if len(headers) == 1 {
		var ok bool
		if token, ok = bearer(headers[0]); !ok {
			return access.Principal{}, lake.Errorf(lake.Unauthenticated, "Authorization: want Bearer and a token")
		}
	}
	return s.opts.Auth.Authenticate(ctx, token)
}

// isCanceled reports whether the caller went away.
func isCanceled(err error) bool { return errors.Is(err, context.Canceled) }
