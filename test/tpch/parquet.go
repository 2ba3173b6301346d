// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package tpch

import (
	"errors"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// WriteParquet writes rows of [LineItem] into a new Parquet file, compressed
// with Snappy. A failure leaves no file.
func WriteParquet(path string, rows int, seed uint64) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(path))
		}
	}()
	props := parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Snappy))
	w, err := pqarrow.NewFileWriter(LineItem, f, props, pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	if err != nil {
		return errors.Join(err, f.Close())
	}
	if err := LineItems(rows, 128<<10, seed, func(b arrow.RecordBatch) error { return w.Write(b) }); err != nil {
		return errors.Join(err, w.Close())
	}
	return w.Close() // closes the file too
}
