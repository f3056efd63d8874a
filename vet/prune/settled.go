package prune

import (
	"fmt"
	"go/constant"
	"go/types"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/nearest"
	"github.com/flagstaff-go/flagstaff/vet/internal/uses"
)

// A result is the settled value of a flag.
type result struct {
	enabled bool
	variant string // "" for a flag without variants
}

// text returns what the value is called: "true", "false" or the key of the variant.
func (r result) text() string {
	if r.variant != "" {
		return r.variant
	}
	return strconv.FormatBool(r.enabled)
}

// results returns the settled values of the flags.
func (o *Options) results() (map[string]result, error) {
	if len(o.Keys) == 0 && len(o.Values) == 0 {
		return nil, fmt.Errorf("there is no flag to prune: want at least one key")
	}
	for _, key := range slices.Concat(o.Keys, slices.Sorted(maps.Keys(o.Values))) {
		if f := o.defined(key); f != nil && f.Filters.RuleSet != nil {
			return nil, fmt.Errorf("flag %q has a rule set, and values of its types are not pruned", key)
		}
	}
	list := make(map[string]result)
	for key, text := range o.Values {
		switch text {
		case "":
			return nil, fmt.Errorf("the value of flag %q is empty: want true, false or the key of a variant", key)
		case "true", "false":
			list[key] = result{enabled: text == "true"}
		default:
			list[key] = result{enabled: true, variant: text}
		}
	}
	for _, key := range o.Keys {
		if _, given := list[key]; given {
			continue
		}
		r, err := o.constant(key)
		if err != nil {
			return nil, err
		}
		list[key] = r
	}
	return list, nil
}

// constant returns the value that a flag has for everybody.
func (o *Options) constant(key string) (result, error) {
	if o.Snapshot == nil {
		return result{}, fmt.Errorf("flag %q has no value: there are no definitions, and none of the values is for it", key)
	}
	if r, ok := o.Snapshot.Constant(key); ok {
		if r.RemoteConfiguration() {
			return result{}, fmt.Errorf("flag %q is remote configuration, whose value is a payload, and payloads are not pruned", key)
		}
		return result{r.Enabled, r.Variant}, nil
	}
	if why := o.reason(key); why != "" {
		return result{}, fmt.Errorf("flag %q is not settled: %s", key, why)
	}
	hint := ""
	if near := nearest.Names(slices.Collect(o.Snapshot.Keys()), key); len(near) > 0 {
		hint = fmt.Sprintf("; did you mean %q?", near[0])
	}
	return result{}, fmt.Errorf("there is no flag %q in the definitions%s", key, hint)
}

// defined returns the flag of the definitions that has a key, or nil.
func (o *Options) defined(key string) *flags.Flag {
	if o.Definitions == nil {
		return nil
	}
	i := slices.IndexFunc(o.Definitions.Flags, func(f flags.Flag) bool { return f.Key == key && !f.Deleted })
	if i < 0 {
		return nil
	}
	return &o.Definitions.Flags[i]
}

// reason says why a flag is not the same for everybody. It is "" for a flag that the
// definitions do not have.
func (o *Options) reason(key string) string {
	f := o.defined(key)
	if f == nil {
		if slices.Contains(slices.Collect(o.Snapshot.Keys()), key) {
			return "not everybody has the same value"
		}
		return ""
	}
	if !f.Active {
		return "it is switched off, so that each call has its fallback"
	}
	nobody := func(c flags.Condition) bool { return c.RolloutPercentage != nil && *c.RolloutPercentage == 0 }
	if i := slices.IndexFunc(f.Filters.Groups, func(c flags.Condition) bool { return !nobody(c) }); i < 0 {
		return "it is on for nobody, and may be yet to come; give it the value false if that is for good"
	}
	var shares []string
	for _, c := range f.Filters.Groups {
		share := "100 %"
		if c.RolloutPercentage != nil {
			share = strconv.FormatFloat(*c.RolloutPercentage, 'g', -1, 64) + " %"
		}
		of := "of all"
		if len(c.Properties) > 0 {
			of = "of persons whom filters admit"
		}
		shares = append(shares, share+" "+of)
	}
	text := "it is on for " + strings.Join(shares, ", then for ")
	if m := f.Filters.Multivariate; m != nil && len(m.Variants) > 1 {
		text += fmt.Sprintf(", with %d variants", len(m.Variants))
	}
	return text
}

