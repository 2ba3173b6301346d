// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package slotwire

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"sync"

	"github.com/lakeplane/lake/lake"
)

// Kind says what a frame is.
type Kind uint8

// The frames. The comment names the sender and the body.
const (
	KindHello   Kind = iota + 1 // slot: Hello
	KindSetup                   // replica: Setup
	KindReady                   // slot: Ready
	KindPlan                    // replica: Request
	KindExecute                 // replica: Request
	KindParse                   // replica: the text
	KindCancel                  // replica: nothing; the statement shall end
	KindScan                    // slot: ScanOpen
	KindTaken                   // slot: Taken; a scan's batch was taken, others are free again
	KindScanEnd                 // slot: the scan's number; replica: ScanEnd
	KindBatch                   // replica: ScanBatch
	KindSchema                  // slot: the schema of the result
	KindResult                  // slot: Region
	KindFree                    // replica: the position of a result that was copied
	KindEnd                     // slot: End; the statement is over
	KindPing                    // replica: nothing
	KindPong                    // slot: nothing
)

// MaxFrame bounds the body of a frame. The largest are syntax trees of the
// longest statements.
const MaxFrame = 128 << 20

// maxSmallFrame bounds the frames that hold no text, tree or schema.
const maxSmallFrame = 4 << 20

func (k Kind) most() uint32 {
	switch k {
	case KindPlan, KindExecute, KindParse, KindEnd:
		return MaxFrame
	}
	return maxSmallFrame
}

const headerBytes = 9

// Frame is one message. Statement is 0 where it concerns none.
type Frame struct {
	Kind      Kind
	Statement uint32
	Body      []byte
}

// Conn sends and receives frames. Send is safe for concurrent use; Receive is
// for one goroutine, beside any number of senders.
type Conn struct {
	r *bufio.Reader

	mu  sync.Mutex
	w   io.Writer
	out []byte
}

// NewConn speaks over a socket.
func NewConn(rw io.ReadWriter) *Conn {
	return &Conn{r: bufio.NewReaderSize(rw, 64<<10), w: rw}
}

// Send writes a frame in one piece.
func (c *Conn) Send(kind Kind, statement uint32, body []byte) error {
	if most := kind.most(); uint64(len(body)) > uint64(most) {
		return lake.Errorf(lake.Exhausted, "a message of %d bytes between the replica and its engine: at most %d are allowed", len(body), most)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out = binary.LittleEndian.AppendUint32(c.out[:0], uint32(len(body)))
	c.out = append(c.out, byte(kind))
	c.out = binary.LittleEndian.AppendUint32(c.out, statement)
	c.out = append(c.out, body...)
	_, err := c.w.Write(c.out)
	if cap(c.out) > 1<<20 {
		c.out = nil
	}
	return err
}

// Receive reads the next frame. The memory it takes grows with what arrives,
// not with what a length claims.
func (c *Conn) Receive() (f Frame, err error) {
	var head [headerBytes]byte
	if _, err = io.ReadFull(c.r, head[:]); err != nil {
		return f, err
	}
	n := binary.LittleEndian.Uint32(head[:])
	f.Kind, f.Statement = Kind(head[4]), binary.LittleEndian.Uint32(head[5:])
	if most := f.Kind.most(); n > most {
		return f, lake.Errorf(lake.Corrupt, "a frame of kind %d with %d bytes: at most %d", f.Kind, n, most)
	}
	if n <= 64<<10 {
		f.Body = make([]byte, n)
		_, err = io.ReadFull(c.r, f.Body)
		return f, err
	}
	var body bytes.Buffer
	got, err := io.CopyN(&body, c.r, int64(n))
	if err == nil && got < int64(n) {
		err = io.ErrUnexpectedEOF
	}
	f.Body = body.Bytes()
	return f, err
}
