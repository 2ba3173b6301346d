// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

func TestParseOptions(t *testing.T) {
	for _, tc := range []struct {
		args string
		want func(options) bool
	}{
		{"", func(o options) bool {
			return o.port == 7233 && o.uiPort == 8233 && o.namespaces[0] == "lake" && o.ip == "127.0.0.1" && o.retention == 168*time.Hour
		}},
		{"--port 0", func(o options) bool { return o.port == 0 && o.uiPort == 0 }},
		{"--port 9000 --ui-port 9001", func(o options) bool { return o.uiPort == 9001 }},
		{"--db-filename x.db", func(o options) bool { return o.dbFile == "x.db" }},
		{"--namespace a --namespace b", func(o options) bool { return len(o.namespaces) == 2 && o.namespaces[1] == "b" }},
		{
			"server start-dev --ip 127.0.0.1 --port 9000 --namespace default --dynamic-config-value frontend.enableServerVersionCheck=false --log-level warn --log-format pretty --headless --search-attribute Extra=Int",
			func(o options) bool { return o.headless && o.port == 9000 && len(o.attributes) == 1 },
		},
		{"--ip 0.0.0.0 --allow-insecure", func(o options) bool { return o.uiIP == "0.0.0.0" }},
	} {
		o, err := parseOptions(strings.Fields(tc.args), io.Discard)
		if err != nil || !tc.want(o) {
			t.Errorf("%q: got %+v, %v", tc.args, o, err)
		}
	}
}

func TestParseOptionsRefusesAndNamesEveryMistake(t *testing.T) {
	for _, tc := range []struct {
		args string
		want []string
	}{
		{"--ip 0.0.0.0", []string{"--ip 0.0.0.0", "--allow-insecure"}},
		{"--ip nowhere --port 70000 --log-level loud", []string{`"nowhere"`, "70000", `"loud"`}},
		{"--retention 1s", []string{"--retention 1s"}},
		{"--dynamic-config-value a", []string{"key=json"}},
		{"--dynamic-config-value a=word", []string{"not JSON"}},
		{"--search-attribute X=Colour", []string{`"Colour"`}},
		{"start", []string{`"start"`}},
	} {
		_, err := parseOptions(strings.Fields(tc.args), io.Discard)
		if err == nil {
			t.Errorf("%q was accepted", tc.args)
			continue
		}
		for _, want := range tc.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %q is not in %q", tc.args, want, err)
			}
		}
	}
	if _, err := parseOptions([]string{"--help"}, io.Discard); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("--help: %v", err)
	}
}

func TestDynamicValuesKeepIntegers(t *testing.T) {
	got, err := dynamicValues([]string{"i=3", "f=0.5", "s=\"1ms\"", "b=true"})
	if err != nil {
		t.Fatal(err)
	}
	for k, want := range map[string]any{"i": 3, "f": 0.5, "s": "1ms", "b": true} {
		if got[k] != want {
			t.Errorf("%s: got %v (%T), want %v (%T)", k, got[k], got[k], want, want)
		}
	}
}

func TestChoosePort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = choosePort("UI", "127.0.0.1", l.Addr().(*net.TCPAddr).Port)
	if !errors.Is(err, errTaken) || !strings.Contains(err.Error(), "UI") {
		t.Errorf("taken port: %v", err)
	}
	if p, err := choosePort("UI", "127.0.0.1", 0); err != nil || p == 0 {
		t.Errorf("free port: %d, %v", p, err)
	}
}

func TestEndOfInputEndsTheContext(t *testing.T) {
	r, w := io.Pipe()
	ctx := endOfInput(context.Background(), r)
	if ctx.Err() != nil {
		t.Fatal("ended while the parent lives")
	}
	_ = w.Close()
	select {
	case <-ctx.Done():
	case <-time.After(5 * time.Second):
		t.Fatal("the parent died and the context lives")
	}
}
