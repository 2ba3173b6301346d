// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package blackbox

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
)

// Tokens of the principals of a secured deployment: ann may use everything,
// bob only the namespace bobs, and the replicas call the metadata server.
const (
	annToken   = "ann-0123456789abcdef"
	bobToken   = "bob-0123456789abcdef"
	queryToken = "query-0123456789abcdef"
)

// secured is a deployment of separate processes that asks for credentials:
// a metadata server and two replicas, one of which speaks TLS.
type secured struct {
	dir   string
	plain string // host:port of the replica without TLS
	tls   string // host:port of the one with it
	ca    string // PEM file of the authority of its certificate
}

// deploySecured starts the processes; they end with the test.
func deploySecured(t *testing.T) *secured {
	t.Helper()
	s := &secured{dir: t.TempDir()}
	s.writeSecrets(t)
	cert, key := s.writeCertificates(t)
	every := []string{
		"--listen", "127.0.0.1:0", "--metrics-addr", "127.0.0.1:0", "--auth-principals-file", s.file("principals.yaml"),
		"--objects", "file://" + s.file("objects"),
	}
	meta, _ := s.start(t, "meta", append([]string{"--metastore", "pebble://" + s.file("metastore")}, every...)...)
	query := append([]string{"--meta", meta, "--metadata-auth-token-file", s.file("query.token"), "--query-ticket-keys-file", s.file("keys.json"), "--query-endpoint-rows", "100"}, every...)
	var ready [2]string
	s.plain, ready[0] = s.start(t, "query", query...)
	s.tls, ready[1] = s.start(t, "query", append(slices.Clone(query), "--tls-cert-file", cert, "--tls-key-file", key)...)
	for _, page := range ready {
		require.Eventually(t, func() bool { return isReady(page) }, time.Minute, 20*time.Millisecond, "not ready")
	}
	return s
}

// long is a table of the secured deployment in four fragments of 500 rows, of
// which a client may have up to four parts: id counts from 0, and half is
// id // 2.
const (
	long     = "parts.long"
	longRows = 2000
)

var longSchema = arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}, optional("half", arrow.PrimitiveTypes.Int32)}, nil)

func (s *secured) ingestLong(t *testing.T) {
	t.Helper()
	for from := 0; from < longRows; from += longRows / 4 {
		b := array.NewRecordBuilder(memory.DefaultAllocator, longSchema)
		for i := from; i < from+longRows/4; i++ {
			b.Field(0).(*array.Int64Builder).Append(int64(i))
			b.Field(1).(*array.Int32Builder).Append(int32(i / 2))
		}
		path := arrowFile(t, b.NewRecordBatch())
		b.Release()
		cmd := exec.Command(shared.bin, "ingest", long, path, "--addr", s.plain)
		cmd.Env = withoutLake("LAKE_AUTH_TOKEN_FILE="+s.file("ann.token"), "XDG_STATE_HOME="+t.TempDir())
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
}

func (s *secured) file(name string) string { return filepath.Join(s.dir, name) }

func (s *secured) write(t *testing.T, name, content string) {
	t.Helper()
	require.NoError(t, os.WriteFile(s.file(name), []byte(content), 0o600))
}

func (s *secured) writeSecrets(t *testing.T) {
	t.Helper()
	s.write(t, "principals.yaml", fmt.Sprintf(`principals:
  - {name: ann, role: user, namespaces: ["*"], token: %s}
  - {name: bob, role: user, namespaces: [bobs], token: %s}
  - {name: query, role: query_service, namespaces: ["*"], token: %s}
`, annToken, bobToken, queryToken))
	s.write(t, "query.token", queryToken+"\n")
	s.write(t, "ann.token", annToken+"\n")
	secret := make([]byte, 32)
	_, err := rand.Read(secret)
	require.NoError(t, err)
	s.write(t, "keys.json", fmt.Sprintf(`{"active": %q}`, base64.StdEncoding.EncodeToString(secret)))
}

// authority is the certificate of the authority, in PEM.
func (s *secured) authority(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(s.ca)
	require.NoError(t, err)
	return string(text)
}

// writeCertificates makes an authority of this test's own and a certificate
// for this machine's names.
func (s *secured) writeCertificates(t *testing.T) (cert, key string) {
	t.Helper()
	s.ca = s.file("ca.pem")
	root := &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, Subject: pkix.Name{CommonName: "test authority"}}
	rootKey := s.issue(t, "ca", root, root, nil)
	s.issue(t, "server", &x509.Certificate{
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"}, Subject: pkix.Name{CommonName: "localhost"},
	}, root, rootKey)
	return s.file("server.pem"), s.file("server.key")
}

func (s *secured) issue(t *testing.T, name string, template, parent *x509.Certificate, signer *ecdsa.PrivateKey) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	if signer == nil {
		signer = key
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Minute), time.Now().Add(time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	s.write(t, name+".pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	s.write(t, name+".key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
	return key
}

// start runs `lake NAME` and returns where it listens and its metrics page.
func (s *secured) start(t *testing.T, name string, args ...string) (listen, metrics string) {
	t.Helper()
	cmd := exec.Command(shared.bin, append([]string{name}, args...)...)
	cmd.Env = withoutLake()
	log, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var read sync.WaitGroup
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		read.Wait()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		var line struct{ Msg, Listen, Metrics string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "lake "+name+" started" {
			read.Go(func() {
				for lines.Scan() { // a full pipe would stop the process
				}
			})
			return line.Listen, line.Metrics
		}
		t.Logf("lake %s: %s", name, lines.Bytes())
	}
	t.Fatalf("lake %s ended", name)
	return "", ""
}

func isReady(page string) bool {
	resp, err := http.Get("http://" + page + "/readyz")
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}
