// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/lakeplane/lake/lake"
)

// maxFileBytes bounds the configuration file.
const maxFileBytes = 1 << 20

var units = map[string]time.Duration{"ms": time.Millisecond, "s": time.Second}

// loadFile applies a YAML file: the keys at its top, then those in the section
// of this process. The other sections are checked for unknown keys too, so that
// a shared file is wrong for everybody or for nobody.
func (s *Set) loadFile(m *Mistakes, path string) {
	root, mode, err := readYAML(path)
	s.open = mode.Perm()&0o077 != 0
	if err != nil {
		*m = append(*m, lake.Errorf(lake.Invalid, "configuration file %s: %w", path, err))
		return
	}
	f := file{path: path, set: s, mistakes: m}
	var section *yaml.Node
	f.each(root, func(key string, at, node *yaml.Node) {
		if slices.Contains(Names(), key) {
			f.checkSection(key, node)
			if key == s.Process {
				section = node
			}
			return
		}
		f.top(key, at, node)
	})
	if section != nil && section.Kind == yaml.MappingNode {
		f.each(section, f.own)
	}
}

// readYAML returns the mapping in a file, and the file's mode.
func readYAML(path string) (*yaml.Node, os.FileMode, error) {
	r, err := os.Open(path)
	if err != nil {
		var p *os.PathError
		if errors.As(err, &p) {
			err = p.Err // its path is in the message already
		}
		return nil, 0, err
	}
	defer r.Close()
	info, err := r.Stat()
	if err != nil {
		return nil, 0, err
	}
	raw, err := io.ReadAll(io.LimitReader(r, maxFileBytes+1))
	if err != nil {
		return nil, 0, err
	}
	if len(raw) > maxFileBytes {
		return nil, 0, fmt.Errorf("more than %d bytes", maxFileBytes)
	}
	root, err := parseYAML(raw)
	return root, info.Mode(), err
}

func parseYAML(raw []byte) (*yaml.Node, error) {
	var doc, more yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(raw))
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF): // an empty file
		return &yaml.Node{Kind: yaml.MappingNode}, nil
	case err != nil:
		return nil, err
	case !errors.Is(dec.Decode(&more), io.EOF):
		return nil, errors.New("want one YAML document")
	}
	if root := doc.Content[0]; root.Kind == yaml.MappingNode {
		return root, nil
	}
	return nil, errors.New("want a mapping of settings")
}

// file is a configuration file while it is read.
type file struct {
	path     string
	set      *Set
	mistakes *Mistakes
}

func (f *file) bad(at *yaml.Node, format string, args ...any) {
	*f.mistakes = append(*f.mistakes, lake.Errorf(lake.Invalid, "%s: %w", f.where(at), fmt.Errorf(format, args...)))
}

func (f *file) where(at *yaml.Node) string { return fmt.Sprintf("%s:%d", f.path, at.Line) }

// each calls visit for every key of a mapping, and refuses keys that are there
// twice.
func (f *file) each(mapping *yaml.Node, visit func(key string, at, node *yaml.Node)) {
	seen := map[string]bool{}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		at, node := mapping.Content[i], mapping.Content[i+1]
		if seen[at.Value] {
			f.bad(at, "key %q is there twice", at.Value)
			continue
		}
		seen[at.Value] = true
		visit(at.Value, at, node)
	}
}

// top applies a key at the top of the file, which may be meant for other
// processes.
func (f *file) top(key string, at, node *yaml.Node) {
	if f.set.byKey[key] != nil {
		f.own(key, at, node)
	} else if known := keysOf(All()...); !slices.Contains(known, key) {
		f.bad(at, "unknown key %q%s", key, nearest(key, slices.Concat(known, Names())))
	}
}

// checkSection refuses what does not belong into another process's section.
func (f *file) checkSection(name string, node *yaml.Node) {
	if node.Kind != yaml.MappingNode {
		f.bad(node, "section %q: want a mapping of settings", name)
		return
	}
	if name == f.set.Process {
		return // applied, and so checked, later
	}
	p, err := Named(name)
	if err != nil {
		f.bad(node, "%w", err)
		return
	}
	f.each(node, func(key string, at, _ *yaml.Node) {
		if known := keysOf(p); !slices.Contains(known, key) {
			f.bad(at, "unknown key %q of %s%s", key, name, nearest(key, known))
		}
	})
}

// own applies a key of this process.
func (f *file) own(key string, at, node *yaml.Node) {
	x := f.set.byKey[key]
	if x == nil {
		f.bad(at, "unknown key %q of %s%s", key, f.set.Process, nearest(key, keysOf(mustNamed(f.set.Process))))
		return
	}
	texts, ok := scalars(node)
	if !ok {
		f.bad(at, "%s: want a value", key)
		return
	}
	f.set.assign(f.mistakes, x, f.where(at)+" "+key, texts, "")
}

func mustNamed(name string) Process {
	p, err := Named(name)
	if err != nil {
		panic(err) // the name is a set's own
	}
	return p
}

// scalars are the texts of a value or of a list of values.
func scalars(node *yaml.Node) ([]string, bool) {
	switch {
	case node.Kind == yaml.AliasNode && node.Alias.Kind == yaml.ScalarNode:
		return scalars(node.Alias)
	case node.Kind == yaml.ScalarNode && node.Tag != "!!null":
		return []string{node.Value}, true
	case node.Kind != yaml.SequenceNode || len(node.Content) == 0:
		return nil, false
	}
	var texts []string
	for _, item := range node.Content {
		if item.Kind != yaml.ScalarNode || item.Tag == "!!null" {
			return nil, false
		}
		texts = append(texts, item.Value)
	}
	return texts, true
}

// keysOf lists the keys of the processes' settings.
func keysOf(processes ...Process) []string {
	var keys []string
	for _, p := range processes {
		for _, x := range p.Set().all {
			if !slices.Contains(keys, x.Key) {
				keys = append(keys, x.Key)
			}
		}
	}
	return keys
}
