// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/lakeplane/lake/lake"
)

// maxLine bounds a line. The first names every file.
const maxLine = 16 << 20

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Journal is an open journal. It is used by one goroutine at a time.
type Journal struct {
	path  string
	file  *os.File // nil when it is forgetful
	state state
}

// Open opens the journal of ingesting some files, by their paths in order, into
// a table, or makes an empty one. dir is made when it is missing. It fails with
// lake.Precondition while another process has it open.
func Open(dir string, table lake.TableName, paths []string) (*Journal, error) {
	path := filepath.Join(dir, fileName(table, paths))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, diskError(path, err)
	}
	f, err := openLocked(path)
	if err != nil {
		return nil, diskError(path, err)
	}
	j := &Journal{path: path, file: f}
	if err := j.load(); err != nil {
		return nil, diskError(path, errors.Join(err, f.Close()))
	}
	return j, nil
}

// Forgetful returns an empty journal without a file, for where there is no
// place to keep one.
func Forgetful() *Journal { return new(Journal) }

// fileName tells journals apart by what they are of, and begins with the
// table's name for people.
func fileName(table lake.TableName, paths []string) string {
	what := fmt.Sprintf("%q\n", table.Path())
	for _, p := range paths {
		what += fmt.Sprintf("%q\n", p)
	}
	sum := sha256.Sum256([]byte(what))
	readable := table.String()
	if len(readable) > 100 {
		readable = readable[:100]
	}
	return readable + "-" + hex.EncodeToString(sum[:8]) + ".journal"
}

// errBusy: somebody else has the journal.
var errBusy = lake.Errorf(lake.Precondition, "another ingestion of the same files into the same table is running")

// openLocked opens the file at path and locks it. Another process may remove
// the file between the two steps; then it is tried again.
func openLocked(path string) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND|syscall.O_NOFOLLOW, 0o600)
		if err != nil {
			return nil, err
		}
		same, err := lock(f, path)
		if err == nil && same {
			return f, nil
		}
		if e := f.Close(); err != nil {
			return nil, errors.Join(err, e)
		}
	}
}

// lock locks f for this process and reports whether path still names it.
func lock(f *os.File, path string) (same bool, err error) {
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, errBusy
	}
	if err != nil {
		return false, err
	}
	locked, err := f.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil || !os.SameFile(locked, named) {
		return false, err
	}
	return true, private(locked)
}

// load reads the lines and takes off an end that was not written whole.
func (j *Journal) load() error {
	r := bufio.NewReaderSize(j.file, 1<<16)
	good := int64(0)
	for number := 1; ; number++ {
		text, err := readLine(r)
		if errors.Is(err, io.EOF) {
			return j.cut(good)
		}
		if err != nil {
			return err
		}
		l, err := parse(text)
		if err != nil {
			if _, e := r.Peek(1); errors.Is(e, io.EOF) { // the last may be half written
				return j.cut(good)
			}
			return lake.Errorf(lake.Corrupt, "line %d is damaged: %w", number, err)
		}
		if err := j.state.apply(l); err != nil {
			return lake.Errorf(lake.KindOf(err), "line %d: %w", number, err)
		}
		good += int64(len(text))
	}
}

// readLine returns a line with its end; one without is io.EOF.
func readLine(r *bufio.Reader) ([]byte, error) {
	var text []byte
	for {
		part, err := r.ReadSlice('\n')
		text = append(text, part...)
		switch {
		case err == nil:
			return text, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case len(text) > maxLine:
			return nil, lake.Errorf(lake.Corrupt, "a line has more than %d bytes", maxLine)
		}
	}
}

// cut shortens the file to what was read whole.
func (j *Journal) cut(size int64) error {
	info, err := j.file.Stat()
	if err != nil || info.Size() == size {
		return err
	}
	return errors.Join(j.file.Truncate(size), j.file.Sync())
}

func parse(text []byte) (l line, err error) {
	sum, object, ok := bytes.Cut(bytes.TrimSuffix(text, []byte("\n")), []byte(" "))
	if !ok || string(sum) != checksum(object) {
		return l, errors.New("the checksum does not match")
	}
	d := json.NewDecoder(bytes.NewReader(object))
	d.DisallowUnknownFields()
	return l, d.Decode(&l)
}

func checksum(object []byte) string {
	return fmt.Sprintf("%08x", crc32.Checksum(object, castagnoli))
}

// write adds a line. With sync it is on the disk when write returns.
func (j *Journal) write(l line, sync bool) error {
	object, err := json.Marshal(l)
	if err == nil && len(object) > maxLine-64 {
		err = lake.Errorf(lake.Invalid, "the names of the files take too much room: ingest them in several runs")
	}
	if err == nil {
		err = j.state.apply(l)
	}
	if err == nil && j.file == nil {
		return nil
	}
	if err == nil {
		_, err = j.file.WriteString(checksum(object) + " " + string(object) + "\n")
	}
	if err == nil && sync {
		err = j.file.Sync()
	}
	return diskError(j.path, err)
}

