package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
	"unsafe"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/numeral"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// ErrSyntax says that a body is not JSON.
var ErrSyntax = errors.New("wire: body is not JSON")

// A FieldError says that a member of the body has the wrong type, or is a list
// of absurd length. It shows no text of the body.
type FieldError struct {
	Field string // name as the request spells it; "" for the body itself
	Want  string // such as "a string"
	Got   string // such as "an array"; "" if it goes without saying
}

func (e *FieldError) Error() string { return "wire: " + e.Detail() }

// Detail is the error in words for the client.
func (e *FieldError) Detail() string {
	detail := cmp.Or(e.Field, "the body") + " must be " + e.Want
	if e.Got != "" {
		detail += ", not " + e.Got
	}
	return detail
}

// A Request is the body of POST /flags. It is reused from body to body. The zero
// value is ready for Parse, and is also what an empty object parses to.
type Request struct {
	// APIKey is the project's token; "" if there is none.
	APIKey string

	// DistinctID is the person's id. A number is its text, and an id of more
	// than 200 bytes is cut to 200 characters (evaluation.md §2.4).
	// HasDistinctID tells the empty id, which is valid, from none.
	DistinctID    string
	HasDistinctID bool

	// AnonymousID and DeviceID are $anon_distinct_id and $device_id.
	AnonymousID string
	DeviceID    string

	// Groups, Person and GroupProperties are JSON objects, or nil. The members of
	// Groups are strings, numbers or null, those of GroupProperties objects or null.
	Groups          json.RawMessage
	Person          json.RawMessage
	GroupProperties json.RawMessage

	// Tags are the evaluation contexts. None: no filtering.
	Tags []string

	// Keys are the flags that are asked for, if HasKeys is true; otherwise all
	// are.
	Keys    []string
	HasKeys bool

	// Runtime is evaluation_runtime, if HasRuntime is true. It beats what the
	// headers say.
	Runtime    runtime.Kind
	HasRuntime bool

	// DisableFlags asks for an answer without flags. GeoIPDisable forbids looking
	// up the client's address.
	DisableFlags bool
	GeoIPDisable bool

	members [spellings]jsonscan.Value // last value of each spelling
	text    []byte                    // decoded texts
	fixed   []byte                    // body without NaN and Infinity
	rest    []byte                    // what of a context are person properties
	tags    []string
	keys    []string
	entries []groupEntry
}

// The spellings of the fields. Spellings of one field stand together, in the order
// in which they count.
const (
	token = iota
	apiKey
	dollarToken
	distinctID
	dollarDistinctID
	groups
	dollarGroups
	personProperties
	dollarProperties
	groupProperties
	dollarGroupProperties
	dollarAnonymousID
	anonymousID
	dollarDeviceID
	deviceID
	geoIPDisable
	disableFlags
	flagKeys
	flagKeysToEvaluate
	evaluationContexts
	evaluationEnvironments
	evaluationRuntime
	spellings // how many
)

// names are the spellings as text.
var names = [spellings]string{
	token: "token", apiKey: "api_key", dollarToken: "$token",
	distinctID: "distinct_id", dollarDistinctID: "$distinct_id",
	groups: "groups", dollarGroups: "$groups",
	personProperties: "person_properties", dollarProperties: "$properties",
	groupProperties: "group_properties", dollarGroupProperties: "$group_properties",
	dollarAnonymousID: "$anon_distinct_id", anonymousID: "anon_distinct_id",
	dollarDeviceID: "$device_id", deviceID: "device_id",
	geoIPDisable: "geoip_disable", disableFlags: "disable_flags",
	flagKeys: "flag_keys", flagKeysToEvaluate: "flag_keys_to_evaluate",
	evaluationContexts: "evaluation_contexts", evaluationEnvironments: "evaluation_environments",
	evaluationRuntime: "evaluation_runtime",
}

// spellingOf has the numbers of the spellings.
var spellingOf = numbersOf(names)

// numbersOf returns the numbers of names, of which "" is none.
func numbersOf(names [spellings]string) map[string]int {
	m := make(map[string]int, spellings)
	for n, name := range names {
		if name != "" {
			m[name] = n
		}
	}
	return m
}

