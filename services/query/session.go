// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/protobuf/proto"

	"github.com/lakeplane/lake/services/access"
)

// catalogOption is the session option by which drivers choose a catalog.
const catalogOption = "catalog"

// setSession accepts the one catalog there is. A replica keeps no sessions, so
// no other option can be set; each is refused by name, as the standard wants.
func setSession(_ *flightService, _ context.Context, _ access.Principal, body []byte) (proto.Message, error) {
	var req flight.SetSessionOptionsRequest
	if err := plain(body, &req); err != nil {
		return nil, err
	}
	out := &flight.SetSessionOptionsResult{Errors: map[string]*flight.SetSessionOptionsResultError{}}
	for name, value := range req.GetSessionOptions() {
		switch {
		case name != catalogOption:
			out.Errors[name] = &flight.SetSessionOptionsResultError{Value: flight.SetSessionOptionsResultErrorInvalidName}
		case value.GetStringValue() != CatalogName:
			out.Errors[name] = &flight.SetSessionOptionsResultError{Value: flight.SetSessionOptionsResultErrorInvalidValue}
		}
	}
	return out, nil
}

func getSession(*flightService, context.Context, access.Principal, []byte) (proto.Message, error) {
	value, err := flight.NewSessionOptionValue(CatalogName)
	if err != nil {
		return nil, err
	}
	return &flight.GetSessionOptionsResult{SessionOptions: map[string]*flight.SessionOptionValue{catalogOption: &value}}, nil
}

// closeSession has nothing to end.
func closeSession(*flightService, context.Context, access.Principal, []byte) (proto.Message, error) {
	return &flight.CloseSessionResult{Status: flight.CloseSessionResultClosed}, nil
}
