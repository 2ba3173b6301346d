// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package journal remembers how far an ingestion of files got, so that it can
// be taken up again after whatever ended it, without a row missing or there
// twice.
//
// A journal is a file of lines. Each is eight hexadecimal digits of a CRC-32C,
// a space, and a JSON object they cover:
//
//	{"begin":{…}}     the first: what is ingested, and how it is cut into appends
//	{"send":{…}}      an append is about to be sent, under this operation id
//	{"ack":{…}}       the append of the last "send" is committed
//	{"refuse":{}}     the append of the last "send" is certainly not applied
//	{"done":{…}}      all rows of a file are in the table
//
// "begin" and "send" are synced to disk before anything is sent, so an append
// that may have reached the server is always in the journal. The others need
// not be: an append of which the "ack" is lost is sent again under its own id
// and found applied. A last line that is cut off was never relied on and is
// dropped; any other damage is lake.Corrupt.
//
// The file is locked while it is open, and removed when the ingestion is over.
package journal

import (
	"time"

	"github.com/lakeplane/lake/internal/ingest"
	"github.com/lakeplane/lake/lake"
)

// formatVersion is that of the lines.
const formatVersion = 1

// Job is what is ingested, and how: whatever decides which rows are in which
// append. A journal holds for one job.
type Job struct {
	Table lake.TableName
	// Incarnation is the only one of the table the rows may go to.
	Incarnation lake.Incarnation
	Files       []ingest.Identity
	Cut         Cut
}

// Cut is the part of [ingest.Options] that decides what a batch holds. The
// table's schema is the incarnation's.
type Cut struct {
	Columns   []string `json:"columns,omitempty"`
	NoHeader  bool     `json:"no_header,omitempty"`
	Delimiter string   `json:"delimiter,omitempty"`
	BatchRows int      `json:"batch_rows"`
}

// Chunk is one append: some rows of one file.
type Chunk struct {
	// File is the index in the job's files.
	File int `json:"file"`
	// Batch is the number of rows before the batch the chunk is cut from, and
	// BatchRows are those in it. Reading is taken up at a batch.
	Batch     int64 `json:"batch"`
	BatchRows int64 `json:"batch_rows"`
	// First is the number of rows before the chunk in the file, and Rows are
	// those in it.
	First int64 `json:"first"`
	Rows  int64 `json:"rows"`
	// Operation and Digest are what the append was sent with.
	Operation lake.OperationID `json:"operation"`
	Digest    lake.Digest      `json:"digest"`
}

// end is the number of rows of the file up to the chunk's last.
func (c Chunk) end() int64 { return c.First + c.Rows }

// Progress is how far one file is.
type Progress struct {
	// Rows of the file are in the table, from its first on, by Appends appends.
	Rows    int64
	Appends int64
	// Version is the last that those appends made.
	Version lake.Version
	// Done: there are no more rows.
	Done bool
	// Batch is the number of rows before the batch that holds the first row
	// that is not in the table.
	Batch int64
	// InDoubt is an append that may be in the table, or nil. Its rows are the
	// next.
	InDoubt *Chunk
}

// line is one line of the file; exactly one field is set.
type line struct {
	Begin  *begin    `json:"begin,omitempty"`
	Send   *Chunk    `json:"send,omitempty"`
	Ack    *ack      `json:"ack,omitempty"`
	Refuse *struct{} `json:"refuse,omitempty"`
	Done   *done     `json:"done,omitempty"`
}

type begin struct {
	Version     int               `json:"version"`
	Created     time.Time         `json:"created"`
	Namespace   string            `json:"namespace"`
	Table       string            `json:"table"`
	Incarnation lake.Incarnation  `json:"incarnation"`
	Files       []ingest.Identity `json:"files"`
	Cut         Cut               `json:"cut"`
}

type ack struct {
	Version lake.Version `json:"version"`
}

type done struct {
	File int `json:"file"`
}

// state is what the lines add up to.
type state struct {
	job   *Job
	files []Progress
	open  *Chunk // sent, neither acknowledged nor refused
}

// apply adds a line. It fails with lake.Corrupt when the line cannot follow.
func (s *state) apply(l line) error {
	bad := func(what string) error { return lake.Errorf(lake.Corrupt, "%s", what) }
	switch {
	case (l.Begin != nil) != (s.job == nil):
		return bad("it does not begin with what is ingested, or does so twice")
	case l.Begin != nil:
		return s.begin(*l.Begin)
	case l.Send != nil:
		return s.send(*l.Send)
	case l.Done != nil:
		if l.Done.File < 0 || l.Done.File >= len(s.files) {
			return bad("a file is done that is not ingested")
		}
		s.files[l.Done.File].Done = true
		return nil
	case s.open == nil:
		return bad("an append has an outcome that was not sent")
	case l.Ack != nil:
		s.acknowledge(l.Ack.Version)
	case l.Refuse == nil:
		return bad("a line says nothing that is known")
	}
	s.open = nil
	return nil
}

func (s *state) begin(b begin) error {
	if b.Version != formatVersion {
		return lake.Errorf(lake.Unsupported, "its format has version %d, this release reads version %d", b.Version, formatVersion)
	}
	name := lake.TableName{Namespace: b.Namespace, Name: b.Table}
	if err := name.Validate(); err != nil || b.Incarnation.IsZero() || len(b.Files) == 0 {
		return lake.Errorf(lake.Corrupt, "it does not say what is ingested")
	}
	s.job = &Job{Table: name, Incarnation: b.Incarnation, Files: b.Files, Cut: b.Cut}
	s.files = make([]Progress, len(b.Files))
	return nil
}

// send wants the chunk to be the one that is in doubt, again, or the next rows.
func (s *state) send(c Chunk) error {
	if c.File < 0 || c.File >= len(s.files) {
		return lake.Errorf(lake.Corrupt, "an append is of a file that is not ingested")
	}
	if c.Rows < 1 || c.Batch < 0 || c.First < c.Batch || c.end() > c.Batch+c.BatchRows || c.First != s.files[c.File].Rows {
		return lake.Errorf(lake.Corrupt, "the rows %d to %d do not follow on those before", c.First+1, c.end())
	}
	if s.open != nil && *s.open != c {
		return lake.Errorf(lake.Corrupt, "an append was sent while the one before was in doubt")
	}
	s.open = &c
	return nil
}

func (s *state) acknowledge(v lake.Version) {
	p := &s.files[s.open.File]
	p.Rows, p.Appends, p.Version = s.open.end(), p.Appends+1, max(p.Version, v)
	if p.Batch = s.open.Batch; p.Rows == s.open.Batch+s.open.BatchRows {
		p.Batch = p.Rows
	}
}
