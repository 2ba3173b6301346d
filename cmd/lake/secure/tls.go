// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package secure

import (
	"crypto/tls"
	"crypto/x509"
	"time"

	"github.com/lakeplane/lake/internal/watchfile"
	"github.com/lakeplane/lake/lake"
)

// maxFileBytes bounds a certificate or a token.
const maxFileBytes = 1 << 20

// KeyPair is a certificate with its private key, as PEM files. The key's must be
// private (internal/secretfile).
type KeyPair struct{ CertFile, KeyFile string }

func (p KeyPair) open() (*watchfile.Value[*tls.Certificate], error) {
	return watchfile.Watch(nil, func() (*tls.Certificate, error) {
		cert, err := watchfile.Read(p.CertFile, false, maxFileBytes)
		if err != nil {
			return nil, err
		}
		key, err := watchfile.Read(p.KeyFile, true, maxFileBytes)
		if err != nil {
			return nil, err
		}
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return nil, lake.Errorf(lake.Invalid, "certificate %s with key %s: %w", p.CertFile, p.KeyFile, err)
		}
		return &pair, nil
	}, p.CertFile, p.KeyFile)
}

// WatchEnd returns a function that tells when the certificate in force stops
// being good: the earliest end in its chain, since peers refuse the whole. It
// follows the files as [ServerTLS] and [ClientTLS] do, and is safe for
// concurrent use.
func (p KeyPair) WatchEnd() (func() time.Time, error) {
	certificate, err := p.open()
	if err != nil {
		return nil, err
	}
	if _, err := chainEnd(certificate.Get()); err != nil {
		return nil, lake.Errorf(lake.Invalid, "certificate %s: %w", p.CertFile, err)
	}
	return func() time.Time {
		end, _ := chainEnd(certificate.Get())
		return end
	}, nil
}

// chainEnd returns the earliest end of a chain. One that holds what is no
// certificate has ended: no peer takes it.
func chainEnd(chain *tls.Certificate) (end time.Time, err error) {
	for _, der := range chain.Certificate {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return time.Unix(0, 0), err
		}
		if end.IsZero() || c.NotAfter.Before(end) {
			end = c.NotAfter
		}
	}
	return end, nil
}

// pool reads the certificates of authorities. It is read once: trust changes
// with a restart.
func pool(path string) (*x509.CertPool, error) {
	pem, err := watchfile.Read(path, false, maxFileBytes)
	if err != nil {
		return nil, err
	}
	out := x509.NewCertPool()
	if !out.AppendCertsFromPEM(pem) {
		return nil, lake.Errorf(lake.Invalid, "%s holds no PEM certificate", path)
	}
	return out, nil
}

// ServerTLS returns what a server offers. With clientCAFile, clients must show
// a certificate of one of those authorities (mutual TLS).
func ServerTLS(pair KeyPair, clientCAFile string) (*tls.Config, error) {
	certificate, err := pair.open()
	if err != nil {
		return nil, err
	}
	config := &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return certificate.Get(), nil },
	}
	if clientCAFile != "" {
		if config.ClientCAs, err = pool(clientCAFile); err != nil {
			return nil, err
		}
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return config, nil
}

// ClientTLS returns what a client trusts and shows: the authorities of caFile,
// or the system's when it is empty; serverName instead of the host that is
// called, unless it is empty; and a certificate of its own, unless pair is
// empty.
func ClientTLS(caFile, serverName string, pair KeyPair) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: serverName}
	var err error
	if caFile != "" {
		if config.RootCAs, err = pool(caFile); err != nil {
			return nil, err
		}
	}
	if pair != (KeyPair{}) {
		certificate, err := pair.open()
		if err != nil {
			return nil, err
		}
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return certificate.Get(), nil }
	}
	return config, nil
}
