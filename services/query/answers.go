// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"

	"github.com/lakeplane/lake/services/access"
	"github.com/lakeplane/lake/services/query/gate"
	"github.com/lakeplane/lake/services/query/ticket"
	"github.com/lakeplane/lake/services/query/wire"
)

// maxAnswerBytes is the size, in messages, above which an answer is not
// remembered: making a large one costs much more than reading the statement.
const maxAnswerBytes = 64 << 10

// answer is a whole result as it went to a client.
type answer struct {
	made     time.Time
	messages []wire.Ready
}

// answerKey is all that a steady statement's answer depends on, and who asked.
//
// The snapshots are those of the ticket, so a new version, or a new table of the
// same name, is another key, and nothing has to be told to forget. That the
// principal is in it is not for the sake of what the answer says (everybody who
// may see the tables gets the same) but of how soon it comes: nobody learns what
// others ask.
type answerKey [sha256.Size]byte

func newAnswerKey(claims *ticket.Claims) (key answerKey) {
	k := keyHash{h: sha256.New()}
	for _, text := range []string{claims.Tenant, claims.Principal, claims.SQL, string(claims.Parameters), string(claims.Schema)} {
		k.text(text)
	}
	part := ticket.Pieces{From: -1, To: -1}
	if claims.Part != nil {
		part = *claims.Part
	}
	k.number(uint64(part.From))
	k.number(uint64(part.To))
	for _, pin := range claims.Snapshots {
		s := pin.Snapshot
		for _, text := range []string{pin.Name.Namespace, pin.Name.Name, s.Engine, string(s.Location), s.Manifest.Path} {
			k.text(text)
		}
		k.number(uint64(s.Version))
		k.number(uint64(s.Manifest.Size))
		k.h.Write(s.Incarnation[:])
		k.h.Write(s.Manifest.SHA256[:])
	}
	k.h.Sum(key[:0])
	return key
}

// keyHash writes values so that no two lists of them are the same bytes.
type keyHash struct{ h hash.Hash }

func (k keyHash) number(n uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], n)
	k.h.Write(b[:])
}

func (k keyHash) text(s string) {
	k.number(uint64(len(s)))
	k.h.Write([]byte(s))
}

// remembered finds the answer of the same statement over the same snapshots. It
// is good for as long as a ticket made with it would have been. The key is for
// remembering the answer where there is none yet.
func (s *Server) remembered(claims *ticket.Claims) (a answer, key answerKey, ok bool) {
	if s.memo.answers == nil {
		return a, key, false
	}
	key = newAnswerKey(claims)
	a, ok = s.memo.answers.get(key)
	if ok && s.opts.Now().Sub(a.made) > s.opts.TicketTTL {
		s.memo.answers.forget(key)
		ok = false
	}
	s.metrics.memo(memoAnswer, ok)
	return a, key, ok
}

// replay sends a remembered answer. The snapshots are opened, as they would be to
// make it anew: what cannot be read any more is not answered.
func (s *Server) replay(ctx context.Context, claims *ticket.Claims, a answer, out flight.FlightService_DoGetServer) error {
	handles, err := s.openPins(ctx, claims.Snapshots)
	release(handles)
	if err != nil {
		return err
	}
	for _, m := range a.messages {
		if s.referring.Load() {
			err = out.SendMsg(m)
		} else {
			err = out.Send(&flight.FlightData{DataHeader: m.Header(), DataBody: m.Body()})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// keep makes the writer gather an answer that may be remembered.
func (s *Server) keep(w *batchWriter, stmt gate.Parsed) {
	if s.memo.answers != nil && stmt.Kind == gate.Select && stmt.Steady {
		w.payloads.kept = &keptAnswer{}
	}
}

// remember stores what the writer has gathered, once the result is complete.
func (s *Server) remember(key answerKey, w *batchWriter) {
	kept := w.payloads.kept
	if kept == nil || kept.bytes > maxAnswerBytes {
		return
	}
	const overhead = 64 // of a message
	s.memo.answers.put(key, answer{s.opts.Now(), kept.messages}, len(key)+kept.bytes+overhead*len(kept.messages))
}

// keptAnswer gathers the messages of a result while it is small.
type keptAnswer struct {
	messages []wire.Ready
	bytes    int
}

func (k *keptAnswer) add(header, body []byte) {
	if k == nil || k.bytes > maxAnswerBytes {
		return
	}
	if k.bytes += len(header) + len(body); k.bytes > maxAnswerBytes {
		k.messages = nil
		return
	}
	k.messages = append(k.messages, wire.NewReady(header, body))
}

// mayAll reports whether a principal may read every table a ticket pins: grants
// may have changed since it was made.
func mayAll(p access.Principal, pins []ticket.Pin) error {
	for _, pin := range pins {
		if !p.May(pin.Name.Namespace) {
			return missing(pin.Name)
		}
	}
	return nil
}
