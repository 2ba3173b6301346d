// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package dynamodb

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lakeplane/lake/lake"
)

// Options say where the store is. Only Table is required.
type Options struct {
	// Table is the registry's name. Its companion is Table_prefix_v2. Both are
	// made if they are missing and the caller may make tables.
	Table string
	// Endpoint is the URL of a service other than Amazon's, or of a VPC
	// endpoint; empty means Amazon's in the region.
	Endpoint string
	// Region; empty takes the environment's.
	Region string
	// Credentials; nil takes the SDK's default chain: environment, files, roles.
	Credentials aws.CredentialsProvider
	// RequestTimeout bounds one attempt of a request; 0 means 5 s. RetryTime
	// bounds a call with all its attempts, unless its context ends earlier; 0
	// means 20 s.
	RequestTimeout, RetryTime time.Duration
	// Transport makes the HTTP requests; nil means one of its own.
	Transport http.RoundTripper
	// Logger receives what is unusual; nil means [slog.Default].
	Logger *slog.Logger
}

// Scheme is the scheme of the URLs that [ParseURL] reads.
const Scheme = "dynamodb"

// ParseURL reads dynamodb://TABLE?region=REGION&endpoint=URL. Both parameters
// may be left out.
func ParseURL(raw string) (Options, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != Scheme || u.User != nil || strings.Trim(u.Path, "/") != "" || u.Fragment != "" {
		return Options{}, lake.Errorf(lake.Invalid, "want dynamodb://table?region=REGION&endpoint=URL; credentials come from the environment, files or roles")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return Options{}, lake.Errorf(lake.Invalid, "parameters of the URL: %w", err)
	}
	for name, values := range query {
		if !slices.Contains([]string{"region", "endpoint"}, name) || len(values) != 1 {
			return Options{}, lake.Errorf(lake.Invalid, "parameter %q of the URL: want region and endpoint, each once at most", name)
		}
	}
	o := Options{Table: u.Host, Region: query.Get("region"), Endpoint: query.Get("endpoint")}
	return o, o.Validate()
}

func (o Options) withDefaults() Options {
	o.RequestTimeout = cmp.Or(o.RequestTimeout, 5*time.Second)
	o.RetryTime = cmp.Or(o.RetryTime, 20*time.Second)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

// tableName is what DynamoDB allows, less what the companion's name adds.
var tableName = regexp.MustCompile(`^[A-Za-z0-9_.-]{3,245}$`)

// Validate reports every field that is out of range, as lake.Invalid.
func (o Options) Validate() error {
	o = o.withDefaults()
	var errs []error
	bad := func(when bool, format string, args ...any) {
		if when {
			errs = append(errs, lake.Errorf(lake.Invalid, "dynamodb: "+format, args...))
		}
	}
	bad(!tableName.MatchString(o.Table), "table %q: want 3..245 of A-Z a-z 0-9 _ . -", o.Table)
	bad(o.Endpoint != "" && !isHTTP(o.Endpoint), "endpoint %q: want an http or https URL", o.Endpoint)
	bad(o.RequestTimeout < 0 || o.RetryTime < 0, "times must not be negative")
	return errors.Join(errs...)
}

func isHTTP(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// client makes the SDK's client, without its retries: only the loop that knows
// the outcomes of commits may repeat one.
func (o Options) client(ctx context.Context, client *http.Client) (*dynamodb.Client, error) {
	var load []func(*config.LoadOptions) error
	if o.Region != "" {
		load = append(load, config.WithRegion(o.Region))
	}
	if o.Credentials != nil {
		load = append(load, config.WithCredentialsProvider(o.Credentials))
	}
	c, err := config.LoadDefaultConfig(ctx, load...)
	if err != nil {
		return nil, lake.Errorf(lake.Invalid, "dynamodb: configuration: %w", err)
	}
	if c.Region == "" {
		if o.Endpoint == "" {
			return nil, lake.Errorf(lake.Invalid, "dynamodb: table %s: a region is needed", o.Table)
		}
		c.Region = "us-east-1"
	}
	return dynamodb.NewFromConfig(c, func(d *dynamodb.Options) {
		if o.Endpoint != "" {
			d.BaseEndpoint = aws.String(o.Endpoint)
		}
		d.Retryer = aws.NopRetryer{}
		d.HTTPClient = client
	}), nil
}

// idleConns is how many connections are kept for the next burst of requests.
const idleConns = 64

func (o Options) http() *http.Client {
	transport := o.Transport
	if transport == nil {
		t := awshttp.NewBuildableClient().GetTransport()
		t.MaxIdleConns, t.MaxIdleConnsPerHost = idleConns, idleConns
		transport = t
	}
	return &http.Client{Transport: transport}
}
