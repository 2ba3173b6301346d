// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package access says who calls a service and what the caller may touch. It
// knows no transport: services/internal/rpc brings the credentials of a call
// here and puts the principal into the call's context.
package access

import (
	"context"
	"slices"
	"strings"

	"github.com/lakeplane/lake/lake"
)

// Role is what kind of caller a principal is.
type Role string

// The roles.
const (
	// User is a person or a program that reads and writes tables.
	User Role = "user"
	// QueryService is a query replica, which may act for the users it
	// authenticated.
	QueryService Role = "query_service"
	// MetadataPeer is another member of the metadata group; it may do so too.
	MetadataPeer Role = "metadata_peer"
	// Worker runs procedures.
	Worker Role = "worker"
	// Admin operates a deployment.
	Admin Role = "admin"
	// Developer is the caller of a development server, which asks for no
	// proof: every role at once, and only on a loopback listener.
	Developer Role = "developer"
)

var roles = []Role{User, QueryService, MetadataPeer, Worker, Admin, Developer}

// AllNamespaces is the grant that covers every namespace.
const AllNamespaces = "*"

// Limits of a principal. The number of grants is finite so that checks are
// cheap and the grants fit a header.
const (
	maxNameBytes = 128
	maxGrants    = 256
)

// Principal is an authenticated caller.
type Principal struct {
	// Name identifies the caller in records and logs.
	Name string
	// Tenant is whose data and quotas the caller uses.
	Tenant string
	Role   Role
	// Namespaces are the grants: exact names, or [AllNamespaces] alone.
	Namespaces []string
	// Via names the service that acts for the principal; empty for a direct
	// call.
	Via string
}

// May reports whether the principal may use a namespace. What it may not use
// it must not learn of either: answer as if the thing did not exist.
func (p Principal) May(namespace string) bool {
	return slices.Contains(p.Namespaces, namespace) || slices.Contains(p.Namespaces, AllNamespaces)
}

// Equal reports whether both are the same caller with the same rights.
func (p Principal) Equal(q Principal) bool {
	same := slices.Equal(p.Namespaces, q.Namespaces)
	return same && p.Name == q.Name && p.Tenant == q.Tenant && p.Role == q.Role && p.Via == q.Via
}

// ActsForOthers reports whether the principal may name the user it acts for.
func (p Principal) ActsForOthers() bool {
	return p.Role == QueryService || p.Role == MetadataPeer || p.Role == Developer
}

// Validate refuses a principal with a malformed name, tenant, role or grant.
func (p Principal) Validate() error {
	if err := validName("principal", p.Name, maxNameBytes, "._@-"); err != nil {
		return err
	}
	if err := validName("tenant of principal "+p.Name, p.Tenant, 64, "_-"); err != nil {
		return err
	}
	if !slices.Contains(roles, p.Role) {
		return lake.Errorf(lake.Invalid, "principal %s: role %q: want one of %v", p.Name, p.Role, roles)
	}
	if len(p.Namespaces) > maxGrants {
		return lake.Errorf(lake.Invalid, "principal %s: %d namespaces, at most %d", p.Name, len(p.Namespaces), maxGrants)
	}
	for _, ns := range p.Namespaces {
		if ns == AllNamespaces && len(p.Namespaces) == 1 {
			continue
		}
		if err := lake.ValidateNamespace(ns); err != nil {
			return lake.Wrap("principal "+p.Name, err)
		}
	}
	return nil
}

func validName(what, s string, most int, punctuation string) error {
	ok := s != "" && len(s) <= most
	for _, r := range s {
		ok = ok && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(punctuation, r))
	}
	if !ok {
		return lake.Errorf(lake.Invalid, "%s: want 1..%d bytes of [A-Za-z0-9%s]", what, most, punctuation)
	}
	return nil
}

// Authenticator turns a credential into a principal. It is safe for
// concurrent use.
type Authenticator interface {
	// Authenticate returns whose token it is, or lake.Unauthenticated. token
	// is empty when the caller sent none. Errors never hold the token.
	Authenticate(ctx context.Context, token string) (Principal, error)
	// LoopbackOnly reports that the authenticator proves nothing, so that it
	// must not serve a listener others can reach.
	LoopbackOnly() bool
}

// Development returns the authenticator of a development server: everybody is
// [Developer] of the default tenant. It is refused beyond loopback.
func Development() Authenticator { return development{} }

type development struct{}

func (development) LoopbackOnly() bool { return true }

func (development) Authenticate(context.Context, string) (Principal, error) {
	return Principal{Name: "developer", Tenant: lake.DefaultTenant, Role: Developer, Namespaces: []string{AllNamespaces}}, nil
}

type contextKey struct{}

// With returns a context that carries the principal.
func With(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, contextKey{}, p)
}

// From returns the principal of a call; ok is false outside one.
func From(ctx context.Context) (p Principal, ok bool) {
	p, ok = ctx.Value(contextKey{}).(Principal)
	return p, ok
}
