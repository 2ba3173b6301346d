// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package secure_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/cmd/lake/secure"
	"github.com/lakeplane/lake/lake"
)

func put(t *testing.T, path string, data []byte, mode os.FileMode) {
	t.Helper()
	require.NoError(t, os.WriteFile(path+".new", data, mode))
	require.NoError(t, os.Rename(path+".new", path))
}

// selfSigned writes a certificate for 127.0.0.1 that is its own authority.
func selfSigned(t *testing.T, dir, name string) (pair secure.KeyPair) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	pair = secure.KeyPair{CertFile: filepath.Join(dir, "cert.pem"), KeyFile: filepath.Join(dir, "key.pem")}
	put(t, pair.CertFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644)
	put(t, pair.KeyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600)
	return pair
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
	require.Eventually(t, func() bool { return s.Text() == "the second" }, 5*time.Second, 20*time.Millisecond)
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

// handshake connects a client to a server, and returns the name of the server's
// certificate.
func handshake(t *testing.T, server, client *tls.Config) (string, error) {
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
		return "", errors.Join(err, <-served)
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].Subject.CommonName, <-served
}

func TestCertificateIsReadAgainWhenItChanges(t *testing.T) {
	dir := t.TempDir()
	pair := selfSigned(t, dir, "first")
	server, err := secure.ServerTLS(pair, "")
	require.NoError(t, err)
	anybody := &tls.Config{InsecureSkipVerify: true}
	name, err := handshake(t, server, anybody)
	require.NoError(t, err)
	require.Equal(t, "first", name)
	selfSigned(t, dir, "second")
	require.Eventually(t, func() bool {
		name, err := handshake(t, server, anybody)
		return err == nil && name == "second"
	}, 5*time.Second, 50*time.Millisecond)
}

func TestBothSidesAreVerified(t *testing.T) {
	pair, other := selfSigned(t, t.TempDir(), "one"), selfSigned(t, t.TempDir(), "other")
	server, err := secure.ServerTLS(pair, pair.CertFile)
	require.NoError(t, err)
	for _, c := range []struct {
		name       string
		ca         string
		serverName string
		show       secure.KeyPair
		ok         bool
	}{
		{"right", pair.CertFile, "", pair, true},
		{"another authority", other.CertFile, "", pair, false},
		{"the system's authorities", "", "", pair, false},
		{"another name", pair.CertFile, "meta.example", pair, false},
		{"no certificate", pair.CertFile, "", secure.KeyPair{}, false},
		{"another's certificate", pair.CertFile, "", other, false},
	} {
		client, err := secure.ClientTLS(c.ca, c.serverName, c.show)
		require.NoError(t, err)
		_, err = handshake(t, server, client)
		require.Equal(t, c.ok, err == nil, "%s: %v", c.name, err)
	}
}

func TestWrongFilesAreNamed(t *testing.T) {
	dir := t.TempDir()
	pair := selfSigned(t, dir, "one")
	other := selfSigned(t, t.TempDir(), "other")
	_, err := secure.ServerTLS(secure.KeyPair{CertFile: pair.CertFile, KeyFile: other.KeyFile}, "")
	require.ErrorContains(t, err, other.KeyFile)
	_, err = secure.ServerTLS(pair, pair.KeyFile)
	require.ErrorContains(t, err, "holds no PEM certificate")
	_, err = secure.ClientTLS("", "", secure.KeyPair{CertFile: pair.CertFile, KeyFile: filepath.Join(dir, "none")})
	require.ErrorContains(t, err, "none: no such file")
}
