package reference

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // row 107 needs a zone on every machine
)

// A Case is one statement of section 16 of the specification: a document, a request, and what must come out.
type Case struct {
	Row      int // of the tables of §16, 1–182; several cases may share one
	Name     string
	Document string // JSON
	Request  *Request
	Want     []Want // flags that it does not mention are not looked at
	Partial  bool
}

// A Want is the expected result of one flag.
type Want struct {
	Key         string
	Absent      bool // not in the results; all else is ignored
	Enabled     bool
	Variant     string // "" = none
	Failed      bool
	Code        string // "" = any
	Index       int    // -1 = null, -2 = any
	Description string // "" = any
	Payload     string // "" = any, "none" = no payload, else its exact compact JSON
}

// Cases returns all rows of §16 in order. Each call makes them anew, but cases of one call may share a request, so
// treat requests as read-only.
//
// In rows 174–179 the request has the kind that the headers lead to, in rows 180–182 the looked-up properties.
func Cases() []Case {
	all := slices.Concat(flowCases(), subjectCases(), operatorCases(), targetCases())
	slices.SortStableFunc(all, func(a, b Case) int { return a.Row - b.Row })
	return all
}

// Check compares results with the case and returns all differences, nil if there are none.
func (c Case) Check(results []Result, partial bool) error {
	var problems []error
	if partial != c.Partial {
		problems = append(problems, fmt.Errorf("partial = %v, want %v", partial, c.Partial))
	}
	for _, want := range c.Want {
		i := slices.IndexFunc(results, func(r Result) bool { return r.Key == want.Key })
		switch {
		case i < 0 && !want.Absent:
			problems = append(problems, fmt.Errorf("flag %q is absent", want.Key))
		case i >= 0 && want.Absent:
			problems = append(problems, fmt.Errorf("flag %q is present, want it absent", want.Key))
		case i >= 0:
			problems = append(problems, want.check(results[i]))
		}
	}
	return errors.Join(problems...)
}

func (w Want) check(got Result) error {
	payload := "none"
	if got.Payload != nil {
		var compact bytes.Buffer
		if err := json.Compact(&compact, got.Payload); err != nil {
			return fmt.Errorf("flag %q: payload %s: %w", w.Key, got.Payload, err)
		}
		payload = compact.String()
	}
	ok := got.Enabled == w.Enabled && got.Variant == w.Variant && got.HasVariant == (w.Variant != "") && got.Failed == w.Failed &&
		(w.Code == "" || got.Code == w.Code) &&
		(w.Index == -2 || got.Index == w.Index) &&
		(w.Description == "" || got.Description == w.Description) &&
		(w.Payload == "" || payload == w.Payload)
	if !ok {
		return fmt.Errorf("flag %q: got %+v with payload %s, want %+v", w.Key, got, payload, w)
	}
	return nil
}

// caseNow is the time of §16.
var caseNow = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// caseDocument wraps flags into a document.
func caseDocument(flags ...string) string {
	return `{"flags":[` + strings.Join(flags, ",") + `]}`
}

// with adds a member to the outermost object.
func with(object, member string) string {
	return strings.TrimSuffix(object, "}") + "," + member + "}"
}

// caseFlag is an active flag with id 1; filters are the members of "filters".
func caseFlag(key, filters string) string {
	return fmt.Sprintf(`{"id":1,"key":%q,"active":true,"filters":{%s}}`, key, filters)
}

// caseFlagID is caseFlag with another id.
func caseFlagID(id int, key, filters string) string {
	return fmt.Sprintf(`{"id":%d,"key":%q,"active":true,"filters":{%s}}`, id, key, filters)
}

// conditions is the member "groups".
func conditions(list ...string) string { return `"groups":[` + strings.Join(list, ",") + `]` }

// where is a condition at 100 % with the filters.
func where(filters ...string) string { return `{"properties":[` + strings.Join(filters, ",") + `]}` }

// rollout is a condition for everyone at a percentage.
func rollout(percentage string) string { return `{"rollout_percentage":` + percentage + `}` }

// multivariate is the member "multivariate", of pairs of key and share.
func multivariate(keysAndShares ...string) string {
	var list []string
	for pair := range slices.Chunk(keysAndShares, 2) {
		list = append(list, fmt.Sprintf(`{"key":%q,"rollout_percentage":%s}`, pair[0], pair[1]))
	}
	return `"multivariate":{"variants":[` + strings.Join(list, ",") + `]}`
}

// filterJSON is a person filter; value is JSON.
func filterJSON(key, operator, value string) string {
	return fmt.Sprintf(`{"key":%q,"type":"person","operator":%q,"value":%s}`, key, operator, value)
}

// caseRequest is a request at the time of §16, in UTC.
func caseRequest(distinctID string, change ...func(*Request)) *Request {
	r := &Request{DistinctID: distinctID, Now: caseNow, Zone: time.UTC}
	for _, apply := range change {
		apply(r)
	}
	return r
}

func person(properties string) func(*Request) {
	return func(r *Request) { r.Person = json.RawMessage(properties) }
}

// group adds a group; the key is JSON.
func group(name, key string) func(*Request) {
	return func(r *Request) {
		if r.Groups == nil {
			r.Groups = map[string]json.RawMessage{}
		}
		r.Groups[name] = json.RawMessage(key)
	}
}

func groupProperties(name, properties string) func(*Request) {
	return func(r *Request) { r.GroupProperties = map[string]json.RawMessage{name: json.RawMessage(properties)} }
}

// on wants an enabled flag because of a condition.
func on(key string, index int) Want {
	return Want{Key: key, Enabled: true, Code: codeMatch, Index: index, Description: fmt.Sprintf("Matched condition set %d", index+1)}
}

// off wants a disabled flag, which has no payload.
func off(key, code string, index int) Want {
	return Want{Key: key, Code: code, Index: index, Payload: "none"}
}

// failed wants an entry of §3.9.
func failed(key, code string) Want {
	return Want{Key: key, Failed: true, Code: code, Index: -1, Payload: "none"}
}

func absent(key string) Want { return Want{Key: key, Absent: true} }

func (w Want) variant(key string) Want {
	w.Variant = key
	return w
}

func (w Want) payload(text string) Want {
	w.Payload = text
	return w
}

func (w Want) description(text string) Want {
	w.Description = text
	return w
}
