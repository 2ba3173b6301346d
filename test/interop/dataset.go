// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sort"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/lakeplane/lake/lance/file"
	"github.com/lakeplane/lake/lance/lancepb"
)

// The functions here know just enough of manifests to test data files without
// the table layer.

// WriteDataset makes a dataset of version 1 with one data file.
func WriteDataset(dir string, fields []*lancepb.Field, data []byte, w file.Written) error {
	if err := os.MkdirAll(filepath.Join(dir, "data"), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "data", "one.lance"), data, 0o644); err != nil {
		return err
	}
	return writeManifest(dir, fields, w)
}

// writeManifest makes version 1 of the dataset of data/one.lance.
func writeManifest(dir string, fields []*lancepb.Field, w file.Written) error {
	if err := os.MkdirAll(filepath.Join(dir, "_versions"), 0o755); err != nil {
		return err
	}
	m := &lancepb.Manifest{
		Fields:        fields,
		Version:       1,
		Timestamp:     timestamppb.Now(),
		MaxFragmentId: proto.Uint32(0),
		WriterVersion: &lancepb.Manifest_WriterVersion{Library: "lake", Version: "0.1.0"},
		DataFormat:    &lancepb.Manifest_DataStorageFormat{FileFormat: "lance", Version: fmt.Sprintf("%d.%d", w.Major, w.Minor)},
		Fragments: []*lancepb.DataFragment{{PhysicalRows: w.Rows, Files: []*lancepb.DataFile{{
			Path: "one.lance", Fields: w.Fields, ColumnIndices: w.ColumnIndices,
			FileMajorVersion: w.Major, FileMinorVersion: w.Minor, FileSizeBytes: w.Size,
		}}}},
	}
	b, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	out := binary.LittleEndian.AppendUint32(nil, uint32(len(b)))
	out = append(out, b...)
	out = binary.LittleEndian.AppendUint64(out, 0)
	out = append(out, 0, 0, 2, 0, 'L', 'A', 'N', 'C')
	name := fmt.Sprintf("%020d.manifest", uint64(math.MaxUint64)-1)
	return os.WriteFile(filepath.Join(dir, "_versions", name), out, 0o644)
}

// ReadManifest reads the newest manifest of a dataset.
func ReadManifest(dir string) (*lancepb.Manifest, error) {
	names, err := filepath.Glob(filepath.Join(dir, "_versions", "*.manifest"))
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("no manifest in %s: %w", dir, err)
	}
	sort.Strings(names) // names count down
	b, err := os.ReadFile(names[0])
	if err != nil {
		return nil, err
	}
	if len(b) < 16 || !bytes.HasSuffix(b, []byte("LANC")) {
		return nil, fmt.Errorf("%s is no manifest", names[0])
	}
	at := binary.LittleEndian.Uint64(b[len(b)-16:])
	n := uint64(binary.LittleEndian.Uint32(b[at:]))
	m := new(lancepb.Manifest)
	return m, proto.Unmarshal(b[at+4:at+4+n], m)
}
