// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/internal/ingest/journal"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
	"github.com/lakeplane/lake/sdk/sdktest"
)

var resumable = lake.TableName{Namespace: "in", Name: "t"}

// ingester runs ingest commands into the table in.t of a server that fails when
// it is told to.
type ingester struct {
	*testing.T
	server *sdktest.Server
	state  string
}

func newIngester(t *testing.T) *ingester {
	return &ingester{t, sdktest.New(t), filepath.Join(t.TempDir(), "state")}
}

// run ingests; args are the files and further flags.
func (g *ingester) run(ctx context.Context, args ...string) outcome {
	g.Helper()
	var out, errs bytes.Buffer
	args = append([]string{"ingest", "in.t", "--addr", g.server.Addr(), "--state", g.state}, args...)
	code := run(ctx, args, strings.NewReader(""), &out, &errs)
	return outcome{code, out.String(), errs.String()}
}

func (g *ingester) must(args ...string) string {
	g.Helper()
	r := g.run(g.Context(), args...)
	require.Zero(g, r.code, r.stderr)
	return r.stderr
}

func (g *ingester) fails(says string, args ...string) string {
	g.Helper()
	r := g.run(g.Context(), args...)
	require.Equal(g, 1, r.code, r.stderr)
	require.Contains(g, r.stderr, says)
	return r.stderr
}

// interrupt runs until the nth attempt of all arrived, and interrupts it.
func (g *ingester) interrupt(attempt int, args ...string) string {
	g.Helper()
	ctx, cancel := context.WithCancel(g.Context())
	defer cancel()
	go func() {
		for len(g.server.Attempts()) < attempt {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(20 * time.Millisecond) // so that it is applied
		cancel()
	}()
	r := g.run(ctx, args...)
	require.Equal(g, exitInterrupted, r.code, r.stderr)
	return r.stderr
}

// numbers are the values of the first column in the table, in order.
func (g *ingester) numbers() (all []int) {
	g.Helper()
	for _, b := range g.server.Batches(resumable) {
		for i := range int(b.NumRows()) {
			all = append(all, int(b.Column(0).(*array.Int64).Value(i)))
		}
	}
	return all
}

func (g *ingester) requireNumbers(n int) {
	g.Helper()
	all := g.numbers()
	slices.Sort(all)
	require.Len(g, all, n)
	for i, v := range all {
		require.Equal(g, i, v, "every row once")
	}
	left, err := os.ReadDir(g.state)
	require.NoError(g, err)
	require.Empty(g, left, "a finished ingest has no journal")
}

// countFile is a CSV file of the numbers from, …, to-1.
func countFile(t *testing.T, name string, from, to int, text string) string {
	t.Helper()
	var out strings.Builder
	out.WriteString("n,s\n")
	for i := from; i < to; i++ {
		fmt.Fprintf(&out, "%d,%s\n", i, text)
	}
	return put(t, name, out.String())
}

var hint = regexp.MustCompile(`(?m)^to go on where it stopped: lake (.*)$`)

// follow runs the command that a failure printed.
func (g *ingester) follow(said string) outcome {
	g.Helper()
	m := hint.FindStringSubmatch(said)
	require.NotNil(g, m, said)
	var out, errs bytes.Buffer
	code := run(g.Context(), strings.Fields(m[1]), strings.NewReader(""), &out, &errs)
	return outcome{code, out.String(), errs.String()}
}

func TestRefusedIngestSaysHowToGoOnAndDoes(t *testing.T) {
	g := newIngester(t)
	file := countFile(t, "a.csv", 0, 45_000, "x")
	g.server.Plan(sdktest.None, sdktest.LoseAck, sdktest.None, sdktest.Forget)
	said := g.fails("(20,000 rows of the file are in table in.t)", file, "--columns", "n,s", "--delimiter", ",")
	require.Contains(t, said, "lake ingest --addr="+g.server.Addr()+" --columns=n --columns=s --delimiter=, --state="+g.state+" --resume in.t "+file)
	r := g.follow(said)
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stderr, "a.csv: 25,000 rows in 3 appends appended to in.t, version 6 (after 20,000 rows by earlier runs, ")
	g.requireNumbers(45_000)
	for _, a := range g.server.Attempts() {
		require.False(t, a.Incarnation.IsZero(), "every append is pinned")
	}
}

