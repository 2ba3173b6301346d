// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package dynamotest

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

type keySchemaElement struct{ AttributeName, KeyType string }

type attributeDefinition struct{ AttributeName, AttributeType string }

type createTable struct {
	TableName                 string
	KeySchema                 []keySchemaElement
	AttributeDefinitions      []attributeDefinition
	BillingMode               string
	DeletionProtectionEnabled bool
	// What follows changes nothing that can be seen here.
	TableClass             string
	Tags, SSESpecification json.RawMessage
}

func (o *createTable) named() []target { return []target{{table: o.TableName}} }

func (o *createTable) run(s *Server, _ *call) (any, error) {
	t, err := o.table()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.table(o.TableName) != nil {
		return nil, fail("ResourceInUseException", "Table already exists: %s", o.TableName)
	}
	t.created = s.now()
	t.active = t.created.Add(s.opts.TableTime)
	s.tables[o.TableName] = t
	return map[string]any{"TableDescription": s.description(t)}, nil
}

// table checks the request and makes its table.
func (o *createTable) table() (*table, error) {
	if err := checkTableName(o.TableName); err != nil {
		return nil, err
	}
	if o.BillingMode != "PAY_PER_REQUEST" {
		return nil, unsupported("a BillingMode other than PAY_PER_REQUEST")
	}
	kinds := []string{"HASH", "RANGE"}
	if len(o.KeySchema) < 1 || len(o.KeySchema) > len(kinds) {
		return nil, invalid("1 validation error detected: Value at 'keySchema' failed to satisfy constraint: Member must have length from 1 to 2")
	}
	if len(o.AttributeDefinitions) != len(o.KeySchema) {
		return nil, invalid("One or more parameter values were invalid: Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions")
	}
	names := make([]string, len(kinds))
	for i, k := range o.KeySchema {
		switch {
		case k.KeyType != kinds[i]:
			return nil, invalid("Invalid KeySchema: element %d must have the KeyType %s, has %q", i, kinds[i], k.KeyType)
		case k.AttributeName == "" || slices.Contains(names, k.AttributeName):
			return nil, invalid("Both the Hash Key and the Range Key element in the KeySchema have the same name, or one has none")
		case !slices.Contains(o.AttributeDefinitions, attributeDefinition{k.AttributeName, "S"}):
			return nil, unsupported("keys of a type other than S, or without definition: " + k.AttributeName)
		}
		names[i] = k.AttributeName
	}
	t := newTable(o.TableName, names[0], names[1])
	t.protected = o.DeletionProtectionEnabled
	return t, nil
}

var tableName = regexp.MustCompile(`^[a-zA-Z0-9_.-]+$`)

func checkTableName(name string) error {
	switch {
	case len(name) < minTableName || len(name) > maxTableName:
		return invalid("TableName must be at least %d characters long and at most %d characters long", minTableName, maxTableName)
	case !tableName.MatchString(name):
		return invalid("1 validation error detected: Value '%s' at 'tableName' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+", name)
	}
	return nil
}

// table is a table in any state, nil if there is none. The caller holds the mutex.
func (s *Server) table(name string) *table {
	t := s.tables[name]
	if t != nil && !t.gone.IsZero() && !t.gone.After(s.now()) {
		delete(s.tables, name)
		return nil
	}
	return t
}

// live is a table whose items can be used. The caller holds the mutex.
func (s *Server) live(name string) (*table, error) {
	if err := checkTableName(name); err != nil {
		return nil, err
	}
	t := s.table(name)
	if t == nil || t.active.After(s.now()) || !t.gone.IsZero() {
		return nil, tableMissing()
	}
	return t, nil
}

// described is a table in any state, or the error of the operations on tables. The
// caller holds the mutex.
func (s *Server) described(name string) (*table, error) {
	if err := checkTableName(name); err != nil {
		return nil, err
	}
	t := s.table(name)
	if t == nil {
		return nil, fail("ResourceNotFoundException", "Requested resource not found: Table: %s not found", name)
	}
	return t, nil
}

