// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package s3

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/objstore"
)

// Options say which bucket is used and how. Bucket is required.
type Options struct {
	Bucket string
	// Prefix is put before every key: empty, or a folder with its trailing '/'.
	Prefix string
	// Endpoint is the URL of a service other than Amazon's; empty means
	// Amazon's in the region.
	Endpoint string
	// Region; empty takes the environment's, and "us-east-1" with an Endpoint.
	Region string
	// PathStyle addresses the bucket in the path instead of the host name,
	// which most other services need.
	PathStyle bool
	// Credentials; nil takes the SDK's default chain: environment, files, roles.
	Credentials aws.CredentialsProvider
	// Concurrent bounds the requests under way. 0 means 64.
	Concurrent int
	// PartBytes is the size of the parts of a streamed object, each of which is
	// held in memory until it is stored. 0 means 16 MiB; the least is 5 MiB.
	PartBytes int64
	// PartsAtOnce is how many parts of one object are sent at a time. 0 means 4.
	PartsAtOnce int
	// TailBytes is how much of its end is read when an object is opened.
	// 0 means 128 KiB.
	TailBytes int64
	// RequestTimeout bounds one attempt; 0 means 30 s. RetryTime bounds a call
	// with all its attempts, unless its context ends earlier; 0 means 60 s.
	RequestTimeout, RetryTime time.Duration
	// Transport makes the HTTP requests; nil means one of its own.
	Transport http.RoundTripper
	// OnRetry hears of every attempt that is about to be made again, from any
	// goroutine; nil means nobody.
	OnRetry func(Reason)
}

// Reason is why a request is made again.
type Reason string

// The reasons.
const (
	Throttled Reason = "throttled" // the service is overloaded
	Refused   Reason = "refused"   // by a request beside it, or for credentials or a date that are too old
	NoAnswer  Reason = "no_answer" // none at all in time, or none that can be relied on
)

const (
	minPartBytes = 5 << 20 // of the service; the last part may be smaller
	maxParts     = 10_000
)

func (o Options) normalize() (Options, error) {
	o.Concurrent = cmp.Or(o.Concurrent, 64)
	o.PartBytes = cmp.Or(o.PartBytes, 16<<20)
	o.PartsAtOnce = cmp.Or(o.PartsAtOnce, 4)
	o.TailBytes = cmp.Or(o.TailBytes, 128<<10)
	o.RequestTimeout = cmp.Or(o.RequestTimeout, 30*time.Second)
	o.RetryTime = cmp.Or(o.RetryTime, time.Minute)
	return o, o.check()
}

// check reports every mistake.
func (o Options) check() error {
	var errs []error
	bad := func(when bool, format string, args ...any) {
		if when {
			errs = append(errs, lake.Errorf(lake.Invalid, "s3: "+format, args...))
		}
	}
	bad(o.Bucket == "", "a bucket is needed")
	bad(objstore.CheckPrefix(o.Prefix) != nil, "prefix %q: want a folder with a trailing '/', or nothing", o.Prefix)
	bad(o.Endpoint != "" && !strings.HasPrefix(o.Endpoint, "http://") && !strings.HasPrefix(o.Endpoint, "https://"), "endpoint %q: want an http or https URL", o.Endpoint)
	bad(o.Concurrent < 1 || o.PartsAtOnce < 1 || o.TailBytes < 0, "counts and sizes must not be negative")
	bad(o.PartBytes < minPartBytes, "parts of %d bytes: at least %d", o.PartBytes, int64(minPartBytes))
	bad(o.RequestTimeout < 0 || o.RetryTime < 0, "times must not be negative")
	return errors.Join(errs...)
}

// client makes the SDK's client, without its retries.
func (o Options) client(ctx context.Context, client *http.Client) (*s3.Client, error) {
	var load []func(*config.LoadOptions) error
	if o.Region != "" {
		load = append(load, config.WithRegion(o.Region))
	}
	if o.Credentials != nil {
		load = append(load, config.WithCredentialsProvider(o.Credentials))
	}
	c, err := config.LoadDefaultConfig(ctx, load...)
	if err != nil {
		return nil, lake.Errorf(lake.Invalid, "s3: configuration: %w", err)
	}
	if c.Region == "" {
		if o.Endpoint == "" {
			return nil, lake.Errorf(lake.Invalid, "s3: bucket %s: a region is needed", o.Bucket)
		}
		c.Region = "us-east-1"
	}
	return s3.NewFromConfig(c, func(s *s3.Options) {
		s.UsePathStyle = o.PathStyle
		if o.Endpoint != "" {
			s.BaseEndpoint = aws.String(o.Endpoint)
		}
		s.Retryer = aws.NopRetryer{}
		s.DisableLogOutputChecksumValidationSkipped = true // ranges have no checksum of their own
		s.HTTPClient = client
	}), nil
}

func (o Options) http() *http.Client {
	transport := o.Transport
	if transport == nil {
		t := awshttp.NewBuildableClient().GetTransport()
		t.MaxIdleConns, t.MaxIdleConnsPerHost = o.Concurrent, o.Concurrent
		transport = t
	}
	return &http.Client{Transport: transport}
}
