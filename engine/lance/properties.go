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
		putOperation(out, lonelyKeys, adds[0].Operation)
		return out
	}
	out[propertyCount] = strconv.Itoa(len(adds))
	for i, a := range adds {
		putOperation(out, numberedKeys(i), a.Operation)
	}
	return out
}

func putOperation(out map[string]string, keys operationKeys, op engine.Operation) {
	out[keys.tenant] = op.Tenant
	out[keys.id] = op.ID.String()
	out[keys.digest] = op.Digest.String()
}

// operationKeys are the names of the properties of one append.
type operationKeys struct{ prefix, tenant, id, digest string }

func propertyKeys(prefix string) operationKeys {
	return operationKeys{prefix, prefix + "tenant", prefix + "operation_id", prefix + "payload_sha256"}
}

func numberedPrefix(i int) string { return propertyPrefix + strconv.Itoa(i) + "." }

// numberedKeys are those of one append among several.
func numberedKeys(i int) operationKeys {
	if i < len(usualKeys) {
		return usualKeys[i]
	}
	return propertyKeys(numberedPrefix(i))
}

// lonelyKeys are those of an append that has a version of its own, and usualKeys
// those of as many as usually share one.
var (
	lonelyKeys = propertyKeys(propertyPrefix)
	usualKeys  = func() (all [16]operationKeys) {
		for i := range all {
			all[i] = propertyKeys(numberedPrefix(i))
		}
		return all
	}()
)

// DecodeOperations reads the operations back from the properties of a
// transaction. Properties that no engine wrote give lake.Corrupt; a version that
// is not an append gives none.
func DecodeOperations(properties map[string]string) ([]engine.Operation, error) {
	text, grouped := properties[propertyCount]
	if !grouped {
		if _, ok := properties[lonelyKeys.id]; !ok {
			return nil, nil
		}
		op, err := getOperation(properties, lonelyKeys)
		return []engine.Operation{op}, err
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > maxGroup || n > len(properties) {
		return nil, lake.Errorf(lake.Corrupt, "transaction property %s is %q", propertyCount, text)
	}
	out := make([]engine.Operation, n)
	for i := range out {
		if out[i], err = getOperation(properties, numberedKeys(i)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func getOperation(properties map[string]string, keys operationKeys) (engine.Operation, error) {
	op := engine.Operation{Tenant: properties[keys.tenant]}
	var err error
	if op.ID, err = lake.ParseID(properties[keys.id]); err == nil {
		op.Digest, err = lake.ParseDigest(properties[keys.digest])
	}
	if err != nil {
		return op, lake.Errorf(lake.Corrupt, "transaction properties %s*: %w", keys.prefix, err)
	}
	return op, nil
}
