package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/management"
)

// maxDepth is how many levels deep the values of a body may be nested
// (management.md §15.2).
const maxDepth = 64

// members are the members of a body that are needed before the operation.
type members struct {
	password string // current_password
	key      string // personal_api_key
	foreign  bool   // there are members with names that the API never has
}

// emptyBody stands for a missing body.
var emptyBody = jsonscan.Value("{}")

// readBody reads the body and checks that it is JSON. It does so once.
func (a *Request) readBody() error {
	if a.document != nil {
		return nil
	}
	x := a.x
	if x.r.Method == http.MethodGet || x.r.Method == http.MethodHead {
		a.document = emptyBody
		return nil
	}
	x.body.maxBody = a.s.config.Management.MaxBody
	if err := x.body.read(); err != nil {
		return err
	}
	if len(x.body.raw) == 0 {
		a.document = emptyBody
		return nil
	}
	const parsed = 6 // times the size of a body, which is decoded member by member
	if err := x.body.charge(int64(parsed * len(x.body.raw))); err != nil {
		return err
	}
	if err := checkMediaType(x.r.Header); err != nil {
		return err
	}
	document, err := jsonscan.Parse(x.body.raw, maxDepth)
	if err != nil {
		at := len(x.body.raw)
		if e, ok := errors.AsType[*jsonscan.SyntaxError](err); ok {
			at = e.Offset
		}
		return parseError("this is not JSON, or nested deeper than %d levels, at byte %d", maxDepth, at)
	}
	if !utf8.Valid(document) {
		return parseError("the text is not UTF-8")
	}
	a.document = document
	a.members = membersOf(document)
	return nil
}

// parseError says why a body cannot be read. It quotes nothing of the body, which
// may have secrets.
func parseError(format string, args ...any) error {
	return &management.Error{Kind: errMalformed, Code: "parse_error", Detail: "JSON parse error - " + fmt.Sprintf(format, args...)}
}

// checkMediaType returns errContentType unless the body is declared as plain JSON,
// or not declared at all. Forms are refused, because pages of other sites could
// make browsers send them.
func checkMediaType(h http.Header) error {
	if encoding := h.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return errCompression
	}
	if contentType := h.Get("Content-Type"); contentType != "" {
		if mediaType, _, err := mime.ParseMediaType(contentType); err != nil || mediaType != "application/json" {
			return errContentType
		}
	}
	return nil
}

// membersOf looks at the members of an object. If several have one name, the last
// one counts (management.md §15.1 A24). Values that are not objects have no members.
func membersOf(document jsonscan.Value) (m members) {
	text := func(v jsonscan.Value) string {
		s, _ := v.AppendString(nil)
		return string(s)
	}
	o := document.Object()
	for o.Next() {
		key := o.Name()
		switch string(key) {
		case "current_password":
			m.password = text(o.Value())
		case "personal_api_key":
			m.key = text(o.Value())
		}
		m.foreign = m.foreign || !ownName(key)
	}
	return m
}

// ownName reports whether the API may have a member with a name. All its names are
// lower-case words, some after a $, but for one that OpenFeature has chosen.
func ownName(key []byte) bool {
	if string(key) == "defaultValue" {
		return true
	}
	for _, c := range key {
		if c != '_' && c != '$' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// requireObject returns an error if the body is something else.
func (a *Request) requireObject() error {
	if a.document.Kind() == jsonscan.Object {
		return nil
	}
	return &management.Error{
		Kind: management.ErrInvalid, Code: "invalid_input",
		Detail: "Invalid data. Expected a dictionary, but got " + typeName(a.document) + ".",
	}
}

// typeName names the type of a value with PostHog's words.
func typeName(v jsonscan.Value) string {
	switch v.Kind() {
	case jsonscan.Object:
		return "dict"
	case jsonscan.Array:
		return "list"
	case jsonscan.String:
		return "str"
	case jsonscan.True, jsonscan.False:
		return "bool"
	case jsonscan.Number:
		if bytes.ContainsAny(v, ".eE") {
			return "float"
		}
		return "int"
	}
	return "NoneType"
}

// decode decodes the body, which is an object, into a patch.
func (a *Request) decode(patch any) error {
	document := []byte(a.document)
	if a.members.foreign {
		// They are ignored anyhow, but encoding/json would take IS_STAFF for is_staff.
		document = withoutMembers(a.document, func(name []byte) bool { return !ownName(name) })
	}
	if err := json.Unmarshal(document, patch); err != nil { // cannot be: patches decode any value
		return parseError("the members cannot be decoded")
	}
	return nil
}

// withoutMembers returns an object without some of its members.
func withoutMembers(document jsonscan.Value, drop func(name []byte) bool) []byte {
	b := []byte{'{'}
	o := document.Object()
	for o.Next() {
		key := o.Name()
		if drop(key) {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(append(b, encoded(string(key))...), ':'), o.Value()...)
	}
	return append(b, '}')
}

// credentials are members that any body may have (management.md §1.1, §1.8).
func credentials(name []byte) bool {
	return string(name) == "personal_api_key" || string(name) == "current_password"
}

// encoded is encode for a value that always can be encoded, such as texts.
func encoded(v any) string {
	body, err := encode(v)
	if err != nil {
		panic(err)
	}
	return string(body)
}

// encode writes a value as compact JSON. It does not escape HTML, because no
// browser takes these answers for a page.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode the answer: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
