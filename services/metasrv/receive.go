// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"errors"
	"io"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"

	"github.com/lakeplane/lake/internal/appendwire"
	"github.com/lakeplane/lake/lake"
)

const (
	// maxMessages bounds the messages of one append: its rows, each alone, and
	// some room for the schema and for messages that carry no rows.
	maxMessages = lake.MaxAppendRows + 64
)

// payload is a received append: its messages as they came, and what they are.
type payload struct {
	command  appendwire.Command
	messages []*flight.FlightData
	bytes    int64
	digest   lake.Digest
}

// putStream is the receiving side of a DoPut.
type putStream interface {
	Recv() (*flight.FlightData, error)
}

// receive reads an append to its end. open is asked about the command before
// anything but the first message is read. It fails with lake.Invalid beyond
// limit bytes and with lake.Exhausted when the client takes longer than
// patience.
func receive(stream putStream, limit int64, patience time.Duration, open func(appendwire.Command) error) (*payload, error) {
	type result struct {
		p   *payload
		err error
	}
	// Recv cannot be interrupted but by the end of the handler, so it runs
	// beside: when the patience is over, the handler returns, which ends the
	// stream and then the goroutine.
	done := make(chan result, 1)
	go func() {
		p, err := receiveAll(stream, limit, open)
		done <- result{p, err}
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case r := <-done:
		return r.p, r.err
	case <-timer.C:
		return nil, lake.Errorf(lake.Exhausted, "append: the payload did not arrive within %s", patience)
	}
}

func receiveAll(stream putStream, limit int64, open func(appendwire.Command) error) (*payload, error) {
	first, err := stream.Recv()
	if errors.Is(err, io.EOF) {
		return nil, lake.Errorf(lake.Invalid, "append: the stream holds no messages")
	}
	if err != nil {
		return nil, err
	}
	p := new(payload)
	if p.command, err = appendwire.ParseCommand(first.GetFlightDescriptor()); err != nil {
		return nil, err
	}
	if err := open(p.command); err != nil {
		return nil, err
	}
	hash := appendwire.NewHasher()
	for msg := first; ; {
		p.bytes += appendwire.MessageSize(msg)
		if p.bytes > limit {
			return nil, lake.Errorf(lake.Invalid, "append: the payload is over %d bytes: use several appends", limit)
		}
		if len(p.messages) == maxMessages {
			return nil, lake.Errorf(lake.Invalid, "append: more than %d messages", maxMessages)
		}
		hash.Add(msg)
		p.messages = append(p.messages, msg)
		msg, err = stream.Recv()
		if errors.Is(err, io.EOF) {
			p.digest = hash.Digest()
			return p, p.verify()
		}
		if err != nil {
			return nil, err
		}
	}
}

// verify compares the announced digest with that of what arrived.
func (p *payload) verify() error {
	if p.digest != p.command.Digest {
		return lake.Errorf(lake.Invalid, "append: the payload's sha256 is %s, announced was %s: it changed on its way, or was encoded again", p.digest, p.command.Digest)
	}
	return nil
}
