package vet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/forms"
)

// Definitions are the flags that a program may ask for. They are safe for concurrent use.
type Definitions struct {
	snapshot   *flags.Snapshot
	flags      map[string]*flagFacts
	keys       []string // in the order of the document
	groupTypes map[int]string
}

// flagFacts are what rules ask about a flag.
type flagFacts struct {
	key      string
	active   bool
	archived bool
	broken   bool     // the flag fails, or cannot be read by every evaluator
	hidden   bool     // payloads are encrypted
	remote   bool     // the payload is the value
	returns  string   // the return_type of a rule set; "" without one
	variants []string // keys; values of a rule set that are texts
	payloads []string // other values of a rule set, too
	contexts []string
	groups   []string  // types of groups without which no condition set can match
	updated  time.Time // zero if the document does not say it
}

// ReadDefinitions reads a definitions document, or what a server of Flagstaff or of the
// public system lists as its flags, {"flags": […]}, in which archived flags and the times
// of changes are. Of several flags with one key the first counts; deleted flags do not
// exist. It refuses more than [flags.MaxDocument] bytes.
func ReadDefinitions(document []byte) (*Definitions, error) {
	if forms.IsManifest(document) {
		return nil, errors.New("vet: this is a manifest of OpenFeature, which does not say what flags do: want a definitions document")
	}
	decoded, err := flags.Decode(bytes.NewReader(document))
	if err != nil {
		return nil, err
	}
	snapshot, err := flags.Compile(decoded, flags.CompileOptions{})
	if err != nil {
		return nil, err
	}
	d := &Definitions{snapshot: snapshot, flags: make(map[string]*flagFacts), groupTypes: decoded.GroupTypes}
	more := forms.Described[description](document)
	for i := range decoded.Flags {
		f := &decoded.Flags[i]
		if f.Deleted || f.Key == "" || d.flags[f.Key] != nil {
			continue
		}
		facts := &flagFacts{
			key: f.Key, active: f.Active, broken: f.Unusable() != nil, hidden: f.HasEncryptedPayloads,
			remote: f.IsRemoteConfiguration, contexts: f.EvaluationContexts, groups: d.groupsOf(f),
		}
		if m := more[f.Key]; m != nil {
			facts.archived, facts.updated = m.archived(), m.updated()
		}
		if m := f.Filters.Multivariate; m != nil {
			for _, v := range m.Variants {
				facts.variants = append(facts.variants, v.Key)
			}
		}
		for name := range f.Filters.Payloads {
			if text, ok := f.Filters.Payload(name); ok && text != "" {
				facts.payloads = append(facts.payloads, text)
			}
		}
		facts.ruled(f.Filters.RuleSet)
		slices.Sort(facts.payloads)
		d.flags[f.Key] = facts
		d.keys = append(d.keys, f.Key)
	}
	return d, nil
}

// ruled takes in what a rule set gives.
func (f *flagFacts) ruled(set *flags.RuleSet) {
	if set == nil {
		return
	}
	f.returns = set.ReturnType
	for _, value := range set.Values() {
		var s string
		if f.returns == "string" && json.Unmarshal(value, &s) == nil {
			f.variants = append(f.variants, s)
		} else {
			f.payloads = append(f.payloads, string(value))
		}
	}
}

// groupsOf returns the types of groups without which no condition set of a flag matches, or no
// rule.
func (d *Definitions) groupsOf(f *flags.Flag) (types []string) {
	if set := f.Filters.RuleSet; set != nil {
		if index, ok := set.Aggregation.Index(); ok && d.groupTypes[index] != "" {
			types = append(types, d.groupTypes[index])
		}
	}
	for i := range f.Filters.Groups {
		a := f.Filters.Groups[i].AggregationGroupTypeIndex
		if a == flags.Inherited {
			a = f.Filters.AggregationGroupTypeIndex
		}
		index, ok := a.Index()
		name := d.groupTypes[index]
		if !ok || name == "" {
			return nil
		}
		if !slices.Contains(types, name) {
			types = append(types, name)
		}
	}
	return types
}

// A description is what evaluation does not use of a flag. Its members may be anything, as
// for evaluation.
type description struct {
	Is      json.RawMessage `json:"archived"`
	Created json.RawMessage `json:"created_at"`
	Updated json.RawMessage `json:"updated_at"`
}

func (d *description) archived() bool { return string(d.Is) == "true" }

// updated returns when the flag was changed, or made.
func (d *description) updated() (t time.Time) {
	for _, raw := range []json.RawMessage{d.Updated, d.Created} {
		if json.Unmarshal(raw, &t) == nil && !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}

// missingContext says what of the request the flag looks at and the request does not have: ""
// if there is nothing.
func (d *Definitions) missingContext(key string, r *flags.Request, groupsKnown, local bool) string {
	var parts []string
	for _, group := range d.flags[key].groups {
		if r.Groups[group] == "" && groupsKnown {
			parts = append(parts, "the group "+group)
		}
	}
	if local && len(parts) == 0 && slices.Contains(d.snapshot.MissingContext(r), key) {
		parts = d.missingProperties(key, r)
	}
	return strings.Join(parts, ", ")
}

// missingProperties returns the properties that the flag looks at and the request does not
// have.
func (d *Definitions) missingProperties(key string, r *flags.Request) (parts []string) {
	needs := d.snapshot.NeedsOf(key)
	for _, name := range needs.Person {
		if _, ok := r.PersonProperties[name]; !ok {
			parts = append(parts, "the property "+name)
		}
	}
	for _, group := range sortedKeys(needs.Groups) {
		if r.Groups[group] == "" {
			continue
		}
		for _, name := range needs.Groups[group] {
			if _, ok := r.GroupProperties[group][name]; !ok {
				parts = append(parts, fmt.Sprintf("the property %s of the group %s", name, group))
			}
		}
	}
	return parts
}
