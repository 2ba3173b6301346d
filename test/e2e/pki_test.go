// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package e2e

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

// pki is an authority of certificates for 127.0.0.1.
type pki struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	next int64
}

func newPKI(t *testing.T) *pki {
	t.Helper()
	p := &pki{dir: t.TempDir(), next: 1}
	p.cert, p.key = p.issue(t, "ca", &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, nil, nil)
	return p
}

// ca is the file of the authority's certificate.
func (p *pki) ca() string { return filepath.Join(p.dir, "ca.pem") }

// leaf makes a certificate that serves and calls, and returns its files.
func (p *pki) leaf(t *testing.T, name string) (cert, key string) {
	t.Helper()
	p.issue(t, name, &x509.Certificate{
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"},
	}, p.cert, p.key)
	return filepath.Join(p.dir, name+".pem"), filepath.Join(p.dir, name+".key")
}

func (p *pki) issue(t *testing.T, name string, template, parent *x509.Certificate, signer *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template.SerialNumber, template.Subject = big.NewInt(p.next), pkix.Name{CommonName: name}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Minute), time.Now().Add(time.Hour)
	p.next++
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	p.write(t, name+".pem", "CERTIFICATE", der)
	p.write(t, name+".key", "PRIVATE KEY", secret)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return cert, key
}

func (p *pki) write(t *testing.T, name, kind string, der []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(p.dir, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}

// client trusts the authority and shows a certificate, unless name is empty.
func (p *pki) client(t *testing.T, name string) *tls.Config {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(p.cert)
	config := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	if name != "" {
		cert, key := p.leaf(t, name)
		pair, err := tls.LoadX509KeyPair(cert, key)
		require.NoError(t, err)
		config.Certificates = []tls.Certificate{pair}
	}
	return config
}
