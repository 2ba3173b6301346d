// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"context"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/internal/grpcerr"
	"github.com/lakeplane/lake/lake"
)

// TableTag is a name for a version. It keeps the version, with all it needs,
// whatever the retention, until it is removed.
type TableTag struct {
	Tag     string
	Version lake.Version
}

// TagOptions say what a tag is for.
type TagOptions struct {
	// Version is the version to name; 0 means the current one.
	Version lake.Version
	// Reason is kept in the audit of the table's maintenance; at most 768 bytes.
	Reason string
}

// TagTable names a version of a table, such as the one that a model is trained
// on. Tags do not move: lake.AlreadyExists when another version has the name. The
// same call again succeeds. It fails with lake.Precondition when the version was
// given up, and with lake.Invalid for a name that is not 1..128 letters, digits,
// '.', '-' and '_'.
func (c *Client) TagTable(ctx context.Context, name lake.TableName, tag string, opts TagOptions) (TableTag, error) {
	if err := name.Validate(); err != nil {
		return TableTag{}, err
	}
	resp, err := c.catalog.TagTable(ctx, &lakepb.TagTableRequest{Name: nameToProto(name), Tag: tag, Version: uint64(opts.Version), Reason: opts.Reason})
	return tagFromProto(resp), grpcerr.FromStatus(err)
}

// UntagTable removes a tag and returns what it named; lake.NotFound when there is
// none. The version may be given up by the next maintenance.
func (c *Client) UntagTable(ctx context.Context, name lake.TableName, tag, reason string) (TableTag, error) {
	if err := name.Validate(); err != nil {
		return TableTag{}, err
	}
	resp, err := c.catalog.UntagTable(ctx, &lakepb.UntagTableRequest{Name: nameToProto(name), Tag: tag, Reason: reason})
	return tagFromProto(resp), grpcerr.FromStatus(err)
}

// TableTags lists the tags of a table by name.
func (c *Client) TableTags(ctx context.Context, name lake.TableName) ([]TableTag, error) {
	if err := name.Validate(); err != nil {
		return nil, err
	}
	resp, err := c.catalog.ListTableTags(ctx, &lakepb.ListTableTagsRequest{Name: nameToProto(name)})
	if err != nil {
		return nil, grpcerr.FromStatus(err)
	}
	out := make([]TableTag, len(resp.GetTags()))
	for i, t := range resp.GetTags() {
		out[i] = tagFromProto(t)
	}
	return out, nil
}

func tagFromProto(t *lakepb.TableTag) TableTag {
	return TableTag{Tag: t.GetTag(), Version: lake.Version(t.GetVersion())}
}