// answer returns what a call returns for a flag with a settled value, or why that is not
// certain.
func answer(u *uses.Use, r result, info *types.Info) (c constant.Value, why string) {
	if typed(u) && u.Kind != uses.Bool && !r.enabled && u.Fallback != nil {
		if c := info.Types[u.Fallback].Value; c != nil {
			return c, ""
		}
		return nil, "the flag is off, and the default is not a constant"
	}
	switch u.Kind {
	case uses.Bool:
		switch {
		case u.Declared != nil && !u.Declared.Ref && r.variant != "":
			return nil, fmt.Sprintf("the flag has the variant %q, and the handle is one of NewBool", r.variant)
		case u.Library == uses.PostHog && u.Shape != uses.One:
			return nil, "posthog-go answers with any"
		}
		return constant.MakeBool(r.enabled), ""
	case uses.String:
		return answerText(u, r)
	case uses.Int, uses.Float:
		return answerNumber(u, r)
	case uses.Object:
		return nil, "it asks for a payload"
	}
	return nil, "what it returns is more than the value"
}

// typed reports whether a call returns its fallback for a flag that is off, or has a value of
// another type.
func typed(u *uses.Use) bool {
	return u.Library == uses.OpenFeature || slices.Contains([]string{"Person.String", "Person.Int", "Person.Float", "Person.JSON"}, u.Method)
}

func answerText(u *uses.Use, r result) (c constant.Value, why string) {
	fallback := u.Fallback == nil && u.Declared != nil && u.Declared.Fallback != nil
	switch {
	case strings.HasPrefix(u.Method, "VariantFlag."):
		switch {
		case u.Declared == nil || u.Declared.Variants == nil:
			return nil, "the variants of its handle are not known"
		case slices.Contains(u.Declared.Variants, r.text()):
			return constant.MakeString(r.text()), ""
		case fallback:
			return u.Declared.Fallback, "" // as for all values that are not declared
		}
		return nil, "the fallback of its handle is not known"
	case strings.HasPrefix(u.Method, "ValueFlag."):
		return valueOrFallback(u, r, fallback)
	case typed(u):
		if r.enabled && r.variant != "" {
			return constant.MakeString(r.variant), ""
		}
		return nil, "the value is not text, so that the answer is the default"
	}
	return constant.MakeString(r.text()), ""
}

// valueOrFallback returns what a handle of NewValue returns.
func valueOrFallback(u *uses.Use, r result, fallback bool) (c constant.Value, why string) {
	if r.enabled && r.variant != "" {
		return constant.MakeString(r.variant), ""
	}
	if !r.enabled && fallback {
		return u.Declared.Fallback, ""
	}
	return nil, "the flag has no variant"
}

func answerNumber(u *uses.Use, r result) (c constant.Value, why string) {
	if u.Declared != nil && !r.enabled && u.Declared.Fallback != nil {
		return u.Declared.Fallback, ""
	}
	if !r.enabled || r.variant == "" {
		return nil, "the value is not a number, so that the answer is the default"
	}
	if u.Kind == uses.Int {
		if n, err := strconv.ParseInt(r.variant, 10, 64); err == nil {
			return constant.MakeInt64(n), ""
		}
	} else if f, err := strconv.ParseFloat(r.variant, 64); err == nil {
		if c := constant.MakeFloat64(f); c.Kind() == constant.Float || c.Kind() == constant.Int {
			return constant.ToFloat(c), ""
		}
	}
	return nil, fmt.Sprintf("the variant %q is not a number of its type", r.variant)
}
