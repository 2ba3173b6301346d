// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package lance is the storage engine of Lake: tables are Lance datasets on an
// object store.
//
// # One version
//
//  1. Data files go below data/ under random names. Nothing refers to them.
//  2. The manifest goes to _versions/<final name>-<uuid>, the staged name. Lance
//     readers ignore it there.
//  3. The caller commits the operations of [engine.Staged]: the pointer moves
//     from exactly the base snapshot to the new one. This is the commit point.
//  4. Publish puts the same bytes under the final name, where any Lance client
//     finds the version by number, and removes the staged object.
//
// A crash after 3 leaves a version that is committed and not published. Readers
// of Lake open it by its staged name, and whoever calls Publish for it later
// finishes the work. A failed commit leaves objects that no snapshot names; the
// sweep of the location removes them.
//
// The final name alone never makes a version: a foreign client that writes one
// by itself is noticed by its other bytes when that version is published.
package lance
