package reference

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // row 107 needs its zone on every machine
)

// A Case is one row of §16: a document, a request, and the expected results.
type Case struct {
	Row      int // the row of §16, from 1 to 182; several cases may share one
	Name     string
	Document string // JSON
	Request  *Request
	Want     []Want // other flags are not compared
	Partial  bool
}

// A Want is the expected result of one flag.
type Want struct {
	Key         string
	Absent      bool // the flag is not in the results; the other fields are ignored
	Enabled     bool
	Variant     string // "" means none
	Failed      bool
	Code        string // "" means any
	Index       int    // -1 means null, -2 any
	Description string // "" means any
	Payload     string // "" means any, "none" no payload, other values are compact JSON to compare
}

// Cases returns all rows of §16 in order. Each call makes new cases, but the
// cases of one call may share a request, so treat requests as read-only.
//
// In rows 174–179 the request has the runtime kind that follows from the
// headers, and in rows 180–182 the looked-up properties.
func Cases() []Case {
	all := slices.Concat(flowCases(), subjectCases(), operatorCases(), targetCases())
	slices.SortStableFunc(all, func(a, b Case) int { return a.Row - b.Row })
	return all
}

// Check compares results with the case and returns all differences, or nil if
// there are none.
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

// caseNow is the time at which the cases of §16 are evaluated.
var caseNow = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// caseDocument returns a document of flags.
func caseDocument(flags ...string) string {
	return `{"flags":[` + strings.Join(flags, ",") + `]}`
}

// withMember adds a member to the outermost object.
func withMember(object, member string) string {
	return strings.TrimSuffix(object, "}") + "," + member + "}"
}

// caseFlag returns an active flag with id 1. The text filters has the members
// of "filters".
func caseFlag(key, filters string) string {
	return fmt.Sprintf(`{"id":1,"key":%q,"active":true,"filters":{%s}}`, key, filters)
}

// caseFlagID is caseFlag with another id.
func caseFlagID(id int, key, filters string) string {
	return fmt.Sprintf(`{"id":%d,"key":%q,"active":true,"filters":{%s}}`, id, key, filters)
}

// conditions returns the member "groups".
func conditions(list ...string) string { return `"groups":[` + strings.Join(list, ",") + `]` }

// where returns a condition with filters, at 100 %.
func where(filters ...string) string { return `{"properties":[` + strings.Join(filters, ",") + `]}` }

// rollout returns a condition for everyone at a percentage.
func rollout(percentage string) string { return `{"rollout_percentage":` + percentage + `}` }

// multivariate returns the member "multivariate" for pairs of key and share.
func multivariate(keysAndShares ...string) string {
	var list []string
	for pair := range slices.Chunk(keysAndShares, 2) {
		list = append(list, fmt.Sprintf(`{"key":%q,"rollout_percentage":%s}`, pair[0], pair[1]))
	}
	return `"multivariate":{"variants":[` + strings.Join(list, ",") + `]}`
}

// filterJSON returns a person filter. The value is JSON.
func filterJSON(key, operator, value string) string {
	return fmt.Sprintf(`{"key":%q,"type":"person","operator":%q,"value":%s}`, key, operator, value)
}

// caseRequest returns a request at caseNow, in UTC.
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

// group adds a group to a request. The key is JSON.
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

// wantOn expects a flag that is enabled because of a condition.
func wantOn(key string, index int) Want {
	return Want{Key: key, Enabled: true, Code: codeMatch, Index: index, Description: fmt.Sprintf("Matched condition set %d", index+1)}
}

// off expects a flag that is disabled, and so has no payload.
func off(key, code string, index int) Want {
	return Want{Key: key, Code: code, Index: index, Payload: "none"}
}

// failed expects a flag that fails (§3.9).
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
