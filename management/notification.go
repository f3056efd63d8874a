package management

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/flagstaff-go/flagstaff/internal/rawjson"
	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/optional"
)

// What a notification setting holds.
const (
	notifyBool     = "boolean"      // true or false
	notifyFraction = "fraction"     // a number from 0 to 1
	notifyBools    = "booleans"     // an object of booleans
	notifyBoolMaps = "boolean_maps" // an object of objects of booleans
)

var notificationKinds = []string{notifyBool, notifyFraction, notifyBools, notifyBoolMaps}

// A NotificationKey is a setting that User.notification_settings may have.
type NotificationKey struct {
	Name string

	// Kind is what the setting holds: a boolean, a fraction, which is a number from 0 to 1,
	// booleans, which is an object of them, or boolean_maps, an object of such objects.
	Kind string

	// Default is shown while the setting is not set. Nil: the setting is left out.
	Default json.RawMessage

	keys *regexp.Regexp // the keys that an object may have; nil: all
}

// knownNotifications are the settings of management.md §4.6, in the order of answers.
var knownNotifications = []NotificationKey{
	{Name: "plugin_disabled", Kind: notifyBool, Default: json.RawMessage("true")},
	{Name: "error_tracking_issue_assigned", Kind: notifyBool, Default: json.RawMessage("true")},
	{Name: "error_tracking_weekly_digest", Kind: notifyBool, Default: json.RawMessage("true")},
	{Name: "discussions_mentioned", Kind: notifyBool, Default: json.RawMessage("true")},
	{Name: "project_weekly_digest_disabled", Kind: notifyBools, Default: json.RawMessage("{}")},
	{Name: "all_weekly_digest_disabled", Kind: notifyBool, Default: json.RawMessage("false")},
	{Name: "data_pipeline_error_threshold", Kind: notifyFraction, Default: json.RawMessage("0.01")},
	{Name: "project_api_key_exposed", Kind: notifyBool, Default: json.RawMessage("true")},
	{Name: "materialized_view_sync_failed", Kind: notifyBool, Default: json.RawMessage("false")},
	{Name: "web_analytics_weekly_digest", Kind: notifyBool, Default: json.RawMessage("true")},
	{Name: "organization_member_join_email_disabled", Kind: notifyBools, Default: json.RawMessage("{}")},
	{Name: "error_tracking_weekly_digest_project_enabled", Kind: notifyBools},
	{Name: "web_analytics_weekly_digest_project_enabled", Kind: notifyBools},
	{
		Name: "pipeline_notifications_disabled", Kind: notifyBools,
		keys: regexp.MustCompile(`^(?:hog_function|batch_export|plugin_config):.+$`),
	},
	{Name: "realtime_notifications_disabled", Kind: notifyBoolMaps},
}

const (
	maxNotifications = 1000    // entries of an object
	maxOtherSettings = 100     // settings that nothing knows
	maxOtherSize     = 8 << 10 // bytes, with their names
)

// notificationKeys returns all settings by name.
func notificationKeys(own []NotificationKey) (map[string]NotificationKey, error) {
	m := make(map[string]NotificationKey)
	for _, k := range slices.Concat(knownNotifications, own) {
		if _, twice := m[k.Name]; twice || k.Name == "" {
			return nil, fmt.Errorf("management: Config.NotificationKeys: name %q is empty or taken", k.Name)
		}
		if !slices.Contains(notificationKinds, k.Kind) {
			return nil, fmt.Errorf("management: Config.NotificationKeys: %s has kind %q, want one of %q", k.Name, k.Kind, notificationKinds)
		}
		if k.Default != nil && k.check(k.Default) != nil {
			return nil, fmt.Errorf("management: Config.NotificationKeys: %s has default %s, which is not of its kind %s", k.Name, k.Default, k.Kind)
		}
		m[k.Name] = k
	}
	return m, nil
}

// check returns an error if a value of the setting is not allowed.
func (k *NotificationKey) check(raw json.RawMessage) error {
	const attr = "notification_settings"
	switch k.Kind {
	case notifyBool:
		if !rawjson.IsBool(raw) {
			return invalid(attr, "invalid_input", "%s must be true or false.", k.Name)
		}
	case notifyFraction:
		var f float64
		if rawjson.Kind(raw) == "str" || json.Unmarshal(raw, &f) != nil || string(raw) == "null" || f < 0 || f > 1 {
			return invalid(attr, "invalid_input", "%s must be a number from 0 to 1.", k.Name)
		}
	case notifyBools:
		return k.checkBools(raw)
	case notifyBoolMaps:
		m, ok := rawjson.Object(raw)
		if !ok || len(m) > maxNotifications {
			return invalid(attr, "invalid_input", "%s must be an object with at most %d entries.", k.Name, maxNotifications)
		}
		for _, inner := range m {
			if err := k.checkBools(inner); err != nil {
				return err
			}
		}
	}
	return nil
}

