// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"

	"github.com/apache/arrow-go/v18/arrow/flight"

	"github.com/lakeplane/lake/internal/appendwire"
	"github.com/lakeplane/lake/lake"
)

// checkpoint is an append as it is kept in a file: the exact messages of its
// payload, and the command that announces them. Integers are big-endian.
//
//	8   "lakeappd"
//	4   version of the format, 1
//	4   n, then n bytes: the command of a Flight descriptor, a packed
//	    lake.v1.AppendCommand: table, operation id, payload SHA-256 and, unless
//	    any will do, incarnation
//	8   number of rows
//	4   number of messages, and for each
//	        4   h, then h bytes: the data header
//	        4   b, then b bytes: the data body
//	4   CRC-32C of everything before
//
// Nothing follows. The payload must have the command's SHA-256 as well, so a
// checkpoint that is read whole is the append that was written.
type checkpoint struct {
	command appendwire.Command
	data    *payload
}

const (
	checkpointMagic   = "lakeappd"
	checkpointVersion = 1

	// maxCommandBytes bounds a command; its parts are short.
	maxCommandBytes = 4 << 10
	// maxMessages is what an append within its limits can have: each row
	// alone, and the schema.
	maxMessages = lake.MaxAppendRows + 1
	// maxCheckpointBytes bounds a file. Messages count more against the limit
	// of an append than they take here.
	maxCheckpointBytes = lake.MaxAppendBytes + maxCommandBytes + 64
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// writeTo writes the file.
func (c *checkpoint) writeTo(w io.Writer) error {
	descriptor, err := c.command.Descriptor()
	if err != nil {
		return err
	}
	sum := crc32.New(castagnoli)
	out := io.MultiWriter(w, sum)
	head := append([]byte(checkpointMagic), 0, 0, 0, checkpointVersion)
	head = binary.BigEndian.AppendUint32(head, uint32(len(descriptor.GetCmd())))
	head = append(head, descriptor.GetCmd()...)
	head = binary.BigEndian.AppendUint64(head, uint64(c.data.rows))
	head = binary.BigEndian.AppendUint32(head, uint32(len(c.data.messages)))
	if _, err := out.Write(head); err != nil {
		return err
	}
	for _, m := range c.data.messages {
		for _, part := range [][]byte{m.GetDataHeader(), m.GetDataBody()} {
			if _, err := out.Write(binary.BigEndian.AppendUint32(nil, uint32(len(part)))); err != nil {
				return err
			}
			if _, err := out.Write(part); err != nil {
				return err
			}
		}
	}
	_, err = w.Write(binary.BigEndian.AppendUint32(nil, sum.Sum32()))
	return err
}

// parseCheckpoint reads a file's bytes, which the checkpoint then shares. It
// fails with lake.Corrupt, or lake.Unsupported for a later version.
func parseCheckpoint(file []byte) (*checkpoint, error) {
	if !bytes.HasPrefix(file, []byte(checkpointMagic)) {
		return nil, lake.Errorf(lake.Corrupt, "it does not begin as a checkpoint")
	}
	r := cutter{rest: file[len(checkpointMagic):]}
	if v := r.number(); !r.short && v != checkpointVersion {
		return nil, lake.Errorf(lake.Unsupported, "its format has version %d, this release reads version %d", v, checkpointVersion)
	}
	if len(r.rest) < 4 {
		return nil, lake.Errorf(lake.Corrupt, "it is cut off")
	}
	end := len(file) - 4
	if crc32.Checksum(file[:end], castagnoli) != binary.BigEndian.Uint32(file[end:]) {
		return nil, lake.Errorf(lake.Corrupt, "its checksum does not match: it is damaged or cut off")
	}
	r.rest = r.rest[:len(r.rest)-4]
	return r.checkpoint()
}

// cutter cuts parts off the front of a file.
type cutter struct {
	rest  []byte
	short bool // something was missing
}

func (r *cutter) take(n uint64) []byte {
	if r.short || n > uint64(len(r.rest)) {
		r.short = true
		return nil
	}
	part := r.rest[:n:n]
	r.rest = r.rest[n:]
	return part
}

func (r *cutter) number() uint32 {
	b := r.take(4)
	if b == nil {
		return 0
	}
	return binary.BigEndian.Uint32(b)
}

// checkpoint reads what follows the version.
func (r *cutter) checkpoint() (*checkpoint, error) {
	command, err := appendwire.ParseCommand(&flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: r.take(uint64(r.number()))})
	if err != nil {
		return nil, lake.Errorf(lake.Corrupt, "its command cannot be read: %w", err)
	}
	c := &checkpoint{command: command, data: &payload{digest: command.Digest}}
	if rows := r.take(8); rows != nil {
		c.data.rows = int64(binary.BigEndian.Uint64(rows))
	}
	count := r.number()
	if count > maxMessages || c.data.rows < 1 || c.data.rows > lake.MaxAppendRows {
		return nil, lake.Errorf(lake.Corrupt, "it counts %d rows in %d messages", c.data.rows, count)
	}
	for range count {
		m := &flight.FlightData{DataHeader: r.take(uint64(r.number())), DataBody: r.take(uint64(r.number()))}
		c.data.messages = append(c.data.messages, m)
		c.data.bytes += appendwire.MessageSize(m)
	}
	if r.short || len(r.rest) > 0 {
		return nil, lake.Errorf(lake.Corrupt, "its lengths do not add up to its size")
	}
	if got := appendwire.DigestOf(c.data.messages...); got != command.Digest {
		return nil, lake.Errorf(lake.Corrupt, "its payload has the SHA-256 %s, its command says %s", got, command.Digest)
	}
	return c, nil
}
