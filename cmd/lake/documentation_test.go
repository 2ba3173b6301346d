// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// pages are the texts that tell people what to type and what to watch. Decisions
// and the record of what happened tell of their time.
func pages(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, root := range []string{"../../README.md", "../../CONTRIBUTING.md", "../../docs", "../../deploy"} {
		require.NoError(t, filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || filepath.Ext(path) != ".md" || strings.Contains(path, "/adr/") || filepath.Base(path) == "track-record.md" {
				return err
			}
			text, err := os.ReadFile(path)
			out[path] = string(text)
			return err
		}))
	}
	return out
}

var (
	quotedCommand = regexp.MustCompile("`(?:bin/)?lake ([a-z][^`]*)`")
	typedCommand  = regexp.MustCompile(`(?m)^ {0,8}(?:\$ )?(?:bin/)?lake ([a-z].*)$`)
	codeBlock     = regexp.MustCompile("(?ms)^```[a-z]*\n(.*?)^```|(?:^ {4}\\S[^\n]*\n)+")
	// aside is what a line of a shell has beside the command: comments, quoted
	// texts, what follows a pipe, and the brackets around what may be left out.
	aside = regexp.MustCompile(`'[^']*'|"[^"]*"|\s#.*$|[|<>;&] .*$|\$\(.*\)|[\[\]…]`)
)

// commandsOf finds the command lines of a page.
func commandsOf(page string) (out []string) {
	for _, m := range quotedCommand.FindAllStringSubmatch(page, -1) {
		out = append(out, m[1])
	}
	for _, block := range codeBlock.FindAllString(page, -1) {
		for _, m := range typedCommand.FindAllStringSubmatch(block, -1) {
			out = append(out, m[1])
		}
	}
	return out
}

// TestCommandsOfTheDocumentationExist finds every command line that the pages show,
// and holds its command and its flags to those that there are.
func TestCommandsOfTheDocumentationExist(t *testing.T) {
	root, seen := (&app{}).root(), 0
	for path, page := range pages(t) {
		for _, line := range commandsOf(page) {
			if strings.HasPrefix(line, "engine-slot") {
				continue // what ps shows, not for people
			}
			seen++
			require.Empty(t, unknownIn(root, line), "%s: lake %s", path, line)
		}
	}
	require.Greater(t, seen, 80, "the pages show fewer commands than they did")
	require.Equal(t, "--tree", unknownIn(root, "table list --tree | head"))
	require.Equal(t, "tree", unknownIn(root, "table tree x.y"))
	require.Equal(t, "burn", unknownIn(root, "table tag|burn"))
}

// unknownIn returns the first word of a command line that is no command or flag.
func unknownIn(root *cobra.Command, line string) string {
	words := strings.Fields(aside.ReplaceAllString(line, " "))
	command := root
	for len(words) > 0 && command.HasAvailableSubCommands() && !strings.HasPrefix(words[0], "-") {
		var next *cobra.Command
		for _, name := range strings.Split(words[0], "|") {
			if next, _, _ = command.Find([]string{name}); next == command {
				return name
			}
		}
		command, words = next, words[1:]
	}
	for _, w := range words {
		name, _, _ := strings.Cut(strings.TrimPrefix(w, "--"), "=")
		if strings.HasPrefix(w, "--") && name != "" && name != "help" && command.Flag(name) == nil {
			return w
		}
	}
	return ""
}
