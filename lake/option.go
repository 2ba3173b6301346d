// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lake

import "strings"

const (
	// OptionPrefix begins the keys of a table's options. They are entries of the
	// metadata of its registered schema, chosen when it is created, and stay.
	OptionPrefix = "lake.option."
	// OptionCompact, "true", has the table's data written smaller, at a price in
	// processor time for those who write and read. Default: "false".
	OptionCompact = OptionPrefix + "compact"
)

// TableOptions are the options of a table. The zero value are the defaults.
type TableOptions struct {
	// Compact is [OptionCompact].
	Compact bool
}

// ParseTableOptions reads the options among the entries of a schema's metadata;
// keys and values come in pairs. An option that is not known, or a value that it
// does not have, is [Invalid].
func ParseTableOptions(keys, values []string) (TableOptions, error) {
	var o TableOptions
	for i, key := range keys {
		if !strings.HasPrefix(key, OptionPrefix) {
			continue
		}
		if key != OptionCompact {
			return o, Errorf(Invalid, "schema metadata %q: there is no such option of tables, want %s", key, OptionCompact)
		}
		switch values[i] {
		case "true":
			o.Compact = true
		case "false":
			o.Compact = false
		default:
			return o, Errorf(Invalid, "schema metadata %q is %q, want true or false", key, values[i])
		}
	}
	return o, nil
}
