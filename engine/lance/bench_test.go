// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance_test

import (
	"fmt"
	"testing"

	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/engine/lance"
	format "github.com/lakeplane/lake/lance"
)

// BenchmarkStageAppend stages one more version on tables of many fragments,
// without the time of the data file.
func BenchmarkStageAppend(b *testing.B) {
	for _, fragments := range []int{10, 1_000, 10_000} {
		b.Run(fmt.Sprintf("fragments=%d", fragments), func(b *testing.B) {
			// Otherwise all of them share one file, and that is one fragment.
			tb := newTable(b, func(o *lance.Options) { o.HoldBytes = -1 })
			one := tb.data(0, 1)
			adds := make([]engine.Append, fragments)
			for i := range adds {
				adds[i] = one
			}
			tb.append(adds...)
			b.ReportAllocs()
			for b.Loop() {
				snap := tb.stage(one)
				if err := tb.e.Publish(b.Context(), snap); err != nil {
					b.Fatal(err)
				}
				if err := tb.store.Delete(b.Context(), tb.key(format.ManifestName(uint64(snap.Version)))); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(tb.snap.Manifest.Size)/float64(fragments), "manifest-B/fragment")
		})
	}
}
