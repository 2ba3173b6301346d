// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"time"

	uiserver "github.com/temporalio/ui-server/v2/server"
	uiconfig "github.com/temporalio/ui-server/v2/server/config"
	uioptions "github.com/temporalio/ui-server/v2/server/server_options"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/server/temporal"
)

const (
	// readyTimeout bounds the time from process start to the ready line.
	readyTimeout = 60 * time.Second
	// stopTimeout bounds an orderly stop. Everything acknowledged is already on
	// disk, so cutting it short loses nothing.
	stopTimeout = 5 * time.Second
)

// ready is the one line printed on standard output.
type ready struct {
	Address   string `json:"address"`
	UI        string `json:"ui,omitempty"`
	Namespace string `json:"namespace"`
}

// serve runs the server until ctx ends.
func serve(ctx context.Context, o options, stdout, stderr io.Writer) error {
	if err := o.choosePorts(); err != nil {
		return err
	}
	db, err := openDatabase(o.dbFile)
	if err != nil {
		return err
	}
	defer db.close()
	server, err := newServer(o, db, stderr)
	if err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	defer stopWithin(stopTimeout, server)
	if err := announce(ctx, o, stdout); err != nil && ctx.Err() == nil {
		return err // and not only because a stop was asked for meanwhile
	}
	<-ctx.Done()
	return nil
}

func (o *options) choosePorts() (err error) {
	if o.port, err = choosePort("frontend", o.ip, o.port); err != nil {
		return err
	}
	if o.headless {
		return nil
	}
	o.uiPort, err = choosePort("UI", o.uiIP, o.uiPort)
	return err
}

func newServer(o options, db *database, stderr io.Writer) (temporal.Server, error) {
	attributes, err := attributeTypes(o.attributes)
	if err != nil {
		return nil, err
	}
	if err := db.createNamespaces(o.namespaces, attributes); err != nil {
		return nil, err
	}
	opts, err := serverOptions(o, db.sql, stderr)
	if err != nil {
		return nil, err
	}
	server, err := temporal.NewServer(opts...)
	if err != nil {
		return nil, fmt.Errorf("configure: %w", err)
	}
	return server, nil
}

// announce prepares the namespaces, starts the UI and prints the ready line.
func announce(ctx context.Context, o options, stdout io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	c, err := dial(ctx, o)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := prepare(ctx, c, o); err != nil {
		return err
	}
	line := ready{Address: o.address(), Namespace: o.namespaces[0]}
	if !o.headless {
		startUI(o)
		line.UI = "http://" + net.JoinHostPort(o.uiIP, strconv.Itoa(o.uiPort))
	}
	return json.NewEncoder(stdout).Encode(line)
}

func (o *options) address() string { return net.JoinHostPort(o.ip, strconv.Itoa(o.port)) }

// dial waits for the frontend to answer.
func dial(ctx context.Context, o options) (client.Client, error) {
	for {
		c, err := client.DialContext(ctx, client.Options{
			HostPort: o.address(), Namespace: o.namespaces[0], Logger: silent{},
		})
		if err == nil {
			return c, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("the frontend did not answer on %s: %w", o.address(), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// startUI serves the web UI until the process ends; the port was checked.
func startUI(o options) {
	host := o.uiIP
	if ip := net.ParseIP(host); ip.To4() == nil {
		host = "[" + host + "]"
	}
	ui := uiserver.NewServer(uioptions.WithConfigProvider(&uiconfig.Config{
		TemporalGRPCAddress: o.address(),
		Host:                host,
		Port:                o.uiPort,
		EnableUI:            true,
		DefaultNamespace:    o.namespaces[0],
		CORS:                uiconfig.CORS{CookieInsecure: true}, // plain HTTP on loopback
		HideLogs:            true,
		DisableNewsFetch:    true, // a data system does not call home
	}))
	go func() { _ = ui.Start() }()
}

// stopWithin asks the server to stop and gives up after d.
func stopWithin(d time.Duration, server temporal.Server) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Stop(); err != nil {
			fmt.Fprintf(os.Stderr, "lake-temporal-dev: stop: %v\n", err)
		}
	}()
	select {
	case <-done:
	case <-time.After(d):
	}
}

// silent drops the log lines of the client used while starting.
type silent struct{}

func (silent) Debug(string, ...any) {}
func (silent) Info(string, ...any)  {}
func (silent) Warn(string, ...any)  {}
func (silent) Error(string, ...any) {}

var _ sdklog.Logger = silent{}
