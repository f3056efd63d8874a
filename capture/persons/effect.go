package persons

import (
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/numeral"
	plaintext "github.com/flagstaff-go/flagstaff/internal/text"
)

// An effect has everything that one event says about persons and groups. It
// refers to the event.
type effect struct {
	none bool // the event has no effect

	// If linked, the event links its distinct ID with source.
	linked bool
	source string
	force  bool // even if the person of source is identified

	updates

	types []string    // in order of occurrence, perhaps repeated
	group groupUpdate // unless group.Type is empty
}

// updates are the changes of the person's properties in an event (wire.md
// §3.2).
type updates struct {
	once  []member         // $set_once
	auto  []automaticValue // to set, and to set once under the initial name
	set   []member         // $set
	unset []string         // $unset
}

// any reports whether there are updates.
func (u *updates) any() bool { return len(u.once)+len(u.auto)+len(u.set)+len(u.unset) > 0 }

type groupUpdate struct {
	Type, Key string
	set       jsonscan.Value // an object or nil
}

// maxGroupType is the longest name of a group type in bytes; types with longer
// names are ignored.
const maxGroupType = 400

// MaxGroupKey is the number of characters to which a group key is cut.
const MaxGroupKey = 400

// effectOf reads an event (wire.md §2.8, §3).
func effectOf(event *capture.Event) effect {
	if event.NoPerson {
		return effect{none: true}
	}
	var (
		e                    effect
		set, once, unset     jsonscan.Value
		anonymous, alias     jsonscan.Value
		groups               jsonscan.Value
		groupType, groupKey  jsonscan.Value
		groupSet, osName, os jsonscan.Value
		onServer             bool
	)
	for o := jsonscan.Value(event.Properties).Object(); o.Next(); {
		name, value := o.Name(), o.Value()
		switch string(name) {
		case "$set":
			set = value
		case "$set_once":
			once = value
		case "$unset":
			unset = value
		case "$anon_distinct_id":
			anonymous = value
		case "alias":
			alias = value
		case "$groups":
			groups = value
		case "$group_type":
			groupType = value
		case "$group_key":
			groupKey = value
		case "$group_set":
			groupSet = value
		case "$is_server":
			onServer, _ = value.Bool()
		case "$process_person_profile":
			if process, ok := value.Bool(); ok && !process {
				return effect{none: true}
			}
		case "$os":
			os = value
		case "$os_name":
			osName = value
		default:
			if a, ok := automatic[string(name)]; ok {
				e.addAutomatic(a, value)
			}
		}
	}
	switch {
	case onServer: // the server's system says nothing about the person
		e.drop("$os_version")
	case os != nil && os.Kind() != jsonscan.Null:
		e.addAutomatic(automaticOS, os)
	default:
		e.addAutomatic(automaticOS, osName)
	}

	switch event.Name {
	case "$exception", "$$heatmap":
		e.updates = updates{}
	default:
		e.set, e.once, e.unset = membersOf(set), membersOf(once), names(unset)
	}
	switch event.Name {
	case "survey shown":
		e.noteSurvey()
	case "$identify":
		e.link(event.DistinctID, anonymous)
	case "$create_alias":
		e.link(event.DistinctID, alias)
	case "$merge_dangerously":
		e.link(event.DistinctID, alias)
		e.force = true
	case "$groupidentify":
		e.identifyGroup(groupType, groupKey, groupSet)
	}
	if groups.Kind() == jsonscan.Object {
		for o := groups.Object(); o.Next(); {
			if name, ok := typeName(string(o.Name())); ok && identifierOf(o.Value(), MaxGroupKey) != "" {
				e.types = append(e.types, name)
			}
		}
	}
	return e
}

// noteSurvey copies the time at which the person has last seen a survey to the
// property that surveys read. Browsers set a different property (management.md
// §9.6).
func (e *effect) noteSurvey() {
	const fromBrowsers, asked = "$survey_last_seen_date", "$last_seen_survey_date"
	if slices.ContainsFunc(e.set, func(m member) bool { return m.name == asked }) {
		return
	}
	for _, m := range slices.Backward(e.set) { // of several members with one name the last counts
		if m.name == fromBrowsers {
			e.set = append(e.set, member{asked, asked, m.value})
			return
		}
	}
}

