package forms

import (
	"bytes"
	"errors"
	"regexp"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

// A product is another one that has flags in files.
type product struct {
	name string
	from string // as the option -from of imports has it, "" if they do not take it

	// flag has names of members, all of which an object for a flag of it has; of each text
	// with bars one of them.
	flag []string

	// list is the member of the file that has the flags, "" for the file itself. Flags are
	// elements of an array, or members of an object.
	list string
}

// products are other products, those first whose files say more.
var products = []product{
	{"flagd", "flagd", []string{"state", "variants"}, "flags"},
	{"OpenFeature (a manifest)", "", []string{"flagType"}, "flags"},
	{"LaunchDarkly", "launchdarkly", []string{"variations", "on|environments|fallthrough|offVariation|clientSideAvailability|_links"}, "flags"},
	{"LaunchDarkly", "launchdarkly", []string{"variations", "on|environments|fallthrough|offVariation|clientSideAvailability|_links"}, "items"},
	{"LaunchDarkly", "launchdarkly", []string{"variations", "environments|fallthrough|offVariation|clientSideAvailability|_links"}, ""},
	{"Unleash", "unleash", []string{"name", "strategies"}, "features"},
	{"Unleash", "unleash", []string{"name", "type", "project|strategies|impressionData"}, "features"},
	{"Unleash", "unleash", []string{"name", "strategies"}, ""},
	{"GrowthBook", "growthbook", []string{"defaultValue"}, "features"},
	{"GO Feature Flag", "go-feature-flag", []string{"variations", "defaultRule|targeting|scheduledRollout|experimentation"}, ""},
	{"GO Feature Flag", "go-feature-flag", []string{"variations", "defaultRule|targeting|scheduledRollout|experimentation"}, "flags"},
	{"Flipt", "flipt", []string{"key", "type|variants|rules|rollouts", "enabled"}, "flags"},
	{"Statsig", "", []string{"name|id", "rules|salt"}, "feature_gates"},
	{"ConfigCat", "configcat", []string{"t", "v"}, "f"},
	{"Split", "", []string{"name", "trafficTypeName|treatments|killed"}, "splits"},
}

// lists are the members of files that have flags.
var lists = func() map[string]bool {
	m := make(map[string]bool)
	for i := range products {
		m[products[i].list] = true
	}
	return m
}()

// Foreign says of which other product a file is, and that a file is YAML. It is nil for what
// may have definitions.
func Foreign(file []byte) error {
	text := bytes.TrimSpace(bytes.TrimPrefix(file, bom))
	if len(text) == 0 || text[0] != '{' && text[0] != '[' {
		return yaml(text)
	}
	firsts := map[string]jsonscan.Value{"": first(jsonscan.Value(text))}
	for o := jsonscan.Value(text).Object(); o.Next(); {
		if lists[string(o.Name())] {
			firsts[string(o.Name())] = first(o.Value())
		}
	}
	for i := range products {
		p := &products[i]
		if v := firsts[p.list]; v != nil && p.has(v) {
			return foreignError(p.name, p.from)
		}
	}
	return nil
}

// first returns the first object of a list or in an object.
func first(list jsonscan.Value) jsonscan.Value {
	switch list.Kind() {
	case jsonscan.Array:
		if a := list.Array(); a.Next() && a.Value().Kind() == jsonscan.Object {
			return a.Value()
		}
	case jsonscan.Object:
		for o := list.Object(); o.Next(); {
			if o.Value().Kind() == jsonscan.Object {
				return o.Value()
			}
		}
	}
	return nil
}

// has reports whether an object is like a flag of the product.
func (p *product) has(v jsonscan.Value) bool {
	for _, names := range p.flag {
		found := false
		for name := range strings.SplitSeq(names, "|") {
			found = found || memberOf(v, name) != nil
		}
		if !found {
			return false
		}
	}
	return memberOf(v, "filters") == nil // which definitions have
}

// yamlLine is a line with which YAML begins, behind comments.
var yamlLine = regexp.MustCompile(`^(---|- .*|["']?[\w./$-]+["']?:( .*)?)$`)

// yaml says of YAML of which product it is.
func yaml(text []byte) error {
	const most = 64 << 10 // bytes at which is looked
	text = text[:min(len(text), most)]
	for line := range bytes.Lines(text) {
		line = bytes.TrimRight(line, " \t\r\n")
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		if !yamlLine.Match(line) {
			return nil
		}
		break
	}
	if len(text) == 0 {
		return nil
	}
	has := func(names ...string) bool {
		for _, name := range names {
			if !regexp.MustCompile(`(?m)^[\s-]*["']?` + name + `["']?\s*:`).Match(text) {
				return false
			}
		}
		return true
	}
	switch {
	case has("filters", "groups"):
		return errors.New("this looks like definitions in YAML: they are wanted as JSON, see docs/definitions.md")
	case has("state", "variants", "defaultVariant"):
		return foreignError("flagd", "flagd")
	case has("variations", "(?:defaultRule|targeting)"):
		return foreignError("GO Feature Flag", "go-feature-flag")
	case has("variations", "(?:fallthrough|offVariation|environments)"):
		return foreignError("LaunchDarkly", "launchdarkly")
	case has("strategies"):
		return foreignError("Unleash", "unleash")
	case has("flags", "(?:namespace|rollouts|distributions|segments)"):
		return foreignError("Flipt", "flipt")
	}
	return errors.New("this looks like YAML: a definitions document is JSON, see docs/definitions.md")
}
