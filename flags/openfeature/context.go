package openfeature

import (
	"encoding/json"
	"maps"

	of "github.com/open-feature/go-sdk/openfeature"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// Members of a context that are not person properties (wire.md §7.2).
const (
	groupsKey          = "groups"
	groupPropertiesKey = "groupProperties"
	deviceKey          = "$device_id"
	contextsKey        = "evaluation_contexts"
	geoIPKey           = "$geoip_disable" // nothing is looked up here
)

var reserved = [...]string{of.TargetingKey, groupsKey, groupPropertiesKey, deviceKey, contextsKey, geoIPKey}

// An invalidContext says that a member of a context has a type that it cannot have.
// It does not show the value.
type invalidContext struct{ name, want string }

func (e *invalidContext) Error() string { return e.name + " must be " + e.want }

// fill makes a request of an evaluation context. Its members are the properties of the
// person; they are copied without the reserved ones only if a flag looks at a property
// with a reserved name.
func (p *Provider) fill(r *flags.Request, flat of.FlattenedContext, s *flags.Snapshot) *invalidContext {
	r.DistinctID, r.Filter, r.PersonProperties = p.options.DefaultID, p.options.Filter, flat
	shadowed := false
	for _, name := range reserved {
		v, ok := flat[name]
		if !ok {
			continue
		}
		shadowed = shadowed || s.Reads(name)
		if v == nil {
			continue
		}
		if err := setMember(r, name, v); err != nil {
			return err
		}
	}
	if shadowed {
		r.PersonProperties = maps.Clone(r.PersonProperties)
		for _, name := range reserved {
			delete(r.PersonProperties, name)
		}
	}
	return nil
}

// setMember sets the field of a request that a reserved member is about.
func setMember(r *flags.Request, name string, v any) *invalidContext {
	switch name {
	case of.TargetingKey:
		id, ok := v.(string)
		if !ok {
			return &invalidContext{name, "a string"}
		}
		if id != "" {
			r.DistinctID = id
		}
	case deviceKey:
		id, ok := v.(string)
		if !ok {
			return &invalidContext{name, "a string"}
		}
		r.DeviceID = id
	case groupsKey:
		return setGroups(r, v)
	case groupPropertiesKey:
		return setGroupProperties(r, v)
	case contextsKey:
		return setTags(r, v)
	}
	return nil
}

func setGroups(r *flags.Request, v any) *invalidContext {
	switch v := v.(type) {
	case map[string]string:
		r.Groups = maps.Clone(v) // exposures are kept after the evaluation
	case map[string]any:
		r.Groups = make(map[string]string, len(v))
		for name, key := range v {
			if key, ok := groupKey(key); ok {
				r.Groups[name] = key
			}
		}
	default:
		return &invalidContext{groupsKey, "a map of group keys"}
	}
	return nil
}

// groupKey returns the text of a group key: a string or a number (evaluation.md
// §6.2).
func groupKey(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool, nil, map[string]any, []any:
		return "", false
	}
	b, ok := marshal(v)
	if !ok {
		return "", false
	}
	if k := jsonscan.Value(b).Kind(); k != jsonscan.Number && k != jsonscan.String {
		return "", false
	}
	return text.Str(b)
}

// marshal encodes a value. It is not ok if that fails, or if its own encoding panics.
func marshal(v any) (b []byte, ok bool) {
	defer func() {
		if recover() != nil {
			b, ok = nil, false
		}
	}()
	b, err := json.Marshal(v)
	return b, err == nil
}

func setGroupProperties(r *flags.Request, v any) *invalidContext {
	switch v := v.(type) {
	case map[string]map[string]any:
		r.GroupProperties = v
	case map[string]any:
		r.GroupProperties = make(map[string]map[string]any, len(v))
		for name, properties := range v {
			switch properties := properties.(type) {
			case map[string]any:
				r.GroupProperties[name] = properties
			case nil:
			default:
				return &invalidContext{groupPropertiesKey, "a map of maps"}
			}
		}
	default:
		return &invalidContext{groupPropertiesKey, "a map of maps"}
	}
	return nil
}

func setTags(r *flags.Request, v any) *invalidContext {
	switch v := v.(type) {
	case []string:
		r.Filter.Tags = v
	case []any:
		r.Filter.Tags = make([]string, 0, len(v))
		for _, tag := range v {
			tag, ok := tag.(string)
			if !ok {
				return &invalidContext{contextsKey, "a list of strings"}
			}
			r.Filter.Tags = append(r.Filter.Tags, tag)
		}
	default:
		return &invalidContext{contextsKey, "a list of strings"}
	}
	return nil
}
