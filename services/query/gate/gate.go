// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package gate decides which SQL texts may reach the query engine at all. It
// lets through single read-only statements made of known parts, and tells the
// caller every table they refer to.
//
// The gate works on the syntax tree that the engine's own parser makes, so
// that the two cannot read a text differently, and it lists what is allowed
// (node kinds, table references, expressions, functions) instead of what is
// not: syntax of a later release is refused until someone has looked at it.
//
// It must run before a statement is prepared. Planning folds constants, which
// already executes functions and cannot be interrupted.
package gate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/query/direct"
	"github.com/lakeplane/lake/services/query/prune"
)

// Parser turns SQL text into the engine's syntax tree as JSON, in the format
// of DuckDB's json_serialize_sql, without binding or executing any of it. A
// syntax error is part of the document.
type Parser interface {
	SerializeSQL(ctx context.Context, sql string) ([]byte, error)
}

// Kind is what a statement asks for.
type Kind uint8

// The kinds. All but Select are answered by the service itself, from the
// catalog, and never reach the engine as they are.
const (
	// Select is a query: SELECT, WITH, VALUES, TABLE, FROM, PIVOT.
	Select Kind = iota
	// Describe asks for the columns of a query or table: [Parsed.Body].
	Describe
	// ShowTables asks for the tables of a namespace, or of all.
	ShowTables
	// Explain asks for the plan of a query: [Parsed.Body].
	Explain
)

// Ref is a reference to a table. Parts the statement left out are empty.
type Ref struct {
	Catalog, Schema, Table string
}

// Parsed is what the gate learned of a statement it lets through.
type Parsed struct {
	Kind Kind
	// References are the distinct tables the statement reads, in the order of
	// their first mention. Names of common table expressions are not among
	// them. Letter case is as written.
	References []Ref
	// Parameters is the number of distinct placeholders.
	Parameters int
	// Body is the query that a Describe or Explain is about, else empty. It has
	// passed the gate itself.
	Body string
	// Filters are the conditions on the rows of the tables it reads.
	Filters prune.Statement
	// Divisible says that the query's result over its table is the results over
	// the pieces of the table put together.
	Divisible bool
	// Steady says that the query has the same answer whenever it runs over the
	// same snapshots: see package steady.
	Steady bool
	// Direct is what a statement that only names columns of one table asks for;
	// nil for others.
	Direct *direct.Statement
}

// Limits bound what one statement may hold. They keep parsing, planning and
// authorization short; they do not bound execution.
type Limits struct {
	// Bytes of text.
	Bytes int
	// Nodes of the syntax tree.
	Nodes int
	// Depth of expressions and queries inside each other.
	Depth int
	// Joins, counting those of a common table expression once for each use.
	Joins int
	// LambdaDepth is how deep lambdas may lie inside lambdas.
	LambdaDepth int
	// CTEExpansion is how many queries the uses of common table expressions
	// may expand to.
	CTEExpansion int
}

// DefaultLimits are generous for people and for what BI tools write.
func DefaultLimits() Limits {
	return Limits{Bytes: lake.MaxSQLBytes, Nodes: 20_000, Depth: 200, Joins: 32, LambdaDepth: 3, CTEExpansion: 64}
}

// Gate checks statements. It is safe for concurrent use if its parser is.
type Gate struct {
	parser Parser
	limits Limits
}

// New makes a gate over the engine's parser.
func New(parser Parser, limits Limits) *Gate { return &Gate{parser: parser, limits: limits} }

// Check lets a statement through or refuses it with lake.Invalid, saying what
// was wrong, where, and what to do instead. Other kinds of error mean that the
// parser could not be used.
func (g *Gate) Check(ctx context.Context, sql string) (Parsed, error) {
	p, err := g.check(ctx, sql)
	var r *refusal
	if errors.As(err, &r) {
		return Parsed{}, lake.Errorf(lake.Invalid, "%s (at byte %d of the statement)", r.what, max(r.at, 0))
	}
	return p, err
}

func (g *Gate) check(ctx context.Context, sql string) (Parsed, error) {
	words, err := g.checkText(sql)
	if err != nil {
		return Parsed{}, err
	}
	p, err := g.checkWords(ctx, sql, words)
	var r *refusal
	if errors.As(err, &r) && r.at < 0 {
		r.at = words.start // at least where the statement begins
	}
	return p, err
}

