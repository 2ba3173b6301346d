// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package catalog

import "github.com/lakeplane/lake/lake/jsonobject"

func (h header) appendTo(o jsonobject.Object) jsonobject.Object {
	return o.Number("v", uint64(h.Format)).ID("nonce", h.Nonce)
}

// encode returns what [encode] does.
func (r operationRecord) encode() []byte {
	o := r.header.appendTo(jsonobject.Begin(512)).Text("tenant", r.Tenant).Text("namespace", r.Namespace).Text("name", r.Name)
	o = o.ID("operation", r.ID).Digest("sha256", r.Digest).Number("rows", r.Rows).ID("incarnation", r.Incarnation)
	o = o.Number("base_version", uint64(r.Base)).Number("result_version", uint64(r.Version))
	return o.Text("state", r.State).Time("committed_at", r.CommittedAt).End()
}

// encode returns what [encode] does.
func (r tableRecord) encode() []byte {
	o := jsonobject.Begin(1024 + 4*(len(r.Plain)+len(r.Zstd))/3)
	o = r.header.appendTo(o).Text("namespace", r.Namespace).Text("name", r.Name)
	o = o.Open("snapshot").Snapshot(r.Snapshot).End()
	o = o.Bytes("schema", r.Plain).Bytes("schema_zstd", r.Zstd).Time("created_at", r.CreatedAt).Time("updated_at", r.UpdatedAt)
	if r.Reclaimed != (Reclaimed{}) {
		o = append(o.Key("reclaimed"), encode(r.Reclaimed)...)
	}
	return o.End()
}
