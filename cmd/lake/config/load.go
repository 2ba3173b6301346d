// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package config

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/lakeplane/lake/lake"
)

const sourceDefault = "default"

// FileEnv names the configuration file where --config does not.
const FileEnv = "LAKE_CONFIG"

// Process is the configuration of one process. The values are in force once
// [Load] has returned without mistakes.
type Process interface {
	// Set is the process's settings.
	Set() *Set
	// check adds the mistakes that one value alone does not show.
	check(m *Mistakes)
}

// Load reads the sources of p: the file at path, if one is named by path or
// LAKE_CONFIG in environ, then environ, in the form of os.Environ, then the
// flags that were given. All mistakes, also those of values that another source
// overrides, are returned together as [Mistakes] of lake.Invalid errors.
func Load(p Process, path string, environ []string, flags *pflag.FlagSet) error {
	var m Mistakes
	set, env := p.Set(), parseEnviron(environ)
	if path == "" {
		path = env[FileEnv]
	}
	if path != "" {
		set.loadFile(&m, path)
	}
	set.loadEnv(&m, env)
	set.loadFlags(&m, flags)
	checkVariables(&m, env)
	p.check(&m)
	return m.err()
}

func parseEnviron(environ []string) map[string]string {
	out := map[string]string{}
	for _, e := range environ {
		if key, text, ok := strings.Cut(e, "="); ok && strings.HasPrefix(key, envPrefix) {
			out[key] = text
		}
	}
	return out
}

// loadEnv applies the variables. An empty one counts as not set, which is how
// deployment tools leave one out.
func (s *Set) loadEnv(m *Mistakes, env map[string]string) {
	for _, x := range s.all {
		if text := env[x.Env]; text != "" {
			s.assign(m, x, "environment "+x.Env, []string{text}, x.unit())
		}
	}
}

// unit is what a bare number of the variable counts.
func (x *Setting) unit() string {
	switch {
	case strings.HasSuffix(x.Env, "_MS"):
		return "ms"
	case strings.HasSuffix(x.Env, "_SECS"):
		return "s"
	}
	return ""
}

func (s *Set) loadFlags(m *Mistakes, flags *pflag.FlagSet) {
	if flags == nil {
		return
	}
	for _, x := range s.all {
		if flags.Changed(x.Flag) {
			s.assign(m, x, "flag --"+x.Flag, x.flag.texts, "")
		}
	}
}

// assign sets a value and remembers where it came from.
func (s *Set) assign(m *Mistakes, x *Setting, source string, texts []string, unit string) {
	x.Source = source
	v := x.value
	if d, ok := v.(durationValue); ok {
		d.unit = units[unit]
		v = d
	}
	if err := v.set(texts); err != nil {
		x.unread = true
		*m = append(*m, lake.Errorf(lake.Invalid, "%s: %w", source, err))
	}
}

// All returns the processes with their defaults.
func All() []Process { return []Process{NewMeta(), NewQuery(), NewWorker()} }

// Names are the names of the processes.
func Names() []string {
	var names []string
	for _, p := range All() {
		names = append(names, p.Set().Process)
	}
	return names
}

// Named returns the process of a name with its defaults, or lake.Invalid.
func Named(name string) (Process, error) {
	all := All()
	i := slices.IndexFunc(all, func(p Process) bool { return p.Set().Process == name })
	if i < 0 {
		return nil, lake.Errorf(lake.Invalid, "process %q: want %s", name, strings.Join(Names(), ", "))
	}
	return all[i], nil
}
