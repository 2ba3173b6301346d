// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package rpc

import (
	"context"
	"encoding/base64"
	"net"
	"strings"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/access"
)

// Headers by which a service names the user it acts for. They are accepted
// only from principals that may act for others.
const (
	principalHeader  = "x-lake-principal"
	tenantHeader     = "x-lake-tenant"
	namespacesHeader = "x-lake-namespaces"
)

// PrincipalFrom returns the principal of the call; ok is false outside of one.
func PrincipalFrom(ctx context.Context) (p access.Principal, ok bool) { return access.From(ctx) }

// Delegate returns a context for an outgoing call made for the principal p.
// The credentials of the calling service travel beside it.
func Delegate(ctx context.Context, p access.Principal) context.Context {
	return metadata.AppendToOutgoingContext(ctx,
		principalHeader, p.Name, tenantHeader, p.Tenant, namespacesHeader, strings.Join(p.Namespaces, ","))
}

// authenticate returns the call's context with its principal.
func (g guard) authenticate(ctx context.Context) (context.Context, error) {
	p, err := g.principal(ctx)
	if err != nil {
		return nil, err
	}
	return context.WithValue(access.With(ctx, p), grantKey{}, granted{g, p}), nil
}

// principal returns who calls.
func (g guard) principal(ctx context.Context) (access.Principal, error) {
	if p, ok := peer.FromContext(ctx); g.opts.Auth.LoopbackOnly() && (!ok || !local(p)) {
		return access.Principal{}, lake.Errorf(lake.Unauthenticated, "this server has no principals and serves its own machine only")
	}
	token, err := Token(ctx)
	if err != nil {
		return access.Principal{}, err
	}
	caller, err := g.opts.Auth.Authenticate(ctx, token)
	if err != nil {
		return access.Principal{}, err
	}
	return delegated(ctx, caller)
}

// local reports whether both ends of the connection are on this machine. The
// near end alone would let a forwarded port in.
func local(p *peer.Peer) bool {
	near := p.LocalAddr == nil || loopback(p.LocalAddr)
	return near && loopback(addrOrNone(p.Addr))
}

func addrOrNone(a net.Addr) net.Addr {
	if a == nil {
		return &net.TCPAddr{}
	}
	return a
}

// delegated returns the principal the caller acts for, or the caller itself.
func delegated(ctx context.Context, caller access.Principal) (access.Principal, error) {
	name, named, err := header(ctx, principalHeader)
	if err != nil {
		return access.Principal{}, err
	}
	tenant, withTenant, err := header(ctx, tenantHeader)
	if err != nil {
		return access.Principal{}, err
	}
	namespaces, withNamespaces, err := header(ctx, namespacesHeader)
	if err != nil {
		return access.Principal{}, err
	}
	switch {
	case !named && !withTenant && !withNamespaces:
		return caller, nil
	case !caller.ActsForOthers():
		return access.Principal{}, lake.Errorf(lake.Denied, "role %q may not act for another principal", caller.Role)
	case !named || !withTenant || !withNamespaces:
		return access.Principal{}, lake.Errorf(lake.Invalid, "acting for another principal takes all of %s, %s and %s", principalHeader, tenantHeader, namespacesHeader)
	}
	p := access.Principal{Name: name, Tenant: tenant, Role: access.User, Via: caller.Name}
	if namespaces != "" {
		p.Namespaces = strings.Split(namespaces, ",")
	}
	return p, p.Validate()
}

// Token returns the credential of an incoming call, empty when there is none:
// the token of "Bearer <token>", or the password of "Basic". The scheme's case
// does not matter (RFC 9110, section 11.1). Anything else is
// lake.Unauthenticated.
func Token(ctx context.Context) (string, error) {
	value, ok, err := header(ctx, "authorization")
	if err != nil || !ok {
		return "", err
	}
	scheme, credential, _ := strings.Cut(strings.TrimSpace(value), " ")
	credential = strings.TrimSpace(credential)
	switch {
	case credential == "":
	case strings.EqualFold(scheme, "bearer"):
		return credential, nil
	case strings.EqualFold(scheme, "basic"):
		if password, ok := basicPassword(credential); ok {
			return password, nil
		}
	}
	return "", lake.Errorf(lake.Unauthenticated, "authorization header: want 'Bearer <token>', or 'Basic' with the token as password")
}

func basicPassword(credential string) (string, bool) {
	raw, err := base64.StdEncoding.DecodeString(credential)
	if err != nil {
		// Some clients leave the padding out.
		raw, err = base64.RawStdEncoding.DecodeString(credential)
	}
	_, password, found := strings.Cut(string(raw), ":")
	return password, err == nil && found && password != ""
}

// header returns the one value of a header. Several are refused, so that no
// two readers of the call can pick different ones.
func header(ctx context.Context, key string) (value string, ok bool, err error) {
	values := metadata.ValueFromIncomingContext(ctx, key)
	switch len(values) {
	case 0:
		return "", false, nil
	case 1:
		return values[0], true, nil
	}
	return "", false, lake.Errorf(lake.Unauthenticated, "header %s is there %d times", key, len(values))
}
