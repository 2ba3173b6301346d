// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package dynamodb

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/internal/rules"
)

// Store is a [metastore.Store] in two DynamoDB tables. It is safe for concurrent
// use, and any number of processes may use the same tables.
type Store struct {
	client    *dynamodb.Client
	http      *http.Client
	opts      Options
	companion string
	turns     turns

	gate   sync.RWMutex // held shared by every call, exclusively by Close
	closed bool
}

var _ metastore.Store = (*Store)(nil)

// Open makes or checks the tables and returns the store. It fails with
// lake.Precondition when the registry holds records of another layout or its
// keys are others, with lake.Unsupported when a newer release has changed the
// layout, and with lake.Denied when the caller may not use the tables.
func Open(ctx context.Context, opts Options) (*Store, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	opts = opts.withDefaults()
	s := &Store{http: opts.http(), opts: opts, companion: companionOf(opts.Table)}
	var err error
	if s.client, err = opts.client(ctx, s.http); err == nil {
		err = s.prepare(ctx)
	}
	if err != nil {
		s.http.CloseIdleConnections()
		return nil, lake.Wrap("open DynamoDB metastore", err)
	}
	return s, nil
}

// enter admits a call until leave.
func (s *Store) enter(ctx context.Context) error {
	if err := rules.Alive(ctx); err != nil {
		return err
	}
	s.gate.RLock()
	if s.closed {
		s.gate.RUnlock()
		return metastore.ErrClosed
	}
	return nil
}

func (s *Store) leave() { s.gate.RUnlock() }

// Get implements [metastore.Store].
func (s *Store) Get(ctx context.Context, key string) (metastore.Record, error) {
	if err := metastore.CheckKey(key); err != nil {
		return metastore.Record{}, err
	}
	if err := s.enter(ctx); err != nil {
		return metastore.Record{}, err
	}
	defer s.leave()
	value, err := s.get(ctx, s.companion, primary(key))
	if err != nil {
		return metastore.Record{}, err
	}
	if value == nil {
		return metastore.Record{}, rules.NotFound(key)
	}
	return metastore.Record{Key: key, Value: value}, nil
}

// get reads the value of an item, nil when there is none.
func (s *Store) get(ctx context.Context, table string, key attributes) (value []byte, err error) {
	var out *dynamodb.GetItemOutput
	err = s.read(ctx, "get", func(ctx context.Context) (err error) {
		out, err = s.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &table, Key: key, ConsistentRead: aws.Bool(true)})
		return err
	})
	if err != nil || out.Item == nil {
		return nil, err
	}
	value, ok := valueOf(out.Item)
	if !ok {
		return nil, lake.Errorf(lake.Corrupt, "dynamodb: an item of table %s has no binary %s", table, attrValue)
	}
	return value, nil
}

// Scan implements [metastore.Store]. The pages go through the shards of the
// prefix's family one after the other; a prefix without a '/', which may stand
// for several families, is looked for in the whole table.
func (s *Store) Scan(ctx context.Context, prefix, cursor string, limit int) (metastore.Page, error) {
	if err := metastore.CheckScan(prefix, limit); err != nil {
		return metastore.Page{}, err
	}
	family, one := familyOf(prefix)
	decode := rules.DecodePosition
	if one {
		decode = rules.DecodeCursor
	}
	after, err := decode(prefix, cursor)
	if err != nil {
		return metastore.Page{}, err
	}
	if err := s.enter(ctx); err != nil {
		return metastore.Page{}, err
	}
	defer s.leave()
	page := &gathering{limit: limit}
	if one {
		err = s.scanFamily(ctx, page, family, prefix, after)
	} else {
		err = s.scanTable(ctx, page, prefix, after)
	}
	if err != nil {
		return metastore.Page{}, err
	}
	return page.page(prefix), nil
}

// gathering is a page in the making.
type gathering struct {
	limit     int
	records   []metastore.Record
	evaluated int
	bytes     int
	// next is the key after which the following page begins, empty when there
	// is none.
	next string
}

// room is how many items may be evaluated yet.
func (g *gathering) room() int { return g.limit - g.evaluated }

// full reports whether the page has to end. An answer of the service has at most
// maxAnswer bytes.
func (g *gathering) full() bool { return g.room() == 0 || g.bytes > rules.MaxPageBytes-maxAnswer }

