// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/internal/appendwire"
	"github.com/lakeplane/lake/lake"
)

// small is a checkpoint whose payload is not Arrow: it is none of the file's
// business.
func small(t testing.TB, incarnation lake.Incarnation) (*checkpoint, []byte) {
	t.Helper()
	p := &payload{rows: 3, messages: []*flight.FlightData{
		{DataHeader: []byte("schema")}, {DataHeader: []byte("rows"), DataBody: bytes.Repeat([]byte{1}, 40)},
	}}
	p.digest = appendwire.DigestOf(p.messages...)
	for _, m := range p.messages {
		p.bytes += appendwire.MessageSize(m)
	}
	c := &checkpoint{appendwire.Command{
		Table: lake.TableName{Namespace: "a", Name: "b"}, Operation: lake.NewID(), Digest: p.digest, Incarnation: incarnation,
	}, p}
	var out bytes.Buffer
	require.NoError(t, c.writeTo(&out))
	return c, out.Bytes()
}

func TestCheckpointReadsWhatWasWritten(t *testing.T) {
	for _, inc := range []lake.Incarnation{{}, lake.NewID()} {
		want, file := small(t, inc)
		got, err := parseCheckpoint(file)
		require.NoError(t, err)
		require.Equal(t, want.command, got.command)
		require.Equal(t, []int64{want.data.rows, want.data.bytes}, []int64{got.data.rows, got.data.bytes})
		require.Equal(t, want.data.digest, appendwire.DigestOf(got.data.messages...))
	}
}

func TestDamagedCheckpointIsNoticed(t *testing.T) {
	_, file := small(t, lake.NewID())
	for i := range file {
		hurt := bytes.Clone(file)
		hurt[i] ^= 1
		_, err := parseCheckpoint(hurt)
		require.Contains(t, []lake.Kind{lake.Corrupt, lake.Unsupported}, lake.KindOf(err), "byte %d: %v", i, err)
		_, err = parseCheckpoint(file[:i])
		require.Equal(t, lake.Corrupt, lake.KindOf(err), "%d bytes: %v", i, err)
	}
	_, err := parseCheckpoint(append(bytes.Clone(file), 0))
	require.Equal(t, lake.Corrupt, lake.KindOf(err))
	later := bytes.Clone(file)
	later[11] = 2
	_, err = parseCheckpoint(later)
	require.Equal(t, lake.Unsupported, lake.KindOf(err))
	require.ErrorContains(t, err, "version 2, this release reads version 1")
}

// FuzzParseCheckpoint signs whatever it is given, so that the lengths and
// counts inside are tried and not only the checksum.
func FuzzParseCheckpoint(f *testing.F) {
	_, file := small(f, lake.NewID())
	f.Add(file[12 : len(file)-4])
	f.Add([]byte("\x00\x00\x00\x01x"))
	f.Fuzz(func(t *testing.T, inside []byte) {
		file := append([]byte(checkpointMagic+"\x00\x00\x00\x01"), inside...)
		file = binary.BigEndian.AppendUint32(file, crc32.Checksum(file, castagnoli))
		c, err := parseCheckpoint(file)
		if err != nil {
			require.Equal(t, lake.Corrupt, lake.KindOf(err))
			return
		}
		var again bytes.Buffer
		require.NoError(t, c.writeTo(&again))
		back, err := parseCheckpoint(again.Bytes())
		require.NoError(t, err)
		require.Equal(t, c.command, back.command)
	})
}

func TestNamesTellOperationsAndTablesApart(t *testing.T) {
	a, _ := small(t, lake.Incarnation{})
	other := a.command
	other.Table.Name = "c"
	require.NotEqual(t, checkpointName(a.command), checkpointName(other))
	id, ok := operationOf(checkpointName(a.command))
	require.True(t, ok)
	require.Equal(t, a.command.Operation, id)
	for _, bad := range []string{"", "x", checkpointSuffix, a.command.Operation.String() + checkpointSuffix, checkpointName(a.command) + "x", "x" + checkpointName(a.command)} {
		_, ok := operationOf(bad)
		require.False(t, ok, bad)
	}
}