func TestInterruptedIngestSendsTheAppendInDoubtAgain(t *testing.T) {
	g := newIngester(t)
	file := countFile(t, "a.csv", 0, 35_000, "x")
	g.server.Plan(sdktest.None, sdktest.Silence) // applied, and nobody learns of it
	said := g.interrupt(2, file)
	require.Equal(t, int64(20_000), g.server.Rows(resumable))
	r := g.follow(said)
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stderr, "25,000 rows in 3 appends appended")
	g.requireNumbers(35_000)
	a := g.server.Attempts()
	require.Equal(t, a[1], a[2], "the same operation and the same payload")
}

func TestRefusalOfTheAppendInDoubtLeavesItInDoubt(t *testing.T) {
	g := newIngester(t)
	file := countFile(t, "a.csv", 0, 25_000, "x")
	g.server.Plan(sdktest.None, sdktest.Silence)
	g.interrupt(2, file)
	g.server.Plan(sdktest.Forget)
	said := g.fails("rows 10001 to 20000 were sent before as operation "+g.server.Attempts()[1].Operation.String()+" and may be in the table", file, "--resume")
	require.Contains(t, said, "to go on where it stopped")
	g.must(file, "--resume")
	g.requireNumbers(25_000)
	a := g.server.Attempts()
	require.Equal(t, a[1], a[3])
}

func TestPartsOfABatchAreTakenUpToo(t *testing.T) {
	text := strings.Repeat("x", 7<<20)
	for name, plan := range map[string][]sdktest.Fault{
		"between parts": {sdktest.None, sdktest.Forget},
		"in a part":     {sdktest.None, sdktest.Silence},
	} {
		t.Run(name, func(t *testing.T) {
			g := newIngester(t)
			file := countFile(t, "a.csv", 0, 5, text) // one batch, too large for one append
			g.server.Plan(plan...)
			if plan[1] == sdktest.Silence {
				g.interrupt(2, file)
			} else {
				g.fails("2 rows of the file are in table", file)
			}
			g.must(file, "--resume")
			g.requireNumbers(5)
			require.Len(t, g.server.Batches(resumable), 5, "a message for each row")
		})
	}
}

