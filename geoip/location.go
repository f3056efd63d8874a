package geoip

import "iter"

// A Location is what a database knows about an address. Fields that the
// database does not know are empty. Look-ups share locations: callers may keep
// them and must not change them.
type Location struct {
	City          string // in English, like all names
	Country       string
	CountryCode   string // ISO 3166-1, two letters
	Continent     string
	ContinentCode string // two letters: AF, AN, AS, EU, NA, OC, SA
	PostalCode    string // in some countries only its first part
	TimeZone      string // IANA name, such as Europe/London
}

// Properties iterates over the names and values of the $geoip_* properties, in
// the order of evaluation.md §10. Empty fields are left out. A nil Location has
// no properties.
func (l *Location) Properties() iter.Seq2[string, string] { return l.each }

func (l *Location) each(yield func(name, value string) bool) {
	if l == nil {
		return
	}
	_ = property("$geoip_city_name", l.City, yield) &&
		property("$geoip_country_name", l.Country, yield) &&
		property("$geoip_country_code", l.CountryCode, yield) &&
		property("$geoip_continent_name", l.Continent, yield) &&
		property("$geoip_continent_code", l.ContinentCode, yield) &&
		property("$geoip_postal_code", l.PostalCode, yield) &&
		property("$geoip_time_zone", l.TimeZone, yield)
}

// property yields a property unless it is empty, and reports whether to go on.
func property(name, value string, yield func(name, value string) bool) bool {
	return value == "" || yield(name, value)
}
