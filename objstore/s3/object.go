// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/objstore"
)

// object is an open object of which the end is in memory.
type object struct {
	ctx   context.Context //nolint:containedctx // the contract binds reads to the context of Open
	store *Store
	key   string
	etag  *string
	size  int64
	tail  []byte
	// closing makes a read after Close an error, as of a file.
	closing context.CancelFunc
}

// Open implements [objstore.Store].
func (s *Store) Open(ctx context.Context, key string) (objstore.Object, error) {
	if err := s.enter(ctx, key); err != nil {
		return nil, err
	}
	defer s.leave()
	o, err := s.open(ctx, key)
	if err != nil {
		return nil, err // not a nil *object in an interface
	}
	return o, nil
}

func (s *Store) open(ctx context.Context, key string) (*object, error) {
	o := &object{store: s, key: key}
	err := s.call(ctx, func(ctx context.Context) error { return o.readTail(ctx) })
	if statusOf(err) == http.StatusRequestedRangeNotSatisfiable {
		err = s.call(ctx, o.look) // an empty object has no last bytes
	}
	if err != nil {
		return nil, storeError("open", key, err)
	}
	o.ctx, o.closing = context.WithCancel(ctx)
	return o, nil
}

func (o *object) readTail(ctx context.Context) error {
	answer, err := o.store.client.GetObject(ctx, &s3.GetObjectInput{
		Bucket: &o.store.opts.Bucket, Key: o.store.name(o.key), Range: aws.String(fmt.Sprintf("bytes=-%d", max(o.store.opts.TailBytes, 1))),
	})
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.ContentRange == nil && (answer.ContentLength == nil || *answer.ContentLength > o.store.opts.TailBytes) {
		return o.look(ctx) // the service ignores ranges: this is not the end
	}
	if o.tail, err = io.ReadAll(io.LimitReader(answer.Body, o.store.opts.TailBytes+1)); err != nil {
		return err
	}
	o.etag = answer.ETag
	o.size, err = wholeSize(answer.ContentRange, int64(len(o.tail)))
	return err
}

// wholeSize reads the size of the object from the answer to a range request: a
// service that ignores ranges sends all of it and no range.
func wholeSize(contentRange *string, got int64) (int64, error) {
	if contentRange == nil {
		return got, nil
	}
	_, total, ok := strings.Cut(*contentRange, "/")
	size, err := strconv.ParseInt(total, 10, 64)
	if !ok || err != nil || size < got {
		return 0, lake.Errorf(lake.Corrupt, "the service answered %d bytes with the range %q", got, *contentRange)
	}
	return size, nil
}

func (o *object) look(ctx context.Context) error {
	answer, err := o.store.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &o.store.opts.Bucket, Key: o.store.name(o.key)})
	if err == nil {
		o.etag, o.size, o.tail = answer.ETag, aws.ToInt64(answer.ContentLength), nil
	}
	return err
}

// Size implements [objstore.Object].
func (o *object) Size() int64 { return o.size }

// Close implements [objstore.Object].
func (o *object) Close() error {
	o.closing()
	return nil
}

// ReadAt implements [objstore.Object].
func (o *object) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fmt.Errorf("%w: offset %d", objstore.ErrInvalid, off)
	}
	if err := o.ctx.Err(); err != nil {
		return 0, err
	}
	want := p[:min(int64(len(p)), max(o.size-off, 0))]
	if err := o.fill(want, off); err != nil {
		return 0, err
	}
	if len(want) < len(p) {
		return len(want), io.EOF
	}
	return len(want), nil
}

// fill reads bytes that exist.
func (o *object) fill(p []byte, off int64) error {
	if len(p) == 0 {
		return nil
	}
	inMemory := o.size - int64(len(o.tail)) // where the tail begins
	if end := off + int64(len(p)); end > inMemory {
		from := max(off, inMemory)
		copy(p[from-off:], o.tail[from-inMemory:])
		p = p[:from-off]
	}
	if len(p) == 0 {
		return nil
	}
	err := o.store.call(o.ctx, func(ctx context.Context) error { return o.readRange(ctx, p, off) })
	return storeError("read", o.key, err)
}

func (o *object) readRange(ctx context.Context, p []byte, off int64) error {
	answer, err := o.store.client.GetObject(ctx, &s3.GetObjectInput{
		Bucket: &o.store.opts.Bucket, Key: o.store.name(o.key), IfMatch: o.etag,
		Range: aws.String(fmt.Sprintf("bytes=%d-%d", off, off+int64(len(p))-1)),
	})
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.ContentRange == nil {
		// The service ignores ranges: what is before the wanted part is skipped.
		if _, err := io.CopyN(io.Discard, answer.Body, off); err != nil {
			return err
		}
	}
	_, err = io.ReadFull(answer.Body, p)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // cut off: no answer that can be relied on
	}
	return err
}
