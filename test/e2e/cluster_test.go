// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/internal/devtemporal"
	"github.com/lakeplane/lake/internal/pgtest"
	"github.com/lakeplane/lake/internal/pkitest"
	"github.com/lakeplane/lake/sdk"
)

// The lease is short, so that a test can wait for it to end.
const (
	leaseTTL  = 2 * time.Second
	clockSkew = 500 * time.Millisecond
)

// waitLong is for what takes moments, on a machine that is busy with other
// tests.
const (
	waitLong = time.Minute
	tick     = 20 * time.Millisecond
)

// cluster is a deployment of separate processes on this machine.
type cluster struct {
	// owner is the test at whose end the processes do.
	owner    *testing.T
	dir      string
	temporal *devtemporal.Server
	// every are arguments of all processes.
	every []string
	// pki, tokens and their files are there in a secured deployment.
	pki *pkitest.Authority
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{owner: t, dir: t.TempDir()}
	c.every = []string{"--objects", "file://" + filepath.Join(c.dir, "objects"), "--metrics-addr", "127.0.0.1:0", "--log-level", "debug", "--shutdown-grace", "20s"}
	return c
}

// startTemporal starts the Temporal server that the cluster uses.
func (c *cluster) startTemporal(t *testing.T) {
	t.Helper()
	binary := os.Getenv(devtemporal.EnvBinary)
	s, err := devtemporal.Start(t.Context(), devtemporal.Options{Binary: binary, DBFile: filepath.Join(c.dir, "temporal.db"), Headless: true})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Stop(10 * time.Second) })
	c.temporal = s
}

func (c *cluster) temporalArgs() []string {
	return []string{"--temporal-address", c.temporal.Address(), "--temporal-namespace", c.temporal.Namespace()}
}

// postgres starts a PostgreSQL server and returns the arguments that name it,
// by a file as a deployment with a password would.
func (c *cluster) postgres(t *testing.T) []string {
	t.Helper()
	s, err := pgtest.Start("fsync=off")
	if errors.Is(err, pgtest.ErrMissing) {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Stop() })
	file := filepath.Join(c.dir, "dsn")
	writeFile(t, file, s.DSN())
	return append([]string{"--metastore-file", file}, leaseArgs()...)
}

// leaseArgs let a leader be followed soon.
func leaseArgs() []string {
	return []string{"--lease-ttl", leaseTTL.String(), "--max-clock-skew", clockSkew.String()}
}

// server is a running process of the cluster.
type server struct {
	name    string
	args    []string
	cmd     *exec.Cmd
	log     *logBuffer
	done    chan struct{} // closed when the process has ended
	address string
	metrics string
}

// start runs `lake NAME` and waits until it says where it listens.
func (c *cluster) start(t *testing.T, name string, args ...string) *server {
	t.Helper()
	s := spawnServer(c.owner, name, append(args, c.every...)...)
	require.Eventually(t, func() bool { return s.started() || s.ended() }, time.Minute, 10*time.Millisecond)
	require.False(t, s.ended(), "lake %s ended:\n%s", name, s.log)
	return s
}

// spawnServer starts a process and waits for nothing.
func spawnServer(t *testing.T, name string, args ...string) *server {
	t.Helper()
	s := &server{name: name, args: args, log: new(logBuffer), done: make(chan struct{})}
	s.cmd = exec.Command(lakeBin, append([]string{name}, args...)...)
	s.cmd.Env = withoutLake()
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	require.NoError(t, s.cmd.Start())
	go func() {
		_ = s.cmd.Wait()
		close(s.done)
	}()
	t.Cleanup(func() {
		s.kill()
		if t.Failed() {
			t.Logf("lake %s %s said:\n%s", name, s.address, tail(s.log.String(), 60))
		}
	})
	return s
}

func tail(text string, lines int) string {
	all := strings.Split(text, "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// withoutLake is the environment without settings of whoever runs the test.
func withoutLake() []string {
	var out []string
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "LAKE_") {
			out = append(out, e)
		}
	}
	return out
}

