// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package reads names the calls that change nothing and have one answer, so
// that any client may repeat them when a server went away under them. All others
// are repeated by who knows that once more does no harm.
package reads

import "github.com/lakeplane/lake/api/lakepb"

// Methods are the full names of the calls, as gRPC has them.
var Methods = []string{
	lakepb.Catalog_GetTable_FullMethodName,
	lakepb.Catalog_ListTables_FullMethodName,
	lakepb.Catalog_ListTableVersions_FullMethodName,
	lakepb.Catalog_ListTableTags_FullMethodName,
	lakepb.Procedures_GetProcedure_FullMethodName,
	lakepb.Procedures_ListProcedures_FullMethodName,
	lakepb.Procedures_ListProcedureEvents_FullMethodName,
}