func TestFilesAreTakenUpWhereTheyWereLeft(t *testing.T) {
	g := newIngester(t)
	files := []string{countFile(t, "a.csv", 0, 100, "x"), countFile(t, "b.csv", 100, 15_000, "x"), countFile(t, "c.csv", 15_000, 15_003, "x")}
	g.server.Plan(sdktest.None, sdktest.None, sdktest.Forget)
	g.fails("10,000 rows of the file", files...)
	said := g.must(append(files, "--resume")...)
	require.Contains(t, said, "a.csv: 100 rows are in in.t already\nb.csv: 4,900 rows in 1 append appended to in.t, version 4 (after 10,000 rows")
	require.Contains(t, said, "c.csv: 3 rows in 1 append")
	g.requireNumbers(15_003)

	g.fails("nothing to resume: no unfinished ingest of these files into table in.t", append(files, "--resume")...)
	left, err := os.ReadDir(g.state)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestUnfinishedIngestIsNotBegunAgainUnasked(t *testing.T) {
	g := newIngester(t)
	file := countFile(t, "a.csv", 0, 15_000, "x")
	g.server.Plan(sdktest.None, sdktest.Forget)
	g.fails("10,000 rows of the file", file)
	said := g.fails("an earlier ingest of these files into table in.t was not finished, 10,000 rows of them are in the table: go on with --resume, or append everything again with --start-over", file)
	require.NotContains(t, said, "to go on")
	require.Equal(t, int64(10_000), g.server.Rows(resumable))
	r := g.run(t.Context(), file, "--resume", "--start-over")
	require.Equal(t, exitUsage, r.code, r.stderr)
	g.must(file, "--start-over")
	require.Equal(t, int64(25_000), g.server.Rows(resumable))
}

func TestIngestOfWhatChangedIsNotResumed(t *testing.T) {
	client := func(g *ingester) *sdk.Client {
		c, err := sdk.Connect(g.Context(), g.server.Addr())
		require.NoError(g, err)
		g.Cleanup(func() { _ = c.Close() })
		return c
	}
	drop := func(g *ingester) *sdk.Client {
		c := client(g)
		_, err := c.DropTable(g.Context(), resumable, sdk.DropOptions{})
		require.NoError(g, err)
		return c
	}
	for name, test := range map[string]struct {
		change func(g *ingester, file string) (flags []string)
		says   string
	}{
		"content": {func(g *ingester, file string) []string {
			require.NoError(g, os.WriteFile(file, []byte("n,s\n1,x\n"), 0o600))
			return nil
		}, "a.csv changed: it had "},
		"time": {func(g *ingester, file string) []string {
			require.NoError(g, os.Chtimes(file, time.Unix(5, 0), time.Unix(5, 0)))
			return nil
		}, "a.csv changed: it was modified at 1970-01-01T00:00:05Z, and before at "},
		"gone": {func(g *ingester, file string) []string {
			require.NoError(g, os.Remove(file))
			return nil
		}, "does not exist"},
		"option": {func(*ingester, string) []string { return []string{"--columns", "s,n"} }, `--columns was "" and is "s,n"`},
		"table dropped": {func(g *ingester, _ string) []string {
			drop(g)
			return nil
		}, "the table does not exist any more"},
		"table made again": {func(g *ingester, _ string) []string {
			schema := g.server.Batches(resumable)[0].Schema()
			_, err := drop(g).CreateTable(g.Context(), resumable, schema)
			require.NoError(g, err)
			return nil
		}, "table in.t was dropped and created again: it was incarnation "},
	} {
		t.Run(name, func(t *testing.T) {
			g := newIngester(t)
			file := countFile(t, "a.csv", 0, 15_000, "x")
			g.server.Plan(sdktest.None, sdktest.Forget)
			g.fails("10,000 rows of the file", file)
			flags := test.change(g, file)
			before := len(g.server.Attempts())
			g.fails(test.says, append(flags, file, "--resume")...)
			require.Len(t, g.server.Attempts(), before, "nothing was sent")
			left, err := os.ReadDir(g.state)
			require.NoError(t, err)
			require.Len(t, left, 1, "the journal stays")
		})
	}
}

func TestRecreatedTableIsNoticedInTheMiddle(t *testing.T) {
	g := newIngester(t)
	file := countFile(t, "a.csv", 0, 25_000, "x")
	g.server.Plan(sdktest.None, sdktest.Silence)
	g.interrupt(2, file)
	c, err := sdk.Connect(t.Context(), g.server.Addr())
	require.NoError(t, err)
	defer c.Close()
	schema := g.server.Batches(resumable)[0].Schema()
	_, err = c.DropTable(t.Context(), resumable, sdk.DropOptions{})
	require.NoError(t, err)
	_, err = c.CreateTable(t.Context(), resumable, schema)
	require.NoError(t, err)
	g.fails("dropped and created again", file, "--resume")
	require.Zero(t, g.server.Rows(resumable), "nothing went into the other table")
}

// TestFileThatChangesMeanwhileIsNotDone: rows of two files are in the table, which
// a user must hear of.
func TestFileThatChangesMeanwhileIsNotDone(t *testing.T) {
	g := newIngester(t)
	file := countFile(t, "a.csv", 0, 15_000, "x")
	g.server.Plan(sdktest.None, sdktest.Busy, sdktest.Busy)
	changed := make(chan error, 1)
	go func() {
		for len(g.server.Attempts()) < 2 {
			time.Sleep(time.Millisecond)
		}
		changed <- os.Chtimes(file, time.Unix(5, 0), time.Unix(5, 0))
	}()
	said := g.fails("a.csv: it changed while it was read: it was modified at 1970-01-01T00:00:05Z", file)
	require.NoError(t, <-changed)
	require.Contains(t, said, "15,000 rows of the file are in table in.t")
	g.fails("a.csv changed: it was modified at 1970", file, "--resume")
}

// TestAppendInDoubtThatIsNotInTheFile: what the journal says was sent is not what
// the file is cut into now, as after another release wrote the journal. Nothing is
// sent, since the rows may be in the table.
func TestAppendInDoubtThatIsNotInTheFile(t *testing.T) {
	for name, doubt := range map[string]func(journal.Chunk) journal.Chunk{
		"encoded otherwise": func(c journal.Chunk) journal.Chunk { c.Digest[0]++; return c },
		"cut otherwise":     func(c journal.Chunk) journal.Chunk { c.Rows--; return c },
		"after its end": func(c journal.Chunk) journal.Chunk {
			c.Batch, c.First, c.BatchRows, c.Rows = 15_000, 15_000, 7, 7
			return c
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newIngester(t)
			file := countFile(t, "a.csv", 0, 15_000, "x")
			g.server.Plan(sdktest.None, sdktest.Silence)
			g.interrupt(2, file)
			book, err := journal.Open(g.state, resumable, []string{file})
			require.NoError(t, err)
			sent := *book.File(0).InDoubt
			next := doubt(sent)
			if next.First != sent.First {
				require.NoError(t, book.Acknowledged(3))
			} else {
				require.NoError(t, book.Refused())
			}
			require.NoError(t, book.Sending(next))
			require.NoError(t, book.Close())
			before := len(g.server.Attempts())
			g.fails("and are not encoded as they were then, as by another release of lake: look for them in the table", file, "--resume")
			require.Len(t, g.server.Attempts(), before, "nothing was sent")
		})
	}
}

