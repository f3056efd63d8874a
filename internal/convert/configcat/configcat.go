package configcat

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/convert"
	"github.com/flagstaff-go/flagstaff/internal/convert/objects"
)

const (
	dialect    = "configcat"
	distinctID = "distinct_id"
	identifier = "Identifier"

	ruleLimit = 100 // of rules.md §2.1
)

const wanted = `want config JSON of ConfigCat, version 6: an object with "f", the settings, whose values are objects`

// Convert converts a config. It has one environment.
func Convert(document []byte, o *convert.Options) (*convert.Project, error) {
	var root map[string]json.RawMessage
	if err := json.Unmarshal(document, &root); err != nil {
		return nil, fmt.Errorf("%s: %w", wanted, err)
	}
	var r objects.Reader
	config := r.Object(document, "the config", "p", "f", "s")
	c := &converter{o: o, segments: make(map[int]*segment), settings: make(map[string]setting), visited: make(map[string]int)}
	var settings map[string]json.RawMessage
	if json.Unmarshal(config.Raw("f"), &settings) != nil || settings == nil {
		return nil, errors.New(wanted)
	}
	if config.Has("p") {
		c.salt = config.Object("p", "the preferences", "s", "u", "r").Text("s")
	}
	c.list = config.List("s")
	if len(r.Problems) > 0 {
		return nil, errors.New(r.Problems[0])
	}
	keys := slices.Sorted(maps.Keys(settings))
	for _, key := range keys {
		s, err := c.read(key, settings[key])
		if err != nil {
			return nil, err
		}
		c.settings[key] = s
	}
	for _, key := range keys {
		c.project.Flags = append(c.project.Flags, c.flag(key))
	}
	convert.Dependents(&c.project)
	return &c.project, nil
}

type converter struct {
	o        *convert.Options
	salt     string
	settings map[string]setting
	list     []json.RawMessage // of segments
	segments map[int]*segment  // by index, of those that were asked for
	visited  map[string]int    // see circular
	project  convert.Project
}

// A setting is one before it is converted.
type setting struct {
	*objects.Reader
	objects.Object
	kind int
}

// The types of settings.
var kinds = []struct{ name, member, returns string }{
	{"a boolean", "b", "boolean"}, {"a text", "s", "string"}, {"a whole number", "i", "number"}, {"a number", "d", "number"},
}

func (c *converter) read(key string, raw json.RawMessage) (setting, error) {
	s := setting{Reader: &objects.Reader{}}
	s.Object = s.Reader.Object(raw, "The setting", "a", "i", "v", "t", "r", "p")
	if v := s.Raw("v"); v == nil || v[0] != '{' {
		return s, fmt.Errorf("%s, and that of %q is not", wanted, key)
	}
	s.kind = int(s.Number("t"))
	if s.kind < 0 || s.kind >= len(kinds) || float64(s.kind) != s.Number("t") {
		return s, fmt.Errorf("the setting %q has a type that is not one of 0 to %d", key, len(kinds)-1)
	}
	return s, nil
}

// value returns a value, which the type of the setting says. Nil: there is none.
func (s *setting) value(o objects.Object, what string) json.RawMessage {
	v := o.Object("v", "The value of "+what, "b", "s", "i", "d")
	want := kinds[s.kind]
	if names := v.Names(); len(names) != 1 || names[0] != want.member {
		s.Problem("The value of %s is not %s, as the setting is.", what, want.name)
		return nil
	}
	value, ok := v.Raw(want.member), false
	switch s.kind {
	case 0:
		ok = string(value) == "true" || string(value) == "false"
	case 1:
		var text *string
		ok = json.Unmarshal(value, &text) == nil
	case 2:
		_, err := strconv.ParseInt(string(value), 10, 64)
		ok = err == nil
	default:
		var number float64
		ok = json.Unmarshal(value, &number) == nil
	}
	if !ok {
		s.Problem("The value of %s is not %s, as the setting is.", what, want.name)
		return nil
	}
	return value
}

