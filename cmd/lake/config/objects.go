// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"net/url"
	"strings"

	"github.com/lakeplane/lake/objstore"
)

// Objects says where the objects of the tables are.
type Objects struct {
	// URL is file:///directory or s3://bucket/folder.
	URL string
	// Endpoint is the URL of an S3 service other than Amazon's, Region its
	// region; PathStyle addresses the bucket in the path.
	Endpoint, Region string
	PathStyle        bool
}

func (o *Objects) add(s *Set) {
	s.add("objects", "LAKE_OBJECTS", urlValue{&o.URL}, "object store: file:///directory or s3://bucket/folder, the same for every process; required. The credentials of a bucket are found as AWS tools find them: environment, files, role")
	s.add("s3_endpoint", "LAKE_S3_ENDPOINT", stringValue{&o.Endpoint}, "URL of an S3 service other than Amazon's")
	s.add("s3_region", "LAKE_S3_REGION", stringValue{&o.Region}, "region of the bucket; empty takes what AWS tools would")
	s.add("s3_path_style", "LAKE_S3_PATH_STYLE", boolValue{&o.PathStyle}, "address the bucket in the path, as most services other than Amazon's want")
}

func (o *Objects) check(s *Set, m *Mistakes) {
	switch {
	case o.URL == "":
		s.report(m, "objects", "an object store is needed: want file:///directory or s3://bucket/folder")
	case o.InBucket():
		if _, _, err := o.Bucket(); err != nil {
			s.report(m, "objects", "%w", err)
		}
	default:
		if _, err := FilePath(o.URL, "file"); err != nil {
			s.report(m, "objects", "%w, or s3://bucket/folder", err)
		}
	}
	if o.Endpoint != "" && !isHTTP(o.Endpoint) {
		s.report(m, "s3_endpoint", "want an http or https URL without a path")
	}
	for key, given := range map[string]bool{"s3_endpoint": o.Endpoint != "", "s3_region": o.Region != "", "s3_path_style": o.PathStyle} {
		if given && o.URL != "" && !o.InBucket() {
			s.report(m, key, "is of use with objects in a bucket only")
		}
	}
}

// InBucket reports whether the objects are in an S3 bucket.
func (o *Objects) InBucket() bool { return strings.HasPrefix(o.URL, "s3://") }

// Bucket returns the bucket and the folder in it, empty or with its trailing
// '/'.
func (o *Objects) Bucket() (bucket, folder string, err error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Scheme != "s3" || u.Host == "" || u.User != nil || u.Port() != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", "", errors.New("want s3://bucket/folder")
	}
	if folder = strings.Trim(u.Path, "/"); folder != "" {
		folder += "/"
	}
	return u.Host, folder, objstore.CheckPrefix(folder)
}

func isHTTP(text string) bool {
	u, err := url.Parse(text)
	return err == nil && IsLink(text) && strings.Trim(u.Path, "/") == ""
}

// IsLink reports whether a text is the URL of web pages, to which a path may be
// added, without credentials.
func IsLink(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == ""
}
