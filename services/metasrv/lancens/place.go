// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lancens

import (
	"path"
	"strings"

	"github.com/lakeplane/lake/lake"
)

// Place says where clients find the objects: in a folder of this machine, or in a
// bucket.
type Place struct {
	// Folder is an absolute path; empty for a bucket.
	Folder string
	// Bucket and Prefix are those of an S3 store; Prefix has no '/' at its ends.
	Bucket, Prefix string
	// Storage are options for clients' access to the bucket, such as
	// aws_endpoint and aws_region. They hold no credentials: clients bring their
	// own.
	Storage map[string]string
}

func (p Place) check() error {
	if (p.Folder == "") == (p.Bucket == "") || p.Folder != "" && !path.IsAbs(p.Folder) {
		return lake.Errorf(lake.Invalid, "lance namespace: want the absolute path of a folder, or a bucket")
	}
	return nil
}

// location is what a client opens.
func (p Place) location(loc lake.Location) string {
	if p.Folder != "" {
		return path.Join(p.Folder, string(loc))
	}
	return "s3://" + p.Bucket + "/" + path.Join(p.Prefix, string(loc))
}

// uri is the location as a URI.
func (p Place) uri(loc lake.Location) string {
	if p.Folder != "" {
		return "file://" + p.location(loc)
	}
	return p.location(loc)
}

// root is what stands before keys in paths of the client's object store, which
// have no leading '/' and no bucket.
func (p Place) root() string {
	if p.Folder != "" {
		return strings.Trim(p.Folder, "/")
	}
	return p.Prefix
}

// pathOf is the path of an object.
func (p Place) pathOf(key string) string { return strings.TrimPrefix(path.Join(p.root(), key), "/") }

// keyOf is the key of an object by its path.
func (p Place) keyOf(name string) (string, error) {
	root := p.root()
	rest := strings.TrimPrefix(name, "/")
	if root != "" {
		var ok bool
		if rest, ok = strings.CutPrefix(rest, root+"/"); !ok {
			return "", lake.Errorf(lake.Invalid, "manifest_path %q is not below %q", name, root)
		}
	}
	return rest, nil
}