func (g *Gate) checkWords(ctx context.Context, sql string, words lexed) (Parsed, error) {
	if kind, ok := prefixes[words.first]; ok {
		return g.checkPrefixed(ctx, kind, sql, words)
	}
	tree, err := g.parser.SerializeSQL(ctx, sql)
	if err != nil {
		return Parsed{}, err
	}
	doc, err := g.decode(tree, words)
	if err != nil {
		return Parsed{}, err
	}
	return g.checkStatement(doc, words)
}

// prefixes are the words that, before a query, ask about it. The parser would
// not serialize such a statement, so the query is checked by itself.
var prefixes = map[string]Kind{"EXPLAIN": Explain, "DESCRIBE": Describe, "DESC": Describe}

// checkPrefixed checks the query that EXPLAIN or DESCRIBE is about. The prefix
// is blanked instead of cut, so that positions stay those of the statement.
func (g *Gate) checkPrefixed(ctx context.Context, kind Kind, sql string, words lexed) (Parsed, error) {
	word, rest := words.first, sql[words.rest:]
	inner, opening := lex(rest), strings.TrimLeft(rest, " \t\r\n")
	at := words.rest + inner.start
	body := blank(sql[:words.rest]) + rest
	switch {
	case inner.tokens == 0:
		return Parsed{}, refuse(words.start, "%s what? Write a query or a table after it", word)
	case kind == Explain && (inner.first == "ANALYZE" || inner.first == "ANALYSE" || strings.HasPrefix(opening, "(FORMAT")):
		return Parsed{}, refuse(at, "EXPLAIN takes no options here: write EXPLAIN and a SELECT")
	case prefixes[inner.first] != Select || inner.first == "SHOW":
		return Parsed{}, refuse(at, "%s takes a SELECT or a table, not %s: write what that is about", word, inner.first)
	case kind == Describe && !queryWords[inner.first] && !strings.HasPrefix(opening, "("):
		const from = "FROM"
		body = blank(sql[:words.rest-len(from)]) + from + rest
	}
	p, err := g.check(ctx, body)
	p.Kind, p.Body = kind, body
	return p, err
}

// blank is as many spaces as a text has bytes.
func blank(text string) string { return strings.Repeat(" ", len(text)) }

// queryWords begin a query.
var queryWords = map[string]bool{"SELECT": true, "WITH": true, "VALUES": true, "FROM": true, "TABLE": true, "PIVOT": true, "UNPIVOT": true}

// maxTreeBytes bounds the syntax tree. 20,000 nodes are about 5 MB.
const maxTreeBytes = 32 << 20

// parseTree is the document of json_serialize_sql.
type parseTree struct {
	Error      bool             `json:"error"`
	Type       string           `json:"error_type"`
	Message    string           `json:"error_message"`
	Position   string           `json:"position"`
	Statements []map[string]any `json:"statements"`
}

func (g *Gate) decode(tree []byte, words lexed) (map[string]any, error) {
	if len(tree) > maxTreeBytes {
		return nil, refuse(-1, "the statement is too complex, split it: its syntax tree has %d bytes, at most %d are allowed", len(tree), maxTreeBytes)
	}
	var doc parseTree
	dec := json.NewDecoder(bytes.NewReader(tree))
	dec.UseNumber() // positions and constants exceed a float
	if err := dec.Decode(&doc); err != nil {
		if strings.Contains(err.Error(), "exceeded max depth") {
			return nil, g.tooDeep(-1)
		}
		if bytes.Contains(tree, []byte("Infinity")) {
			// The parser writes such a constant as JSON does not allow.
			return nil, refuse(-1, "a number is too large for a DOUBLE: write 'inf'::DOUBLE for infinity")
		}
		return nil, lake.Errorf(lake.Unknown, "gate: the parser's syntax tree: %w", err)
	}
	if doc.Error {
		return nil, g.parseError(doc, words)
	}
	switch len(doc.Statements) {
	case 0:
		return nil, refuse(-1, "there is no statement: write one SELECT")
	case 1:
		return doc.Statements[0], nil
	}
	return nil, refuse(words.second, "there are %d statements: send them one at a time", len(doc.Statements))
}

