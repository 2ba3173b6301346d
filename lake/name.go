// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lake

import "strings"

// MaxNameBytes bounds a namespace and a table name, each.
const MaxNameBytes = 128

// TableName is a table's full name: a namespace and a name inside it. Both
// parts are safe single path segments, so a name can be part of a metastore
// key and of an object path without escaping.
type TableName struct {
	Namespace string
	Name      string
}

// String returns "namespace.name". It is for people: the parts may contain
// dots themselves, so use [ParseTableName] only on input by people.
func (t TableName) String() string { return t.Namespace + "." + t.Name }

// Path returns "namespace/name", the form used inside keys and object paths.
func (t TableName) Path() string { return t.Namespace + "/" + t.Name }

// Compare orders by namespace, then by name.
func (t TableName) Compare(o TableName) int {
	if c := strings.Compare(t.Namespace, o.Namespace); c != 0 {
		return c
	}
	return strings.Compare(t.Name, o.Name)
}

// Validate refuses anything but two parts of 1..128 bytes of [A-Za-z0-9._-],
// neither "." nor "..". It is checked before any storage is touched.
func (t TableName) Validate() error {
	if err := validateSegment("namespace", t.Namespace); err != nil {
		return err
	}
	return validateSegment("table name", t.Name)
}

// ParseTableName reads "namespace.name", split at the first dot, and
// validates both parts.
func ParseTableName(s string) (TableName, error) {
	ns, name, ok := strings.Cut(s, ".")
	if !ok {
		return TableName{}, Errorf(Invalid, "table %q: want namespace.name", clip(s))
	}
	t := TableName{Namespace: ns, Name: name}
	return t, t.Validate()
}

// ValidateNamespace applies the rule of [TableName.Validate] to one namespace.
func ValidateNamespace(ns string) error { return validateSegment("namespace", ns) }

func validateSegment(what, s string) error {
	switch {
	case s == "":
		return Errorf(Invalid, "%s is empty: want 1..%d bytes of [A-Za-z0-9._-]", what, MaxNameBytes)
	case len(s) > MaxNameBytes:
		return Errorf(Invalid, "%s %q has %d bytes: at most %d are allowed", what, clip(s), len(s), MaxNameBytes)
	case s == "." || s == "..":
		return Errorf(Invalid, "%s %q is reserved: want 1..%d bytes of [A-Za-z0-9._-], not %q alone", what, s, MaxNameBytes, s)
	}
	for i, r := range s {
		if !nameRune(r) {
			return Errorf(Invalid, "%s %q: character %q at byte %d is not allowed: want [A-Za-z0-9._-]", what, clip(s), r, i)
		}
	}
	return nil
}

func nameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-'
}

// clip keeps error messages short whatever the input's length.
func clip(s string) string {
	const most = 160
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