func TestTwoIngestsOfTheSameFilesAreRefused(t *testing.T) {
	g := newIngester(t)
	file := countFile(t, "a.csv", 0, 5000, "x")
	g.server.Plan(sdktest.Silence)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan outcome)
	go func() { done <- g.run(ctx, file) }()
	require.Eventually(t, func() bool { return len(g.server.Attempts()) == 1 }, 10*time.Second, time.Millisecond)
	for _, flags := range [][]string{nil, {"--resume"}, {"--start-over"}} {
		g.fails("another ingestion of the same files into the same table is running", append(flags, file)...)
	}
	cancel()
	require.Equal(t, exitInterrupted, (<-done).code)
	g.must(file, "--resume")
	g.requireNumbers(5000)
}

func TestNothingIsLeftOfAnIngestThatSentNothing(t *testing.T) {
	g := newIngester(t)
	g.fails("is not UTF-8", put(t, "a.csv", "a\n\xff\n"))
	g.server.Plan(sdktest.Forget)
	said := g.fails("another digest", countFile(t, "b.csv", 0, 5, "x"))
	require.NotContains(t, said, "to go on")
	left, err := os.ReadDir(g.state)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestIngestGoesOnWhereNoJournalCanBeKept(t *testing.T) {
	if os.Getuid() == 0 {
		t.Log("root may write everywhere: the place is a file instead")
	}
	g := newIngester(t)
	t.Setenv("XDG_STATE_HOME", put(t, "file", "")) // a file is no place for a directory
	file := countFile(t, "a.csv", 0, 15_000, "x")
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"ingest", "in.t", file, "--addr", g.server.Addr()}, strings.NewReader(""), &out, &errs)
	require.Zero(t, code, errs.String())
	require.Contains(t, errs.String(), "no journal can be kept, so this ingest cannot be resumed")
	require.Equal(t, int64(15_000), g.server.Rows(resumable))
	errs.Reset()
	code = run(t.Context(), []string{"ingest", "in.t", file, "--resume", "--addr", g.server.Addr()}, strings.NewReader(""), &out, &errs)
	require.Equal(t, 1, code, "asked for, it is needed: %s", errs.String())
	g.state = filepath.Join(put(t, "file", ""), "x")
	g.fails("ingest journal", file)
}

func TestWordsAreQuotedForTheShell(t *testing.T) {
	for word, want := range map[string]string{
		"": "''", "a-b_c.d/e=f:g,h@i%j+k": "a-b_c.d/e=f:g,h@i%j+k", "a b": "'a b'", "it's": `'it'\''s'`, "$x": "'$x'", "ä": "'ä'",
	} {
		require.Equal(t, want, shellWord(word))
	}
	require.Equal(t, []string{"a", `"b,c"`, `"d""e"`}, csvFields([]string{"a", "b,c", `d"e`}))
}
