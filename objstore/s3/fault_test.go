// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package s3_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/internal/s3test"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/objstore"
	"github.com/lakeplane/lake/objstore/s3"
)

// wire is a transport that a test may disturb.
type wire struct {
	requests atomic.Int64
	mu       sync.Mutex
	disturb  func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error)
}

func (w *wire) set(f func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.disturb = f
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	w.requests.Add(1)
	w.mu.Lock()
	f := w.disturb
	w.mu.Unlock()
	send := func() (*http.Response, error) { return http.DefaultTransport.RoundTrip(r) }
	if f == nil {
		return send()
	}
	return f(r, send)
}

// overWire opens a store whose requests a test may disturb.
func overWire(t *testing.T, change ...func(*s3.Options)) (*s3.Store, *wire) {
	t.Helper()
	w := new(wire)
	return open(t, append(change, func(o *s3.Options) { o.Transport = w })...), w
}

// refusal is an answer of the service that carries an error code.
func refusal(r *http.Request, status int, code string) *http.Response {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
	}
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/xml"}}, Request: r,
		Body: io.NopCloser(strings.NewReader("<Error><Code>" + code + "</Code><Message>injected</Message></Error>")),
	}
}

var errCut = errors.New("connection reset by the test")

// times disturbs the first n requests of a method.
func times(n int, method string, f func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error)) func(*http.Request, func() (*http.Response, error)) (*http.Response, error) {
	var left atomic.Int64
	left.Store(int64(n))
	return func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		if r.Method == method && left.Add(-1) >= 0 {
			return f(r, send)
		}
		return send()
	}
}

func slow(r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
	return refusal(r, http.StatusServiceUnavailable, "SlowDown"), nil
}

func conflict(r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
	return refusal(r, http.StatusConflict, "ConditionalRequestConflict"), nil
}

// lost carries the request out and loses the answer.
func lost(_ *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
	answer, err := send()
	if err == nil {
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
	}
	return nil, errCut
}

// broken carries the request out and answers with an internal error.
func broken(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
	_, _ = lost(r, send)
	return refusal(r, http.StatusInternalServerError, "InternalError"), nil
}

// cut never sends the request.
func cut(r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
	}
	return nil, errCut
}

// proxied carries the request out and answers as a proxy that lost the
// service's answer.
func proxied(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
	_, _ = lost(r, send)
	return &http.Response{
		StatusCode: http.StatusServiceUnavailable, Header: http.Header{"Content-Type": {"text/plain"}}, Request: r,
		Body: io.NopCloser(strings.NewReader("upstream connect error or disconnect/reset before headers")),
	}, nil
}

func TestPutsUnderFaults(t *testing.T) {
	for name, fault := range map[string]func(*http.Request, func() (*http.Response, error)) (*http.Response, error){
		"slow down": slow, "conflict": conflict, "lost answer": lost, "internal error": broken, "cut": cut, "proxy": proxied,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, w := overWire(t)
			w.set(times(2, http.MethodPut, fault))
			require.NoError(t, s.Put(t.Context(), "mine", []byte("mine")), "an attempt that met its own object has won")
			w.set(times(2, http.MethodPut, fault))
			require.ErrorIs(t, s.Put(t.Context(), "mine", []byte("other")), objstore.ErrExists)
			w.set(nil)
			got, err := objstore.ReadAll(t.Context(), s, "mine", 100)
			require.NoError(t, err)
			require.Equal(t, "mine", string(got))
		})
	}
}

