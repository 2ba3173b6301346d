// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package s3

import (
	"bytes"
	"context"
	"errors"
	"hash/crc32"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/objstore"
)

// abortTime bounds the cleaning up after a stream that failed. It is the
// writer's own time: the caller's may be over, which is often why.
const abortTime = 30 * time.Second

// writer streams one object. Up to one part it is an ordinary put; beyond, a
// multipart upload, which is invisible until it is completed.
type writer struct {
	ctx   context.Context //nolint:containedctx // the contract binds the writer to the context of Create
	store *Store
	key   string
	ended bool

	buf  []byte
	size int64
	sum  uint32 // CRC-32C of everything written, to know it again

	upload *string // its id, once there is one
	next   int32   // number of the next part
	group  sync.WaitGroup
	slots  chan struct{}

	mu     sync.Mutex
	parts  []types.CompletedPart
	failed error
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Create implements [objstore.Store].
func (s *Store) Create(ctx context.Context, key string) (objstore.Writer, error) {
	if err := s.enter(ctx, key); err != nil {
		return nil, err
	}
	defer s.leave()
	return &writer{ctx: ctx, store: s, key: key, next: 1, slots: make(chan struct{}, s.opts.PartsAtOnce)}, nil
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (int, error) {
	if err := w.usable(); err != nil {
		return 0, err
	}
	written := 0
	for len(p) > 0 {
		room := int(w.store.opts.PartBytes) - len(w.buf)
		n := min(room, len(p))
		w.buf = append(w.buf, p[:n]...)
		w.sum = crc32.Update(w.sum, castagnoli, p[:n])
		w.size += int64(n)
		written, p = written+n, p[n:]
		if len(w.buf) == int(w.store.opts.PartBytes) && len(p) > 0 {
			if err := w.flush(); err != nil {
				return written, err
			}
		}
	}
	return written, nil
}

func (w *writer) usable() error {
	if w.ended {
		return lake.Errorf(lake.Precondition, "object %q: the writer has ended", w.key)
	}
	if err := w.ctx.Err(); err != nil {
		return err
	}
	return w.failure()
}

func (w *writer) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

// flush sends the buffer as the next part.
func (w *writer) flush() error {
	if err := w.store.enter(w.ctx); err != nil {
		return err
	}
	defer w.store.leave()
	if w.upload == nil {
		if err := w.begin(); err != nil {
			return err
		}
	}
	if w.next > maxParts {
		return lake.Errorf(lake.Invalid, "object %q: more than %d parts of %d bytes: use larger ones", w.key, maxParts, w.store.opts.PartBytes)
	}
	select {
	case w.slots <- struct{}{}:
	case <-w.ctx.Done():
		return w.ctx.Err()
	}
	number, data := w.next, w.buf
	w.next, w.buf = w.next+1, nil
	w.group.Go(func() {
		defer func() { <-w.slots }()
		w.sendPart(number, data)
	})
	return nil
}

func (w *writer) begin() error {
	err := w.store.call(w.ctx, func(ctx context.Context) error {
		answer, err := w.store.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{
			Bucket: &w.store.opts.Bucket, Key: w.store.name(w.key),
		})
		if err == nil {
			w.upload = answer.UploadId
		}
		return err
	})
	return storeError("create", w.key, err)
}

func (w *writer) sendPart(number int32, data []byte) {
	var etag *string
	err := w.store.call(w.ctx, func(ctx context.Context) error {
		answer, err := w.store.client.UploadPart(ctx, &s3.UploadPartInput{
			Bucket: &w.store.opts.Bucket, Key: w.store.name(w.key), UploadId: w.upload,
			PartNumber: &number, Body: bytes.NewReader(data), ContentLength: aws.Int64(int64(len(data))),
		})
		if err == nil {
			etag = answer.ETag
		}
		return err
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.failed = errors.Join(w.failed, storeError("write", w.key, err))
		return
	}
	w.parts = append(w.parts, types.CompletedPart{ETag: etag, PartNumber: &number})
}

// Commit implements [objstore.Writer].
func (w *writer) Commit() error {
	if err := w.usable(); err != nil {
		if !w.ended {
			_ = w.Abort()
		}
		return err
	}
	if w.upload == nil {
		w.ended = true
		return w.store.Put(w.ctx, w.key, w.buf)
	}
	err := w.complete()
	if err != nil && !lake.Is(err, lake.Undetermined) {
		_ = w.Abort()
	}
	w.ended = true
	return err
}

func (w *writer) complete() error {
	if err := w.flush(); err != nil {
		return err
	}
	w.group.Wait()
	if err := w.failure(); err != nil {
		return err
	}
	if err := w.store.enter(w.ctx); err != nil {
		return err
	}
	defer w.store.leave()
	slices.SortFunc(w.parts, func(a, b types.CompletedPart) int { return int(*a.PartNumber - *b.PartNumber) })
	doubtful, err := w.store.attempts(w.ctx, func(ctx context.Context) error {
		_, err := w.store.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
			Bucket: &w.store.opts.Bucket, Key: w.store.name(w.key), UploadId: w.upload,
			MultipartUpload: &types.CompletedMultipartUpload{Parts: w.parts}, IfNoneMatch: aws.String("*"),
		})
		return err
	})
	if err != nil && (doubtful || codeOf(err) == "NoSuchUpload") {
		return w.store.settle(w.ctx, w.key, err, w.isOurs)
	}
	return storeError("put", w.key, err)
}

// isOurs compares an object with what was written, by size and checksum.
func (w *writer) isOurs(found objstore.Object) bool {
	if found.Size() != w.size {
		return false
	}
	sum := crc32.New(castagnoli)
	_, err := io.Copy(sum, io.NewSectionReader(found, 0, w.size))
	return err == nil && sum.Sum32() == w.sum
}

// Abort implements [objstore.Writer]. Parts that cannot be dropped now are left
// to the bucket's rule for incomplete uploads.
func (w *writer) Abort() error {
	if w.ended {
		return nil
	}
	w.ended, w.buf = true, nil
	w.group.Wait()
	if w.upload == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), abortTime)
	defer cancel()
	err := w.store.call(ctx, func(ctx context.Context) error {
		_, err := w.store.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{
			Bucket: &w.store.opts.Bucket, Key: w.store.name(w.key), UploadId: w.upload,
		})
		return err
	})
	if codeOf(err) == "NoSuchUpload" {
		return nil
	}
	return storeError("abort", w.key, err)
}
