// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/services/metasrv"
)

func startAdopting(t *testing.T, more ...func(*metasrv.Options)) *authority {
	return start(t, append(more, func(o *metasrv.Options) { o.Engine = adopting{o.Engine.(*disturbed)} })...)
}

func TestADeclaredTableAppearsWithItsFirstVersion(t *testing.T) {
	a := startAdopting(t)
	a.create(t, "a", "warm") // leads now
	name := lake.TableName{Namespace: "a", Name: "t"}
	d, err := a.Declare(t.Context(), name, "ann")
	require.NoError(t, err)
	_, err = a.Catalog().Get(t.Context(), name)
	require.True(t, lake.Is(err, lake.NotFound))
	_, err = a.Declare(t.Context(), name, "bob")
	require.True(t, lake.Is(err, lake.Conflict), "%v", err)
	require.ErrorContains(t, err, "ann is making a table of that name")
	_, err = a.Declare(t.Context(), lake.TableName{Namespace: "a", Name: "warm"}, "bob")
	require.True(t, lake.Is(err, lake.AlreadyExists), "%v", err)

	p := engine.Proposal{Version: 1, Key: "one"}
	_, err = a.AdoptFirst(t.Context(), name, lake.NewID(), p)
	require.True(t, lake.Is(err, lake.Precondition), "%v", err)
	for range 2 { // the second is who missed the answer
		table, err := a.AdoptFirst(t.Context(), name, d.Incarnation, p)
		require.NoError(t, err)
		require.Equal(t, d.Location(), table.Snapshot.Location)
	}
	_, err = a.AdoptFirst(t.Context(), name, d.Incarnation, engine.Proposal{Version: 1, Key: "other"})
	require.True(t, lake.Is(err, lake.Conflict), "%v", err)
	_, err = a.Catalog().Declaration(t.Context(), name, d.Incarnation)
	require.True(t, lake.Is(err, lake.NotFound), "%v", err)
	_, err = a.Adopt(t.Context(), name, engine.Proposal{Version: 2, Key: "two"})
	require.NoError(t, err)

	require.NoError(t, a.DropNamed(t.Context(), name, "ann"))
	_, err = a.AdoptFirst(t.Context(), name, d.Incarnation, p)
	require.True(t, lake.Is(err, lake.Precondition), "%v", err)
	require.True(t, lake.Is(a.DropNamed(t.Context(), name, "ann"), lake.NotFound))
}

// What is given up cannot be made: by a refusal, a drop, or Lake's own create.
func TestADeclarationThatIsGivenUp(t *testing.T) {
	a := startAdopting(t)
	a.create(t, "a", "warm")
	name := lake.TableName{Namespace: "a", Name: "t"}
	refused, err := a.Declare(t.Context(), name, "ann")
	require.NoError(t, err)
	_, err = a.AdoptFirst(t.Context(), name, refused.Incarnation, engine.Proposal{Version: 1, Key: "bad"})
	require.True(t, lake.Is(err, lake.Unsupported), "%v", err)

	dropped, err := a.Declare(t.Context(), name, "ann")
	require.NoError(t, err)
	require.NoError(t, a.DropNamed(t.Context(), name, "ann"))

	late, err := a.Declare(t.Context(), name, "ann")
	require.NoError(t, err)
	a.create(t, "a", "t")
	_, err = a.AdoptFirst(t.Context(), name, late.Incarnation, engine.Proposal{Version: 1, Key: "one"})
	require.True(t, lake.Is(err, lake.AlreadyExists), "%v", err)
	for _, d := range []lake.Incarnation{refused.Incarnation, dropped.Incarnation} {
		_, err := a.AdoptFirst(t.Context(), name, d, engine.Proposal{Version: 1, Key: "one"})
		require.True(t, lake.Is(err, lake.Precondition), "%v", err)
	}
}

// creating is an engine whose creates a test looks into.
type creating struct {
	*disturbed
	create func(loc lake.Location) error
}

func (c creating) Create(ctx context.Context, loc lake.Location, inc lake.Incarnation, s *arrow.Schema) (engine.Staged, error) {
	if err := c.create(loc); err != nil {
		return engine.Staged{}, err
	}
	return c.Engine.Create(ctx, loc, inc, s)
}

// A create declares its incarnation before it stages anything, and its commit
// takes the declaration away. One that fails is given up and swept.
func TestACreateDeclaresWhatItStages(t *testing.T) {
	swept := make(chan lake.Location, 10)
	var records metastore.Store
	a := start(t, func(o *metasrv.Options) {
		records = o.Store
		o.Engine = creating{o.Engine.(*disturbed), func(loc lake.Location) error {
			page, err := records.Scan(context.Background(), "declared/"+strings.TrimSuffix(string(loc), ".lance"), "", 10)
			if err != nil || len(page.Records) != 1 {
				return lake.Errorf(lake.Corrupt, "staged without a declaration: %w", err)
			}
			if strings.HasPrefix(string(loc), "a/fails/") {
				return lake.Errorf(lake.Unsupported, "as the test wants")
			}
			return nil
		}}
		o.Sweep = func(_ context.Context, loc lake.Location) error {
			swept <- loc
			return nil
		}
	})
	a.create(t, "a", "t")
	left := func() int {
		page, _, err := a.Catalog().Declarations(t.Context(), "", 10)
		require.NoError(t, err)
		return len(page)
	}
	require.Zero(t, left())
	_, err := a.catalog.CreateTable(t.Context(), &lakepb.CreateTableRequest{Name: nameOf("a", "fails"), Schema: schemaBytes(ints)})
	require.ErrorContains(t, err, "as the test wants")
	require.True(t, strings.HasPrefix(string(<-swept), "a/fails/"))
	require.Eventually(t, func() bool { return left() == 0 }, 30*time.Second, time.Millisecond)
}

// conflicting is an engine whose first versions fit nothing.
type conflicting struct{ *disturbed }

func (c conflicting) Create(ctx context.Context, loc lake.Location, inc lake.Incarnation, s *arrow.Schema) (engine.Staged, error) {
	staged, err := c.Engine.Create(ctx, loc, inc, s)
	staged.Ops = append(staged.Ops, metastore.Guard("lance-manifest/nothing", []byte("is here")))
	return staged, err
}

// A commit that conflicts is to be tried again, as long as the declaration stands.
func TestAConflictIsNotADeclarationGivenUp(t *testing.T) {
	a := start(t, func(o *metasrv.Options) { o.Engine = conflicting{o.Engine.(*disturbed)} })
	_, err := a.catalog.CreateTable(t.Context(), &lakepb.CreateTableRequest{Name: nameOf("a", "t"), Schema: schemaBytes(ints)})
	require.Equal(t, codes.Aborted, status.Code(err), "%v", err)
}
