// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lancens

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/access"
)

// Error codes of the protocol.
const (
	codeUnsupported       = 0
	codeNamespaceNotFound = 1
	codeTableNotFound     = 4
	codeTableExists       = 5
	codeVersionNotFound   = 11
	codeInvalid           = 13
	codeConflict          = 14
	codeDenied            = 15
	codeUnauthenticated   = 16
	codeUnavailable       = 17
	codeInternal          = 18
	codeState             = 19
	codeThrottled         = 21
)

// problem is an error's body.
type problem struct {
	Error    string `json:"error"`
	Code     int    `json:"code"`
	Detail   string `json:"detail,omitempty"`
	Instance string `json:"instance,omitempty"`
}

// codedError is an error that has a code of its own.
type codedError struct {
	code int
	err  error
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

// failure is the answer for an error. What is our own fault is told to the log
// and not to the caller.
func (s *Server) failure(r *http.Request, err error) (status int, body problem) {
	status, code := statusOf(err)
	text := err.Error()
	if status >= http.StatusInternalServerError && code == codeInternal {
		if !isCanceled(err) {
			s.opts.Logger.Error("lance namespace: a call failed", "path", r.URL.Path, "error", err)
		}
		text = "internal error; see the server's log"
	}
	var own *codedError
	if errors.As(err, &own) {
		code = own.code
	}
	return status, problem{Error: text, Code: code, Instance: r.URL.Path}
}

func statusOf(err error) (status, code int) {
	switch lake.KindOf(err) {
	case lake.Unsupported:
		return http.StatusNotAcceptable, codeUnsupported
	case lake.NotFound:
		return http.StatusNotFound, codeTableNotFound
	case lake.AlreadyExists:
		return http.StatusConflict, codeTableExists
	case lake.Conflict:
		return http.StatusConflict, codeConflict
	case lake.Invalid:
		return http.StatusBadRequest, codeInvalid
	case lake.Denied:
		return http.StatusForbidden, codeDenied
	case lake.Unauthenticated:
		return http.StatusUnauthorized, codeUnauthenticated
	case lake.Unavailable, lake.Undetermined, lake.Fenced:
		return http.StatusServiceUnavailable, codeUnavailable
	case lake.Exhausted:
		return http.StatusTooManyRequests, codeThrottled
	case lake.Precondition:
		return http.StatusConflict, codeState
	}
	return http.StatusInternalServerError, codeInternal
}

// bearer returns the token of an Authorization header.
func bearer(header string) (string, bool) {
	scheme, token, ok := strings.Cut(header, " ")
	token = strings.TrimLeft(token, " ")
	return token, ok && strings.EqualFold(scheme, "bearer") && token != ""
}

// body is what requests hold, of all operations together. Fields that are not
// named do not matter here.
type body struct {
	ID           []string `json:"id"`
	Version      *int64   `json:"version"`
	Branch       string   `json:"branch"`
	Tag          string   `json:"tag"`
	Location     string   `json:"location"`
	ManifestPath string   `json:"manifest_path"`
	ManifestSize *int64   `json:"manifest_size"`
	NamingScheme string   `json:"naming_scheme"`
	Limit        *int64   `json:"limit"`
	Descending   *bool    `json:"descending"`
	PageToken    string   `json:"page_token"`
	WithTableURI bool     `json:"with_table_uri"`
}

// request is what was asked.
type request struct {
	body
	path      []string // of the address
	delimiter string
}

// readRequest reads the identifier of the address, the parameters and the body.
// Parameters of the address go before those of the body.
func readRequest(w http.ResponseWriter, r *http.Request) (*request, error) {
	in := &request{delimiter: "$"}
	query := r.URL.Query()
	if d := query.Get("delimiter"); d != "" {
		in.delimiter = d
	}
	if len(in.delimiter) > 16 {
		return nil, lake.Errorf(lake.Invalid, "delimiter of %d bytes: want 1..16", len(in.delimiter))
	}
	if err := in.readBody(w, r); err != nil {
		return nil, err
	}
	if err := in.readQuery(query); err != nil {
		return nil, err
	}
	if id := r.PathValue("id"); id != "" && id != in.delimiter {
		in.path = strings.Split(id, in.delimiter)
	}
	if in.Branch != "" {
		return nil, lake.Errorf(lake.Unsupported, "branches are not served")
	}
	return in, nil
}

func (in *request) readBody(w http.ResponseWriter, r *http.Request) error {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return lake.Errorf(lake.Invalid, "the body is more than %d bytes", large.Limit)
	case err != nil:
		return lake.Errorf(lake.Invalid, "the body could not be read: %w", err)
	case len(strings.TrimSpace(string(raw))) == 0:
		return nil
	}
	if err := json.Unmarshal(raw, &in.body); err != nil {
		return lake.Errorf(lake.Invalid, "the body is not the JSON of a request: %w", err)
	}
	return nil
}

func (in *request) readQuery(q url.Values) error {
	number := func(name string, to **int64) error {
		text := q.Get(name)
		if text == "" {
			return nil
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return lake.Errorf(lake.Invalid, "parameter %s=%q: want a whole number", name, text)
		}
		*to = &n
		return nil
	}
	if text := q.Get("descending"); text != "" {
		b, err := strconv.ParseBool(text)
		if err != nil {
			return lake.Errorf(lake.Invalid, "parameter descending=%q: want true or false", text)
		}
		in.Descending = &b
	}
	if text := q.Get("with_table_uri"); text != "" {
		in.WithTableURI = text == "true"
	}
	if text := q.Get("page_token"); text != "" {
		in.PageToken = text
	}
	if text := q.Get("branch"); text != "" {
		in.Branch = text
	}
	return errors.Join(number("limit", &in.Limit), number("version", &in.Version))
}

// limit is the size of a page.
func (in *request) limit(most int) (int, error) {
	switch {
	case in.Limit == nil:
		return most, nil
	case *in.Limit < 1:
		return 0, lake.Errorf(lake.Invalid, "limit %d: want at least 1", *in.Limit)
	}
	return int(min(*in.Limit, int64(most))), nil
}

// table is the table that the address names.
func (in *request) table() (lake.TableName, error) {
	if len(in.path) != 2 {
		return lake.TableName{}, lake.Errorf(lake.Invalid, "a table is named by namespace%stable, not by %d parts", in.delimiter, len(in.path))
	}
	name := lake.TableName{Namespace: in.path[0], Name: in.path[1]}
	return name, name.Validate()
}

// granted is the table that the address names, if the principal may see it.
func (in *request) granted(p access.Principal) (lake.TableName, error) {
	name, err := in.table()
	if err == nil && !p.May(name.Namespace) {
		err = noTable(name)
	}
	return name, err
}

// namespace is the namespace that the address names; root says that it is the
// root.
func (in *request) namespace() (name string, root bool, err error) {
	switch len(in.path) {
	case 0:
		return "", true, nil
	case 1:
		return in.path[0], false, lake.ValidateNamespace(in.path[0])
	}
	return "", false, &codedError{codeNamespaceNotFound, lake.Errorf(lake.NotFound, "no namespace %q: there is one level of them", strings.Join(in.path, in.delimiter))}
}
