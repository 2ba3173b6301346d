// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"strconv"

	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
)

// Transaction properties. A version of one append has
//
//	lake.append.tenant, lake.append.operation_id, lake.append.payload_sha256
//
// and one of n appends has lake.append.count = n and, for i from 0, the same
// three with the number before the last word: lake.append.<i>.tenant and so on.
// They are not read to decide anything; they make a dataset tell its own
// history without the metastore.
const (
	propertyIncarnation = "lake.incarnation"
	propertyPrefix      = "lake.append."
	propertyCount       = propertyPrefix + "count"
)

// maxGroup bounds what is read back, against properties others wrote.
const maxGroup = 1 << 16

func encodeOperations(adds []engine.Append) map[string]string {
	out := make(map[string]string, 3*len(adds)+1)
	if len(adds) == 1 {
		putOperation(out, propertyPrefix, adds[0].Operation)
		return out
	}
	out[propertyCount] = strconv.Itoa(len(adds))
	for i, a := range adds {
		putOperation(out, propertyPrefix+strconv.Itoa(i)+".", a.Operation)
	}
	return out
}

func putOperation(out map[string]string, prefix string, op engine.Operation) {
	out[prefix+"tenant"] = op.Tenant
	out[prefix+"operation_id"] = op.ID.String()
	out[prefix+"payload_sha256"] = op.Digest.String()
}

// DecodeOperations reads the operations back from the properties of a
// transaction. Properties that no engine wrote give lake.Corrupt; a version that
// is not an append gives none.
func DecodeOperations(properties map[string]string) ([]engine.Operation, error) {
	text, grouped := properties[propertyCount]
	if !grouped {
		if _, ok := properties[propertyPrefix+"operation_id"]; !ok {
			return nil, nil
		}
		op, err := getOperation(properties, propertyPrefix)
		return []engine.Operation{op}, err
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > maxGroup || n > len(properties) {
		return nil, lake.Errorf(lake.Corrupt, "transaction property %s is %q", propertyCount, text)
	}
	out := make([]engine.Operation, n)
	for i := range out {
		if out[i], err = getOperation(properties, propertyPrefix+strconv.Itoa(i)+"."); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func getOperation(properties map[string]string, prefix string) (engine.Operation, error) {
	op := engine.Operation{Tenant: properties[prefix+"tenant"]}
	var err error
	if op.ID, err = lake.ParseID(properties[prefix+"operation_id"]); err == nil {
		op.Digest, err = lake.ParseDigest(properties[prefix+"payload_sha256"])
	}
	if err != nil {
		return op, lake.Errorf(lake.Corrupt, "transaction properties %s*: %w", prefix, err)
	}
	return op, nil
}
