// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/cmd/lake/config"
	"github.com/lakeplane/lake/lake"
)

// load reads the configuration of a process from a file's text, variables and
// arguments; an empty text means no file.
func load(t *testing.T, p config.Process, text string, environ []string, args ...string) error {
	t.Helper()
	flags := pflag.NewFlagSet("lake", pflag.ContinueOnError)
	p.Set().AddFlags(flags)
	require.NoError(t, flags.Parse(args))
	path := ""
	if text != "" {
		path = put(t, "lake.yaml", text, 0o600)
	}
	return config.Load(p, path, environ, flags)
}

func put(t *testing.T, name, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), mode))
	return path
}

// whole are arguments that make a metadata server's configuration complete.
func whole(t *testing.T) []string {
	dir := t.TempDir()
	return []string{"--objects", "file://" + dir, "--metastore", "pebble://" + dir}
}

func setting(t *testing.T, p config.Process, key string) *config.Setting {
	t.Helper()
	for _, x := range p.Set().Settings() {
		if x.Key == key {
			return x
		}
	}
	t.Fatalf("no setting %s", key)
	return nil
}

func TestFlagGoesBeforeEnvironmentBeforeFileBeforeDefault(t *testing.T) {
	const file = "lease_ttl: 1s\nmeta:\n  lease_ttl: 2s\n"
	for _, c := range []struct {
		name, file    string
		environ, args []string
		want          time.Duration
		source        string
	}{
		{"default", "log_level: info\n", nil, nil, 10 * time.Second, "default"},
		{"top of the file", "lease_ttl: 1s\n", nil, nil, time.Second, "lake.yaml:1 lease_ttl"},
		{"section of the file", file, nil, nil, 2 * time.Second, "lake.yaml:3 lease_ttl"},
		{"environment", file, []string{"LAKE_LEASE_TTL_MS=3000"}, nil, 3 * time.Second, "environment LAKE_LEASE_TTL_MS"},
		{"an empty variable is none", file, []string{"LAKE_LEASE_TTL_MS="}, nil, 2 * time.Second, "lake.yaml:3 lease_ttl"},
		{"flag", file, []string{"LAKE_LEASE_TTL_MS=3000"}, []string{"--lease-ttl", "4s"}, 4 * time.Second, "flag --lease-ttl"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := config.NewMeta()
			require.NoError(t, load(t, p, c.file, c.environ, append(c.args, whole(t)...)...))
			require.Equal(t, c.want, p.LeaseTTL)
			require.Equal(t, c.want, p.Election().TTL)
			require.True(t, strings.HasSuffix(setting(t, p, "lease_ttl").Source, c.source), setting(t, p, "lease_ttl").Source)
		})
	}
}

func TestFileIsFoundByItsVariable(t *testing.T) {
	p := config.NewMeta()
	flags := pflag.NewFlagSet("lake", pflag.ContinueOnError)
	p.Set().AddFlags(flags)
	require.NoError(t, flags.Parse(whole(t)))
	path := put(t, "x.yaml", "append_max_concurrent: 3", 0o600)
	require.NoError(t, config.Load(p, "", []string{"LAKE_CONFIG=" + path}, flags))
	require.Equal(t, 3, p.Append.Concurrent)
	require.ErrorContains(t, config.Load(p, "", []string{"LAKE_CONFIG=" + path + "x"}, flags), "x.yamlx: no such file")
}

