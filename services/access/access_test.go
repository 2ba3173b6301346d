// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package access_test

import (
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/access"
)

const token = "0123456789abcdef-token"

func write(t testing.TB, path, text string, mode os.FileMode) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	require.NoError(t, os.Chmod(path, mode))
}

func one(fields string) string {
	return "principals:\n  - {name: ann, role: user, namespaces: [a], " + fields + "}\n"
}

func TestPrincipalsFile(t *testing.T) {
	sum := sha256.Sum256([]byte(token))
	digest := hex.EncodeToString(sum[:])
	for label, tc := range map[string]struct {
		text string
		mode os.FileMode
		want string // part of the error, or empty
	}{
		"token":           {one("token: " + token), 0o600, ""},
		"digest":          {one("token_sha256: " + digest), 0o400, ""},
		"json":            {`{"principals":[{"name":"ann","role":"user","namespaces":["a"],"token":"` + token + `"}]}`, 0o600, ""},
		"readable":        {one("token: " + token), 0o640, "0600"},
		"empty":           {"", 0o600, "no principals"},
		"not yaml":        {"principals: [", 0o600, "not a YAML"},
		"unknown field":   {one("token: " + token + ", rolle: x"), 0o600, "not a YAML"},
		"no token":        {one("tenant: red"), 0o600, "exactly one"},
		"both":            {one("token: " + token + ", token_sha256: " + digest), 0o600, "exactly one"},
		"short token":     {one("token: short"), 0o600, "16..4096"},
		"short digest":    {one("token_sha256: abcd"), 0o600, "64 hexadecimal"},
		"odd digest":      {one("token_sha256: " + strings.Repeat("zz", 32)), 0o600, "64 hexadecimal"},
		"bad tenant":      {one("token: " + token + ", tenant: a/b"), 0o600, "tenant"},
		"bad namespace":   {strings.Replace(one("token: "+token), "[a]", "[../a]", 1), 0o600, "namespace"},
		"star and others": {strings.Replace(one("token: "+token), "[a]", `["*", a]`, 1), 0o600, "namespace"},
		"bad role":        {strings.Replace(one("token: "+token), "role: user", "role: root", 1), 0o600, "role"},
		"developer":       {strings.Replace(one("token: "+token), "role: user", "role: developer", 1), 0o600, "development"},
		"twice":           {one("token: "+token) + "  - {name: ann, role: user, token: another-" + token + "}\n", 0o600, "twice"},
		"shared token":    {one("token: "+token) + "  - {name: bob, role: user, token: " + token + "}\n", 0o600, "twice"},
		"too large":       {one("token: "+token) + "#" + strings.Repeat("x", 1<<20), 0o600, "more than"},
	} {
		t.Run(label, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "p")
			write(t, path, tc.text, tc.mode)
			p, err := access.OpenPrincipals(path, nil)
			if tc.want != "" {
				require.ErrorContains(t, err, tc.want)
				require.Equal(t, lake.Invalid, lake.KindOf(err))
				require.NotContains(t, err.Error(), token, "errors hold no secrets")
				return
			}
			require.NoError(t, err)
			got, err := p.Authenticate(t.Context(), token)
			require.NoError(t, err)
			require.Equal(t, access.Principal{Name: "ann", Tenant: lake.DefaultTenant, Role: access.User, Namespaces: []string{"a"}}, got)
			for _, wrong := range []string{"", token + "x", digest} {
				_, err = p.Authenticate(t.Context(), wrong)
				require.Equal(t, lake.Unauthenticated, lake.KindOf(err))
			}
		})
	}
	_, err := access.OpenPrincipals(filepath.Join(t.TempDir(), "missing"), nil)
	require.Equal(t, lake.Invalid, lake.KindOf(err))
	_, err = access.OpenPrincipals(t.TempDir(), nil)
	require.Equal(t, lake.Invalid, lake.KindOf(err))
}

func TestPrincipalsAreReloaded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "p")
		write(t, path, one("token: "+token), 0o600)
		p, err := access.OpenPrincipals(path, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		allowed := func(token string) bool {
			_, err := p.Authenticate(t.Context(), token)
			return err == nil
		}
		fresh := "fresh-" + token
		write(t, path+".new", one("token: "+fresh), 0o600)
		require.NoError(t, os.Rename(path+".new", path))
		require.True(t, allowed(token), "within a second the old file may be in force")
		time.Sleep(time.Second)
		require.True(t, allowed(fresh))
		require.False(t, allowed(token))

		write(t, path, "broken: [", 0o600)
		time.Sleep(time.Second)
		require.True(t, allowed(fresh), "the last good file stays in force")
		require.NoError(t, os.Remove(path))
		time.Sleep(time.Second)
		require.True(t, allowed(fresh))
		write(t, path, one("token: "+token), 0o600)
		time.Sleep(time.Second)
		require.True(t, allowed(token))
		require.False(t, allowed(fresh))
	})
}

func TestGrants(t *testing.T) {
	p := access.Principal{Namespaces: []string{"a", "b"}}
	require.True(t, p.May("a"))
	require.False(t, p.May("c"))
	require.False(t, p.May("*"))
	require.True(t, access.Principal{Namespaces: []string{"*"}}.May("c"))
	require.False(t, access.Principal{}.May(""))
}

func FuzzPrincipalsFile(f *testing.F) {
	f.Add(one("token: " + token))
	f.Add(`{"principals":[]}`)
	path := filepath.Join(f.TempDir(), "p")
	f.Fuzz(func(t *testing.T, text string) {
		write(t, path, text, 0o600)
		if p, err := access.OpenPrincipals(path, nil); err == nil {
			_, _ = p.Authenticate(t.Context(), text)
		}
	})
}
