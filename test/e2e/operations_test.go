// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/internal/pgtest"
)

// manual are the commands of docs/operations.md, by what its comments say of
// each block.
type manual map[string]string

var runnable = regexp.MustCompile("(?s)<!-- run: ([a-z ]+) -->\n```sh\n(.*?)```")

func readManual(t *testing.T) manual {
	t.Helper()
	m := manual{}
	for _, block := range runnable.FindAllStringSubmatch(readFile(t, "../../docs/operations.md"), -1) {
		m[block[1]] = block[2]
	}
	return m
}

// machines are three loopback addresses that stand for the machines of the
// manual.
type machines struct {
	dir   string
	ports map[string]string // of the manual → free ones
}

func newMachines(t *testing.T) *machines {
	t.Helper()
	m := &machines{dir: t.TempDir(), ports: map[string]string{}}
	for _, port := range []string{"50051", "50052", "9051", "9052", "9053"} {
		lis, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer lis.Close() // together, so that they differ
		m.ports[port] = strconv.Itoa(lis.Addr().(*net.TCPAddr).Port)
	}
	return m
}

// on rewrites commands for the i-th machine, or for none in particular.
func (m *machines) on(i int, commands string) string {
	host := fmt.Sprintf("127.0.0.%d", i)
	pairs := []string{
		"$(hostname -f)", host, "0.0.0.0", host, "=DNS:", "=IP:",
		"/etc/lake", filepath.Join(m.dir, fmt.Sprint(i), "etc"), "/srv/lake/objects", filepath.Join(m.dir, "objects"),
	}
	for n := range 3 {
		pairs = append(pairs, fmt.Sprintf("lake-%d.example", n+1), fmt.Sprintf("127.0.0.%d", n+1))
	}
	for manual, free := range m.ports {
		pairs = append(pairs, ":"+manual, ":"+free)
	}
	return strings.NewReplacer(pairs...).Replace(commands)
}

// shell runs commands as the manual's reader would.
func (m *machines) shell(t *testing.T, dir, commands string) string {
	t.Helper()
	cmd := exec.Command("bash", "-eu", "-o", "pipefail", "-c", commands)
	cmd.Dir = dir
	cmd.Env = append(withoutLake(), "PATH="+filepath.Dir(lakeBin)+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s\n%s", commands, out)
	return string(out)
}

// TestOperationsManual does what docs/operations.md says, word for word, with
// three addresses of this machine for the three machines.
func TestOperationsManual(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs 127.0.0.2 and 127.0.0.3, which only Linux has")
	}
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip(err)
	}
	database, err := pgtest.Start("fsync=off")
	if errors.Is(err, pgtest.ErrMissing) {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { _ = database.Stop() })
	c := newCluster(t)
	c.startTemporal(t)

	doc, m := readManual(t), newMachines(t)
	variables := strings.NewReplacer(
		"postgres://lake:secret@db.example/lake?sslmode=verify-full", database.DSN(), "temporal.example:7233", c.temporal.Address(),
	).Replace(m.on(0, doc["variables"]))
	require.Contains(t, variables, "MACHINES='127.0.0.1 127.0.0.2 127.0.0.3'")
	secrets := filepath.Join(m.dir, "secrets")
	require.NoError(t, os.Mkdir(secrets, 0o700))
	m.shell(t, secrets, variables+m.on(0, doc["once"]))

	var all []*server
	for i := 1; i <= 3; i++ {
		etc := filepath.Join(m.dir, fmt.Sprint(i), "etc")
		require.NoError(t, os.MkdirAll(etc, 0o700))
		m.shell(t, secrets, fmt.Sprintf("cp ca.pem principals.yaml keys.json metastore.url query.token peer.token %[1]s; cp 127.0.0.%[2]d.pem %[1]s/cert.pem; cp 127.0.0.%[2]d.key %[1]s/key.pem", etc, i))
		checked := m.shell(t, etc, variables+m.on(i, doc["each machine"]))
		require.Equal(t, 3, strings.Count(checked, "is good"), checked)
		for line := range strings.Lines(m.on(i, doc["processes"])) {
			words := strings.Fields(line)
			if words[1] == "worker" {
				words = append(words, "--drop-settle", "1s") // nothing is being written to a test's drops
			}
			all = append(all, spawnServer(t, words[1], words[2:]...))
		}
	}
	require.Len(t, all, 9)
	for _, s := range all {
		require.Eventually(t, func() bool { return s.started() || s.ended() }, waitLong, tick, "%s", s.name)
		require.False(t, s.ended(), "lake %s ended:\n%s", s.name, s.log)
		s.awaitReady(t)
	}
	said := m.shell(t, secrets, m.on(0, doc["client"]))
	require.Contains(t, said, "self-check ok")
	require.Regexp(t, `(?s) episodes\n.* 0\n`, said)
	for _, s := range all {
		require.Zero(t, s.terminate(t), "%s", s.log)
	}
}
