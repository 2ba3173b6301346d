// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package blackbox drives real servers with stock clients that know nothing of
// Lake: ADBC for Go here, and by TestClients those of test/clients: ADBC for
// Python, the JDBC driver, and the Rust client by its Node binding. It is a
// module of its own because the ADBC driver needs other versions of Arrow and
// gRPC than Lake does.
//
// Many tests repeat a report that users of other Flight SQL servers made. The
// names without a folder are in this package; "python", "jdbc" and "node" are
// below test/clients, "query" is services/query.
//
//	report                                            tests
//	FlightInfo and stream have different schemas      query TestTheAnnouncedSchemaIsTheSentSchemaByteForByte
//	planned and executed nullability differ           TestPlannedAndExecutedNullabilityAgree
//	"parameter ordinal 1 out of range"                jdbc ParameterTest.placeholdersAreListed, TestADBCPreparedStatementWithParameters,
//	                                                  query TestThePlaceholdersOfAPreparedStatementAreListed
//	SELECT ? has no type until it is bound            query TestTheResultsTypeFollowsTheBinding,
//	                                                  python test_a_parameter_of_each_type_comes_back
//	a code of GetSqlInfo crashes the driver           jdbc MetadataTest.noQuestionWithoutParametersFails,
//	                                                  query TestEverySQLInfoCodeIsAnswered
//	the five calls that BI tools need                 jdbc MetadataTest, python test_metadata.py, TestADBCBrowsesTheCatalog
//	no schema pattern was read as the default schema  jdbc MetadataTest.tables, query TestGetTablesPatterns,
//	                                                  python test_tables_without_a_filter_are_those_of_every_namespace
//	a message above the client's limit                TestADBCLargeResultComesInSmallMessages, query TestMessagesFitAStockClient,
//	                                                  python test_rows_of_several_megabytes,
//	                                                  python test_a_row_above_the_limit_is_refused_with_the_reason
//	the query goes on when its client has left        query TestAQueryStopsWithinASecondOfItsClientLeaving,
//	                                                  python test_cancel_stops_the_query_within_a_second and
//	                                                  test_closing_the_reader_stops_the_query_within_a_second,
//	                                                  jdbc QueryTest.cancelStopsTheServerWithinASecond and two more,
//	                                                  TestADBCClientThatGoesAwayStopsItsQuery
//	timestamps with a zone, decimals, lists           TestADBCReadsEqualValuesAndSchema, jdbc QueryTest.everyTypeIsReadBack and
//	                                                  aTimestampWithAZoneIsAMoment, python test_every_type_of_a_wide_table,
//	                                                  query TestTypeInfoHasARowForEachType
//	the scheme "bearer" refused for its case          python test_bearer, query TestTheAuthorizationSchemesCaseDoesNotMatter
//	a handshake needed, or useless for tokens         python test_basic_handshake_with_the_token_as_password, jdbc SecurityTest,
//	                                                  query TestAHandshakeWorksAndIsNeverNeeded
//	listing a thousand tables takes half a minute     query TestTenThousandTablesAreListedFromOneGeneration
//	old rows after drop and create                    query TestARecreatedTableNeverShowsOldRows
package blackbox
