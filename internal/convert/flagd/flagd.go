package flagd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/convert"
	"github.com/flagstaff-go/flagstaff/internal/convert/jsonlogic"
	"github.com/flagstaff-go/flagstaff/internal/convert/objects"
)

// product is the first part of IDs.
const product = "flagd"

// A document is a file of flags.
type document struct {
	Flags      json.RawMessage            `json:"flags"`
	Evaluators map[string]json.RawMessage `json:"$evaluators"`
	Metadata   map[string]any             `json:"metadata"`
	Schema     any                        `json:"$schema"`
}

// A definition is a flag.
type definition struct {
	Key            string                     `json:"key"`
	State          string                     `json:"state"`
	DefaultVariant string                     `json:"defaultVariant"`
	Variants       map[string]json.RawMessage `json:"variants"`
	Targeting      json.RawMessage            `json:"targeting"`
	Metadata       map[string]any             `json:"metadata"`
	Source         string                     `json:"source"`
}

// Convert converts a file of flags. Options.Version says how flagd drew: "new", or "old" before
// core v0.15, which counts with percentages.
func Convert(file []byte, o *convert.Options) (*convert.Project, error) {
	if err := checkVersion(o); err != nil {
		return nil, err
	}
	var d document
	if err := json.Unmarshal(file, &d); err != nil || d.Flags == nil {
		return nil, fmt.Errorf("this is not a file of flagd: want an object with flags%s", because(err))
	}
	all, err := readFlags(d.Flags)
	if err != nil {
		return nil, err
	}
	refs, err := newReferences(&d, file, o.Version == "old")
	if err != nil {
		return nil, err
	}
	p := &convert.Project{}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		b := newBuild(key, o)
		if err := b.read(all[key]); err != nil {
			return nil, fmt.Errorf("flag %q: %w", key, err)
		}
		b.build(refs)
		p.Flags = append(p.Flags, b.out)
	}
	var unknown map[string]any
	if json.Unmarshal(file, &unknown) == nil {
		for _, name := range slices.Sorted(maps.Keys(unknown)) {
			if !slices.Contains([]string{"flags", "$evaluators", "metadata", "$schema"}, name) {
				p.Notes = append(p.Notes, fmt.Sprintf("The member %q of the file is not known: it has no effect.", name))
			}
		}
	}
	return p, nil
}

func checkVersion(o *convert.Options) error {
	if o.Version != "new" && o.Version != "old" {
		return fmt.Errorf("flagd has changed how it draws (core v0.15 in Go, of April 2026): say which version has served the users, new or old")
	}
	return nil
}

func because(err error) string {
	if err == nil {
		return ""
	}
	return " (" + err.Error() + ")"
}

// readFlags returns the flags by their keys. They are an object, or a list.
func readFlags(raw json.RawMessage) (map[string]json.RawMessage, error) {
	all := make(map[string]json.RawMessage)
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil || list == nil {
		if err := json.Unmarshal(raw, &all); err != nil || all == nil {
			return nil, fmt.Errorf("this is not a file of flagd: want flags by their keys, or a list of flags%s", because(err))
		}
		if _, ok := all[""]; ok {
			return nil, fmt.Errorf("a flag has the empty key")
		}
		return all, nil
	}
	for i, f := range list {
		var d definition
		if err := json.Unmarshal(f, &d); err != nil || d.Key == "" {
			return nil, fmt.Errorf("flag %d of the list: want an object with a key%s", i+1, because(err))
		}
		all[d.Key] = f
	}
	return all, nil
}

// A flagBuild converts one flag.
type flagBuild struct {
	options   *convert.Options
	old       bool
	converter *jsonlogic.Converter // of expressions of the flag
	def       definition
	out       convert.Flag
	usable    convert.Values
}

func newBuild(key string, o *convert.Options) *flagBuild {
	b := &flagBuild{options: o, old: o.Version == "old", out: convert.Flag{Key: key, Active: true}}
	b.converter = &jsonlogic.Converter{Var: b.variable, Flagd: true, OldFlagd: b.old, Call: b.call}
	return b
}

