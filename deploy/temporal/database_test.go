// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"go.temporal.io/server/schema/sqlite"
)

func TestOpenDatabaseThrowsAHalfMadeFileAway(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "t.db")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{path: "half a schema", path + "-wal": "x", path + ".creating": ""} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	db, err := openDatabase(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.close()
	if err := db.createNamespaces([]string{"lake"}, lakeAttributes); err != nil {
		t.Fatalf("the schema is not whole: %v", err)
	}
	if _, err := os.Stat(path + ".creating"); err == nil {
		t.Fatal("the file still counts as half-made")
	}
}

func TestOpenDatabaseKeepsAWholeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	db, err := openDatabase(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.createNamespaces([]string{"first"}, nil); err != nil {
		t.Fatal(err)
	}
	db.close()
	db, err = openDatabase(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.close()
	if err := sqlite.SetupSchema(db.sql); err == nil {
		t.Fatal("the second open started from an empty file")
	}
}

func TestOpenDatabaseRefusesASecondServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	db, err := openDatabase(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openDatabase(path); !errors.Is(err, errTaken) {
		t.Fatalf("got %v", err)
	}
	db.close()
	again, err := openDatabase(path)
	if err != nil {
		t.Fatalf("after the first let go: %v", err)
	}
	again.close()
}
