// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package failure

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"go.temporal.io/sdk/activity"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/lakeplane/lake/lake"
)

func TestEveryKindHasADecision(t *testing.T) {
	for kind := lake.Kind(0); !strings.HasPrefix(kind.String(), "kind("); kind++ {
		if _, ok := retryable[kind]; !ok {
			t.Errorf("%s is not in the table", kind)
		}
	}
}

func TestOf(t *testing.T) {
	for _, tc := range []struct {
		err    error
		kind   string
		final  bool
		text   string
		absent string
	}{
		{lake.Errorf(lake.Corrupt, "record %q", "k"), "corrupt", true, `record "k"`, ""},
		{lake.Errorf(lake.Fenced, "taken over"), "fenced", true, "taken over", ""},
		{lake.Errorf(lake.Exhausted, "slow down"), "resource exhausted", false, "slow down", ""},
		{fmt.Errorf("secret-token in the clear"), "unknown", false, "see the worker's log", "secret-token"},
		{lake.Errorf(lake.Unavailable, "get https://key:secret@bucket/x?sig=1: refused"), "unavailable", false, "<address>", "secret"},
		{lake.Errorf(lake.Unavailable, "dial 10.1.2.3:9000: refused"), "unavailable", false, "<address>", "10.1.2.3"},
		{lake.Errorf(lake.Invalid, "%s", strings.Repeat("é", 1000)), "invalid", true, "…", ""},
	} {
		var log bytes.Buffer
		err := Of(t.Context(), slog.New(slog.NewTextHandler(&log, nil)), tc.err)
		var app *temporal.ApplicationError
		if !errors.As(err, &app) {
			t.Fatalf("%v: got %T", tc.err, err)
		}
		if app.Type() != tc.kind || app.NonRetryable() != tc.final || !strings.Contains(app.Message(), tc.text) {
			t.Errorf("%v: got type %q, final %v, message %q", tc.err, app.Type(), app.NonRetryable(), app.Message())
		}
		if tc.absent != "" && strings.Contains(err.Error(), tc.absent) {
			t.Errorf("%q leaked into %q", tc.absent, err)
		}
		if len(app.Message()) > maxText+4 {
			t.Errorf("message of %d bytes", len(app.Message()))
		}
		if log.Len() == 0 {
			t.Errorf("%v: not logged", tc.err)
		}
	}
}

func TestOfPassesTheEndOfTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	log := slog.New(slog.DiscardHandler)
	var app *temporal.ApplicationError
	if err := Of(ctx, log, lake.Wrap("list", context.Canceled)); !errors.Is(err, context.Canceled) || errors.As(err, &app) {
		t.Errorf("got %v", err)
	}
	if err := Of(ctx, log, lake.Errorf(lake.Corrupt, "x")); errors.Is(err, context.Canceled) {
		t.Error("another error was taken for the end of the context")
	}
	if Of(ctx, log, nil) != nil {
		t.Error("nil became an error")
	}
}

// TestAFailureIsLoggedOnceAndSaysWhereItHappened: a second line by Temporal's SDK, of
// level ERROR, would raise alarms for what is tried again.
func TestAFailureIsLoggedOnceAndSaysWhereItHappened(t *testing.T) {
	var text bytes.Buffer
	log := slog.New(slog.NewTextHandler(&text, nil))
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(log))
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivityWithOptions(func(ctx context.Context) error {
		return Of(ctx, log, lake.Errorf(lake.Conflict, "somebody holds it"))
	}, activity.RegisterOptions{Name: "DropTable.Begin"})
	if _, err := env.ExecuteActivity("DropTable.Begin"); err == nil {
		t.Fatal("no failure")
	}
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	if len(lines) != 1 || !strings.Contains(lines[0], "level=WARN") {
		t.Fatalf("want one line: %q", lines)
	}
	for _, want := range []string{"somebody holds it", "activity=DropTable.Begin", "attempt=1", "procedure=", "run="} {
		if !strings.Contains(lines[0], want) {
			t.Errorf("%q says nothing of %q", lines[0], want)
		}
	}
}
