// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package slotwire

import (
	"errors"
	"strings"

	"github.com/lakeplane/lake/lake"
)

// maxFaultText bounds the text of an error.
const maxFaultText = 64 << 10

// Fault is an error on its way between the processes.
type Fault struct {
	Kind lake.Kind
	Text string
	// Scan says that the error is one the replica had sent for a scan: it
	// knows more of it.
	Scan bool
}

// Error implements error.
func (f *Fault) Error() string { return f.Text }

// NewFault describes an error; nil for none.
func NewFault(err error) *Fault {
	if err == nil {
		return nil
	}
	var scan *Fault
	if errors.As(err, &scan) && scan.Scan {
		return scan
	}
	text := err.Error()
	if len(text) > maxFaultText {
		text = text[:maxFaultText]
	}
	return &Fault{Kind: lake.KindOf(err), Text: strings.ToValidUTF8(text, "?")}
}

// Err is the error as the replica returns it; nil for none.
func (f *Fault) Err() error {
	if f == nil {
		return nil
	}
	return &lake.Error{Kind: f.Kind, Message: f.Text}
}

func (f *Fault) append(w *writer) {
	w.flag(f != nil)
	if f == nil {
		return
	}
	w.uint(uint64(f.Kind))
	w.text(f.Text)
	w.flag(f.Scan)
}

func readFault(r *reader) *Fault {
	if !r.flag() {
		return nil
	}
	f := &Fault{Kind: lake.Kind(r.within(uint64(lake.Fenced))), Text: r.text(), Scan: r.flag()}
	if len(f.Text) > maxFaultText {
		r.fail()
	}
	f.Text = strings.ToValidUTF8(f.Text, "?") // it goes into gRPC statuses
	return f
}
