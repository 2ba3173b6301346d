// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"os"
	"strings"
	"unicode"

	"github.com/spf13/pflag"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
)

// connectFlags say how to reach a server.
type connectFlags struct {
	tokenFile, caFile string
	tls, insecure     bool
}

func (c *connectFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&c.tokenFile, "token-file", os.Getenv("LAKE_AUTH_TOKEN_FILE"), "file with a bearer token (env LAKE_AUTH_TOKEN_FILE)")
	flags.StringVar(&c.caFile, "ca-file", os.Getenv("LAKE_CA_FILE"), "PEM file of the authorities to trust instead of the system's (env LAKE_CA_FILE)")
	flags.BoolVar(&c.tls, "tls", false, "use TLS to a loopback address too")
	flags.BoolVar(&c.insecure, "insecure", false, "allow plaintext to other hosts")
}

func (c *connectFlags) options() ([]sdk.Option, error) {
	var opts []sdk.Option
	if c.tokenFile != "" {
		token, err := os.ReadFile(c.tokenFile)
		if err != nil {
			return nil, lake.Errorf(lake.Invalid, "token file: %w", err)
		}
		text := strings.TrimSpace(string(token))
		if text == "" || strings.ContainsFunc(text, unicode.IsSpace) {
			// Without it the calls would be made as nobody, whose refusal says
			// nothing of this file.
			return nil, lake.Errorf(lake.Invalid, "token file %s: want one token, alone", c.tokenFile)
		}
		opts = append(opts, sdk.WithToken(text))
	}
	if c.insecure {
		if c.tls || c.caFile != "" {
			return nil, usagef("--insecure excludes --tls and --ca-file")
		}
		opts = append(opts, sdk.WithInsecure())
	}
	if c.tls || c.caFile != "" {
		config, err := c.tlsConfig()
		if err != nil {
			return nil, err
		}
		opts = append(opts, sdk.WithTLS(config))
	}
	return opts, nil
}

func (c *connectFlags) tlsConfig() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.caFile == "" {
		return config, nil
	}
	pem, err := os.ReadFile(c.caFile)
	if err != nil {
		return nil, lake.Errorf(lake.Invalid, "CA file: %w", err)
	}
	config.RootCAs = x509.NewCertPool()
	if !config.RootCAs.AppendCertsFromPEM(pem) {
		return nil, lake.Errorf(lake.Invalid, "CA file %s holds no PEM certificate", c.caFile)
	}
	return config, nil
}

// withoutScheme takes the form of an address that `lake dev` shows, since drivers
// of Flight SQL want it.
func withoutScheme(list string) string {
	addrs := strings.Split(list, ",")
	for i, addr := range addrs {
		addrs[i] = strings.TrimPrefix(strings.TrimSpace(addr), "grpc://")
	}
	return strings.Join(addrs, ",")
}

// client connects to the server of --addr.
func (a *app) client(ctx context.Context) (*sdk.Client, error) {
	opts, err := a.connect.options()
	if err != nil {
		return nil, err
	}
	c, err := sdk.Connect(ctx, withoutScheme(a.addr), opts...)
	if err != nil && lake.Is(err, lake.Unavailable) && ctx.Err() == nil {
		return nil, lake.Errorf(lake.Unavailable, "%w (is a server running there? `lake dev` starts one; --addr or LAKE_ADDR name another)", err)
	}
	return c, err
}
