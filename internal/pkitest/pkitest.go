// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package pkitest makes certificates for tests of TLS on this machine.
package pkitest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Authority issues certificates, as files of a directory that ends with the
// test. It is not safe for concurrent use.
type Authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	next int64
}

// New makes an authority.
func New(t *testing.T) *Authority {
	t.Helper()
	a := &Authority{dir: t.TempDir(), next: 1}
	a.cert, a.key = a.issue(t, "ca", &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, nil, nil)
	return a
}

// CA is the PEM file of the authority's certificate.
func (a *Authority) CA() string { return filepath.Join(a.dir, "ca.pem") }

// Leaf makes a certificate for 127.0.0.1 and localhost that serves and calls,
// and returns its PEM files. A second one of a name takes the place of the
// first.
func (a *Authority) Leaf(t *testing.T, name string) (certFile, keyFile string) {
	t.Helper()
	a.issue(t, name, &x509.Certificate{
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"},
	}, a.cert, a.key)
	return filepath.Join(a.dir, name+".pem"), filepath.Join(a.dir, name+".key")
}

func (a *Authority) issue(t *testing.T, name string, template, parent *x509.Certificate, signer *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template.SerialNumber, template.Subject = big.NewInt(a.next), pkix.Name{CommonName: name}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Minute), time.Now().Add(time.Hour)
	a.next++
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	a.write(t, name+".pem", "CERTIFICATE", der)
	a.write(t, name+".key", "PRIVATE KEY", secret)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return cert, key
}

// write puts a file in place as a whole, as a rotation would.
func (a *Authority) write(t *testing.T, name, kind string, der []byte) {
	t.Helper()
	path := filepath.Join(a.dir, name)
	require.NoError(t, os.WriteFile(path+".new", pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	require.NoError(t, os.Rename(path+".new", path))
}

// Pool trusts the authority.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// Client trusts the authority and shows a new certificate of a name, unless the
// name is empty.
func (a *Authority) Client(t *testing.T, name string) *tls.Config {
	t.Helper()
	config := &tls.Config{RootCAs: a.Pool(), MinVersion: tls.VersionTLS12}
	if name != "" {
		config.Certificates = []tls.Certificate{a.pair(t, name)}
	}
	return config
}

// Server shows a new certificate of a name, and wants one of the authority from
// its clients.
func (a *Authority) Server(t *testing.T, name string) *tls.Config {
	t.Helper()
	return &tls.Config{
		Certificates: []tls.Certificate{a.pair(t, name)}, ClientCAs: a.Pool(),
		ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12,
	}
}

func (a *Authority) pair(t *testing.T, name string) tls.Certificate {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(a.Leaf(t, name))
	require.NoError(t, err)
	return pair
}
