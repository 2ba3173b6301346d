// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"bytes"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/lakeplane/lake/lance/file/filetest"
	"github.com/lakeplane/lake/lance/lancepb"
	"github.com/lakeplane/lake/lance/lancepb/enc21pb"
	"github.com/lakeplane/lake/lance/schema"
)

// TestFilesOfOneLayoutAtOnce writes several files of one layout at the same time,
// each of which must be what a writer of its own makes.
func TestFilesOfOneLayoutAtOnce(t *testing.T) {
	s := filetest.TelemetrySchema
	fields, err := schema.FromArrow(s)
	if err != nil {
		t.Fatal(err)
	}
	layout, err := NewLayout(s, fields)
	if err != nil {
		t.Fatal(err)
	}
	var writing sync.WaitGroup
	for i := range 4 {
		batches := filetest.Telemetry(100 + i)
		o := WriterOptions{Compact: i%2 == 1}
		if i > 1 {
			o.Metadata = map[string][]byte{"own": []byte("metadata")}
		}
		want, _ := writeFile(t, s, o, batches...)
		writing.Go(func() {
			var got bytes.Buffer
			w, err := layout.NewWriter(&got, o)
			for _, b := range batches {
				if err == nil {
					err = w.Write(b)
				}
			}
			if err == nil {
				_, err = w.Close()
			}
			if err != nil || !bytes.Equal(want, got.Bytes()) {
				t.Errorf("file %d: %d bytes, not the %d wanted; %v", i, got.Len(), len(want), err)
			}
		})
	}
	writing.Wait()
}

// TestPiecesAreWhatTheLibraryMakes compares messages that are put together by
// hand.
func TestPiecesAreWhatTheLibraryMakes(t *testing.T) {
	layout := &enc21pb.PageLayout{Layout: &enc21pb.PageLayout_MiniBlockLayout{MiniBlockLayout: &enc21pb.MiniBlockLayout{
		NumItems: 300, ValueCompression: valueEncoding(valueType{itemWidth: 8, width: 8}, false),
	}}}
	got, err := encodeAny(pageLayoutURL, layout)
	if err != nil {
		t.Fatal(err)
	}
	value, err := proto.Marshal(layout)
	if err != nil {
		t.Fatal(err)
	}
	want, err := proto.Marshal(&anypb.Any{TypeUrl: pageLayoutURL, Value: value})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.GetDirect().GetEncoding()); diff != "" {
		t.Error(diff)
	}

	fields, err := schema.FromArrow(filetest.TelemetrySchema)
	if err != nil {
		t.Fatal(err)
	}
	for _, rows := range []uint64{0, 1, 1 << 40} {
		w := &Writer{layout: &Layout{fields: fields}, meta: map[string][]byte{"b": {1}, "a": nil}, rows: rows}
		got, err := w.descriptor()
		if err != nil {
			t.Fatal(err)
		}
		want, err := proto.MarshalOptions{Deterministic: true}.Marshal(&lancepb.FileDescriptor{
			Schema: &lancepb.Schema{Fields: fields, Metadata: w.meta}, Length: rows,
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}