func (s *Server) description(t *table) map[string]any {
	var schema []keySchemaElement
	var attributes []attributeDefinition
	for i, name := range t.keyNames() {
		schema = append(schema, keySchemaElement{name, []string{"HASH", "RANGE"}[i]})
		attributes = append(attributes, attributeDefinition{name, "S"})
	}
	count, size := t.totals()
	return map[string]any{
		"TableName":                 t.name,
		"TableStatus":               s.status(t),
		"TableArn":                  "arn:aws:dynamodb:us-east-1:000000000000:table/" + t.name,
		"KeySchema":                 schema,
		"AttributeDefinitions":      attributes,
		"CreationDateTime":          float64(t.created.UnixMilli()) / 1000,
		"BillingModeSummary":        map[string]any{"BillingMode": "PAY_PER_REQUEST"},
		"ProvisionedThroughput":     map[string]any{"ReadCapacityUnits": 0, "WriteCapacityUnits": 0, "NumberOfDecreasesToday": 0},
		"DeletionProtectionEnabled": t.protected,
		"ItemCount":                 count,
		"TableSizeBytes":            size,
	}
}

func (s *Server) status(t *table) string {
	switch {
	case !t.gone.IsZero():
		return "DELETING"
	case t.active.After(s.now()):
		return "CREATING"
	}
	return "ACTIVE"
}

// totals are the number and the size of a table's items.
func (t *table) totals() (count, size int) {
	for r := range t.scan(nil, segment{}) {
		if it := r.latest(); it != nil {
			count++
			size += it.size()
		}
	}
	return count, size
}

type describeTable struct{ TableName string }

func (o *describeTable) named() []target { return []target{{table: o.TableName}} }

func (o *describeTable) run(s *Server, _ *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.described(o.TableName)
	if err != nil {
		return nil, err
	}
	return map[string]any{"Table": s.description(t)}, nil
}

// updateTable changes the protection from deletion, and nothing else.
type updateTable struct {
	TableName                 string
	DeletionProtectionEnabled *bool
}

func (o *updateTable) named() []target { return []target{{table: o.TableName}} }

func (o *updateTable) run(s *Server, _ *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.described(o.TableName)
	switch {
	case err != nil:
		return nil, err
	case o.DeletionProtectionEnabled == nil:
		return nil, unsupported("an UpdateTable without DeletionProtectionEnabled")
	case s.status(t) != "ACTIVE":
		return nil, inUse(t, s.status(t))
	}
	t.protected = *o.DeletionProtectionEnabled
	return map[string]any{"TableDescription": s.description(t)}, nil
}

func inUse(t *table, status string) error {
	return fail("ResourceInUseException", "Attempt to change a resource which is still in use: Table: %s is %s", t.name, status)
}

type deleteTable struct{ TableName string }

func (o *deleteTable) named() []target { return []target{{table: o.TableName}} }

func (o *deleteTable) run(s *Server, _ *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.described(o.TableName)
	switch {
	case err != nil:
		return nil, err
	case s.status(t) != "ACTIVE":
		return nil, inUse(t, s.status(t))
	case t.protected:
		return nil, invalid("Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.")
	}
	t.gone = s.now().Add(s.opts.TableTime)
	return map[string]any{"TableDescription": s.description(t)}, nil
}

type listTables struct {
	ExclusiveStartTableName string
	Limit                   *int
}

func (o *listTables) named() []target { return nil }

// maxTables is how many names one answer holds.
const maxTables = 100

func (o *listTables) run(s *Server, _ *call) (any, error) {
	limit := maxTables
	if o.Limit != nil {
		limit = *o.Limit
	}
	if limit < 1 || limit > maxTables {
		return nil, invalid("1 validation error detected: Value '%d' at 'limit' failed to satisfy constraint: Member must have value from 1 to %d", limit, maxTables)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	names := []string{}
	for name := range s.tables {
		if name > o.ExclusiveStartTableName && s.table(name) != nil {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, strings.Compare)
	result := map[string]any{"TableNames": names}
	if len(names) > limit {
		result["TableNames"], result["LastEvaluatedTableName"] = names[:limit], names[limit-1]
	}
	return result, nil
}