// link records that the event links its distinct ID with another one (wire.md
// §3.3).
func (e *effect) link(target string, source jsonscan.Value) {
	id := identifierOf(source, capture.MaxID)
	e.linked = id != "" && id != target && !capture.IllegalID(id) && !capture.IllegalID(target)
	e.source = id
}

func (e *effect) identifyGroup(groupType, groupKey, set jsonscan.Value) {
	name, ok := typeName(textOf(groupType))
	key := identifierOf(groupKey, MaxGroupKey)
	if !ok || key == "" {
		return
	}
	if set.Kind() != jsonscan.Object {
		set = nil
	}
	e.types = append(e.types, name)
	e.group = groupUpdate{name, key, set}
}

func typeName(s string) (string, bool) {
	s = strings.ReplaceAll(s, "\x00", "\uFFFD")
	return s, s != "" && len(s) <= maxGroupType
}

// An automaticName is a property that events set automatically.
type automaticName struct{ name, initial string }

type automaticValue struct {
	*automaticName
	value jsonscan.Value
}

// automatic has the properties of events that become person properties, with
// their names (wire.md §3.2), and the properties that capture adds for the
// client's address. $os and $os_name are treated separately.
var automatic = func() map[string]*automaticName {
	m := make(map[string]*automaticName)
	for name := range strings.FieldsSeq(`
		$app_build $app_name $app_namespace $app_version $browser $browser_version $device_type $current_url
		$pathname $os_version $referring_domain $referrer $screen_height $screen_width $viewport_height
		$viewport_width $raw_user_agent utm_source utm_medium utm_campaign utm_content utm_term utm_name gclid
		gad_source gclsrc dclid gbraid wbraid fbclid msclkid twclid li_fat_id mc_cid igshid ttclid rdt_cid
		irclid _kx epik qclid sccid
		$geoip_city_name $geoip_country_name $geoip_country_code $geoip_continent_name $geoip_continent_code
		$geoip_postal_code $geoip_time_zone`) {
		m[name] = newAutomatic(name)
	}
	return m
}()

var automaticOS = newAutomatic("$os")

func newAutomatic(name string) *automaticName {
	return &automaticName{name, "$initial_" + strings.TrimPrefix(name, "$")}
}

// usual is the number of automatic properties in events of browsers.
const usual = 20

// addAutomatic adds a property, replacing an earlier one with this name.
func (u *updates) addAutomatic(a *automaticName, value jsonscan.Value) {
	u.drop(a.name)
	if value == nil || value.Kind() == jsonscan.Null {
		return
	}
	if u.auto == nil {
		u.auto = make([]automaticValue, 0, usual)
	}
	u.auto = append(u.auto, automaticValue{a, value})
}

// drop removes an automatic property.
func (u *updates) drop(name string) {
	u.auto = slices.DeleteFunc(u.auto, func(a automaticValue) bool { return a.name == name })
}

// names returns the names in $unset: the strings of an array, or the keys of an
// object.
func names(v jsonscan.Value) []string {
	var list []string
	switch v.Kind() {
	case jsonscan.Array:
		for a := v.Array(); a.Next(); {
			if a.Value().Kind() == jsonscan.String {
				list = append(list, textOf(a.Value()))
			}
		}
	case jsonscan.Object:
		for o := v.Object(); o.Next(); {
			list = append(list, string(o.Name()))
		}
	}
	return list
}

// identifierOf returns the text of a string, or of a number as /flags writes it, cut
// to n characters and without NUL; "" for anything else.
func identifierOf(v jsonscan.Value, n int) string {
	if v.Kind() == jsonscan.Number {
		return plaintext.Identifier(string(numeral.Append(nil, v)), n)
	}
	return plaintext.Identifier(textOf(v), n)
}

func textOf(v jsonscan.Value) string {
	b, _ := v.AppendString(nil)
	return string(b)
}
