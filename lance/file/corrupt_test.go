// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/lance/file/filetest"
)

// readEverything opens, scans and takes, and returns the first error.
func readEverything(b []byte, mapped bool, mem memory.Allocator) error {
	ctx := context.Background()
	r, err := Open(ctx, sourceOf(b, mapped), Options{Allocator: mem})
	if err != nil {
		return err
	}
	n := 0
	for rec, err := range r.Scan(ctx, ScanOptions{BatchRows: 512, BatchBytes: 1 << 20}) {
		if err != nil {
			return err
		}
		rec.Release()
		if n++; n == 64 { // a damaged file may claim any number of rows
			break
		}
	}
	if r.Rows() == 0 {
		return nil
	}
	rec, err := r.Take(ctx, []uint64{0, r.Rows() / 2, r.Rows() - 1}, nil)
	if err != nil {
		return err
	}
	rec.Release()
	return nil
}

// typed reports whether an error says what kind of failure it is.
func typed(err error) bool {
	return err == nil ||
		lake.Is(err, lake.Corrupt) && (errors.Is(err, ErrCorrupt) || !errors.Is(err, ErrUnsupported)) ||
		lake.Is(err, lake.Unsupported) ||
		lake.Is(err, lake.Invalid)
}

// sampleFiles are small files of many layouts: those Lake writes, and those of
// stock LanceDB in testdata.
func sampleFiles(t testing.TB) map[string][]byte {
	t.Helper()
	out := make(map[string][]byte)
	for seed := range uint64(12) {
		g := &filetest.Generator{R: rand.New(rand.NewPCG(seed, 3)), Mem: memory.DefaultAllocator, MaxDepth: int(seed % 4), LongValues: seed%2 == 0}
		s := g.Schema(4)
		b, _ := writeFile(t, s, WriterOptions{PageBytes: minPageBytes}, g.Batch(s, 50+g.R.IntN(300)))
		out["own "+string(rune('a'+seed))] = b
	}
	stock, err := filepath.Glob(filepath.Join("testdata", "stock", "*.lance"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stock {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(path)] = b
	}
	return out
}

// TestDamagedFilesGiveTypedErrors changes bytes at random, mostly in the
// metadata, which is where lengths and counts are.
func TestDamagedFilesGiveTypedErrors(t *testing.T) {
	rounds := 300
	if testing.Short() {
		rounds = 40
	}
	if n, err := strconv.Atoi(os.Getenv("LAKE_DAMAGE_ROUNDS")); err == nil {
		rounds = n
	}
	for name, whole := range sampleFiles(t) {
		t.Run(name, func(t *testing.T) {
			mem := checked(t)
			if err := readEverything(whole, true, mem); err != nil {
				t.Fatalf("undamaged: %v", err)
			}
			r := rand.New(rand.NewPCG(9, uint64(len(whole))))
			for range rounds {
				b := damage(r, whole)
				if err := readEverything(b, r.IntN(2) == 0, mem); !typed(err) {
					t.Fatalf("untyped error %T: %v", err, err)
				}
			}
		})
	}
}

func damage(r *rand.Rand, whole []byte) []byte {
	b := bytes.Clone(whole)
	switch r.IntN(8) {
	case 0:
		return b[:r.IntN(len(b))]
	case 1:
		return b[r.IntN(len(b)):]
	}
	from := 0
	if r.IntN(3) > 0 { // the last part: metadata and tables
		from = len(b) - min(len(b), 64+r.IntN(4096))
	}
	for range 1 + r.IntN(4) {
		i := from + r.IntN(len(b)-from)
		switch r.IntN(3) {
		case 0:
			b[i] ^= 1 << r.IntN(8)
		case 1:
			b[i] = byte(r.IntN(256))
		default:
			b[i] = 0xff
		}
	}
	return b
}

func TestFooterErrorsNameTheProblem(t *testing.T) {
	s := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int32}}, nil)
	good, _ := writeFile(t, s, WriterOptions{})
	change := func(f func(b []byte)) []byte {
		b := bytes.Clone(good)
		f(b[len(b)-footerSize:])
		return b
	}
	cases := map[string]struct {
		file []byte
		kind lake.Kind
		is   error
	}{
		"empty":          {nil, lake.Corrupt, ErrCorrupt},
		"short":          {good[len(good)-20:], lake.Corrupt, ErrCorrupt},
		"no magic":       {change(func(b []byte) { b[39] = 'X' }), lake.Corrupt, ErrCorrupt},
		"version 3.0":    {change(func(b []byte) { b[32], b[34] = 3, 0 }), lake.Unsupported, ErrUnsupported},
		"version 2.3":    {change(func(b []byte) { b[34] = 3 }), lake.Unsupported, ErrUnsupported},
		"legacy version": {change(func(b []byte) { b[32], b[34] = 0, 2 }), lake.Unsupported, ErrUnsupported},
		"no descriptor":  {change(func(b []byte) { clear(b[24:28]) }), lake.Corrupt, ErrCorrupt},
		"far table":      {change(func(b []byte) { b[15] = 0xff }), lake.Corrupt, ErrCorrupt},
		"many columns":   {change(func(b []byte) { b[31] = 0xff }), lake.Corrupt, ErrCorrupt},
	}
	for name, c := range cases {
		_, err := Open(context.Background(), Bytes(c.file), Options{})
		if !lake.Is(err, c.kind) || !errors.Is(err, c.is) {
			t.Errorf("%s: got %v, want kind %s", name, err, c.kind)
		}
	}
}
