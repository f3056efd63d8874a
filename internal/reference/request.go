package reference

import (
	"encoding/json"
	"maps"
	"strings"
	"time"
)

// A Request has everything that an evaluation depends on besides the document.
// The zero value is a request for the empty distinct id, at the zero time,
// without data. Nil raw messages and JSON nulls count as absent.
type Request struct {
	DistinctID      string                     // as text (§2.4), not yet cut
	Groups          map[string]json.RawMessage // group keys as JSON, by group type name
	Person          json.RawMessage            // person_properties of the request, an object or nil
	GroupProperties map[string]json.RawMessage // properties of the request, by group type name
	StoredPerson    json.RawMessage            // stored person properties, nil if there are none or they are not to be used
	StoredGroups    map[string]json.RawMessage // stored properties, by group type name
	AnonymousID     string                     // top-level field $anon_distinct_id
	DeviceID        string                     // top-level field $device_id
	Overrides       map[string]string          // stored hash keys, by flag key (§12)
	Cohorts         []int64                    // stored cohorts of which the person is a member
	Geo             map[string]string          // looked-up $geoip_* properties
	Kind            string                     // "unknown", "client", "server", or "" for no filtering by runtime
	Tags            []string                   // evaluation contexts
	Keys            []string                   // flag_keys, used only if HasKeys is true
	HasKeys         bool                       // false means all flags
	SurveysOnly     bool                       // only flags whose keys begin with survey-targeting-
	Now             time.Time
	Zone            *time.Location // of the project; nil means UTC
}

// initialWithDollar and initialPlain are the lists INITIAL of §8.4.
const (
	initialWithDollar = "$app_build $app_name $app_namespace $app_version $browser $browser_version $device_type " +
		"$current_url $pathname $os $os_version $referring_domain $referrer $screen_height $screen_width " +
		"$viewport_height $viewport_width $raw_user_agent"
	initialPlain = "utm_source utm_medium utm_campaign utm_content utm_term gclid gad_source gclsrc dclid gbraid " +
		"wbraid fbclid msclkid twclid li_fat_id mc_cid igshid ttclid rdt_cid epik qclid sccid irclid _kx"
)

// createdAtProperty is the property of the request that becomes created_at of
// person_metadata (§1.5).
const createdAtProperty = "__posthog_person_metadata__created_at"

// distinctID returns the distinct id as it is hashed and injected: more than
// 200 bytes are cut to 200 characters (§2.4).
func (r *Request) distinctID() string {
	id := validText(r.DistinctID)
	if len(id) <= 200 {
		return id
	}
	characters := []rune(id)
	return string(characters[:min(200, len(characters))])
}

// deviceID implements §2.4: the person property counts only in the request, and
// only as a non-empty string.
func (r *Request) deviceID() string {
	if r.DeviceID != "" {
		return validText(r.DeviceID)
	}
	id, _ := decodeMap(r.Person)["$device_id"].(string)
	return id
}

// anonymousID implements §2.4.
func (r *Request) anonymousID() string {
	if r.AnonymousID != "" {
		return validText(r.AnonymousID)
	}
	id, _ := decodeMap(r.Person)["$anon_distinct_id"].(string)
	return id
}

// personMap implements §8.4 and the GeoIP rule of §10.
func (r *Request) personMap() map[string]any {
	own := decodeMap(r.Person)
	person := map[string]any{}
	maps.Copy(person, decodeMap(r.StoredPerson))
	maps.Copy(person, own)
	// §8.4: the injected distinct id overrides a stored one, but not one in the
	// request.
	if _, explicit := own["distinct_id"]; !explicit {
		person["distinct_id"] = r.distinctID()
	}
	os, hasOS := person["$os"]
	name, hasName := person["$os_name"]
	switch {
	case hasOS && !hasName:
		person["$os_name"] = os
	case hasName && !hasOS:
		person["$os"] = name
	}
	for k := range strings.FieldsSeq(initialWithDollar + " " + initialPlain) {
		initial := "$initial_" + strings.TrimPrefix(k, "$")
		value, present := person[k]
		if _, already := person[initial]; present && !already {
			person[initial] = value
		}
	}
	// §10: the request's value unless it is null, then the looked-up value,
	// then the stored property.
	for k, value := range r.Geo {
		if own[k] == nil {
			person[k] = value
		}
	}
	return person
}

// metadataMap returns the map that person_metadata filters read (§1.5).
func (r *Request) metadataMap() map[string]any {
	metadata := map[string]any{}
	if created, present := decodeMap(r.Person)[createdAtProperty]; present {
		metadata["created_at"] = created
	}
	return metadata
}

// groupMap returns the properties of a group (§6.3), given the name of its
// type.
func (r *Request) groupMap(name string) map[string]any {
	group := map[string]any{}
	maps.Copy(group, decodeMap(r.StoredGroups[name]))
	maps.Copy(group, decodeMap(r.GroupProperties[name]))
	if key, present := r.Groups[name]; present {
		group["$group_key"] = decodeValue(key)
	}
	return group
}

// groupKey returns the subject of a group (§6.2): a non-empty string, or the
// text of a number.
func (r *Request) groupKey(name string) (key string, usable bool) {
	switch v := decodeValue(r.Groups[name]).(type) {
	case string:
		return v, v != ""
	case json.Number:
		return valueText(v), true
	default:
		return "", false
	}
}

// validText replaces each invalid byte by U+FFFD (§8.3, §8.6).
func validText(s string) string { return string([]rune(s)) }