// Parse reads a body. The error is ErrSyntax, or a *FieldError; with the latter
// APIKey is set if the body has a usable one. The Request refers to body and
// is valid while that does not change.
func (r *Request) Parse(body []byte) error {
	err := r.parse(body)
	if errors.Is(err, ErrSyntax) {
		var found bool
		if r.fixed, found = appendFinite(r.fixed[:0], body); found {
			if err = r.parse(r.fixed); errors.Is(err, ErrSyntax) {
				err = ErrSyntax // its offset is not one of the body
			}
		}
	}
	return err
}

func (r *Request) parse(body []byte) error {
	r.reset()

	// One pass, which validates all of the body and decodes nothing.
	o := jsonscan.Value(body).Object()
	for o.Next() {
		if n, ok := spellingOf[string(o.NameIn(&r.text))]; ok {
			r.members[n] = o.Value()
		}
	}
	r.text = r.text[:0]
	if err := o.Err(); err != nil {
		return notObject(body, err)
	}
	return r.decode()
}

// reset forgets the last body but not the memory.
func (r *Request) reset() {
	*r = Request{text: r.text[:0], fixed: r.fixed, rest: r.rest[:0], tags: r.tags[:0], keys: r.keys[:0], entries: r.entries[:0]}
}

// notObject distinguishes JSON that is not an object from what is not JSON. err is the
// error of the walk over the object.
func notObject(body []byte, err error) error {
	v, errAny := jsonscan.Parse(body, jsonscan.MaxDepth)
	switch {
	case errAny != nil:
		err = errAny
	case v.Kind() != jsonscan.Object:
		return &FieldError{Want: "an object", Got: v.Describe()}
	}
	return fmt.Errorf("%w: %w", ErrSyntax, err)
}

// decode sets the fields from the members that were found.
func (r *Request) decode() error {
	var err error
	if err := r.string(&r.APIKey, token, dollarToken); err != nil {
		return err
	}
	if n := r.first(distinctID, dollarDistinctID); n >= 0 {
		switch v := r.members[n]; v.Kind() {
		case jsonscan.String:
			r.DistinctID = r.decoded(v)
		case jsonscan.Number:
			r.DistinctID = r.numeral(v)
		default:
			return &FieldError{names[n], "a string or a number", v.Describe()}
		}
		r.DistinctID, r.HasDistinctID = cutID(r.DistinctID), true
	}
	if n := r.first(groups, dollarGroups); n >= 0 {
		if r.Groups, err = r.object(n); err != nil {
			return err
		}
		for o := jsonscan.Value(r.Groups).Object(); o.Next(); {
			switch v := o.Value(); v.Kind() {
			case jsonscan.String, jsonscan.Number, jsonscan.Null:
			default:
				return &FieldError{names[n], "an object of strings or numbers", "an object with " + v.Describe()}
			}
		}
	}
	if n := r.first(personProperties, dollarProperties); n >= 0 {
		if r.Person, err = r.object(n); err != nil {
			return err
		}
	}
	if n := r.first(groupProperties, dollarGroupProperties); n >= 0 {
		if r.GroupProperties, err = r.object(n); err != nil {
			return err
		}
		count := 0
		for o := jsonscan.Value(r.GroupProperties).Object(); o.Next(); count++ {
			if v := o.Value(); v.Kind() != jsonscan.Object && v.Kind() != jsonscan.Null {
				return &FieldError{names[n], "an object of objects", "an object with " + v.Describe()}
			}
		}
		if count > maxGroups {
			return &FieldError{names[n], "an object of at most 1024 objects", "one of " + strconv.Itoa(count)}
		}
	}
	if err := r.string(&r.AnonymousID, dollarAnonymousID, anonymousID); err != nil {
		return err
	}
	if err := r.string(&r.DeviceID, dollarDeviceID, deviceID); err != nil {
		return err
	}
	if err := r.bool(&r.GeoIPDisable, geoIPDisable); err != nil {
		return err
	}
	if err := r.bool(&r.DisableFlags, disableFlags); err != nil {
		return err
	}
	if n := r.first(flagKeys, flagKeysToEvaluate); n >= 0 {
		if r.keys, err = r.strings(r.keys, n); err != nil {
			return err
		}
		r.Keys, r.HasKeys = r.keys, true
	}
	if n := r.first(evaluationContexts, evaluationEnvironments); n >= 0 {
		if r.tags, err = r.strings(r.tags, n); err != nil {
			return err
		}
		r.Tags = r.tags
	}
	kind := ""
	if err := r.string(&kind, evaluationRuntime, evaluationRuntime); err != nil {
		return err
	}
	if r.HasRuntime = r.first(evaluationRuntime, evaluationRuntime) >= 0; r.HasRuntime {
		r.Runtime = runtime.ParseKind(kind)
	}
	return nil
}

