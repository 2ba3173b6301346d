// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package devtemporal

import (
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/lakeplane/lake/lake"
)

// Options says how the server runs. Only Binary is needed.
type Options struct {
	// Binary is the server's executable; see the function of that name.
	Binary string
	// DBFile is the SQLite file, made if missing. Empty keeps everything in
	// memory: every restart of the child then begins empty.
	DBFile string
	// Host is the loopback address to listen on. Empty means 127.0.0.1.
	Host string
	// Port and UIPort are the frontend's and the UI's; 0 picks a free one,
	// which is kept when the child is started again.
	Port, UIPort int
	// Headless leaves the UI out.
	Headless bool
	// Namespace is made if missing. Empty means "lake".
	Namespace string
	// LogFile receives the server's log, appended. Empty means a file named
	// temporal.log beside DBFile, or none when DBFile is empty too.
	LogFile string
	// LogLevel is debug, info, warn or error. Empty means warn.
	LogLevel string
	// DynamicConfig overrides settings of the server; values are JSON.
	DynamicConfig map[string]string
	// StartTimeout bounds the wait for a usable server. Zero means a minute.
	StartTimeout time.Duration
	// Logger hears of deaths and restarts of the child. Nil means none.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Host == "" {
		o.Host = "127.0.0.1"
	}
	if o.Namespace == "" {
		o.Namespace = "lake"
	}
	if o.LogLevel == "" {
		o.LogLevel = "warn"
	}
	if o.StartTimeout == 0 {
		o.StartTimeout = time.Minute
	}
	if o.LogFile == "" && o.DBFile != "" {
		o.LogFile = filepath.Join(filepath.Dir(o.DBFile), "temporal.log")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// arguments is the child's command line.
func (o Options) arguments() []string {
	args := []string{
		"--exit-with-parent", "--ip", o.Host, "--port", strconv.Itoa(o.Port),
		"--namespace", o.Namespace, "--log-level", o.LogLevel,
	}
	if o.DBFile != "" {
		args = append(args, "--db-file", o.DBFile)
	}
	if o.Headless {
		args = append(args, "--headless")
	} else {
		args = append(args, "--ui-port", strconv.Itoa(o.UIPort))
	}
	for _, key := range slices.Sorted(maps.Keys(o.DynamicConfig)) {
		args = append(args, "--dynamic-config-value", key+"="+o.DynamicConfig[key])
	}
	return args
}

// PortTakenError says which port another program holds.
type PortTakenError struct {
	// What the port is for: "frontend" or "UI".
	What string
	// Address is the host and port that could not be had.
	Address string
	// Err is the system's answer.
	Err error
}

// Error names the port, its purpose and what to do.
func (e *PortTakenError) Error() string {
	return fmt.Sprintf("the Temporal %s port %s is taken: stop the program that holds it or choose another port: %v", e.What, e.Address, e.Err)
}

// Unwrap returns the system's answer.
func (e *PortTakenError) Unwrap() error { return e.Err }

// checkPorts tries the ports before the child does: from here the error can be
// typed and name the port.
func (o Options) checkPorts() error {
	if err := checkPort("frontend", o.Host, o.Port); err != nil {
		return err
	}
	if o.Headless {
		return nil
	}
	return checkPort("UI", o.Host, o.UIPort)
}

func checkPort(what, host string, port int) error {
	if port == 0 {
		return nil
	}
	address := net.JoinHostPort(host, strconv.Itoa(port))
	l, err := net.Listen("tcp", address)
	if err != nil {
		return &lake.Error{Kind: lake.Precondition, Op: "start Temporal", Err: &PortTakenError{What: what, Address: address, Err: err}}
	}
	return l.Close()
}

// maxLogBytes bounds the log kept from earlier runs: a larger file is put
// aside under the name with ".1" when the server starts.
const maxLogBytes = 32 << 20

// openLog returns the file for the child's standard error, or nil for none.
func (o Options) openLog() (*os.File, error) {
	if o.LogFile == "" {
		return os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	}
	if err := os.MkdirAll(filepath.Dir(o.LogFile), 0o700); err != nil {
		return nil, err
	}
	if info, err := os.Stat(o.LogFile); err == nil && info.Size() > maxLogBytes {
		if err := os.Rename(o.LogFile, o.LogFile+".1"); err != nil {
			return nil, err
		}
	}
	return os.OpenFile(o.LogFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
}
