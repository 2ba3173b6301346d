// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package devserver

import (
	"errors"
	"net"
	"strconv"
	"strings"

	"github.com/lakeplane/lake/lake"
)

// uses are what the ports from the base on are for, in order.
var uses = []string{"query", "meta", "metrics", "Temporal", "Temporal UI", "Lance namespace"}

// lastBase is the highest port base.
const lastBase = 65535 - 5

// ports are the listeners of this process and the ports set aside for the
// Temporal child, 0 where it may choose.
type ports struct {
	query, meta, metrics, namespace net.Listener
	temporal, ui                    int
}

// takePorts listens on what this process needs and makes sure that the child's
// ports are free, before anything is started.
func takePorts(o Options) (ports, error) {
	var taken []string
	var listeners []net.Listener
	for i := range uses {
		if child := i == 3 || i == 4; child && !o.managed() {
			listeners = append(listeners, nil)
			continue
		}
		port := 0
		if o.PortBase > 0 {
			port = o.PortBase + i
		}
		l, err := net.Listen("tcp", net.JoinHostPort(o.Host, strconv.Itoa(port)))
		if err != nil {
			taken = append(taken, strconv.Itoa(port)+" ("+uses[i]+")")
		}
		listeners = append(listeners, l)
	}
	if len(taken) > 0 {
		return ports{}, errors.Join(takenError(o, taken), closeAll(listeners))
	}
	p := ports{query: listeners[0], meta: listeners[1], metrics: listeners[2], namespace: listeners[5]}
	if o.PortBase > 0 {
		p.temporal, p.ui = o.PortBase+3, o.PortBase+4
	}
	return p, closeAll(listeners[3:5])
}

func (p ports) close() {
	for _, l := range []net.Listener{p.query, p.meta, p.metrics, p.namespace} {
		if l != nil {
			_ = l.Close()
		}
	}
}

func closeAll(listeners []net.Listener) (err error) {
	for _, l := range listeners {
		if l != nil {
			err = errors.Join(err, l.Close())
		}
	}
	return err
}

func takenError(o Options, taken []string) error {
	hint := "--port-base 0 picks free ones"
	if base, ok := freeBase(o); ok {
		hint = "for example --port-base " + strconv.Itoa(base) + "; " + hint
	}
	verb := "port "
	if len(taken) > 1 {
		verb = "ports "
	}
	return lake.Errorf(lake.Precondition, "%s%s on %s in use by another program: stop it or choose others, %s",
		verb, strings.Join(taken, ", "), o.Host, hint)
}

// freeBase looks for free ports in a row.
func freeBase(o Options) (int, bool) {
	for base := o.PortBase + 10; base <= min(o.PortBase+1000, lastBase); base += 10 {
		if allFree(o.Host, base) {
			return base, true
		}
	}
	return 0, false
}

func allFree(host string, base int) bool {
	for i := range uses {
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(base+i)))
		if err != nil {
			return false
		}
		_ = l.Close()
	}
	return true
}