const maxAnswer = 1 << 20

// add takes an answer's items. last is where it ended, nil at the end.
func (g *gathering) add(items []attributes, evaluated int32, last attributes) error {
	for _, item := range items {
		key, isKey := keyOf(item)
		value, isValue := valueOf(item)
		if !isKey || !isValue {
			return lake.Errorf(lake.Corrupt, "dynamodb: an item of a scan has no text %s or no binary %s", attrKey, attrValue)
		}
		g.records = append(g.records, metastore.Record{Key: key, Value: value})
		g.bytes += len(key) + len(value)
	}
	g.evaluated += int(evaluated)
	g.next = ""
	if last != nil {
		g.next, _ = keyOf(last)
	}
	return nil
}

// last is the key of the last record, empty while there is none.
func (g *gathering) last() string {
	if len(g.records) == 0 {
		return ""
	}
	return g.records[len(g.records)-1].Key
}

func (g *gathering) page(prefix string) metastore.Page {
	slices.SortFunc(g.records, func(a, b metastore.Record) int { return strings.Compare(a.Key, b.Key) })
	page := metastore.Page{Records: g.records}
	if g.next != "" {
		page.Next = rules.EncodeCursor(prefix, g.next)
	}
	return page
}

// scanFamily fills a page from the shards of a family, each in the order of its
// keys. A page that ends with the last record of a shard goes on from it, and
// finds the end of the shard then.
func (s *Store) scanFamily(ctx context.Context, page *gathering, family, prefix, after string) error {
	shard, at := 0, after
	if after != "" {
		shard = shardOf(family, after)
	}
	for ; shard < shardsOf(family); shard++ {
		for begun := false; !begun || page.next != ""; begun = true {
			if page.full() {
				page.next = at
				return nil
			}
			if err := s.query(ctx, page, bucketName(family, shard), prefix, after); err != nil {
				return err
			}
			after, at = page.next, cmp.Or(page.next, page.last(), at)
		}
	}
	return nil
}

// query adds one answer for a bucket.
func (s *Store) query(ctx context.Context, page *gathering, bucket, prefix, after string) error {
	input := &dynamodb.QueryInput{
		TableName: &s.companion, ConsistentRead: aws.Bool(true), Limit: aws.Int32(int32(page.room())),
		KeyConditionExpression:    aws.String("#b = :b AND begins_with(#k, :p)"),
		ExpressionAttributeNames:  map[string]string{"#b": attrBucket, "#k": attrKey},
		ExpressionAttributeValues: attributes{":b": text(bucket), ":p": text(prefix)},
	}
	if after != "" {
		input.ExclusiveStartKey = attributes{attrBucket: text(bucket), attrKey: text(after)}
	}
	var out *dynamodb.QueryOutput
	err := s.read(ctx, "scan", func(ctx context.Context) (err error) {
		out, err = s.client.Query(ctx, input)
		return err
	})
	if err != nil {
		return err
	}
	return page.add(out.Items, out.ScannedCount, out.LastEvaluatedKey)
}

// scanTable fills a page with one answer for the whole table.
func (s *Store) scanTable(ctx context.Context, page *gathering, prefix, after string) error {
	input := &dynamodb.ScanInput{TableName: &s.companion, ConsistentRead: aws.Bool(true), Limit: aws.Int32(int32(page.limit))}
	if prefix != "" {
		input.FilterExpression = aws.String("begins_with(#k, :p)")
		input.ExpressionAttributeNames = map[string]string{"#k": attrKey}
		input.ExpressionAttributeValues = attributes{":p": text(prefix)}
	}
	if after != "" {
		input.ExclusiveStartKey = primary(after)
	}
	var out *dynamodb.ScanOutput
	err := s.read(ctx, "scan", func(ctx context.Context) (err error) {
		out, err = s.client.Scan(ctx, input)
		return err
	})
	if err != nil {
		return err
	}
	return page.add(out.Items, out.ScannedCount, out.LastEvaluatedKey)
}

// Close implements [metastore.Store]. It waits for the calls in flight. A second
// Close does nothing.
func (s *Store) Close() error {
	s.gate.Lock()
	defer s.gate.Unlock()
	if !s.closed {
		s.closed = true
		s.http.CloseIdleConnections()
	}
	return nil
}