// Path is the journal's file, or empty when it has none.
func (j *Journal) Path() string { return j.path }

// Job is what the journal is of; nil before Begin.
func (j *Journal) Job() *Job { return j.state.job }

// Begin says what is ingested. It is called once, on an empty journal.
func (j *Journal) Begin(job Job) error {
	err := j.write(line{Begin: &begin{
		Version: formatVersion, Created: time.Now().UTC(), Namespace: job.Table.Namespace, Table: job.Table.Name,
		Incarnation: job.Incarnation, Files: job.Files, Cut: job.Cut,
	}}, true)
	if err != nil || j.file == nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(j.path))
	if err != nil {
		return diskError(j.path, err)
	}
	return diskError(j.path, errors.Join(dir.Sync(), dir.Close()))
}

// File is how far file i of the job is.
func (j *Journal) File(i int) Progress {
	p := j.state.files[i]
	if c := j.state.open; c != nil && c.File == i {
		doubt := *c
		p.Batch, p.InDoubt = c.Batch, &doubt
	}
	return p
}

// Sending says that a chunk is about to be sent: one whose rows follow on those
// acknowledged, or the one in doubt again. When Sending returns, the chunk is
// on the disk.
func (j *Journal) Sending(c Chunk) error { return j.write(line{Send: &c}, true) }

// Acknowledged says that the chunk sent last is in the table.
func (j *Journal) Acknowledged(v lake.Version) error {
	return j.write(line{Ack: &ack{v}}, false)
}

// Refused says that the chunk sent last is certainly not in the table. Its rows
// will be sent under another id.
func (j *Journal) Refused() error { return j.write(line{Refuse: &struct{}{}}, false) }

// Done says that file i has no more rows.
func (j *Journal) Done(i int) error { return j.write(line{Done: &done{i}}, false) }

// Started reports whether anything was sent that is, or may be, in the table.
func (j *Journal) Started() bool {
	for _, p := range j.state.files {
		if p.Rows > 0 {
			return true
		}
	}
	return j.state.open != nil
}

// Reset forgets everything; Begin may then be called.
func (j *Journal) Reset() error {
	j.state = state{}
	if j.file == nil {
		return nil
	}
	return diskError(j.path, errors.Join(j.file.Truncate(0), j.file.Sync()))
}

// Remove removes the file and closes the journal: there is nothing to take up
// again.
func (j *Journal) Remove() error {
	if j.file == nil {
		return nil
	}
	return diskError(j.path, errors.Join(os.Remove(j.path), j.file.Close()))
}

// Close closes the journal and leaves the file.
func (j *Journal) Close() error {
	if j.file == nil {
		return nil
	}
	return j.file.Close()
}

// private refuses a journal that others can write: it decides what is sent.
func private(info fs.FileInfo) error {
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o022 != 0 {
		return lake.Errorf(lake.Invalid, "it is not a file that only its owner can write (mode %s)", info.Mode())
	}
	return nil
}

// diskError names the journal and classifies what went wrong.
func diskError(path string, err error) error {
	if err == nil {
		return nil
	}
	var classified *lake.Error
	kind := lake.Unavailable
	switch {
	case errors.As(err, &classified):
		kind = classified.Kind
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		kind = lake.Exhausted
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		kind = lake.Denied
	}
	return &lake.Error{Kind: kind, Op: "ingest journal " + path, Err: err}
}

// Differs says in what a job is not the one of the journal, or is empty. The
// paths are the same: the journal was found by them.
func (j *Journal) Differs(now Job) string {
	was := j.state.job
	for i, id := range was.Files {
		if i >= len(now.Files) || id.Path != now.Files[i].Path {
			return "the files are others"
		}
		if what := id.Changed(now.Files[i]); what != "" {
			return fmt.Sprintf("file %s changed: %s", id.Path, what)
		}
	}
	if was.Incarnation != now.Incarnation {
		return fmt.Sprintf("table %s was dropped and created again: it was incarnation %s and is %s", was.Table, was.Incarnation, now.Incarnation)
	}
	return was.Cut.differs(now.Cut)
}

func (c Cut) differs(now Cut) string {
	for _, o := range []struct {
		flag     string
		was, now any
	}{
		{"--columns", strings.Join(c.Columns, ","), strings.Join(now.Columns, ",")},
		{"--no-header", c.NoHeader, now.NoHeader},
		{"--delimiter", c.Delimiter, now.Delimiter},
		{"the rows of an append", c.BatchRows, now.BatchRows},
	} {
		if o.was != o.now {
			return fmt.Sprintf("%s was %q and is %q", o.flag, fmt.Sprint(o.was), fmt.Sprint(o.now))
		}
	}
	return ""
}
