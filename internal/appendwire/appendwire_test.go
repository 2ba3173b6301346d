// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package appendwire_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/internal/appendwire"
	"github.com/lakeplane/lake/lake"
)

func TestDigestCoversOrderAndBoundaries(t *testing.T) {
	digest := func(msgs ...*flight.FlightData) lake.Digest {
		h := appendwire.NewHasher()
		for _, m := range msgs {
			h.Add(m)
		}
		return h.Digest()
	}
	a := &flight.FlightData{DataHeader: []byte("head"), DataBody: []byte("body")}
	b := &flight.FlightData{DataHeader: []byte("hea"), DataBody: []byte("dbody")}
	c := &flight.FlightData{DataHeader: []byte("head"), AppMetadata: []byte("body")}
	seen := map[lake.Digest]string{}
	for name, d := range map[string]lake.Digest{
		"none": digest(), "a": digest(a), "b": digest(b), "c": digest(c), "ab": digest(a, b), "ba": digest(b, a),
	} {
		require.Empty(t, seen[d], "%s collides", name)
		seen[d] = name
	}
	// The value is part of the wire protocol: operation records hold it.
	require.Equal(t, "ef4bf18e0147dfd3", digest(a).String()[:16])
	withDescriptor := &flight.FlightData{FlightDescriptor: &flight.FlightDescriptor{Cmd: []byte("x")}, DataHeader: a.DataHeader, DataBody: a.DataBody}
	require.Equal(t, digest(a), digest(withDescriptor), "the descriptor is not part of the payload")
}

func TestCommandRoundTrip(t *testing.T) {
	want := appendwire.Command{Table: lake.TableName{Namespace: "robots", Name: "episodes"}, Operation: lake.NewID(), Digest: lake.Digest{1, 2}}
	d, err := want.Descriptor()
	require.NoError(t, err)
	require.True(t, appendwire.IsCommand(d))
	got, err := appendwire.ParseCommand(d)
	require.NoError(t, err)
	require.Equal(t, want, got)

	want.Incarnation = lake.NewID()
	got, err = appendwire.ParseCommand(descriptor(t, want))
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestCommandRefusals(t *testing.T) {
	good := appendwire.Command{Table: lake.TableName{Namespace: "a", Name: "b"}, Operation: lake.NewID()}
	for name, d := range map[string]*flight.FlightDescriptor{
		"nil":           nil,
		"path":          {Type: flight.DescriptorPATH, Path: []string{"a", "b"}},
		"not protobuf":  {Type: flight.DescriptorCMD, Cmd: []byte("\xff\xff")},
		"bad name":      descriptor(t, appendwire.Command{Table: lake.TableName{Namespace: "..", Name: "b"}, Operation: good.Operation}),
		"bad operation": descriptor(t, appendwire.Command{Table: good.Table}),
	} {
		_, err := appendwire.ParseCommand(d)
		require.Equal(t, lake.Invalid, lake.KindOf(err), "%s: %v", name, err)
	}
}

func descriptor(t *testing.T, c appendwire.Command) *flight.FlightDescriptor {
	t.Helper()
	d, err := c.Descriptor()
	require.NoError(t, err)
	return d
}
