// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package pgtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Pooler is a running PgBouncer in transaction mode: each transaction of a client
// gets one of few sessions of a server, and not always the same.
type Pooler struct{ process }

// poolerConfig is the configuration of a pooler, by its port, its directory, and
// the server's port and number of sessions.
const poolerConfig = `[databases]
* = host=127.0.0.1 port=%[3]d user=lake
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %[1]d
unix_socket_dir = %[2]s
auth_type = any
pool_mode = transaction
default_pool_size = %[4]d
max_client_conn = 200
`

// Pool starts a pooler with a number of sessions before the server. It fails with
// [ErrMissing] where there is none to run. The caller must call Stop before that
// of the server.
func (s *Server) Pool(sessions int) (*Pooler, error) {
	bin, err := exec.LookPath("pgbouncer")
	if err != nil {
		if bin = "/usr/sbin/pgbouncer"; !exists(bin) {
			return nil, fmt.Errorf("%w: no pgbouncer on the path", ErrMissing)
		}
	}
	p := new(Pooler)
	if err := p.prepare(); err != nil {
		return nil, err
	}
	file := filepath.Join(p.dir, "pgbouncer.ini")
	config := fmt.Sprintf(poolerConfig, p.port, p.dir, s.port, sessions)
	err = os.WriteFile(file, []byte(config), 0o644) //nolint:gosec // its user reads it
	if err == nil {
		err = p.launch(bin, "-q", file)
	}
	if err == nil {
		err = p.await()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(p.dir))
	}
	return p, nil
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
