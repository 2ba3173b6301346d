// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/lakeplane/lake/lance/lancepb"
)

// TestVersionsShareTheirFragments derives versions from versions at random, as
// conflicts, compactions and other processes do, and holds each one against what
// encoding it at once gives: when it is made, and again when all others are.
func TestVersionsShareTheirFragments(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var versions []*Manifest
		var encoded [][]byte
		keep := func(m *Manifest) {
			require.Equal(rt, mustEncode(t, wholly(m)), mustEncode(t, m))
			require.Equal(rt, wholly(m).nextFragmentID(), m.fragmentList().next)
			require.Equal(rt, wholly(m).hasDeletions(), m.pb.GetReaderFeatureFlags()&FlagDeletionFiles != 0)
			versions, encoded = append(versions, m), append(encoded, mustEncode(t, m))
		}
		keep(mustManifest(t))
		for i := range rapid.IntRange(1, 30).Draw(rt, "steps") {
			// Mostly the latest, as it is where nothing goes wrong.
			at := len(versions) - 1 - rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(rt, "back")
			m := versions[max(at, 0)]
			switch rapid.SampledFrom([]string{"append", "append", "append", "read", "other"}).Draw(rt, "how") {
			case "append":
				next, err := m.Append(drawFragments(rt, i), testCommit("k", fmt.Sprint(i)))
				require.NoError(rt, err)
				keep(next)
			case "read":
				keep(mustParse(t, mustEncode(t, m)))
			case "other": // shares the fragments and is no append
				next, err := m.derive()
				require.NoError(rt, err)
				keep(finish(next, &lancepb.Transaction{}, testCommit(), m.Version()))
			}
		}
		for i, m := range versions {
			require.Equal(rt, encoded[i], mustEncode(t, m), "version %d of %d", i, len(versions))
			require.Equal(rt, encoded[i], mustEncode(t, wholly(m)), "version %d of %d", i, len(versions))
		}
	})
}

// wholly returns the manifest without anything that was kept for it.
func wholly(m *Manifest) *Manifest {
	return &Manifest{pb: m.pb, transaction: m.transaction, indexes: m.indexes}
}

func drawFragments(rt *rapid.T, step int) []*lancepb.DataFragment {
	out := make([]*lancepb.DataFragment, rapid.IntRange(0, 5).Draw(rt, "fragments"))
	for i := range out {
		out[i] = testFragment(10, fmt.Sprintf("%d-%d.lance", step, i))
		if rapid.IntRange(0, 9).Draw(rt, "deletions") == 0 {
			out[i].DeletionFile = &lancepb.DeletionFile{NumDeletedRows: 1}
		}
	}
	return out
}

// TestVersionsOfOneBaseAtOnce derives versions from one base at the same time.
func TestVersionsOfOneBaseAtOnce(t *testing.T) {
	base := mustManifest(t)
	for i := range 20 { // so that there is room behind the fragments
		var err error
		base, err = base.Append([]*lancepb.DataFragment{testFragment(1, fmt.Sprintf("%d.lance", i))}, testCommit())
		require.NoError(t, err)
	}
	before := mustEncode(t, base)
	next := make([]*Manifest, 8)
	var deriving sync.WaitGroup
	for i := range next {
		deriving.Go(func() {
			m, err := base.Append([]*lancepb.DataFragment{testFragment(1, fmt.Sprintf("of-%d.lance", i))}, testCommit())
			if err == nil {
				_, err = base.Encode()
			}
			if err != nil {
				t.Error(err)
			}
			next[i] = m
		})
	}
	deriving.Wait()
	require.Equal(t, before, mustEncode(t, base))
	for i, m := range next {
		back := mustParse(t, mustEncode(t, m))
		require.Len(t, back.Fragments(), 21)
		require.Equal(t, fmt.Sprintf("of-%d.lance", i), back.Fragments()[20].GetFiles()[0].GetPath())
	}
}

// TestAnAppendCopiesNoFragments bounds what the versions of a table keep: they
// share two arrays, which have at most about twice the room that is needed.
func TestAnAppendCopiesNoFragments(t *testing.T) {
	base := mustManifest(t)
	fragments := make([]*lancepb.DataFragment, 3_000)
	for i := range fragments {
		fragments[i] = testFragment(1, fmt.Sprintf("%d.lance", i))
	}
	base, err := base.Append(fragments, testCommit())
	require.NoError(t, err)
	arrays := map[*byte]bool{}
	for i := range 100 {
		base, err = base.Append([]*lancepb.DataFragment{testFragment(1, fmt.Sprintf("more-%d.lance", i))}, testCommit())
		require.NoError(t, err)
		arrays[&base.list.encoded[0]] = true
		require.LessOrEqual(t, cap(base.list.encoded), 2*len(base.list.encoded))
		require.LessOrEqual(t, cap(base.pb.Fragments), 2*len(base.pb.Fragments))
	}
	require.LessOrEqual(t, len(arrays), 2)
}

// TestPropertiesAreEncodedAsTheLibraryDoes compares transactions, whose
// properties are encoded by hand.
func TestPropertiesAreEncodedAsTheLibraryDoes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tx := &lancepb.Transaction{
			ReadVersion: rapid.Uint64().Draw(rt, "version"), Uuid: rapid.String().Draw(rt, "uuid"), Tag: rapid.String().Draw(rt, "tag"),
			TransactionProperties: rapid.MapOf(rapid.String(), rapid.String()).Draw(rt, "properties"),
		}
		if rapid.Bool().Draw(rt, "append") {
			tx.Operation = &lancepb.Transaction_Append_{Append: &lancepb.Transaction_Append{Fragments: drawFragments(rt, 0)}}
		}
		if rapid.Bool().Draw(rt, "unknown") {
			tx.ProtoReflect().SetUnknown(protowire.AppendString(protowire.AppendTag(nil, 77, protowire.BytesType), "from the future"))
		}
		want, err := proto.MarshalOptions{Deterministic: true}.Marshal(tx)
		require.NoError(rt, err)
		got, err := appendTransaction([]byte("before"), tx)
		require.NoError(rt, err)
		require.Equal(rt, "before"+string(want), string(got))
	})
	_, err := appendTransaction(nil, &lancepb.Transaction{TransactionProperties: map[string]string{"k": "\xff"}})
	require.ErrorContains(t, err, "UTF-8")
}

// TestAppendToUsesTheRoomItGets encodes behind other bytes and into memory that
// was used before.
func TestAppendToUsesTheRoomItGets(t *testing.T) {
	m, err := mustManifest(t).Append([]*lancepb.DataFragment{testFragment(1, "a.lance")}, testCommit("k", "v"))
	require.NoError(t, err)
	m.indexes = []byte("\x0a\x04idx?")
	want := mustEncode(t, m)
	room := make([]byte, 1<<16)
	for i := range room {
		room[i] = 0xdd
	}
	got, err := m.AppendTo(room[:0])
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Same(t, &room[0], &got[0])
	behind, err := m.AppendTo([]byte("before"))
	require.NoError(t, err)
	require.Equal(t, "before"+string(want), string(behind))
}