// first returns the first of the spellings from n to last that the body has and
// that is not null, or -1.
func (r *Request) first(n, last int) int {
	for ; n <= last; n++ {
		if k := r.members[n].Kind(); k != jsonscan.Invalid && k != jsonscan.Null {
			return n
		}
	}
	return -1
}

// string reads the first of the spellings from n to last into dst, if there is one.
func (r *Request) string(dst *string, n, last int) error {
	if n = r.first(n, last); n < 0 {
		return nil
	}
	v := r.members[n]
	if v.Kind() != jsonscan.String {
		return &FieldError{names[n], "a string", v.Describe()}
	}
	*dst = r.decoded(v)
	return nil
}

func (r *Request) object(n int) (json.RawMessage, error) {
	v := r.members[n]
	if v.Kind() != jsonscan.Object {
		return nil, &FieldError{names[n], "an object", v.Describe()}
	}
	return json.RawMessage(v), nil
}

func (r *Request) bool(dst *bool, n int) error {
	if r.first(n, n) < 0 {
		return nil
	}
	b, ok := r.members[n].Bool()
	if !ok {
		return &FieldError{names[n], "true or false", r.members[n].Describe()}
	}
	*dst = b
	return nil
}

// How many entries lists may have, far more than there are flags and group types.
// An entry takes more memory than it has bytes in a body.
const (
	maxStrings = 1 << 16
	maxGroups  = 1 << 10
)

func (r *Request) strings(list []string, n int) ([]string, error) {
	a := r.members[n].Array()
	for a.Next() {
		if v := a.Value(); v.Kind() != jsonscan.String {
			return list, &FieldError{names[n], "an array of strings", "an array with " + v.Describe()}
		}
		if len(list) == maxStrings {
			return list, &FieldError{names[n], "an array of at most 65536 strings", "a longer one"}
		}
		list = append(list, r.decoded(a.Value()))
	}
	if a.Err() != nil {
		return list, &FieldError{names[n], "an array of strings", r.members[n].Describe()}
	}
	return list, nil
}

// decoded returns the text of a JSON string.
func (r *Request) decoded(v jsonscan.Value) string {
	if b, ok := v.Plain(); ok {
		return view(b)
	}
	start := len(r.text)
	r.text, _ = v.AppendString(r.text)
	return view(r.text[start:])
}

// numeral returns the text of a JSON number, str(x) of evaluation.md §4.1.
func (r *Request) numeral(v jsonscan.Value) string {
	if numeral.IsCanonicalInteger(v) {
		return view(v)
	}
	start := len(r.text)
	r.text = numeral.Append(r.text, v)
	return view(r.text[start:])
}

// view returns b as a string without copying it. The bytes must not change while
// the string is in use. They belong to the body, which the caller of Parse
// promised not to change, or to r.text, whose used part is written only by the
// next Parse: where append moves it to a larger array, older views keep the
// smaller one.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// cutID shortens an id as evaluation.md §2.4 wants it: bytes are tested,
// characters are kept.
func cutID(id string) string {
	const maxID = 200
	if len(id) <= maxID {
		return id
	}
	for i, n := 0, 0; i < len(id); n++ {
		if n == maxID {
			return id[:i]
		}
		_, size := utf8.DecodeRuneInString(id[i:])
		i += size
	}
	return id
}

// appendFinite appends body to dst with null for the words NaN, Infinity and
// -Infinity outside of strings, and reports whether there were any. A word that
// is part of something else leaves JSON as broken as it was.
func appendFinite(dst, body []byte) (_ []byte, found bool) {
	for {
		i := bytes.IndexAny(body, `"NI`)
		if i < 0 {
			return append(dst, body...), found
		}
		dst = append(dst, body[:i]...)
		body = body[i:]
		n := 1
		switch {
		case body[0] == '"':
			n = stringEnd(body)
			dst = append(dst, body[:n]...)
		case bytes.HasPrefix(body, []byte("NaN")):
			n, found = len("NaN"), true
			dst = append(dst, "null"...)
		case bytes.HasPrefix(body, []byte("Infinity")):
			n, found = len("Infinity"), true
			dst = append(bytes.TrimSuffix(dst, []byte("-")), "null"...)
		default:
			dst = append(dst, body[0])
		}
		body = body[n:]
	}
}

// stringEnd returns the length of the string that b begins with.
func stringEnd(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}
