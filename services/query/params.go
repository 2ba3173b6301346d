// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	sqlengine "github.com/lakeplane/lake/services/query/engine"
)

// maxTyped bounds the parameters of one statement that are looked at one by
// one.
const maxTyped = 64

// typeParameters finds the types of parameters that an engine has left as text
// because of another one: the first placeholder whose place decides nothing,
// such as that of SELECT ?, ends its search. Each is asked about alone, with
// NULL in the place of the others.
func (s *Server) typeParameters(ctx context.Context, req sqlengine.Request, open *arrow.Schema) (*arrow.Schema, error) {
	if open == nil || open.NumFields() < 2 || open.NumFields() > maxTyped {
		return open, nil
	}
	fields := open.Fields()
	places := placeholders(req.SQL)
	for i, f := range fields {
		if f.Type.ID() != arrow.STRING {
			continue
		}
		alone := req
		alone.SQL = only(req.SQL, places, f.Name)
		plan, err := s.opts.Planner.Plan(ctx, alone)
		if ctx.Err() != nil {
			return nil, err
		}
		// A NULL may not be allowed where a parameter is: then text it is.
		if err == nil && plan.Parameters.NumFields() == 1 {
			fields[i].Type = plan.Parameters.Field(0).Type
		}
	}
	return arrow.NewSchema(fields, nil), nil
}

// placeholder is one in a text, by the name of its parameter.
type placeholder struct {
	from, to int
	name     string
}

// placeholders finds ?, ?1, $1 and $name. The statement has passed the gate.
func placeholders(sql string) (out []placeholder) {
	asked := 0
	for at := 0; at < len(sql); {
		n := tokenLength(sql[at:])
		sign := sql[at]
		if n == 1 && (sign == '?' || sign == '$') {
			word := 0
			for at+1+word < len(sql) && isWordByte(sql[at+1+word]) {
				word++
			}
			name := sql[at+1 : at+1+word]
			if sign == '?' && (name == "" || name[0] < '0' || name[0] > '9') {
				asked++
				name, word = strconv.Itoa(asked), 0
			}
			if n += word; name != "" {
				out = append(out, placeholder{at, at + n, name})
			}
		}
		at += n
	}
	return out
}

// only keeps the placeholders of one parameter, and puts NULL for the others.
func only(sql string, places []placeholder, name string) string {
	var out strings.Builder
	at := 0
	for _, p := range places {
		out.WriteString(sql[at:p.from])
		if strings.EqualFold(p.name, name) {
			out.WriteString("$" + p.name)
		} else {
			out.WriteString("NULL")
		}
		at = p.to
	}
	return out.String() + sql[at:]
}