// read reads a flag. An error is what flagd does not read either, and then none of the file.
func (b *flagBuild) read(raw json.RawMessage) error {
	var members map[string]any
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		return fmt.Errorf("want an object with state, variants and defaultVariant%s", because(err))
	}
	if err := json.Unmarshal(raw, &b.def); err != nil {
		return fmt.Errorf("it cannot be read: want state, variants, defaultVariant, targeting and metadata (%w)", err)
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.Contains([]string{"key", "state", "variants", "defaultVariant", "targeting", "metadata", "source"}, name) {
			b.out.Problem("The member %q is not known: it has no effect.", name)
		}
	}
	if name := b.def.DefaultVariant; name != "" {
		if _, ok := b.def.Variants[name]; !ok {
			return fmt.Errorf("its defaultVariant %q is not one of its variants", name)
		}
	}
	return nil
}

// build makes the rule set.
func (b *flagBuild) build(refs *references) {
	b.out.Description, _ = b.def.Metadata["description"].(string)
	tags, _ := b.def.Metadata["tags"].([]any)
	if text, ok := b.def.Metadata["tags"].(string); ok { // as the schema of flagd has it
		for tag := range strings.SplitSeq(text, ",") {
			tags = append(tags, strings.TrimSpace(tag))
		}
	}
	for _, t := range tags {
		if s, ok := t.(string); ok && s != "" {
			b.out.Tags = append(b.out.Tags, s)
		}
	}
	b.out.Active = b.def.State != "DISABLED"
	b.values()
	b.rules(refs)
	objects.Finish(&b.out)
}

// values finds the type of the flag, and the values that it can have.
func (b *flagBuild) values() {
	var refused []string
	b.out.Rules.ReturnType, b.usable, refused = convert.Usable(b.def.Variants)
	for _, name := range refused {
		b.out.Problem("The variant %q is a list, null, an empty text, a number beyond 2^53, or of another type than others, which no flag may have here: who has it gets the default of the code.", name)
	}
}

// references are the conditions that targeting refers to by their names: flagd puts their text in
// place of the reference.
type references struct {
	values map[string]any
	unsure map[string]string // why what flagd makes of one depends on chance
}

var refWithSpace = regexp.MustCompile(`"\$ref"\s+:`)

func newReferences(d *document, file []byte, old bool) (*references, error) {
	r := &references{make(map[string]any), make(map[string]string)}
	for _, name := range slices.Sorted(maps.Keys(d.Evaluators)) {
		raw := d.Evaluators[name]
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			return nil, fmt.Errorf("$evaluators: %q: %w", name, err)
		}
		if len(raw) < 3 && !old {
			return nil, fmt.Errorf("$evaluators: %q is empty, with which flagd reads no flags", name)
		}
		r.values[name] = v
		inner := regexp.MustCompile(`"\$ref":\s*"`).Match(raw)
		_, isObject := v.(map[string]any)
		switch {
		case !old && inner:
			r.unsure[name] = "refers to others, which flagd resolves in an order that changes"
		case old && (inner || !isObject || regexp.QuoteMeta(name) != name || bytes.ContainsRune(raw, '$') || refWithSpace.Match(file)):
			r.unsure[name] = "has references or a $ in it, or is not an object, or has signs in its name: the old flagd then put in something else than its text"
		case !old && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-. ") != "":
			r.unsure[name] = "has signs in its name"
		}
	}
	return r, nil
}

// resolve puts the conditions in place of the references to them.
func (r *references) resolve(e any) (any, error) {
	switch e := e.(type) {
	case []any:
		out := make([]any, len(e))
		for i := range e {
			var err error
			if out[i], err = r.resolve(e[i]); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		if name, ok := e["$ref"].(string); ok {
			v, known := r.values[name]
			if reason := r.unsure[name]; reason != "" {
				return nil, fmt.Errorf("the evaluator %q %s", name, reason)
			}
			if known && len(e) > 1 {
				return nil, fmt.Errorf("an object with $ref has other members, too")
			}
			if known {
				return v, nil
			}
		}
		out := make(map[string]any, len(e))
		for name, v := range e {
			var err error
			if out[name], err = r.resolve(v); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return e, nil
}
