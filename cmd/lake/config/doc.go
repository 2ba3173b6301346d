// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package config holds the settings of Lake's server processes and reads them.
//
// A setting has one name in three spellings: a flag (--tls-cert-file), an
// environment variable (LAKE_TLS_CERT_FILE) and a key of the YAML file
// (tls_cert_file). The flag wins over the variable, the variable over the
// file, the file over the default. Every mistake of all sources is reported at
// once, and says where it was made; unknown keys and unknown LAKE_ variables
// are mistakes, because they are settings that somebody thinks are in force.
//
// The file may be shared by the processes of a machine: keys at its top count
// for every process that has them, those under meta:, query: or worker: for
// that process, before the ones at the top.
package config