// TestUnits: a number counts what the variable's name says, and nothing
// without one.
func TestUnits(t *testing.T) {
	for _, c := range []struct {
		environ string
		args    []string
		want    time.Duration
		fails   string
	}{
		{environ: "LAKE_UNDROP_WINDOW_SECS=300", want: 5 * time.Minute},
		{environ: "LAKE_UNDROP_WINDOW_SECS=300s", want: 5 * time.Minute},
		{environ: "LAKE_UNDROP_WINDOW_SECS=0", want: 0},
		{environ: "LAKE_UNDROP_WINDOW_SECS=99999999999999999", fails: "want a time"},
		{environ: "LAKE_UNDROP_WINDOW_SECS=-1", fails: "want a time such as 300s, 0s to 2160h"},
		{args: []string{"--undrop-window", "300s"}, want: 5 * time.Minute},
		{args: []string{"--undrop-window", "0"}, want: 0},
		{args: []string{"--undrop-window", "300"}, fails: "flag --undrop-window"},
	} {
		p := config.NewMeta()
		err := load(t, p, "", []string{c.environ}, append(c.args, whole(t)...)...)
		if c.fails != "" {
			require.ErrorContains(t, err, c.fails)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, p.UndropWindow, "%v", c)
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{"1048576": 1 << 20, "2MiB": 2 << 20, "2 MiB": 2 << 20, "3GiB": 3 << 30, "65536B": 1 << 16} {
		p := config.NewMeta()
		require.NoError(t, load(t, p, "append_max_stream_bytes: 64KiB", nil, append(whole(t), "--append-max-buffered-bytes", text)...))
		require.Equal(t, want, p.Append.BufferedBytes, text)
	}
	for _, text := range []string{"", "x", "-1", "1.5GiB", "1MB", "99999999TiB", "1023"} {
		err := load(t, config.NewMeta(), "", nil, append(whole(t), "--append-max-buffered-bytes", text)...)
		require.ErrorContains(t, err, "flag --append-max-buffered-bytes", text)
	}
}

func TestListsAndLogs(t *testing.T) {
	p := config.NewQuery()
	require.NoError(t, load(t, p, "metadata_addrs:\n- 127.0.0.1:1\n- 127.0.0.1:2\n", nil, "--objects", "file:///x"))
	require.Equal(t, []string{"127.0.0.1:1", "127.0.0.1:2"}, p.Meta)
	p = config.NewQuery()
	require.NoError(t, load(t, p, "", []string{"LAKE_METADATA_ADDRS=127.0.0.1:3,127.0.0.1:4"}, "--objects", "file:///x"))
	require.Equal(t, []string{"127.0.0.1:3", "127.0.0.1:4"}, p.Meta)
	p = config.NewQuery()
	require.NoError(t, load(t, p, "", nil, "--objects", "file:///x", "--meta", "127.0.0.1:5", "--meta", "127.0.0.1:6"))
	require.Equal(t, []string{"127.0.0.1:5", "127.0.0.1:6"}, p.Meta)
	require.ErrorContains(t, load(t, config.NewQuery(), "", nil, "--objects", "file:///x", "--meta", "127.0.0.1:5", "--log-format", "xml"), `"xml": want json or pretty`)
}

// TestMistakes: each of them alone is told, with its source and what to do.
func TestMistakes(t *testing.T) {
	open := put(t, "token", "0123456789abcdef", 0o644)
	secret := put(t, "token", "0123456789abcdef", 0o600)
	empty := put(t, "token", "\n", 0o600)
	principals := put(t, "p.yaml", "principals: [{name: a, role: user, token: 0123456789abcdef}]", 0o600)
	keys := put(t, "keys.json", `{"active":"`+strings.Repeat("a", 44)+`"}`, 0o600)
	objects := []string{"--objects", "file:///x"}
	meta := append(objects, "--metastore", "pebble:///x")
	group := append(objects, "--metastore", "postgres://u@db/lake")
	query := append(objects, "--meta", "127.0.0.1:1")
	worker := append(objects, "--metastore", "postgres://u@db/lake")
	for _, c := range []struct {
		process, file string
		environ       string
		args, more    []string
		says          string
	}{
		{process: "meta", says: "--objects: an object store is needed"},
		{process: "meta", args: objects, says: "--metastore: a metastore is needed: want pebble:///directory, postgres://user@host/database"},
		{process: "worker", args: objects, says: "--metastore: a metastore is needed: want postgres://user@host/database, dynamodb://table?region=REGION, lake://"},
		{process: "query", args: objects, says: "--meta: a metadata server is needed"},
		{process: "meta", args: []string{"--metastore", "pebble:///x"}, more: []string{"--objects", "file://x"}, says: "want file:///directory"},
		{process: "meta", args: []string{"--metastore", "pebble:///x"}, more: []string{"--objects", "s3://"}, says: "want s3://bucket/folder"},
		{process: "meta", args: []string{"--metastore", "pebble:///x"}, more: []string{"--objects", "s3://b/a//c"}, says: "segment"},
		{process: "meta", args: meta, more: []string{"--s3-region", "x"}, says: "flag --s3-region: is of use with objects in a bucket only"},
		{process: "query", args: query, more: []string{"--objects", "s3://b", "--s3-endpoint", "localhost"}, says: "want an http or https URL"},
		{process: "meta", args: []string{"--metastore", "pebble:///x"}, more: []string{"--objects", "/x"}, says: "flag --objects: not a URL"},
		{process: "meta", args: objects, more: []string{"--metastore", "pebble://x"}, says: "want pebble:///directory"},
		{process: "meta", args: objects, more: []string{"--metastore", "lake://h:1"}, says: "asks for a token, of role metadata_peer"},
		{process: "meta", args: objects, more: []string{"--metastore", "lake://127.0.0.1:1", "--lend-metastore"}, says: "--lend-metastore: is for an embedded metastore"},
		{process: "meta", args: objects, more: []string{"--metastore", "pebble:///x", "--lend-metastore", "--advertise", "0.0.0.0:1"}, says: "is no address to call"},
		{process: "meta", args: objects, more: []string{"--metastore", "mysql://h"}, says: `a metastore "mysql" cannot be used`},
		{process: "worker", args: objects, more: []string{"--metastore", "pebble:///x"}, says: `a metastore "pebble" cannot be used by lake worker`},
		{process: "worker", args: objects, more: []string{"--metastore", "lake://h"}, says: "want lake://host:port"},
		{process: "meta", args: objects, more: []string{"--metastore", "postgres://u:hunter2@db/lake"}, says: "a password on the command line"},
		{process: "meta", args: meta, more: []string{"--metastore-file", secret}, says: "flag --metastore-file: excludes metastore"},
		{process: "meta", args: objects, more: []string{"--metastore-file", open}, says: "lets others read it"},
		{process: "meta", args: meta, more: []string{"--listen", "nowhere"}, says: `flag --listen: "nowhere": want host:port`},
		{process: "meta", args: meta, more: []string{"--listen", "0.0.0.0:1"}, says: "needs auth_principals_file"},
		{process: "meta", args: meta, more: []string{"--listen", "lake.example:1", "--auth-principals-file", principals}, says: "needs tls_cert_file and tls_key_file"},
		{process: "meta", args: meta, more: []string{"--allow-insecure", "yes"}, says: `"yes": want`},
		{process: "meta", args: meta, more: []string{"--tls-cert-file", secret}, says: "flag --tls-cert-file: needs tls_key_file"},
		{process: "meta", args: meta, more: []string{"--tls-cert-file", secret, "--tls-key-file", secret}, says: "flag --tls-cert-file: certificate"},
		{process: "meta", args: meta, more: []string{"--tls-client-ca-file", secret}, says: "needs tls_cert_file"},
		{process: "meta", args: meta, more: []string{"--auth-principals-file", open}, says: "flag --auth-principals-file: principals file"},
		{process: "meta", args: meta, more: []string{"--peer-auth-token-file", empty}, says: "want one line of text"},
		{process: "meta", args: meta, more: []string{"--peer-ca-file", secret}, says: "holds no PEM certificate"},
		{process: "meta", args: meta, more: []string{"--peer-ca-file", "/nowhere"}, says: "no such file"},
		{process: "meta", args: meta, more: []string{"--append-max-stream-bytes", "1GiB"}, says: "1KiB to 64MiB"},
		{process: "meta", args: meta, more: []string{"--append-max-buffered-bytes", "1MiB"}, says: "1MiB are less than the 64MiB of one stream"},
		{process: "meta", args: meta, more: []string{"--metrics-addr", "x"}, says: "flag --metrics-addr"},
		{process: "meta", args: group, more: []string{"--listen", "[::]:1", "--auth-principals-file", principals, "--allow-insecure", "proxy", "--peer-auth-token-file", secret}, says: "set advertise"},
		{process: "meta", args: group, more: []string{"--advertise", "0.0.0.0:1"}, says: "flag --advertise: \"0.0.0.0:1\" is no address to call"},
		{process: "meta", args: group, more: []string{"--auth-principals-file", principals}, says: "--peer-auth-token-file: is needed"},
		{process: "query", args: query, more: []string{"--query-memory-bytes", "64MiB"}, says: "64MiB for 8 slots leave"},
		{process: "query", args: query, more: []string{"--listen", "0.0.0.0:1"}, says: "--query-ticket-keys-file: is needed"},
		{process: "query", args: query, more: []string{"--query-ticket-keys-file", secret}, says: "ticket keys"},
		{process: "worker", args: worker, more: []string{"--table-retain-for", "1h"}, says: "1h5m"},
		{process: "query", args: query, more: []string{"--query-ticket-ttl", "2h"}, says: "1s to 1h"},
		{process: "query", args: query, more: []string{"--query-slots", "0"}, says: "1 to 256"},
		{process: "query", args: objects, more: []string{"--meta", "127.0.0.1:1,"}, says: "an entry of the list is empty"},
		{process: "query", args: objects, more: []string{"--meta", "meta.example:1"}, says: "metadata servers on other machines ask for a token"},
		{process: "worker", args: objects, more: []string{"--metastore", "lake://meta.example:1"}, says: "asks for a token, of role worker"},
		{process: "worker", args: worker, more: []string{"--temporal-address", "x"}, says: "flag --temporal-address"},
		{process: "worker", args: worker, more: []string{"--temporal-namespace", ""}, says: "must not be empty"},
		{process: "worker", args: worker, more: []string{"--temporal-tls=x"}, says: "flag --temporal-tls: \"x\": want true or false"},
		{process: "worker", args: worker, more: []string{"--temporal-api-key-file", open}, says: "flag --temporal-api-key-file: " + open + ": mode 0644"},
		{process: "worker", args: worker, more: []string{"--temporal-payload-keys-file", secret}, says: "the key ring is not JSON"},
		{process: "meta", args: meta, more: []string{"--temporal-payload-keys-file", open}, says: "lets others read it"},
		{process: "worker", args: worker, more: []string{"--payload-codec-listen", "127.0.0.1:1"}, says: "needs temporal_payload_keys_file"},
		{process: "worker", args: worker, more: []string{"--payload-codec-listen", "nowhere"}, says: "want host:port"},
		{process: "worker", args: worker, more: []string{"--payload-codec-listen", "0.0.0.0:1", "--temporal-payload-keys-file", keys}, says: "can be reached from other machines"},
		{process: "worker", args: worker, more: []string{"--payload-codec-origin", "https://ui.example"}, says: "goes with payload_codec_listen"},
		{process: "worker", args: worker, environ: "LAKE_TEMPORAL_ADDRESSES=x", says: "did you mean LAKE_TEMPORAL_ADDRESS?"},
		{process: "worker", args: worker, environ: "LAKE_MAINTENANCE_X=x", says: "not built in yet"},
		{process: "worker", args: worker, environ: "LAKE_TEMPORAL_TLS=perhaps", says: "environment LAKE_TEMPORAL_TLS: \"perhaps\": want true or false"},
		{process: "worker", args: worker, file: "drop_setle: 1s", says: `lake.yaml:1: unknown key "drop_setle": did you mean drop_settle?`},
		{process: "query", args: query, more: []string{"--query-endpoints", "16"}, says: "flag --query-endpoints: 16 is more than query_max_endpoints, 8"},
		{process: "query", args: query, more: []string{"--query-max-endpoints", "65"}, says: `"65": want a whole number, 1 to 64`},
		{process: "worker", args: worker, file: "worker: {listen: x}", says: `unknown key "listen" of worker`},
		{process: "worker", args: worker, file: "query: {metadat_addrs: x}", says: `unknown key "metadat_addrs" of query: did you mean metadata_addrs?`},
		{process: "worker", args: worker, file: "worker: x", says: `section "worker": want a mapping`},
		{process: "worker", args: worker, file: "objects: file:///x\nobjects: file:///y", says: `lake.yaml:2: key "objects" is there twice`},
		{process: "worker", args: worker, file: "objects: file:///x\n---\nobjects: file:///y", says: "want one YAML document"},
		{process: "worker", args: worker, file: "objects: *x", says: "unknown anchor"},
		{process: "worker", args: worker, file: "objects: {a: b}", says: "objects: want a value"},
		{process: "worker", args: worker, file: "objects:", says: "objects: want a value"},
		{process: "worker", args: worker, file: "[]", says: "want a mapping of settings"},
		{process: "worker", args: worker, file: "a: [", says: "lake.yaml: yaml:"},
		{process: "worker", args: worker, file: strings.Repeat("#", 1<<20) + "\n", says: "more than 1048576 bytes"},
	} {
		p, err := config.Named(c.process)
		require.NoError(t, err)
		err = load(t, p, c.file, []string{c.environ}, append(append([]string{}, c.args...), c.more...)...)
		require.ErrorContains(t, err, c.says, "%v", c)
		require.Equal(t, lake.Invalid, lake.KindOf(err))
		require.NotContains(t, err.Error(), "hunter2")
		var mistakes config.Mistakes
		require.True(t, errors.As(err, &mistakes))
		require.Equal(t, len(mistakes), strings.Count(err.Error(), "\n")+1, "a line each")
	}
}

// TestEveryMistakeIsToldAtOnce: also those of values that another source
// overrides, and of all sources together.
func TestEveryMistakeIsToldAtOnce(t *testing.T) {
	err := load(t, config.NewQuery(), "query_slots: many\nquery_slot: 1\nworker: {x: 1}\n",
		[]string{"LAKE_QUERY_SLOTS=0", "LAKE_X=1"}, "--query-slots", "8", "--listen", "0.0.0.0:1")
	var mistakes config.Mistakes
	require.True(t, errors.As(err, &mistakes))
	require.Len(t, mistakes, 10, "%v", err)
}

// TestWhatIsMeantForOthers: one file serves every process of a machine, and
// the environment holds what Kubernetes and the client commands put there.
func TestWhatIsMeantForOthers(t *testing.T) {
	const file = "objects: file:///x\nquery_slots: 3\nmetastore: postgres://u@db/lake\nquery:\n  metadata_addrs: [127.0.0.1:1]\nworker: {drop_settle: 2s}\n"
	environ := []string{
		"PATH=/bin", "LAKEX=1", "LAKE_ADDR=x", "LAKE_AUTH_TOKEN_FILE=x", "LAKE_QUERY_SLOTS=4",
		"LAKE_META_SERVICE_HOST=10.0.0.1", "LAKE_META_SERVICE_PORT=50052", "LAKE_META_SERVICE_PORT_GRPC=50052",
		"LAKE_META_PORT=tcp://10.0.0.1:50052", "LAKE_META_PORT_50052_TCP=x", "LAKE_META_PORT_50052_TCP_ADDR=x",
	}
	query, worker, meta := config.NewQuery(), config.NewWorker(), config.NewMeta()
	for _, p := range []config.Process{query, worker, meta} {
		require.NoError(t, load(t, p, file, environ))
	}
	require.Equal(t, 4, query.Slots)
	require.Equal(t, 2*time.Second, worker.Settle)
	require.Equal(t, "postgres://u@db/lake", meta.Metastore.URL)
}

func TestSecretsAreNotShown(t *testing.T) {
	for text, want := range map[string]string{
		"postgres://u:hunter2@db/lake":                               "postgres://u:xxxxx@db/lake",
		"postgres://u:hunter2@a:1,b:2/lake?x=1":                      "postgres://u:xxxxx@a:1,b:2/lake?x=1",
		"postgres://u@db/lake?password=hunter2&x=1":                  "postgres://u@db/lake?password=xxxxx&x=1",
		"postgres://u@db/lake?x=1&sslpassword=hunter2":               "postgres://u@db/lake?x=1&sslpassword=xxxxx",
		"postgres://u@db/lake?sslmode=require":                       "postgres://u@db/lake?sslmode=require",
		"postgres://u@db/lake?passfile=/etc/lake/pgpass":             "postgres://u@db/lake?passfile=/etc/lake/pgpass",
		"pebble:///var/lib/lake":                                     "pebble:///var/lib/lake",
		"postgres://:hunter2@db/lake":                                "postgres://:xxxxx@db/lake",
		"postgres://u:hun:ter2@db/lake":                              "postgres://u:xxxxx@db/lake",
		"lake://a:1,b:2":                                             "lake://a:1,b:2",
		"postgres://u:xxxxx@db/lake":                                 "postgres://u:xxxxx@db/lake",
		"postgres://u@db/lake?application_name=a:b@c":                "postgres://u@db/lake?application_name=a:b@c",
		"postgres://u@db/lake?options=-c%20x&password=hunter2#x@y:z": "postgres://u@db/lake?options=-c%20x&password=xxxxx#x@y:z",
	} {
		require.Equal(t, want, config.Redact(text))
		require.Equal(t, text != want, config.HoldsSecret(text))
	}
	p := config.NewMeta()
	require.NoError(t, load(t, p, "", []string{"LAKE_METASTORE=postgres://u:hunter2@db/lake"}, "--objects", "file:///x"))
	require.Equal(t, "postgres://u:xxxxx@db/lake", setting(t, p, "metastore").Text())
	require.Equal(t, config.Postgres, p.Metastore.Kind())
}

func TestPasswordInAFileThatOthersMayRead(t *testing.T) {
	const text = "objects: file:///x\nmetastore: postgres://u:hunter2@db/lake\n"
	require.NoError(t, config.Load(config.NewMeta(), put(t, "lake.yaml", text, 0o600), nil, nil))
	err := config.Load(config.NewMeta(), put(t, "lake.yaml", text, 0o644), nil, nil)
	require.ErrorContains(t, err, "lake.yaml:2 metastore: a password in a file that others may read: want mode 0600")
	require.NotContains(t, err.Error(), "hunter2")
	require.NoError(t, config.Load(config.NewMeta(), put(t, "lake.yaml", "objects: file:///x\nmetastore: postgres://u@db/lake\n", 0o644), nil, nil))
}

func TestMetastoreFromAFile(t *testing.T) {
	file := put(t, "dsn", "postgresql://u:hunter2@db/lake\n", 0o600)
	p := config.NewMeta()
	require.NoError(t, load(t, p, "", []string{"LAKE_METASTORE_FILE=" + file}, "--objects", "file:///x"))
	url, err := p.Metastore.Resolve()
	require.NoError(t, err)
	require.Equal(t, "postgresql://u:hunter2@db/lake", url)
	require.Equal(t, config.Postgres, p.Metastore.Kind())
	p = config.NewMeta()
	require.NoError(t, load(t, p, "", nil, "--metastore", "dynamodb://lake_registry?region=eu-central-1", "--objects", "file:///x"))
	require.Equal(t, config.DynamoDB, p.Metastore.Kind())
	err = load(t, config.NewMeta(), "", nil, "--metastore", "dynamodb://lake_registry?zone=a", "--objects", "file:///x")
	require.ErrorContains(t, err, `parameter "zone" of the URL: want region and endpoint`)
	bad := put(t, "dsn", "postgres://u:hunter2@db:port/lake\n", 0o600)
	err = load(t, config.NewMeta(), "", []string{"LAKE_METASTORE_FILE=" + bad}, "--objects", "file:///x")
	require.ErrorContains(t, err, "environment LAKE_METASTORE_FILE")
	require.NotContains(t, err.Error(), "hunter2")
}

// TestEncryption: calls leave the machine under TLS, or not at all unless a
// proxy is declared.
func TestEncryption(t *testing.T) {
	with := config.Caller{Trust: config.Trust{CA: "ca.pem"}}
	var without config.Caller
	for _, c := range []struct {
		caller    config.Caller
		insecure  bool
		addresses []string
		want      bool
	}{
		{without, false, []string{"127.0.0.1:1", "localhost:2", "[::1]:3"}, false},
		{without, false, []string{"127.0.0.1:1", "meta.example:2"}, true},
		{without, true, []string{"meta.example:2"}, false},
		{with, true, []string{"127.0.0.1:1"}, true},
	} {
		require.Equal(t, c.want, c.caller.Encrypted(c.insecure, c.addresses...), "%v", c)
	}
}

// TestNamesAreContracts: a setting has one variable everywhere, and variables
// that count in units say so.
func TestNamesAreContracts(t *testing.T) {
	variables := map[string]string{}
	for _, p := range config.All() {
		for _, x := range p.Set().Settings() {
			require.True(t, strings.HasPrefix(x.Env, "LAKE_"), x.Key)
			require.NotEmpty(t, x.Help, x.Key)
			if key, known := variables[x.Env]; known {
				require.Equal(t, key, x.Key, x.Env)
			}
			variables[x.Env] = x.Key
		}
	}
	_, err := config.Named("nobody")
	require.ErrorContains(t, err, "want meta, query, worker")
}

func FuzzFile(f *testing.F) {
	f.Add("objects: file:///x\nmeta: {listen: '127.0.0.1:1'}\n")
	f.Add("&a [*a]")
	f.Add("? [a]\n: b\n")
	f.Add("<<: {objects: x}")
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "lake.yaml")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_ = config.Load(config.NewMeta(), path, nil, nil) // must not panic
	})
}

// TestNoSettingShowsAPassword gives every setting a URL with one: somebody will
// write it where it does not belong, and ask why it does not work.
func TestNoSettingShowsAPassword(t *testing.T) {
	for _, p := range config.All() {
		for _, x := range p.Set().Settings() {
			flags := pflag.NewFlagSet("x", pflag.ContinueOnError)
			p.Set().AddFlags(flags)
			require.NoError(t, flags.Parse([]string{"--" + x.Flag + "=https://user:hunter2@host.example"}))
			err := config.Load(p, "", nil, flags)
			require.NotContains(t, x.Text(), "hunter2", x.Key)
			if x.Key == "temporal_ui" {
				require.ErrorContains(t, err, "temporal-ui: want an http or https URL without a user or password")
			}
		}
	}
}