func (g *Gate) parseError(doc parseTree, words lexed) error {
	if doc.Type == "not implemented" {
		return notSelect(words.first)
	}
	msg, _, _ := strings.Cut(doc.Message, "\n")
	at := position(doc.Position)
	switch {
	case strings.Contains(msg, "Max expression depth"), strings.HasPrefix(msg, "memory exhausted"):
		return g.tooDeep(at)
	case strings.HasPrefix(msg, "NameListToString"):
		return refuse(at, "a name has too many parts: write namespace.table or lake.namespace.table")
	}
	return refuse(at, "%s: want one SELECT in the dialect of DuckDB", msg)
}

func (g *Gate) tooDeep(at int) error {
	return refuse(at, "the statement nests too deep: at most %d levels are allowed, chained operators included", g.limits.Depth)
}

// instead says what to do rather than run a statement of that kind.
var instead = map[string]string{
	"INSERT": "add rows with bulk ingest (CommandStatementIngest)",
	"CREATE": "create tables with bulk ingest (CommandStatementIngest) or the lake command",
	"DROP":   "drop tables with the lake command",
	"ALTER":  "change tables with the lake command",
	"COPY":   "read the result with your client and write it there",
	"EXPORT": "read the result with your client and write it there",
	"SET":    "give the expression itself: the session has no settings",
	"CALL":   "use SELECT",
	"PRAGMA": "use DESCRIBE or SHOW TABLES",
	"USE":    "name tables as namespace.table",
	"PIVOT":  "list the values: PIVOT … ON column IN (…)",
}

func notSelect(word string) error {
	hint := instead[word]
	if hint == "" {
		hint = "statements read: SELECT, WITH, VALUES, DESCRIBE, SHOW TABLES, EXPLAIN"
	}
	if word == "" || !isWord(word) {
		word = "this statement"
	}
	return refuse(-1, "%s is not allowed: %s", word, hint)
}

// refusal is why a statement does not pass.
type refusal struct {
	what string
	at   int // byte position, or -1
}

func (r *refusal) Error() string { return r.what }

// refuse makes the gate's error. at is a byte position, or -1.
func refuse(at int, format string, args ...any) error {
	return &refusal{lake.Errorf(lake.Invalid, format, args...).Message, at}
}

// checkText is what can be said before parsing.
func (g *Gate) checkText(sql string) (lexed, error) {
	if len(sql) > g.limits.Bytes {
		return lexed{}, refuse(g.limits.Bytes, "the statement has %d bytes: at most %d are allowed; send long lists as parameters or tables", len(sql), g.limits.Bytes)
	}
	if i := strings.IndexByte(sql, 0); i >= 0 {
		return lexed{}, refuse(i, "the statement holds a NUL byte: bind such bytes as a parameter")
	}
	if !utf8.ValidString(sql) {
		return lexed{}, refuse(badUTF8(sql), "the statement is not UTF-8: bind such bytes as a parameter")
	}
	words := lex(sql)
	switch most := g.limits.Nodes * tokensPerNode; {
	case words.tokens > most:
		return lexed{}, refuse(words.start, "the statement has %d words and signs: at most %d are allowed; send long lists as parameters or tables", words.tokens, most)
	case words.junctions > maxJunctions:
		return lexed{}, refuse(words.junction, "the statement has %d ANDs and ORs: at most %d are allowed; use IN for long lists", words.junctions, maxJunctions)
	case words.unions > maxUnions:
		return lexed{}, refuse(words.union, "the statement has %d UNIONs, EXCEPTs and INTERSECTs: at most %d are allowed", words.unions, maxUnions)
	case words.comments > maxComments:
		return lexed{}, refuse(words.comment, "comments lie inside comments: at most %d deep are allowed", maxComments)
	}
	return words, nil
}

// The parser takes quadratic time over chains of AND and OR, and of UNION: a
// MiB of ANDs is more than a minute that nothing can interrupt. So many are a
// fifth of a second. Its scanner does so over comments inside comments.
const (
	maxJunctions  = 8_000
	maxUnions     = 256
	maxComments   = 64
	tokensPerNode = 3
)

func badUTF8(s string) int {
	for i, r := range s {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				return i
			}
		}
	}
	return -1
}
