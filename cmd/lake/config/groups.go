// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package config

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lakeplane/lake/cmd/lake/secure"
	"github.com/lakeplane/lake/services/access"
)

const (
	maxTime = 90 * 24 * time.Hour
	// maxCount is for numbers that only memory bounds.
	maxCount = 1 << 20
	maxBytes = 1 << 50
)

// Common is what every process has.
type Common struct {
	// Objects is the object store.
	Objects Objects
	// LogFormat is json or pretty; LogLevel debug, info, warn or error.
	LogFormat, LogLevel string
	// MetricsListen is the host:port of the metrics page; empty for none.
	MetricsListen string
	// Grace bounds an orderly stop.
	Grace time.Duration
}

func (c *Common) add(s *Set) {
	c.LogFormat, c.LogLevel, c.Grace = "json", "info", 30*time.Second
	c.Objects.add(s)
	s.add("log_format", "LAKE_LOG_FORMAT", choice{stringValue{&c.LogFormat}, []string{"json", "pretty"}}, "form of the log on standard error")
	s.add("log_level", "LAKE_LOG_LEVEL", choice{stringValue{&c.LogLevel}, []string{"debug", "info", "warn", "error"}}, "least level that is logged")
	s.add("metrics_addr", "LAKE_METRICS_ADDR", stringValue{&c.MetricsListen}, "host:port of the page with /metrics, /healthz and /readyz; empty for none. It asks for no credentials and tells no name of a table, tenant or user")
	s.add("shutdown_grace", "LAKE_SHUTDOWN_GRACE_MS", durationValue{p: &c.Grace, min: time.Second, max: time.Hour}, "how long an orderly stop may take")
}

func (c *Common) check(s *Set, m *Mistakes) {
	c.Objects.check(s, m)
	if c.MetricsListen != "" {
		checkHostPort(s, m, "metrics_addr", c.MetricsListen, true)
	}
}

// FilePath returns the absolute path of a URL such as file:///var/lib/lake with
// the given scheme.
func FilePath(text, scheme string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != scheme || u.Host != "" || u.Opaque != "" || !filepath.IsAbs(u.Path) || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return "", errors.New("want " + scheme + ":///directory, an absolute path")
	}
	return filepath.Clean(u.Path), nil
}

// checkHostPort checks an address to listen on or to call.
func checkHostPort(s *Set, m *Mistakes, key, text string, listen bool) {
	if !isHostPort(text, listen) {
		s.report(m, key, "%q: want host:port", text)
	}
}

// IsHostPort reports whether a text is an address that can be called.
func IsHostPort(text string) bool { return isHostPort(text, false) }

func isHostPort(text string, listen bool) bool {
	host, port, err := net.SplitHostPort(text)
	n, e := strconv.ParseUint(port, 10, 16)
	return err == nil && e == nil && !strings.ContainsAny(host, " @/,") && (listen || host != "" && n > 0)
}

