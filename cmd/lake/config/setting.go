// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/lakeplane/lake/lake"
)

// Setting is one value of a process, and where it came from.
type Setting struct {
	// Key is the name in the file, such as "tls_cert_file".
	Key string
	// Flag is the name on the command line, without dashes in front.
	Flag string
	// Env is the environment variable.
	Env string
	// Help says what the setting means, for --help and the documentation.
	Help string
	// Default is the value's text when nothing sets it.
	Default string
	// Source is where the value in force came from: "default", "flag --x",
	// "environment LAKE_X" or "FILE:LINE".
	Source string

	value value
	flag  flagText
	// unread says that a source holds something that is no value.
	unread bool
}

// Text is the value in force as it would be written, without secrets. A password
// has no business in any setting but the metastore's; where somebody wrote one all
// the same, it is not shown either.
func (s *Setting) Text() string { return Redact(s.value.redacted()) }

// flagText keeps what a flag was given, to be read together with the other
// sources: a flag library stops at the first mistake.
type flagText struct {
	texts []string
	kind  string
}

// String implements pflag.Value.
func (f *flagText) String() string { return strings.Join(f.texts, ",") }

// Type implements pflag.Value.
func (f *flagText) Type() string { return f.kind }

// Set implements pflag.Value.
func (f *flagText) Set(text string) error {
	f.texts = append(f.texts, text)
	return nil
}

// Set is the settings of one process.
type Set struct {
	// Process is its name: meta, query or worker.
	Process string
	all     []*Setting
	byKey   map[string]*Setting
	// open says that others may read the configuration file.
	open bool
}

func newSet(process string) *Set { return &Set{Process: process, byKey: map[string]*Setting{}} }

// Settings lists the settings in the order of the documentation.
func (s *Set) Settings() []*Setting { return s.all }

// add makes v a setting. Its present value is the default. The flag is the key
// with dashes.
func (s *Set) add(key, env string, v value, help string) *Setting {
	x := &Setting{
		Key: key, Flag: strings.ReplaceAll(key, "_", "-"), Env: env, Help: help,
		Default: v.redacted(), Source: sourceDefault, value: v, flag: flagText{kind: v.kind()},
	}
	if s.byKey[key] != nil {
		panic("config: two settings " + key) // a mistake of the program
	}
	s.byKey[key] = x
	s.all = append(s.all, x)
	return x
}

// AddFlags puts the settings on a command line.
func (s *Set) AddFlags(flags *pflag.FlagSet) {
	for _, x := range s.all {
		f := flags.VarPF(&x.flag, x.Flag, "", x.usage())
		if x.value.kind() == "bool" {
			f.NoOptDefVal = "true"
		}
	}
}

// usage is the text of --help. There, what is between backticks would be taken for
// the name of the flag's value.
func (x *Setting) usage() string {
	out := fmt.Sprintf("%s (env %s", strings.ReplaceAll(x.Help, "`", "'"), x.Env)
	if x.Default != "" && x.value.kind() != "bool" {
		out += ", default " + x.Default
	}
	return out + ")"
}

// Mistakes are all the mistakes of a configuration.
type Mistakes []error

// Error lists them, one a line.
func (m Mistakes) Error() string {
	lines := make([]string, len(m))
	for i, err := range m {
		lines[i] = strings.Join(strings.Fields(err.Error()), " ")
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the mistakes.
func (m Mistakes) Unwrap() []error { return m }

// err is nil when there are none.
func (m Mistakes) err() error {
	if len(m) == 0 {
		return nil
	}
	return m
}

// report adds a mistake about the setting with the given key, and says where
// its value came from.
func (s *Set) report(m *Mistakes, key, format string, args ...any) {
	x := s.byKey[key]
	if x.unread {
		return // reported already; what is compared here is not what was meant
	}
	name := "--" + x.Flag
	if x.Source != sourceDefault {
		name = x.Source
	}
	*m = append(*m, lake.Errorf(lake.Invalid, "%s: %w", name, fmt.Errorf(format, args...)))
}
