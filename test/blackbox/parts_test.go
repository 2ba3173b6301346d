// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package blackbox

import (
	"context"
	"testing"

	"github.com/apache/arrow-adbc/go/adbc"
	"github.com/apache/arrow-adbc/go/adbc/driver/flightsql"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
)

// endpointsOption sends the header by which a client asks for parts.
const endpointsOption = flightsql.OptionRPCCallHeaderPrefix + "x-lake-endpoints"

func (s *secured) connect(t *testing.T, more map[string]string) adbc.Connection {
	t.Helper()
	options := map[string]string{adbc.OptionKeyURI: "grpc+tcp://" + s.plain, flightsql.OptionAuthorizationHeader: "Bearer " + annToken}
	for k, v := range more {
		options[k] = v
	}
	db, err := flightsql.NewDriver(memory.DefaultAllocator).NewDatabase(options)
	require.NoError(t, err)
	conn, err := db.Open(context.Background())
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, conn.Close())
		require.NoError(t, db.Close())
	})
	return conn
}

// requireLong reads a result whose first column must hold each id once.
func requireLong(t *testing.T, readers ...array.RecordReader) {
	t.Helper()
	seen := make([]bool, longRows)
	for _, r := range readers {
		for r.Next() {
			for _, id := range r.RecordBatch().Column(0).(*array.Int64).Int64Values() {
				require.False(t, seen[id], "row %d came twice", id)
				seen[id] = true
			}
		}
		require.NoError(t, r.Err())
	}
	require.NotContains(t, seen, false)
}

// TestADBCReadsAllPartsOfALargeScan: the driver reads the endpoints at once, and
// refuses any whose schema differs from the announced one. Partitions may be read
// by others, here by a connection to another replica.
func TestADBCReadsAllPartsOfALargeScan(t *testing.T) {
	s := deploySecured(t)
	s.ingestLong(t)
	conn := s.connect(t, map[string]string{endpointsOption: "4"})
	requireLong(t, query(t, conn, "SELECT id, half FROM "+long))

	st, err := conn.NewStatement()
	require.NoError(t, err)
	defer st.Close()
	require.NoError(t, st.SetSqlQuery("SELECT id FROM "+long+" WHERE half >= 0"))
	_, partitions, _, err := st.ExecutePartitions(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 4, partitions.NumPartitions)
	pem := map[string]string{adbc.OptionKeyURI: "grpc+tls://" + s.tls, flightsql.OptionSSLRootCerts: s.authority(t)}
	replicas := []adbc.Connection{conn, s.connect(t, pem)}
	var parts []array.RecordReader
	for i, id := range partitions.PartitionIDs {
		part, err := replicas[i%2].ReadPartition(t.Context(), id)
		require.NoError(t, err)
		defer part.Release()
		parts = append(parts, part)
	}
	requireLong(t, parts...)

	require.NoError(t, st.SetSqlQuery("SELECT count(*) FROM "+long))
	_, partitions, _, err = st.ExecutePartitions(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, partitions.NumPartitions, "an aggregate is one result")
	_, whole, _, err := statementOf(t, s.connect(t, nil), "SELECT id FROM "+long).ExecutePartitions(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, whole.NumPartitions, "who does not ask gets one")
}

func statementOf(t *testing.T, conn adbc.Connection, sql string) adbc.Statement {
	t.Helper()
	st, err := conn.NewStatement()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	require.NoError(t, st.SetSqlQuery(sql))
	return st
}