// loopback reports whether host:port can only be reached from this machine.
func loopback(hostPort string) bool {
	host, _, err := net.SplitHostPort(hostPort)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// wildcard reports whether an address to listen on stands for every interface.
func wildcard(hostPort string) bool {
	host, _, err := net.SplitHostPort(hostPort)
	ip := net.ParseIP(host)
	return err == nil && (host == "" || ip != nil && ip.IsUnspecified())
}

// Insecure is the one word that allows plaintext beyond loopback.
const Insecure = "proxy"

// Listener is how a server listens.
type Listener struct {
	// Address is the host:port to listen on; port 0 picks a free one.
	Address string
	// Principals is the file of those who may call. Empty asks for nothing,
	// which only loopback may have.
	Principals string
	// Certificate is the server's; empty serves plaintext.
	Certificate secure.KeyPair
	// ClientCA makes clients show a certificate of these authorities.
	ClientCA string
	// AllowInsecure is [Insecure] where a proxy terminates TLS.
	AllowInsecure string
}

func (l *Listener) add(s *Set, address string) {
	l.Address = address
	s.add("listen", "LAKE_LISTEN", stringValue{&l.Address}, "host:port to listen on; port 0 picks a free one")
	s.add("auth_principals_file", "LAKE_AUTH_PRINCIPALS_FILE", stringValue{&l.Principals}, "who may call, by token (mode 0600, read again when it changes); without it only this machine may, as anybody")
	s.add("tls_cert_file", "LAKE_TLS_CERT_FILE", stringValue{&l.Certificate.CertFile}, "PEM certificate of the server, read again when it changes")
	s.add("tls_key_file", "LAKE_TLS_KEY_FILE", stringValue{&l.Certificate.KeyFile}, "PEM key of the certificate")
	s.add("tls_client_ca_file", "LAKE_TLS_CLIENT_CA_FILE", stringValue{&l.ClientCA}, "PEM authorities of the certificates that callers must show (mutual TLS)")
	s.add("allow_insecure", "LAKE_ALLOW_INSECURE", choice{stringValue{&l.AllowInsecure}, []string{"", Insecure}}, `"proxy" where a proxy terminates TLS: allows plaintext beyond loopback, in both directions`)
}

// Insecure reports whether plaintext may leave the machine.
func (l *Listener) Insecure() bool { return l.AllowInsecure == Insecure }

func (l *Listener) check(s *Set, m *Mistakes) {
	checkHostPort(s, m, "listen", l.Address, true)
	open := !loopback(l.Address)
	if open && l.Principals == "" {
		s.report(m, "listen", "%s can be reached from other machines: that needs auth_principals_file", l.Address)
	}
	if open && l.Certificate.CertFile == "" && !l.Insecure() {
		s.report(m, "listen", "%s can be reached from other machines: that needs tls_cert_file and tls_key_file, or allow_insecure=%s behind a proxy that terminates TLS", l.Address, Insecure)
	}
	checkPair(s, m, "tls", l.Certificate)
	switch {
	case l.ClientCA != "" && l.Certificate.CertFile == "":
		s.report(m, "tls_client_ca_file", "needs tls_cert_file")
	case l.Certificate.CertFile != "" && l.Certificate.KeyFile != "":
		if _, err := l.TLS(); err != nil {
			s.report(m, "tls_cert_file", "%w", err)
		}
	}
	if l.Principals != "" {
		if _, err := l.Authenticator(nil); err != nil {
			s.report(m, "auth_principals_file", "%w", err)
		}
	}
}

// checkPair reports half of a pair of files.
func checkPair(s *Set, m *Mistakes, prefix string, p secure.KeyPair) {
	if (p.CertFile == "") != (p.KeyFile == "") {
		key, other := prefix+"_cert_file", prefix+"_key_file"
		if p.CertFile == "" {
			key, other = other, key
		}
		s.report(m, key, "needs %s", other)
	}
}

// TLS is what the server offers; nil without a certificate.
func (l *Listener) TLS() (*tls.Config, error) {
	if l.Certificate == (secure.KeyPair{}) {
		return nil, nil
	}
	return secure.ServerTLS(l.Certificate, l.ClientCA)
}

// Authenticator tells callers apart. Without a principals file it is that of a
// development server.
func (l *Listener) Authenticator(log *slog.Logger) (access.Authenticator, error) {
	if l.Principals == "" {
		return access.Development(), nil
	}
	return access.OpenPrincipals(l.Principals, log)
}

// Trust is what a client of TLS trusts and shows.
type Trust struct {
	// CA holds the authorities to trust instead of the system's, ServerName
	// the name that certificates must carry instead of the host called.
	CA, ServerName string
	// Certificate is shown to servers that ask for one.
	Certificate secure.KeyPair
}

// add adds the settings under a prefix, such as "metadata".
func (t *Trust) add(s *Set, prefix, whom string) {
	env := envPrefix + strings.ToUpper(prefix) + "_"
	s.add(prefix+"_ca_file", env+"CA_FILE", stringValue{&t.CA}, "PEM authorities of the certificate of "+whom+", instead of the system's")
	s.add(prefix+"_server_name", env+"SERVER_NAME", stringValue{&t.ServerName}, "name that the certificate of "+whom+" must carry, instead of the host called")
	s.add(prefix+"_tls_cert_file", env+"TLS_CERT_FILE", stringValue{&t.Certificate.CertFile}, "PEM certificate to show to "+whom+" (mutual TLS)")
	s.add(prefix+"_tls_key_file", env+"TLS_KEY_FILE", stringValue{&t.Certificate.KeyFile}, "PEM key of that certificate")
}

func (t *Trust) check(s *Set, m *Mistakes, prefix string) {
	checkPair(s, m, prefix+"_tls", t.Certificate)
	if t.Certificate.CertFile != "" && t.Certificate.KeyFile != "" {
		if _, err := secure.ClientTLS("", "", t.Certificate); err != nil {
			s.report(m, prefix+"_tls_cert_file", "%w", err)
		}
	}
	if t.CA != "" {
		if _, err := secure.ClientTLS(t.CA, "", secure.KeyPair{}); err != nil {
			s.report(m, prefix+"_ca_file", "%w", err)
		}
	}
}

// configured reports whether anything of TLS was asked for.
func (t *Trust) configured() bool { return *t != Trust{} }

// TLS is the configuration of a client.
func (t *Trust) TLS() (*tls.Config, error) {
	return secure.ClientTLS(t.CA, t.ServerName, t.Certificate)
}

// Caller is how a process proves itself to the servers it calls.
type Caller struct {
	// Token is the file of its bearer token; empty sends none.
	Token string
	Trust
}

func (c *Caller) add(s *Set, prefix, whom string) {
	env := envPrefix + strings.ToUpper(prefix) + "_"
	s.add(prefix+"_auth_token_file", env+"AUTH_TOKEN_FILE", stringValue{&c.Token}, "token for "+whom+" (mode 0600, read again when it changes)")
	c.Trust.add(s, prefix, whom)
}

func (c *Caller) check(s *Set, m *Mistakes, prefix string) {
	checkSecret(s, m, prefix+"_auth_token_file", c.Token)
	c.Trust.check(s, m, prefix)
}

// checkSecret reports a file that does not hold one line of its owner's own.
func checkSecret(s *Set, m *Mistakes, key, path string) {
	if path == "" {
		return
	}
	if _, err := secure.OpenSecret(path); err != nil {
		s.report(m, key, "%w", err)
	}
}

// Encrypted reports whether calls to these addresses use TLS: when anything of
// TLS is configured, or when one of them is not on this machine and no proxy
// is declared.
func (c *Caller) Encrypted(insecure bool, addresses ...string) bool {
	return c.configured() || !insecure && slices.ContainsFunc(addresses, func(a string) bool { return !loopback(a) })
}

// checkDirectory reports a path that is there and no directory.
func checkDirectory(s *Set, m *Mistakes, key, path string) {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		s.report(m, key, "%s is not a directory", path)
	}
}