// started looks for the line that says where the process listens.
func (s *server) started() bool {
	lines := bufio.NewScanner(strings.NewReader(s.log.String()))
	for lines.Scan() {
		var line struct{ Msg, Listen, Metrics string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "lake "+s.name+" started" {
			s.address, s.metrics = line.Listen, line.Metrics
			return true
		}
	}
	return false
}

func (s *server) ended() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// awaitReady waits until the process says that it is of use.
func (s *server) awaitReady(t *testing.T) *server {
	t.Helper()
	require.Eventually(t, func() bool {
		resp, err := http.Get("http://" + s.metrics + "/readyz")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}, time.Minute, 20*time.Millisecond, "lake %s is not ready:\n%s", s.name, s.log)
	return s
}

// gauge sums the series of a name on the process's metrics page.
func (s *server) gauge(t *testing.T, name string) (sum float64) {
	t.Helper()
	resp, err := http.Get("http://" + s.metrics + "/metrics")
	require.NoError(t, err)
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	for line := range strings.SplitSeq(string(page), "\n") {
		if rest, ok := strings.CutPrefix(line, name); ok && (rest[0] == ' ' || rest[0] == '{') {
			var v float64
			_, err := fmt.Sscan(rest[strings.LastIndex(rest, " ")+1:], &v)
			require.NoError(t, err, line)
			sum += v
		}
	}
	return sum
}

// kill ends the process as a power cut would.
func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	<-s.done
}

// terminate sends SIGTERM and returns the exit status.
func (s *server) terminate(t *testing.T) int {
	t.Helper()
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
	return s.wait(t, 30*time.Second)
}

func (s *server) wait(t *testing.T, atMost time.Duration) int {
	t.Helper()
	select {
	case <-s.done:
		return s.cmd.ProcessState.ExitCode()
	case <-time.After(atMost):
		t.Fatalf("lake %s still runs after %s:\n%s", s.name, atMost, s.log)
		return -1
	}
}

// leaderOf waits until one of the members leads, and returns it and the rest.
func leaderOf(t *testing.T, members ...*server) (leader *server, followers []*server) {
	t.Helper()
	require.Eventually(t, func() bool {
		leader, followers = nil, nil
		for _, m := range members {
			if m.gauge(t, "lake_metasrv_write_ready") == 1 {
				leader = m
			} else {
				followers = append(followers, m)
			}
		}
		return leader != nil
	}, time.Minute, 20*time.Millisecond, "nobody leads")
	return leader, followers
}

// Tokens of the principals of a secured cluster.
const (
	annToken    = "ann-0123456789abcdef"
	queryToken  = "query-0123456789abcdef"
	peerToken   = "peer-0123456789abcdef"
	workerToken = "worker-0123456789abcdef"
)

// secure makes certificates, principals, tokens and ticket keys.
func (c *cluster) secure(t *testing.T) {
	t.Helper()
	c.pki = pkitest.New(t)
	writeFile(t, c.file("principals.yaml"), fmt.Sprintf(`principals:
  - {name: ann, role: user, namespaces: ["*"], token: %s}
  - {name: query, role: query_service, namespaces: ["*"], token: %s}
  - {name: peer, role: metadata_peer, namespaces: ["*"], token: %s}
  - {name: worker, role: worker, namespaces: ["*"], token: %s}
`, annToken, queryToken, peerToken, workerToken))
	for name, token := range map[string]string{"ann": annToken, "query": queryToken, "peer": peerToken, "worker": workerToken} {
		writeFile(t, c.file(name+".token"), token+"\n")
	}
	c.writeKeys(t, 'a')
}

func (c *cluster) file(name string) string { return filepath.Join(c.dir, name) }

// serverArgs are those of a secured listener.
func (c *cluster) serverArgs(t *testing.T, name string) []string {
	t.Helper()
	cert, key := c.pki.Leaf(t, name)
	return []string{
		"--listen", "127.0.0.1:0", "--auth-principals-file", c.file("principals.yaml"),
		"--tls-cert-file", cert, "--tls-key-file", key,
	}
}

// callerArgs are those by which a process proves itself to metadata servers,
// which have the given prefix in its settings.
func (c *cluster) callerArgs(t *testing.T, prefix, name, token string) []string {
	t.Helper()
	cert, key := c.pki.Leaf(t, name)
	return []string{
		"--" + prefix + "-auth-token-file", c.file(token + ".token"), "--" + prefix + "-ca-file", c.pki.CA(),
		"--" + prefix + "-tls-cert-file", cert, "--" + prefix + "-tls-key-file", key,
	}
}

// user connects as ann to a query replica.
func (c *cluster) user(t *testing.T, address string, opts ...sdk.Option) *sdk.Client {
	t.Helper()
	if c.pki != nil {
		opts = append(opts, sdk.WithTLS(c.pki.Client(t, "")), sdk.WithToken(annToken))
	}
	client, err := sdk.Connect(t.Context(), address, opts...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}