func TestRetriesAreTold(t *testing.T) {
	var told []s3.Reason
	s, w := overWire(t, func(o *s3.Options) { o.OnRetry = func(r s3.Reason) { told = append(told, r) } })
	require.Empty(t, told)
	for i, c := range []struct {
		fault  func(*http.Request, func() (*http.Response, error)) (*http.Response, error)
		reason s3.Reason
	}{{slow, s3.Throttled}, {conflict, s3.Refused}, {cut, s3.NoAnswer}, {broken, s3.NoAnswer}} {
		told = nil
		w.set(times(2, http.MethodPut, c.fault))
		require.NoError(t, s.Put(t.Context(), fmt.Sprint("told", i), nil))
		require.Equal(t, []s3.Reason{c.reason, c.reason}, told)
	}
	told = nil
	require.ErrorIs(t, s.Put(t.Context(), "told0", []byte("x")), objstore.ErrExists)
	require.Empty(t, told, "an answer is no reason to ask again")
}

// TestALostRaceIsNotWon: an attempt whose answer is lost and which had lost is
// not taken for the winner.
func TestALostRaceIsNotWon(t *testing.T) {
	s, w := overWire(t)
	require.NoError(t, s.Put(t.Context(), "x", []byte("first")))
	w.set(times(1, http.MethodPut, lost))
	require.ErrorIs(t, s.Put(t.Context(), "x", []byte("later")), objstore.ErrExists)
}

func TestAnswersThatNeverComeAreUnknown(t *testing.T) {
	s, w := overWire(t, func(o *s3.Options) { o.RetryTime = 300 * time.Millisecond })
	w.set(func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		return cut(r, send)
	})
	err := s.Put(t.Context(), "x", []byte("x"))
	require.True(t, lake.Is(err, lake.Undetermined), "nobody can say whether it was stored: %v", err)
	w.set(slow)
	err = s.Put(t.Context(), "x", []byte("x"))
	require.True(t, lake.Is(err, lake.Unavailable), "refused, certainly: %v", err)
	w.set(nil)
	require.NoError(t, s.Put(t.Context(), "x", []byte("x")))
}

// TestAnAnswerThatComesTooLateIsLookedFor: the time for all attempts may end
// during one that was carried out.
func TestAnAnswerThatComesTooLateIsLookedFor(t *testing.T) {
	s, w := overWire(t, func(o *s3.Options) { o.RetryTime = 300 * time.Millisecond })
	w.set(times(1, http.MethodPut, func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		_, _ = lost(r, send)
		<-r.Context().Done()
		return nil, r.Context().Err()
	}))
	require.NoError(t, s.Put(t.Context(), "x", []byte("x")))
}

// largeData is more than a read of an object's end brings.
func largeData() []byte {
	data := make([]byte, 300_000)
	for i := range data {
		data[i] = byte(i * 7)
	}
	return data
}

// TestServicesThatIgnoreRanges send the beginning of an object for its end.
func TestServicesThatIgnoreRanges(t *testing.T) {
	data := largeData()
	s, w := overWire(t)
	require.NoError(t, s.Put(t.Context(), "x", data))
	require.NoError(t, s.Put(t.Context(), "small", data[:10]))
	for key, want := range map[string][]byte{"x": data, "small": data[:10]} {
		for _, length := range []int64{int64(len(want)), -1} {
			w.set(func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
				if r.Method != http.MethodGet {
					return send()
				}
				return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r, ContentLength: length, Body: io.NopCloser(bytes.NewReader(want))}, nil
			})
			got, err := objstore.ReadAll(t.Context(), s, key, 1<<20)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
	}
}

