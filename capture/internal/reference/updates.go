package reference

import (
	"maps"
	"strings"
)

// automatic are the properties that describe a person by merely being in an
// event. $os_name is not among them: it stands in for $os.
var automatic = []string{
	"$app_build", "$app_name", "$app_namespace", "$app_version",
	"$browser", "$browser_version", "$device_type",
	"$current_url", "$pathname",
	"$os", "$os_version",
	"$referring_domain", "$referrer",
	"$screen_height", "$screen_width", "$viewport_height", "$viewport_width",
	"$raw_user_agent",
	"utm_source", "utm_medium", "utm_campaign", "utm_content", "utm_term", "utm_name",
	"gclid", "gad_source", "gclsrc", "dclid", "gbraid", "wbraid", "fbclid",
	"msclkid", "twclid", "li_fat_id", "mc_cid", "igshid", "ttclid", "rdt_cid",
	"irclid", "_kx", "epik", "qclid", "sccid",
	"$geoip_city_name", "$geoip_country_name", "$geoip_country_code",
	"$geoip_continent_name", "$geoip_continent_code", "$geoip_postal_code",
	"$geoip_time_zone",
}

// update changes p as an event with these properties says.
func (p *personState) update(properties map[string]any) {
	set := object(properties["$set"])
	setOnce := object(properties["$set_once"])

	for _, name := range automatic {
		v := properties[name]
		if name == "$os" && v == nil {
			v = properties["$os_name"]
		}
		if (name == "$os" || name == "$os_version") && properties["$is_server"] == true {
			continue // it is the system of the server, not of the person
		}
		if v == nil { // absent, or null
			continue
		}
		if _, explicit := set[name]; !explicit {
			set[name] = v
		}
		initial := "$initial_" + strings.TrimPrefix(name, "$")
		if _, explicit := setOnce[initial]; !explicit {
			setOnce[initial] = v
		}
	}

	for name, v := range setOnce {
		if _, has := p.properties[name]; !has { // null is a value
			p.properties[name] = v
		}
	}
	maps.Copy(p.properties, set)
	for _, name := range unset(properties["$unset"]) {
		delete(p.properties, name)
	}
}

// unset returns the names that an $unset lists, as an array or as keys.
func unset(v any) []string {
	names := []string{}
	switch v := v.(type) {
	case []any:
		for _, element := range v {
			if name, ok := element.(string); ok {
				names = append(names, name)
			}
		}
	case map[string]any:
		for name := range v {
			names = append(names, name)
		}
	}
	return names
}
