// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"
)

// options is everything the command line decides.
type options struct {
	dbFile         string
	ip             string
	port           int
	uiIP           string
	uiPort         int
	headless       bool
	namespaces     listFlag
	retention      time.Duration
	logLevel       string
	dynamicConfig  listFlag
	attributes     listFlag
	exitWithParent bool
	allowInsecure  bool
}

// listFlag collects a flag that may be given more than once.
type listFlag []string

func (l *listFlag) String() string     { return strings.Join(*l, ",") }
func (l *listFlag) Set(v string) error { *l = append(*l, v); return nil }

const (
	defaultNamespace = "lake"
	defaultPort      = 7233
	// uiOffset is the distance from the frontend port to the UI port when none
	// is named; it gives the familiar pair 7233 and 8233.
	uiOffset = 1000
	// defaultRetention keeps a finished procedure visible in the UI for a week,
	// long enough to look at Friday's drop on Monday.
	defaultRetention = 7 * 24 * time.Hour
	minRetention     = time.Hour
)

// parseOptions reads flags, with or without a leading "server start-dev".
func parseOptions(args []string, out io.Writer) (options, error) {
	if len(args) >= 2 && args[0] == "server" && args[1] == "start-dev" {
		args = args[2:]
	}
	var o options
	fs := flag.NewFlagSet("lake-temporal-dev", flag.ContinueOnError)
	fs.SetOutput(out)
	o.define(fs)
	if err := fs.Parse(args); err != nil {
		return options{}, err
	}
	if fs.NArg() > 0 {
		return options{}, fmt.Errorf("unexpected argument %q: only flags are taken", fs.Arg(0))
	}
	if err := o.complete(); err != nil {
		return options{}, err
	}
	return o, nil
}

func (o *options) define(fs *flag.FlagSet) {
	fs.StringVar(&o.dbFile, "db-file", "", "SQLite `file`, made if missing; empty keeps everything in memory")
	fs.StringVar(&o.dbFile, "db-filename", "", "the same as --db-file")
	fs.StringVar(&o.ip, "ip", "127.0.0.1", "`address` the frontend listens on")
	fs.IntVar(&o.port, "port", defaultPort, "frontend gRPC `port`; 0 picks a free one")
	fs.StringVar(&o.uiIP, "ui-ip", "", "`address` the UI listens on (default the frontend's)")
	fs.IntVar(&o.uiPort, "ui-port", -1, "UI `port`; 0 picks a free one (default the frontend port + 1000)")
	fs.BoolVar(&o.headless, "headless", false, "run without the UI")
	fs.Var(&o.namespaces, "namespace", "namespace `name` to make, repeatable (default lake)")
	fs.DurationVar(&o.retention, "retention", defaultRetention, "how long finished workflows are kept")
	fs.StringVar(&o.logLevel, "log-level", "warn", "debug, info, warn or error")
	fs.String("log-format", "json", "accepted and ignored: logs are JSON lines on standard error")
	fs.Var(&o.dynamicConfig, "dynamic-config-value", "`key=json`, repeatable")
	fs.Var(&o.attributes, "search-attribute", "`name=Type` to add beside Lake's own, repeatable")
	fs.BoolVar(&o.exitWithParent, "exit-with-parent", false, "stop when standard input ends")
	fs.BoolVar(&o.allowInsecure, "allow-insecure", false, "allow an address other than loopback (there is no authentication)")
}

// complete fills what was left open and reports every mistake at once.
func (o *options) complete() error {
	if len(o.namespaces) == 0 {
		o.namespaces = listFlag{defaultNamespace}
	}
	if o.uiIP == "" {
		o.uiIP = o.ip
	}
	if o.uiPort < 0 {
		o.uiPort = 0
		if o.port > 0 {
			o.uiPort = o.port + uiOffset
		}
	}
	return errors.Join(o.checkAddresses(), o.checkValues())
}

func (o *options) checkAddresses() error {
	var errs []error
	for _, a := range []struct{ flag, value string }{{"--ip", o.ip}, {"--ui-ip", o.uiIP}} {
		ip := net.ParseIP(a.value)
		switch {
		case ip == nil:
			errs = append(errs, fmt.Errorf("%s %q is not an IP address", a.flag, a.value))
		case !ip.IsLoopback() && !o.allowInsecure:
			errs = append(errs, fmt.Errorf("%s %s is not a loopback address: this server has no authentication; pass --allow-insecure if something else protects it", a.flag, a.value))
		}
	}
	for _, p := range []struct {
		flag  string
		value int
	}{{"--port", o.port}, {"--ui-port", o.uiPort}} {
		if p.value < 0 || p.value > 65535 {
			errs = append(errs, fmt.Errorf("%s %d is outside 0..65535", p.flag, p.value))
		}
	}
	return errors.Join(errs...)
}

func (o *options) checkValues() error {
	var errs []error
	if o.retention < minRetention {
		errs = append(errs, fmt.Errorf("--retention %s is below %s", o.retention, minRetention))
	}
	if levels := []string{"debug", "info", "warn", "error"}; !slices.Contains(levels, o.logLevel) {
		errs = append(errs, fmt.Errorf("--log-level %q: allowed are %s", o.logLevel, strings.Join(levels, ", ")))
	}
	_, err := dynamicValues(o.dynamicConfig)
	errs = append(errs, err)
	_, err = attributeTypes(o.attributes)
	return errors.Join(append(errs, err)...)
}

// dynamicValues parses key=json pairs; a value that is not JSON is an error,
// so that a forgotten quote is seen at once.
func dynamicValues(pairs []string) (map[string]any, error) {
	values := make(map[string]any, len(pairs))
	for _, pair := range pairs {
		key, raw, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("--dynamic-config-value %q: want key=json", pair)
		}
		var v any
		if err := json.Unmarshal([]byte(raw), &v); err != nil {
			return nil, fmt.Errorf("--dynamic-config-value %q: the value is not JSON: %w", pair, err)
		}
		if f, isNumber := v.(float64); isNumber && f == float64(int(f)) {
			v = int(f) // integer settings refuse a float
		}
		values[key] = v
	}
	return values, nil
}
