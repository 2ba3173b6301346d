// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lake

// Location is where an incarnation's objects live: a key prefix, without the
// trailing '/', relative to the root of the object store. The server chooses
// it; no two incarnations share one.
type Location string

// Place returns the location of an incarnation:
// "<namespace>/<name>/<incarnation>.lance".
func Place(t TableName, inc Incarnation) Location {
	return Location(t.Path() + "/" + inc.String() + ".lance")
}

// Prefix returns the location with its boundary, the only prefix that may be
// listed or deleted on behalf of the incarnation.
func (l Location) Prefix() string { return string(l) + "/" }

// Manifest names the exact bytes that describe one version.
type Manifest struct {
	// Path is the object's key relative to the location.
	Path string `json:"path"`
	// Size is the object's length in bytes.
	Size int64 `json:"size"`
	// SHA256 is the digest of its bytes, in lower-case hexadecimal.
	SHA256 Digest `json:"sha256"`
}

// Snapshot pins one immutable version of one incarnation. It is all a reader
// needs to open exactly that version, now or later, on any replica.
type Snapshot struct {
	// Engine is the name of the storage engine that wrote it, such as "lance".
	Engine      string      `json:"engine"`
	Location    Location    `json:"location"`
	Incarnation Incarnation `json:"incarnation"`
	Version     Version     `json:"version"`
	Manifest    Manifest    `json:"manifest"`
}
