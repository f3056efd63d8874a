package geoip

import "iter"

// A Location is what a database knows of an address. Fields that it does not
// know are empty. Locations are shared between look-ups: they must not be
// changed, and may be kept.
type Location struct {
	City          string // English name, as all names
	Country       string
	CountryCode   string // ISO 3166-1, two letters
	Continent     string
	ContinentCode string // two letters: AF, AN, AS, EU, NA, OC, SA
	PostalCode    string // the first part of it in some countries
	TimeZone      string // IANA name: Europe/London
}

// Properties iterates over the names and values of the $geoip_* properties, in
// the order of evaluation.md §10. Empty ones are left out. A nil Location has
// none.
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

// property reports whether to go on.
func property(name, value string, yield func(name, value string) bool) bool {
	return value == "" || yield(name, value)
}