func (c *converter) flag(key string) convert.Flag {
	s := c.settings[key]
	f := convert.Flag{Key: key}
	f.Rules.ReturnType = kinds[s.kind].returns
	f.Rules.Default = s.value(s.Object, "the setting")
	if s.kind == 1 && string(f.Rules.Default) == `""` {
		s.Problem("The value of the setting is an empty text, which a flag cannot have: in its place the caller's fallback counts.")
		f.Rules.Default = nil
	}
	if f.Active = !c.circular(key); !f.Active {
		s.Problem("The setting depends on itself, or on one that does, so that it has no value there. It is off, without rules.")
	}
	for i, raw := range s.List("r") {
		if f.Active {
			c.rule(&f, &s, i, raw)
		}
	}
	if options := s.List("p"); len(options) > 0 && f.Active {
		r := flags.Rule{ID: convert.ID("configcat", key, "options")}
		if c.options(&r, &f, &s, "The percentage options", options) {
			f.Rules.Rules = append(f.Rules.Rules, r)
		}
	}
	if n := len(f.Rules.Rules); n > ruleLimit {
		s.Problem("The setting has %d rules, and only the first %d are kept.", n, ruleLimit)
		f.Rules.Rules = f.Rules.Rules[:ruleLimit]
	}
	f.Problems = append(f.Problems, s.Problems...)
	objects.Finish(&f)
	return f
}

// rule converts a targeting rule.
func (c *converter) rule(f *convert.Flag, s *setting, i int, raw json.RawMessage) {
	what := fmt.Sprintf("Rule %d", i+1)
	o := s.Reader.Object(raw, what, "c", "s", "p")
	r := flags.Rule{ID: convert.ID("configcat", f.Key, "rule", strconv.Itoa(i))}
	for j, raw := range o.List("c") {
		r.Targeting = append(r.Targeting, c.condition(f, s, fmt.Sprintf("Condition %d of rule %d", j+1, i+1), raw)...)
	}
	switch {
	case o.Has("s"):
		r.Type = "targeted_release"
		if r.Value = s.value(o.Object("s", "What "+what+" serves", "v", "i"), what); r.Value == nil {
			s.Problem("%s is left out.", what)
			return
		}
	case len(o.List("p")) > 0:
		if !c.options(&r, f, s, what, o.List("p")) {
			return
		}
	default:
		f.Notes = append(f.Notes, what+" serves nothing, and is passed by, there as here.")
		return
	}
	f.Rules.Rules = append(f.Rules.Rules, r)
}

// options converts percentage options. It reports false if they are left out.
func (c *converter) options(r *flags.Rule, f *convert.Flag, s *setting, what string, list []json.RawMessage) bool {
	r.Type = "split"
	r.Split = &flags.RuleSplit{Hash: "sha1_28", Modulus: 100, Prefix: f.Key, Rest: "continue", NoSubject: "hash"}
	end := 0.0
	for i, raw := range list {
		of := fmt.Sprintf("Option %d", i+1)
		o := s.Reader.Object(raw, of, "p", "v", "i")
		percentage, value := o.Number("p"), s.value(o, of)
		if value == nil || percentage < 0 || percentage != float64(int(percentage)) || percentage > 1e9 {
			s.Problem("%s are left out, because of option %d.", what, i+1)
			return false
		}
		end += percentage
		r.Split.Ends, r.Split.Values = append(r.Split.Ends, uint64(end)), append(r.Split.Values, value)
	}
	if attribute := s.Text("a"); attribute != "" && attribute != identifier {
		r.Split.Subject, r.Split.NoSubject = c.o.Property(attribute), "continue"
		if r.Split.Empty = !slices.Contains(predefined, attribute); r.Split.Empty {
			note := fmt.Sprintf("Percentage options are drawn with %q. Here a list, or a number with a fraction, gets none of them; ConfigCat draws with these, too.", attribute)
			if !slices.Contains(f.Notes, note) {
				f.Notes = append(f.Notes, note)
			}
		}
	}
	return true
}

// circular reports whether a setting depends on one that depends on itself.
func (c *converter) circular(key string) bool {
	const visiting, fine, bad = 1, 2, 3
	switch c.visited[key] {
	case visiting, bad:
		return true
	case fine:
		return false
	}
	c.visited[key] = visiting
	if slices.ContainsFunc(c.prerequisites(key), c.circular) {
		c.visited[key] = bad
		return true
	}
	c.visited[key] = fine
	return false
}

// prerequisites returns the settings that conditions of one are about.
func (c *converter) prerequisites(key string) (keys []string) {
	var rules []struct {
		C []struct{ P *struct{ F string } }
	}
	if json.Unmarshal(c.settings[key].Raw("r"), &rules) != nil {
		return nil
	}
	for _, r := range rules {
		for _, condition := range r.C {
			if condition.P != nil {
				keys = append(keys, condition.P.F)
			}
		}
	}
	return keys
}