func TestStreamsUnderFaults(t *testing.T) {
	data := make([]byte, 13<<20)
	for i := range data {
		data[i] = byte(rand.Uint32())
	}
	stream := func(s *s3.Store, key string, data []byte) error {
		w, err := s.Create(t.Context(), key)
		require.NoError(t, err)
		defer w.Abort()
		for chunk := data; len(chunk) > 0; {
			n := min(len(chunk), 1<<20+7)
			if _, err := w.Write(chunk[:n]); err != nil {
				return err
			}
			chunk = chunk[n:]
		}
		return w.Commit()
	}
	small := func(o *s3.Options) { o.PartBytes = 5 << 20 }
	for name, fault := range map[string]func(*http.Request, func() (*http.Response, error)) (*http.Response, error){
		"slow down": slow, "lost answer": lost, "internal error": broken, "cut": cut,
	} {
		for _, method := range []string{http.MethodPut, http.MethodPost} {
			t.Run(name+"/"+method, func(t *testing.T) {
				t.Parallel()
				s, w := overWire(t, small)
				w.set(times(2, method, fault))
				require.NoError(t, stream(s, "mine", data))
				w.set(nil)
				other := bytes.Clone(data)
				other[7<<20] ^= 1
				w.set(times(1, method, fault))
				require.ErrorIs(t, stream(s, "mine", other), objstore.ErrExists)
				w.set(nil)
				got, err := objstore.ReadAll(t.Context(), s, "mine", int64(len(data)))
				require.NoError(t, err)
				require.True(t, bytes.Equal(data, got))
			})
		}
	}
}

// TestAFailedStreamLeavesNoParts: what was sent of an object that never came to
// be is dropped, also when the caller's time is over.
func TestAFailedStreamLeavesNoParts(t *testing.T) {
	o := options(t)
	o.PartBytes = 5 << 20
	s, err := s3.Open(t.Context(), o)
	require.NoError(t, err)
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	w, err := s.Create(ctx, "never")
	require.NoError(t, err)
	_, err = w.Write(make([]byte, 12<<20))
	require.NoError(t, err)
	require.NotEmpty(t, uploads(t, o.Prefix))
	cancel()
	require.Error(t, w.Commit())
	require.Empty(t, uploads(t, o.Prefix))
	_, err = s.Open(t.Context(), "never")
	require.ErrorIs(t, err, objstore.ErrNotFound)
}

func uploads(t *testing.T, prefix string) (keys []string) {
	t.Helper()
	page, err := client(t).ListMultipartUploads(t.Context(), &awss3.ListMultipartUploadsInput{Bucket: aws.String(s3test.Bucket), Prefix: &prefix})
	require.NoError(t, err)
	for _, u := range page.Uploads {
		keys = append(keys, *u.Key)
	}
	return keys
}

func TestReadsUnderFaults(t *testing.T) {
	data := largeData()
	s, w := overWire(t)
	require.NoError(t, s.Put(t.Context(), "x", data))
	short := func(_ *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		answer, err := send()
		if err == nil {
			answer.Body = struct {
				io.Reader
				io.Closer
			}{io.LimitReader(answer.Body, 10), answer.Body}
		}
		return answer, err
	}
	for name, fault := range map[string]func(*http.Request, func() (*http.Response, error)) (*http.Response, error){
		"slow down": slow, "internal error": broken, "cut": cut, "cut short": short,
	} {
		w.set(nil)
		obj, err := s.Open(t.Context(), "x")
		require.NoError(t, err)
		w.set(times(2, http.MethodGet, fault))
		got := make([]byte, 1000)
		_, err = obj.ReadAt(got, 5000)
		require.NoError(t, err, name)
		require.Equal(t, data[5000:6000], got, name)
		require.NoError(t, obj.Close())
		_, err = obj.ReadAt(got, 5000)
		require.Error(t, err, "closed")
	}
}

// TestOpeningIsOneRequest, and reading the end of an object no further one.
func TestOpeningIsOneRequest(t *testing.T) {
	s, w := overWire(t)
	data := make([]byte, 300_000)
	require.NoError(t, s.Put(t.Context(), "x", data))
	require.NoError(t, s.Put(t.Context(), "small", []byte("manifest")))
	before := w.requests.Load()
	_, err := objstore.ReadAll(t.Context(), s, "small", 100)
	require.NoError(t, err)
	require.EqualValues(t, 1, w.requests.Load()-before)
	obj, err := s.Open(t.Context(), "x")
	require.NoError(t, err)
	defer obj.Close()
	require.EqualValues(t, len(data), obj.Size())
	footer := make([]byte, 40)
	_, err = obj.ReadAt(footer, obj.Size()-40)
	require.NoError(t, err)
	require.EqualValues(t, 2, w.requests.Load()-before)
	_, err = obj.ReadAt(footer, 0)
	require.NoError(t, err)
	require.EqualValues(t, 3, w.requests.Load()-before)
}

