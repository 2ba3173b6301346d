// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package s3

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/objstore"
)

// Store is an [objstore.Store] in a bucket. It is safe for concurrent use by
// any number of processes.
type Store struct {
	opts      Options
	client    *s3.Client
	http      *http.Client
	pace      *pace
	versioned bool

	gate   sync.RWMutex // held shared by every call, exclusively by Close
	closed bool
}

var (
	_ objstore.Store        = (*Store)(nil)
	_ objstore.BatchDeleter = (*Store)(nil)
)

var errClosed error = &lake.Error{Kind: lake.Unavailable, Message: "object store closed"}

// Open connects to a bucket and looks at its settings, which takes one request.
// Mistakes in the options are lake.Invalid, all of them at once; a bucket that
// does not exist is lake.Precondition and one that may not be used lake.Denied.
func Open(ctx context.Context, opts Options) (*Store, error) {
	opts, err := opts.normalize()
	if err != nil {
		return nil, err
	}
	s := &Store{opts: opts, pace: newPace(opts.Concurrent), http: opts.http()}
	if s.client, err = opts.client(ctx, s.http); err != nil {
		return nil, err
	}
	if s.versioned, err = s.isVersioned(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// isVersioned asks for the bucket's versioning, which also finds out whether
// there is a bucket and whether it may be used.
func (s *Store) isVersioned(ctx context.Context) (versioned bool, err error) {
	err = s.call(ctx, func(ctx context.Context) error {
		answer, err := s.client.GetBucketVersioning(ctx, &s3.GetBucketVersioningInput{Bucket: &s.opts.Bucket})
		// Suspended versioning keeps the versions that were made before.
		versioned = err == nil && answer.Status != ""
		return err
	})
	switch {
	case err == nil:
		return versioned, nil
	case codeOf(err) == "NotImplemented", statusOf(err) == http.StatusNotImplemented, statusOf(err) == http.StatusMethodNotAllowed:
		return false, nil
	case codeOf(err) == "NoSuchBucket":
		return false, lake.Errorf(lake.Precondition, "bucket %s does not exist: %w", s.opts.Bucket, err)
	}
	return false, lake.Wrap("bucket "+s.opts.Bucket, storeError("look at the bucket of", s.opts.Prefix, err))
}

// Close waits for the calls in flight; later ones fail. Objects that are open
// stay good.
func (s *Store) Close() error {
	s.gate.Lock()
	defer s.gate.Unlock()
	if !s.closed && s.opts.Transport == nil {
		s.http.CloseIdleConnections()
	}
	s.closed = true
	return nil
}

// enter admits a call until leave.
func (s *Store) enter(ctx context.Context, keys ...string) error {
	for _, key := range keys {
		if err := objstore.CheckKey(key); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.gate.RLock()
	if s.closed {
		s.gate.RUnlock()
		return errClosed
	}
	return nil
}

func (s *Store) leave() { s.gate.RUnlock() }

func (s *Store) name(key string) *string { return aws.String(s.opts.Prefix + key) }

// call makes a request that may be repeated without harm, until it is answered
// or its time is over. The error is the last attempt's.
func (s *Store) call(ctx context.Context, request func(context.Context) error) error {
	_, err := s.attempts(ctx, request)
	return err
}

// attempts also reports whether an attempt before the last may have been
// carried out.
func (s *Store) attempts(ctx context.Context, request func(context.Context) error) (doubtful bool, err error) {
	whole, cancel := context.WithTimeout(ctx, s.opts.RetryTime)
	defer cancel()
	for n := 1; ; n++ {
		var v verdict
		v, err = s.attempt(whole, request)
		if err == nil || v == final {
			cutOff := err != nil && ctx.Err() == nil && whole.Err() != nil && statusOf(err) == 0
			return doubtful || cutOff, err
		}
		doubtful = doubtful || v == unclear || v == slowDown && !refusedAtOnce(err)
		if !pause(whole, n) {
			return doubtful, errors.Join(err, ctx.Err())
		}
		if s.opts.OnRetry != nil {
			s.opts.OnRetry(v.reason())
		}
	}
}

// attempt makes one request and says what its error means.
func (s *Store) attempt(ctx context.Context, request func(context.Context) error) (verdict, error) {
	if err := s.pace.enter(ctx); err != nil {
		return final, err
	}
	one, cancel := context.WithTimeout(ctx, s.opts.RequestTimeout)
	defer cancel()
	began := time.Now()
	err := request(one)
	if err == nil {
		s.pace.leave(false, began)
		return final, nil
	}
	v := judge(ctx, err)
	s.pace.leave(v == slowDown, began)
	return v, err
}

// Put implements [objstore.Store].
func (s *Store) Put(ctx context.Context, key string, data []byte) error {
	if err := s.enter(ctx, key); err != nil {
		return err
	}
	defer s.leave()
	doubtful, err := s.attempts(ctx, func(ctx context.Context) error {
		_, err := s.client.PutObject(ctx, &s3.PutObjectInput{
			Bucket: &s.opts.Bucket, Key: s.name(key), Body: bytes.NewReader(data),
			ContentLength: aws.Int64(int64(len(data))), IfNoneMatch: aws.String("*"),
		})
		return err
	})
	if err != nil && doubtful {
		return s.settle(ctx, key, err, func(found objstore.Object) bool { return holds(found, data) })
	}
	return storeError("put", key, err)
}

// settle decides about an object of which an attempt may have been stored: what
// is there is compared with what was meant.
func (s *Store) settle(ctx context.Context, key string, cause error, ours func(objstore.Object) bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.RequestTimeout)
	defer cancel()
	found, err := s.open(ctx, key)
	switch {
	case err == nil:
		if won := ours(found); won {
			return found.Close()
		}
		return errors.Join(storeError("put", key, cause), found.Close())
	case errors.Is(err, objstore.ErrNotFound) && !refusedByCondition(cause):
		return storeError("put", key, cause) // nothing was stored, as far as can be seen
	}
	return lake.Errorf(lake.Undetermined, "put object %q: %w", key, errors.Join(cause, err))
}

func holds(found objstore.Object, data []byte) bool {
	if found.Size() != int64(len(data)) {
		return false
	}
	there := make([]byte, len(data))
	n, _ := found.ReadAt(there, 0) // fewer bytes than asked for differ
	return n == len(data) && bytes.Equal(there, data)
}

// Delete implements [objstore.Store].
func (s *Store) Delete(ctx context.Context, key string) error {
	_, err := s.DeleteAll(ctx, []string{key})
	var failed *objstore.DeleteError
	if errors.As(err, &failed) {
		return failed.Err
	}
	return err
}

// deleteBatch is how many objects the service deletes in one request.
const deleteBatch = 1000

// DeleteAll implements [objstore.BatchDeleter].
func (s *Store) DeleteAll(ctx context.Context, keys []string) (deleted int, err error) {
	for _, key := range keys {
		if err := objstore.CheckKey(key); err != nil {
			return 0, err
		}
	}
	gone := make([]bool, len(keys))
	isGone := func(i int) bool { return gone[i] }
	if err := s.enter(ctx); err != nil {
		return objstore.Deleted(keys, isGone, err)
	}
	defer s.leave()
	var cause error
	for start := 0; start < len(keys) && cause == nil; start += deleteBatch {
		end := min(start+deleteBatch, len(keys))
		cause = s.deleteSome(ctx, keys[start:end], gone[start:end])
	}
	return objstore.Deleted(keys, isGone, cause)
}

// deleteSome deletes one batch and notes which keys are gone.
func (s *Store) deleteSome(ctx context.Context, keys []string, gone []bool) error {
	var targets []target
	for i, key := range keys {
		if !s.versioned {
			targets = append(targets, target{i, types.ObjectIdentifier{Key: s.name(key)}})
			continue
		}
		found, err := s.versionsOf(ctx, i, key)
		if err != nil {
			return storeError("delete", key, err)
		}
		targets = append(targets, found...)
	}
	failed := map[int]error{}
	for start := 0; start < len(targets); start += deleteBatch {
		s.deleteTargets(ctx, keys, targets[start:min(start+deleteBatch, len(targets))], failed)
	}
	var first error
	for i := range keys {
		gone[i] = failed[i] == nil
		if first == nil {
			first = failed[i]
		}
	}
	return first
}

// target is a version to delete, and the index of its key.
type target struct {
	of int
	id types.ObjectIdentifier
}

// deleteTargets makes one request and notes the keys of which something stays.
func (s *Store) deleteTargets(ctx context.Context, keys []string, targets []target, failed map[int]error) {
	ids := make([]types.ObjectIdentifier, len(targets))
	byName := make(map[string]int, len(targets))
	for i, t := range targets {
		ids[i], byName[*t.id.Key] = t.id, t.of
	}
	var answer *s3.DeleteObjectsOutput
	err := s.call(ctx, func(ctx context.Context) (err error) {
		answer, err = s.client.DeleteObjects(ctx, &s3.DeleteObjectsInput{
			Bucket: &s.opts.Bucket, Delete: &types.Delete{Objects: ids, Quiet: aws.Bool(true)},
		})
		return err
	})
	if err != nil {
		for _, t := range targets {
			failed[t.of] = storeError("delete", keys[t.of], err)
		}
		return
	}
	for _, e := range answer.Errors {
		i, ours := byName[aws.ToString(e.Key)]
		if !ours || aws.ToString(e.Code) == "NoSuchKey" || aws.ToString(e.Code) == "NoSuchVersion" {
			continue
		}
		failed[i] = lake.Errorf(lake.Unavailable, "delete object %q: %s: %s", keys[i], aws.ToString(e.Code), aws.ToString(e.Message))
	}
}

// versionsOf lists every version of a key, delete markers included.
func (s *Store) versionsOf(ctx context.Context, index int, key string) (found []target, err error) {
	name := *s.name(key)
	in := &s3.ListObjectVersionsInput{Bucket: &s.opts.Bucket, Prefix: &name}
	add := func(k, version *string) {
		if aws.ToString(k) == name { // the prefix finds longer names too
			found = append(found, target{index, types.ObjectIdentifier{Key: k, VersionId: version}})
		}
	}
	for {
		var page *s3.ListObjectVersionsOutput
		err := s.call(ctx, func(ctx context.Context) (err error) {
			page, err = s.client.ListObjectVersions(ctx, in)
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, v := range page.Versions {
			add(v.Key, v.VersionId)
		}
		for _, m := range page.DeleteMarkers {
			add(m.Key, m.VersionId)
		}
		past := aws.ToString(page.NextKeyMarker) > name // the versions of a key come before longer names
		if !aws.ToBool(page.IsTruncated) || past {
			return found, nil
		}
		in.KeyMarker, in.VersionIdMarker = page.NextKeyMarker, page.NextVersionIdMarker
	}
}