func (k *NotificationKey) checkBools(raw json.RawMessage) error {
	const attr = "notification_settings"
	m, ok := rawjson.Object(raw)
	if !ok || len(m) > maxNotifications {
		return invalid(attr, "invalid_input", "%s must be an object with at most %d entries.", k.Name, maxNotifications)
	}
	for name, value := range m {
		if !rawjson.IsBool(value) {
			return invalid(attr, "invalid_input", "The values in %s must be true or false.", k.Name)
		}
		if k.keys != nil && !k.keys.MatchString(name) {
			return invalid(attr, "invalid_input", "The keys in %s must match %s.", k.Name, k.keys)
		}
	}
	return nil
}

// checkNotifications checks a change of some of the settings. Settings that nothing knows
// belong to clients, and may be anything.
func (s *Service) checkNotifications(attr string, o *optional.Value[json.RawMessage]) error {
	if err := check.NotNull(attr, o); err != nil || !o.Set {
		return err
	}
	m, ok := rawjson.Object(o.Value)
	if !ok {
		return invalid(attr, "not_a_dict", "Expected a dictionary of items but got type %q.", rawjson.Kind(o.Value))
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if k, ok := s.notifications[name]; ok {
			if err := k.check(m[name]); err != nil {
				return err
			}
		}
	}
	return check.Document(attr, o, check.MaxDocument)
}

// mergeNotifications merges a change into the stored settings. Objects of settings that
// are known are merged entry by entry, all other values replace what was stored. The
// error is about settings together.
func (s *Service) mergeNotifications(stored, change json.RawMessage) (json.RawMessage, error) {
	const attr = "notification_settings"
	all, ok := rawjson.Object(stored)
	if !ok {
		all = make(map[string]json.RawMessage)
	}
	changes, _ := rawjson.Object(change)
	for name, value := range changes {
		if _, known := s.notifications[name]; known {
			value = mergeObjects(all[name], value)
		}
		all[name] = value
	}
	n, size := 0, 0
	for name, value := range all {
		if _, known := s.notifications[name]; !known {
			n, size = n+1, size+len(name)+len(value)
		}
	}
	merged := rawjson.Must(all)
	switch {
	case n > maxOtherSettings:
		return nil, invalid(attr, "invalid_input", "Ensure there are no more than %d settings that the server does not know.", maxOtherSettings)
	case size > maxOtherSize:
		return nil, invalid(attr, "invalid_input", "Ensure the settings that the server does not know have no more than %d bytes together.", maxOtherSize)
	case len(merged) > check.MaxDocument:
		return nil, invalid(attr, "invalid_input", "Ensure all settings together have no more than %d bytes.", check.MaxDocument)
	}
	return merged, nil
}

// mergeObjects merges a change into a stored value: objects entry by entry, all other
// values as a whole.
func mergeObjects(stored, change json.RawMessage) json.RawMessage {
	changes, ok := rawjson.Object(change)
	if !ok {
		return change
	}
	m, ok := rawjson.Object(stored)
	if !ok {
		m = make(map[string]json.RawMessage)
	}
	for name, value := range changes {
		m[name] = mergeObjects(m[name], value)
	}
	return rawjson.Must(m)
}

// notificationSettings returns the stored settings over the defaults, then the settings
// that nothing knows.
func (s *Service) notificationSettings(stored json.RawMessage) json.RawMessage {
	values, _ := rawjson.Object(stored)
	b := []byte{'{'}
	add := func(name string, value json.RawMessage) {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(append(b, rawjson.Must(name)...), ':'), value...)
	}
	for _, k := range slices.Concat(knownNotifications, s.c.NotificationKeys) {
		switch value, ok := values[k.Name]; {
		case ok:
			add(k.Name, value)
		case k.Default != nil:
			add(k.Name, k.Default)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if _, known := s.notifications[name]; !known {
			add(name, values[name])
		}
	}
	return append(b, '}')
}
