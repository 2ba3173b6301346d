// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

// manifest is what the test reads of a Kubernetes object.
type manifest struct {
	Kind     string
	Metadata struct{ Name string }
	Data     map[string]string
	Spec     struct {
		Template struct {
			Spec struct {
				TerminationGracePeriodSeconds int `yaml:"terminationGracePeriodSeconds"`
				Containers                    []struct {
					Args []string
					Env  []struct{ Name, Value string }
				}
			}
		}
	}
}

// TestKubernetesManifests: each process accepts what its pod gives it.
func TestKubernetesManifests(t *testing.T) {
	c := newCluster(t)
	c.secure(t)
	etc := filepath.Join(c.dir, "etc")
	secrets := etc + "-secrets"
	for _, dir := range []string{etc, secrets} {
		require.NoError(t, os.Mkdir(dir, 0o700))
	}
	cert, key := c.pki.Leaf(t, "pod")
	for name, from := range map[string]string{
		"ca.pem": c.pki.CA(), "cert.pem": cert, "key.pem": key, "principals.yaml": c.file("principals.yaml"),
		"keys.json": c.file("keys.json"), "query.token": c.file("query.token"), "peer.token": c.file("peer.token"),
	} {
		writeFile(t, filepath.Join(secrets, name), readFile(t, from))
	}
	writeFile(t, filepath.Join(secrets, "metastore.url"), "postgres://lake:secret@db.example/lake")

	seen := map[string]int{}
	dec := yaml.NewDecoder(strings.NewReader(readFile(t, "../../deploy/kubernetes/lake.yaml")))
	for {
		var m manifest
		if err := dec.Decode(&m); errors.Is(err, io.EOF) {
			break
		} else {
			require.NoError(t, err)
		}
		seen[m.Kind]++
		if m.Kind == "ConfigMap" {
			text := strings.NewReplacer("/etc/lake", etc, "CHANGE-ME", "bucket").Replace(m.Data["lake.yaml"])
			writeFile(t, filepath.Join(etc, "lake.yaml"), text)
		}
		pod := m.Spec.Template.Spec
		for _, container := range pod.Containers {
			require.Greater(t, pod.TerminationGracePeriodSeconds, 30, "an orderly stop may take the shutdown grace")
			args := strings.Split(strings.ReplaceAll(strings.Join(container.Args, "\x00"), "/etc/lake", etc), "\x00")
			cmd := exec.Command(lakeBin, append([]string{"config", "check"}, args...)...)
			cmd.Env = withoutLake()
			for _, e := range container.Env {
				cmd.Env = append(cmd.Env, e.Name+"="+strings.ReplaceAll(e.Value, "$(POD_NAME)", m.Metadata.Name+"-0"))
			}
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			require.NoError(t, cmd.Run(), "%s: %s", m.Metadata.Name, &out)
		}
	}
	require.Equal(t, 1, seen["StatefulSet"])
	require.Equal(t, 2, seen["Deployment"])
}