func TestVersionedBucketForgetsDeletedObjects(t *testing.T) {
	enableVersions(t)
	s := open(t, func(o *s3.Options) { o.Bucket = s3test.VersionedBucket })
	keys := []string{"a/x", "a/xy", "a/z"}
	for _, key := range keys {
		require.NoError(t, s.Put(t.Context(), key, []byte(key)))
	}
	n, err := s.DeleteAll(t.Context(), []string{"a/x", "a/none", "a/z"})
	require.NoError(t, err)
	require.Equal(t, 3, n)
	got, err := objstore.ReadAll(t.Context(), s, "a/xy", 100)
	require.NoError(t, err, "a longer name is another object")
	require.Equal(t, "a/xy", string(got))
	require.NoError(t, s.Delete(t.Context(), "a/xy"))
	page, err := client(t).ListObjectVersions(t.Context(), &awss3.ListObjectVersionsInput{Bucket: aws.String(s3test.VersionedBucket)})
	require.NoError(t, err)
	require.Empty(t, page.Versions, "no bytes are left")
	require.Empty(t, page.DeleteMarkers)
	require.NoError(t, s.Put(t.Context(), "a/x", []byte("again")), "the name is free")
}

func TestWrongOptionsAreAllReported(t *testing.T) {
	_, err := s3.Open(t.Context(), s3.Options{Prefix: "a", Endpoint: "localhost", PartBytes: 1, RetryTime: -1})
	require.Equal(t, lake.Invalid, lake.KindOf(err))
	for _, want := range []string{"a bucket is needed", `prefix "a"`, `endpoint "localhost"`, "parts of 1 bytes", "negative"} {
		require.ErrorContains(t, err, want)
	}
	o := options(t)
	o.Bucket = "no-such-bucket"
	_, err = s3.Open(t.Context(), o)
	require.Equal(t, lake.Precondition, lake.KindOf(err), "%v", err)
	o = options(t)
	o.Credentials = credentials.NewStaticCredentialsProvider("nobody", "knows", "")
	_, err = s3.Open(t.Context(), o)
	require.Equal(t, lake.Denied, lake.KindOf(err), "%v", err)
	require.NotContains(t, err.Error(), "knows", "errors hold no secrets")
}

// TestKilledServer: what was acknowledged is there after the server's crash, and
// calls that meet its absence go on when it is back.
func TestKilledServer(t *testing.T) {
	server, err := s3test.Start()
	if errors.Is(err, s3test.ErrMissing) {
		t.Skip(err)
	}
	require.NoError(t, err)
	defer func() { require.NoError(t, server.Stop()) }()
	o := options(t)
	o.Endpoint = server.URL()
	s, err := s3.Open(t.Context(), o)
	require.NoError(t, err)
	defer s.Close()
	var mu sync.Mutex
	acked := map[string]bool{}
	var all sync.WaitGroup
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Second)
	defer stop()
	for range 4 {
		all.Go(func() {
			for ctx.Err() == nil {
				key := "k/" + lake.NewID().String()
				if err := s.Put(ctx, key, []byte(key)); err == nil {
					mu.Lock()
					acked[key] = true
					mu.Unlock()
				} else if ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	for range 3 {
		time.Sleep(400 * time.Millisecond)
		require.NoError(t, server.Kill())
		time.Sleep(100 * time.Millisecond)
		require.NoError(t, server.Restart())
	}
	all.Wait()
	require.Greater(t, len(acked), 20)
	for key := range acked {
		got, err := objstore.ReadAll(t.Context(), s, key, 100)
		require.NoError(t, err, key)
		require.Equal(t, key, string(got))
	}
}
