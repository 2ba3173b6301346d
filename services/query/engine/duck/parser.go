// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/lakeplane/lake/lake"
)

// parser is a small DuckDB instance that only ever parses: it runs no
// statement of a client.
type parser struct {
	db        *database
	conn      *connection
	serialize *statement
}

// serializeSQL turns a text into its syntax tree.
const serializeSQL = "SELECT json_serialize_sql($1::VARCHAR)"

// newParser opens an instance; nil when that fails.
func newParser() (*parser, error) {
	p := &parser{}
	db, err := openDatabase(map[string]string{
		"threads": "1", "memory_limit": "256MB", "temp_directory": "",
		"autoinstall_known_extensions": "false", "autoload_known_extensions": "false",
	})
	if err != nil {
		return nil, err
	}
	p.db = db
	if p.conn, err = db.connect(); err != nil {
		p.close()
		return nil, err
	}
	err = p.conn.exec("SET enable_external_access = false; SET lock_configuration = true")
	if err == nil {
		p.serialize, err = p.conn.prepare(serializeSQL)
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *parser) close() {
	if p.serialize != nil {
		p.serialize.close()
	}
	if p.conn != nil {
		p.conn.close()
	}
	p.db.close()
}

// SerializeSQL parses a text and returns DuckDB's syntax tree as JSON, as
// json_serialize_sql writes it: a parse error is part of the document. Nothing
// of the text is bound or executed. Parsing cannot be stopped, but it is
// linear in a text that the gate has bounded.
func (e *Engine) SerializeSQL(ctx context.Context, sql string) ([]byte, error) {
	select {
	case <-e.done:
		return nil, errClosed
	case <-ctx.Done():
		return nil, stopped(ctx)
	case p := <-e.parsers:
		var err error
		if p == nil {
			p, err = newParser() // nil when it fails, for the next to try again
		}
		defer func() { e.parsers <- p }()
		if err != nil {
			return nil, err
		}
		return p.serialize.lookupText(sql)
	}
}

// logicalPlan returns the unoptimized plan of a statement as JSON. Parameters
// cannot be serialized, so each is replaced by NULL, which leaves the origin
// of every column as it is.
func (c *connection) logicalPlan(sql string, parameters bool) ([]byte, error) {
	if !parameters {
		return c.lookupText("SELECT json_serialize_plan($1::VARCHAR)", sql)
	}
	tree, err := c.lookupText(serializeSQL, sql)
	if err != nil {
		return nil, err
	}
	if tree, err = withoutParameters(tree); err != nil {
		return nil, err
	}
	return c.lookupText("SELECT json_serialize_plan(json_deserialize_sql($1::VARCHAR))", string(tree))
}

// withoutParameters replaces every placeholder of a syntax tree by NULL.
func withoutParameters(tree []byte) ([]byte, error) {
	var doc map[string]any
	dec := json.NewDecoder(bytes.NewReader(tree))
	dec.UseNumber() // positions are 64-bit numbers
	if err := dec.Decode(&doc); err != nil {
		return nil, lake.Errorf(lake.Unknown, "syntax tree: %w", err)
	}
	replaceParameters(doc)
	return json.Marshal(doc)
}

func replaceParameters(node any) {
	switch n := node.(type) {
	case map[string]any:
		if n["class"] == "PARAMETER" {
			delete(n, "identifier")
			n["class"], n["type"] = "CONSTANT", "VALUE_CONSTANT"
			n["value"] = map[string]any{"type": map[string]any{"id": "NULL", "type_info": nil}, "is_null": true}
			return
		}
		if _, ok := n["named_param_map"]; ok {
			n["named_param_map"] = []any{}
		}
		for _, v := range n {
			replaceParameters(v)
		}
	case []any:
		for _, v := range n {
			replaceParameters(v)
		}
	}
}
