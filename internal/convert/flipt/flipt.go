package flipt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/convert"
	"github.com/flagstaff-go/flagstaff/internal/convert/objects"
)

const (
	dialect          = "flipt"
	defaultNamespace = "default"
	distinctID       = "distinct_id"

	flagOfVariants = "VARIANT_FLAG_TYPE"
	flagOfBoolean  = "BOOLEAN_FLAG_TYPE"
	allOf, anyOf   = "AND_SEGMENT_OPERATOR", "OR_SEGMENT_OPERATOR"

	ruleLimit = 100 // of rules.md §2.1
)

var versions = []string{"", "1.0", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6"}

// Convert converts a document, an array of documents, or documents one after another. The
// Environment is the namespace; the Version is that of the server, or "client" if libraries have
// evaluated by themselves.
func Convert(document []byte, o *convert.Options) (*convert.Project, error) {
	all, err := read(document)
	if err != nil {
		return nil, err
	}
	c := &converter{o: o, segments: make(map[string]segment)}
	if c.namespace, err = namespace(all, o.Environment); err != nil {
		return nil, err
	}
	if c.ways, err = waysOf(o.Version); err != nil {
		return nil, err
	}
	if o.Version == "client" {
		c.project.Notes = append(c.project.Notes, "Constraints compare as the server does. Libraries that evaluate on the client's side read fewer texts: "+
			"whole numbers, true and false, and times of RFC 3339 alone; and they keep white space.")
	}
	flagsByKey := make(map[string]json.RawMessage)
	for _, d := range all {
		if d.namespace != c.namespace {
			continue
		}
		if err := c.addSegments(d.segments); err != nil {
			return nil, err
		}
		if err := addKeys(flagsByKey, d.flags, "flag"); err != nil {
			return nil, err
		}
	}
	for _, key := range sortedKeys(flagsByKey) {
		f := c.flag(key, flagsByKey[key])
		c.project.Flags = append(c.project.Flags, f)
	}
	if c.undecided != "" {
		return nil, wrongVersion("must be that of the server that served the users, such as 1.58 or 2.11, or client: the shares of flag %q are drawn in one way by servers "+
			"before 2.9, in another by those since then, and in a third by libraries that evaluate on the client's side", c.undecided)
	}
	return &c.project, nil
}

// A document is one of the documents in a file.
type document struct {
	namespace       string
	flags, segments []json.RawMessage
}

const wanted = `want the features of Flipt as JSON: an object with "flags" or "segments"`

func read(file []byte) (all []document, err error) {
	for d := json.NewDecoder(bytes.NewReader(file)); ; {
		var raw json.RawMessage
		if err := d.Decode(&raw); err == io.EOF {
			break
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", wanted, err)
		}
		list := []json.RawMessage{raw}
		if raw[0] == '[' {
			if err := json.Unmarshal(raw, &list); err != nil {
				return nil, err
			}
		}
		for _, raw := range list {
			one, err := readOne(raw)
			if err != nil {
				return nil, err
			}
			all = append(all, one)
		}
	}
	if len(all) == 0 {
		return nil, errors.New(wanted)
	}
	return all, nil
}

func readOne(raw json.RawMessage) (d document, err error) {
	var r objects.Reader
	o := r.Object(raw, "the document", "version", "namespace", "flags", "segments")
	if !o.Has("flags") && !o.Has("segments") {
		return d, errors.New(wanted)
	}
	version := o.Text("version")
	d = document{defaultNamespace, o.List("flags"), o.List("segments")}
	if name := o.Raw("namespace"); name != nil && name[0] == '{' {
		d.namespace = o.Object("namespace", "the namespace", "key", "name", "description").Text("key")
	} else if name != nil {
		d.namespace = o.Text("namespace")
	}
	if len(r.Problems) > 0 {
		return d, errors.New(r.Problems[0])
	}
	if !slices.Contains(versions, version) {
		return d, fmt.Errorf("version %q of the document is not known; want one of %s", version, strings.Join(versions[1:], ", "))
	}
	return d, nil
}

// namespace returns the name of the namespace to convert.
func namespace(all []document, want string) (string, error) {
	var names []string
	for _, d := range all {
		names = append(names, d.namespace)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	switch {
	case want == "" && len(names) == 1:
		return names[0], nil
	case want == "" || !slices.Contains(names, want):
		return "", &convert.OptionError{Option: "environment", Text: "must be one of the namespaces of the document: " + strings.Join(names, ", ")}
	}
	return want, nil
}

// waysOf returns the ways in which a version of the server draws, all of them for "".
func waysOf(version string) ([]way, error) {
	switch version {
	case "":
		return []way{cut, normalized, rounded}, nil
	case "client":
		return []way{rounded}, nil
	case "old":
		return []way{cut}, nil
	case "new":
		return []way{normalized}, nil
	}
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, err := strconv.ParseUint(major, 10, 16)
	b := uint64(0)
	if err == nil && (minor != "" || a == 2) {
		b, err = strconv.ParseUint(minor, 10, 16)
	}
	switch {
	case err != nil:
		return nil, wrongVersion("must be that of a server of Flipt, such as 1.58 or 2.11, or client, not %q", version)
	case a < 2 || a == 2 && b < 9:
		return []way{cut}, nil
	}
	return []way{normalized}, nil
}

func wrongVersion(format string, args ...any) error {
	return &convert.OptionError{Option: "bucket_version", Text: fmt.Sprintf(format, args...)}
}

// addKeys adds objects by their keys.
func addKeys(to map[string]json.RawMessage, list []json.RawMessage, what string) error {
	for _, raw := range list {
		var (
			o   map[string]json.RawMessage
			key string
		)
		switch {
		case json.Unmarshal(raw, &o) != nil || json.Unmarshal(o["key"], &key) != nil || key == "":
			return fmt.Errorf("a %s has no key", what)
		case to[key] != nil:
			return fmt.Errorf("there are two %ss with the key %q", what, key)
		}
		to[key] = raw
	}
	return nil
}

type converter struct {
	o         *convert.Options
	namespace string
	ways      []way
	segments  map[string]segment
	project   convert.Project
	undecided string // a flag that ways draw differently
}

// A variant is a value of a flag.
type variant struct {
	key        string
	attachment json.RawMessage
}

// A flag is one whose members are being read.
type flag struct {
	*objects.Reader
	*convert.Flag
	c        *converter
	variants []variant
	object   bool     // values have attachments
	fallback *variant // what those get who are in no variant
}

func (c *converter) flag(key string, raw json.RawMessage) convert.Flag {
	f := &flag{Reader: &objects.Reader{}, Flag: &convert.Flag{Key: key}, c: c}
	o := f.Object(raw, "The flag", "key", "name", "type", "description", "enabled", "metadata", "variants", "rules", "rollouts")
	f.Description = o.Text("name")
	if d := o.Text("description"); d != "" && f.Description != "" && d != f.Description {
		f.Description += ": " + d
	} else if d != "" {
		f.Description = d
	}
	f.tag(o)
	enabled := o.Bool("enabled")
	switch kind := o.Text("type"); kind {
	case flagOfBoolean:
		f.Active = true
		f.boolean(o, enabled)
	default:
		f.Reader.Problem("The type %q of the flag is not known: it is one with variants.", kind)
		fallthrough
	case "", flagOfVariants:
		f.readVariants(o)
		f.decideVariants(o, enabled)
	}
	if n := len(f.Rules.Rules); n > ruleLimit {
		f.Reader.Problem("The flag has %d rules, and only the first %d are kept.", n, ruleLimit)
		f.Rules.Rules = f.Rules.Rules[:ruleLimit]
	}
	f.Flag.Problems = append(f.Flag.Problems, f.Reader.Problems...)
	objects.Finish(f.Flag)
	return *f.Flag
}

// tag makes tags of metadata.
func (f *flag) tag(o objects.Object) {
	if !o.Has("metadata") {
		return
	}
	var metadata map[string]json.RawMessage
	if json.Unmarshal(o.Raw("metadata"), &metadata) != nil {
		f.Reader.Problem("The metadata of the flag are not an object: they are left out.")
	}
	for _, name := range sortedKeys(metadata) {
		var text string
		if json.Unmarshal(metadata[name], &text) != nil {
			text = string(metadata[name])
		}
		f.Tags = append(f.Tags, name+":"+text)
	}
}

// boolean converts a flag that gives true or false. That it is not enabled is the value of those
// whom no rollout reaches.
func (f *flag) boolean(o objects.Object, enabled bool) {
	f.Rules.ReturnType = "boolean"
	f.Rules.Default = boolean(enabled)
	for _, name := range []string{"variants", "rules"} {
		if len(o.List(name)) > 0 {
			f.Notes = append(f.Notes, fmt.Sprintf("The flag is boolean: its %s decide nothing, there as here.", name))
		}
	}
	for i, raw := range o.List("rollouts") {
		what := fmt.Sprintf("Rollout %d", i+1)
		rollout := f.Object(raw, what, "description", "segment", "threshold")
		r := flags.Rule{ID: f.id("rollout", i)}
		if d := rollout.Text("description"); d != "" {
			r.Description = &d
		}
		switch {
		case rollout.Has("threshold"):
			threshold := rollout.Object("threshold", "The threshold of "+what, "percentage", "value")
			if rollout.Has("segment") {
				f.Notes = append(f.Notes, what+" has a threshold, so that its segments decide nothing, there as here.")
			}
			r.Type = "split"
			r.Split = thresholdSplit(f.Key, threshold.Number("percentage"), boolean(threshold.Bool("value")))
		case rollout.Has("segment"):
			segment := rollout.Object("segment", "The segment of "+what, "key", "keys", "operator", "value")
			keys := segment.Texts("keys")
			if key := segment.Text("key"); key != "" {
				keys = []string{key}
			}
			r.Type, r.Value = "targeted_release", boolean(segment.Bool("value"))
			r.Targeting = f.targeting(what, keys, segment.Text("operator"))
		default:
			f.Notes = append(f.Notes, what+" has neither a threshold nor a segment, and decides nothing, there as here.")
			continue
		}
		f.Rules.Rules = append(f.Rules.Rules, r)
	}
}

func (f *flag) readVariants(o objects.Object) {
	for i, raw := range o.List("variants") {
		v := f.Object(raw, fmt.Sprintf("Variant %d", i+1), "key", "name", "description", "attachment", "default")
		if v.Text("key") == "" {
			f.Reader.Problem("Variant %d has no key: it is left out.", i+1)
			continue
		}
		f.variants = append(f.variants, variant{v.Text("key"), v.Raw("attachment")})
		f.object = f.object || v.Has("attachment")
		if v.Bool("default") {
			f.fallback = &variant{v.Text("key"), v.Raw("attachment")}
		}
	}
}

// decideVariants converts a flag that gives variants. Who is in no variant gets the default one,
// or nothing.
func (f *flag) decideVariants(o objects.Object, enabled bool) {
	f.Rules.ReturnType = "string"
	if f.object {
		f.Rules.ReturnType = "object"
	}
	if f.fallback != nil {
		f.Rules.Default = f.value(*f.fallback)
	}
	if len(o.List("rollouts")) > 0 {
		f.Notes = append(f.Notes, "The flag has variants: its rollouts decide nothing, there as here.")
	}
	f.Active = enabled || f.fallback != nil
	if !enabled && f.fallback != nil {
		off := "The flag is off: everybody gets the default variant."
		f.Rules.Rules = append(f.Rules.Rules, flags.Rule{ID: f.id("off", 0), Type: "targeted_release", Value: f.Rules.Default, Description: &off})
	}
	for i, raw := range o.List("rules") {
		what := fmt.Sprintf("Rule %d", i+1)
		// The rank is what the place in the list says.
		rule := f.Object(raw, what, "segment", "rank", "distributions")
		keys, operator := []string(nil), ""
		if s := rule.Raw("segment"); s != nil && s[0] == '{' {
			segments := rule.Object("segment", "The segments of "+what, "keys", "operator")
			keys, operator = segments.Texts("keys"), segments.Text("operator")
		} else if key := rule.Text("segment"); key != "" {
			keys = []string{key}
		}
		r := flags.Rule{ID: f.id("rule", i), Targeting: f.targeting(what, keys, operator)}
		f.distribute(&r, what, rule.List("distributions"))
		f.Rules.Rules = append(f.Rules.Rules, r)
	}
}

// distribute converts the shares of a rule.
func (f *flag) distribute(r *flags.Rule, what string, list []json.RawMessage) {
	var (
		shares []float32
		values []json.RawMessage
	)
	for i, raw := range list {
		d := f.Object(raw, fmt.Sprintf("Distribution %d of %s", i+1, strings.ToLower(what)), "variant", "rollout")
		share := float32(d.Number("rollout"))
		if share < 0 || share > 100 {
			f.Reader.Problem("%s has a share of %v, which is not one from 0 to 100: it counts as 0.", what, share)
			share = 0
		}
		v := slices.IndexFunc(f.variants, func(v variant) bool { return v.key == d.Text("variant") })
		if v < 0 {
			f.Reader.Problem("%s gives the variant %q, which the flag does not have: that share is left out.", what, d.Text("variant"))
			continue
		}
		if share > 0 {
			shares, values = append(shares, share), append(values, f.value(f.variants[v]))
		}
	}
	ends := f.c.ways[0](shares)
	for _, other := range f.c.ways[1:] {
		if !slices.Equal(capped(ends), capped(other(shares))) {
			f.c.undecided = f.Key
		}
	}
	switch {
	case len(shares) == 0 && f.fallback != nil:
		r.Type, r.Value = "targeted_release", f.Rules.Default
	case len(shares) == 0:
		convert.Fallback(r, f.Rules.ReturnType) // a match without a variant
	case len(shares) == 1 && ends[0] >= buckets:
		r.Type, r.Value = "targeted_release", values[0]
	default:
		r.Type = "split"
		r.Split = shareSplit(f.Key, ends, values)
	}
}

// thresholdSplit returns the split of a threshold.
func thresholdSplit(key string, percentage float64, value json.RawMessage) *flags.RuleSplit {
	return &flags.RuleSplit{
		Hash: "crc32", Modulus: 100, Suffix: key, Ends: []uint64{thresholdEnd(percentage)}, Values: []json.RawMessage{value},
		Rest: "continue", NoSubject: "hash",
	}
}

// shareSplit returns the split of distributions.
func shareSplit(key string, ends []uint64, values []json.RawMessage) *flags.RuleSplit {
	return &flags.RuleSplit{Hash: "crc32", Modulus: buckets, Prefix: key, Ends: ends, Values: values, Rest: "return_default", NoSubject: "hash"}
}

// value returns the value of a variant.
func (f *flag) value(v variant) json.RawMessage {
	key, _ := json.Marshal(v.key)
	switch {
	case !f.object:
		return key
	case v.attachment == nil:
		return json.RawMessage(`{"key":` + string(key) + `}`)
	}
	return json.RawMessage(`{"key":` + string(key) + `,"attachment":` + string(v.attachment) + `}`)
}

func (f *flag) id(what string, i int) string {
	return convert.ID("flipt", f.c.namespace, f.Key, what, strconv.Itoa(i))
}

func boolean(b bool) json.RawMessage { return json.RawMessage(strconv.FormatBool(b)) }
