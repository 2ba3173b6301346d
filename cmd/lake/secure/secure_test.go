// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package secure_test

import (
	"crypto/tls"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/cmd/lake/secure"
	"github.com/lakeplane/lake/internal/pkitest"
	"github.com/lakeplane/lake/lake"
)

func put(t *testing.T, path string, data []byte, mode os.FileMode) {
	t.Helper()
	require.NoError(t, os.WriteFile(path+".new", data, mode))
	require.NoError(t, os.Rename(path+".new", path))
}

// pair makes a certificate of an authority.
func pair(t *testing.T, a *pkitest.Authority, name string) secure.KeyPair {
	t.Helper()
	cert, key := a.Leaf(t, name)
	return secure.KeyPair{CertFile: cert, KeyFile: key}
}

func TestSecretIsReadAgainWhenItChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	put(t, path, []byte("first\n"), 0o600)
	s, err := secure.OpenSecret(path)
	require.NoError(t, err)
	require.Equal(t, "first", s.Text())
	headers, err := secure.Bearer{Token: s}.GetRequestMetadata(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]string{"authorization": "Bearer first"}, headers)
	require.True(t, secure.Bearer{Token: s}.RequireTransportSecurity())
	require.False(t, secure.Bearer{Token: s, Plaintext: true}.RequireTransportSecurity())

	put(t, path, []byte("the second"), 0o600)
	require.Eventually(t, func() bool { return s.Text() == "the second" }, 20*time.Second, 20*time.Millisecond)
	put(t, path, []byte("two\nlines"), 0o600) // a slip: the last good one stays
	time.Sleep(1200 * time.Millisecond)
	require.Equal(t, "the second", s.Text())
}

func TestSecretRefusesWhatIsNone(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		text string
		mode os.FileMode
		says string
	}{
		"open":  {"secret-text", 0o640, "lets others read it"},
		"empty": {" \n", 0o600, "want one line"},
		"lines": {"secret-text\nmore", 0o600, "want one line"},
		"nul":   {"secret-text\x00", 0o600, "want one line"},
		"large": {strings.Repeat("secret-text", 1<<17), 0o600, "too large"},
	} {
		path := filepath.Join(dir, name)
		put(t, path, []byte(c.text), c.mode)
		_, err := secure.OpenSecret(path)
		require.ErrorContains(t, err, c.says, name)
		require.Equal(t, lake.Invalid, lake.KindOf(err))
		require.NotContains(t, err.Error(), "secret-text")
	}
	_, err := secure.OpenSecret(dir)
	require.ErrorContains(t, err, "not a regular file")
	_, err = secure.OpenSecret(filepath.Join(dir, "none"))
	require.ErrorContains(t, err, "no such file")
}

// handshake connects a client to a server, and returns the serial number of the
// server's certificate.
func handshake(t *testing.T, server, client *tls.Config) (serial int64, err error) {
	t.Helper()
	lis, err := tls.Listen("tcp", "127.0.0.1:0", server)
	require.NoError(t, err)
	defer lis.Close()
	served := make(chan error, 1)
	go func() {
		conn, err := lis.Accept()
		if err == nil {
			err = conn.(*tls.Conn).HandshakeContext(t.Context())
			_ = conn.Close()
		}
		served <- err
	}()
	conn, err := tls.Dial("tcp", lis.Addr().String(), client)
	if err != nil {
		return 0, errors.Join(err, <-served)
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64(), <-served
}

func TestCertificateIsReadAgainWhenItChanges(t *testing.T) {
	a := pkitest.New(t)
	server, err := secure.ServerTLS(pair(t, a, "server"), "")
	require.NoError(t, err)
	first, err := handshake(t, server, a.Client(t, ""))
	require.NoError(t, err)
	a.Leaf(t, "server")
	require.Eventually(t, func() bool {
		serial, err := handshake(t, server, a.Client(t, ""))
		return err == nil && serial > first
	}, 20*time.Second, 50*time.Millisecond)
}

func TestBothSidesAreVerified(t *testing.T) {
	ours, theirs := pkitest.New(t), pkitest.New(t)
	server, err := secure.ServerTLS(pair(t, ours, "server"), ours.CA())
	require.NoError(t, err)
	show, other := pair(t, ours, "client"), pair(t, theirs, "client")
	for _, c := range []struct {
		name       string
		ca         string
		serverName string
		show       secure.KeyPair
		ok         bool
	}{
		{"right", ours.CA(), "", show, true},
		{"a name of the certificate's", ours.CA(), "localhost", show, true},
		{"another name", ours.CA(), "meta.example", show, false},
		{"another authority", theirs.CA(), "", show, false},
		{"the system's authorities", "", "", show, false},
		{"no certificate", ours.CA(), "", secure.KeyPair{}, false},
		{"another authority's certificate", ours.CA(), "", other, false},
	} {
		client, err := secure.ClientTLS(c.ca, c.serverName, c.show)
		require.NoError(t, err)
		_, err = handshake(t, server, client)
		require.Equal(t, c.ok, err == nil, "%s: %v", c.name, err)
	}
}

func TestWrongFilesAreNamed(t *testing.T) {
	a := pkitest.New(t)
	one, other := pair(t, a, "one"), pair(t, a, "other")
	_, err := secure.ServerTLS(secure.KeyPair{CertFile: one.CertFile, KeyFile: other.KeyFile}, "")
	require.ErrorContains(t, err, other.KeyFile)
	_, err = secure.ServerTLS(one, one.KeyFile)
	require.ErrorContains(t, err, "holds no PEM certificate")
	_, err = secure.ClientTLS("", "", secure.KeyPair{CertFile: one.CertFile, KeyFile: one.KeyFile + ".none"})
	require.ErrorContains(t, err, ".none: no such file")
	require.NoError(t, os.Chmod(one.KeyFile, 0o644))
	_, err = secure.ServerTLS(one, "")
	require.ErrorContains(t, err, one.KeyFile+": mode 0644 lets others read it")
}

// TestAChainEndsWithItsFirstCertificateToEnd: the authority's own here, which a
// server may send along.
func TestAChainEndsWithItsFirstCertificateToEnd(t *testing.T) {
	a := pkitest.New(t)
	made := time.Now()
	require.Eventually(t, func() bool { return time.Now().Unix() > made.Unix() }, 5*time.Second, 20*time.Millisecond)
	p := pair(t, a, "server") // ends a second later than the authority at least
	alone, err := p.WatchEnd()
	require.NoError(t, err)
	leaf, err := os.ReadFile(p.CertFile)
	require.NoError(t, err)
	authority, err := os.ReadFile(a.CA())
	require.NoError(t, err)
	put(t, p.CertFile, append(leaf, authority...), 0o600)
	chain, err := p.WatchEnd()
	require.NoError(t, err)
	require.True(t, chain().Before(alone()), "%s, and the certificate alone %s", chain(), alone())
	require.WithinDuration(t, made.Add(time.Hour), chain(), 5*time.Second)
}
