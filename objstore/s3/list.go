// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package s3

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lakeplane/lake/objstore"
)

// List implements [objstore.Store]. The service may return less than was asked
// for and still have more, so a page takes as many requests as it needs.
func (s *Store) List(ctx context.Context, prefix, after string, limit int) (infos []objstore.Info, more bool, err error) {
	if err := objstore.CheckList(prefix, after, limit); err != nil {
		return nil, false, err
	}
	if err := s.enter(ctx); err != nil {
		return nil, false, err
	}
	defer s.leave()
	in := &s3.ListObjectsV2Input{Bucket: &s.opts.Bucket, Prefix: s.name(prefix)}
	if after != "" {
		in.StartAfter = s.name(after)
	}
	for {
		in.MaxKeys = aws.Int32(int32(limit - len(infos))) //nolint:gosec // a page is small
		var page *s3.ListObjectsV2Output
		err := s.call(ctx, func(ctx context.Context) (err error) {
			page, err = s.client.ListObjectsV2(ctx, in)
			return err
		})
		if err != nil {
			return nil, false, storeError("list", prefix, err)
		}
		for _, o := range page.Contents {
			key := strings.TrimPrefix(aws.ToString(o.Key), s.opts.Prefix)
			if strings.HasSuffix(key, "/") || key == "" {
				continue // a folder that another tool made
			}
			infos = append(infos, objstore.Info{Key: key, Size: aws.ToInt64(o.Size), Modified: aws.ToTime(o.LastModified)})
		}
		more = aws.ToBool(page.IsTruncated)
		if !more || len(infos) >= limit {
			return infos, more, nil
		}
		in.ContinuationToken, in.StartAfter = page.NextContinuationToken, nil
	}
}
