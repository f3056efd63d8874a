// Package geoip turns an IP address into the seven $geoip_* properties.
//
//	r, err := geoip.Open("GeoLite2-City.mmdb", geoip.Options{})
//	if err != nil { … }
//	go r.Watch(ctx, time.Minute) // follows new versions of the file until ctx ends
//
//	for name, value := range r.Properties(addr) { … }
//
// Package server takes a [Resolver] as its Locator.
//
// # The database
//
// Any City database in the MaxMind DB format will do, whatever its name:
// GeoLite2 City and GeoIP2 City or Enterprise of MaxMind, DB-IP City, or a
// database of your own. The package comes without a database and downloads
// none: a tool such as MaxMind's geoipupdate keeps the file current, and Watch
// loads each new version.
//
// Records are read as [github.com/oschwald/geoip2-golang/v2.City]. These fields
// become properties (evaluation.md §10). A property is there only if the record
// has its field; names are the English ones.
//
//	$geoip_city_name        city.names.en
//	$geoip_country_name     country.names.en
//	$geoip_country_code     country.iso_code
//	$geoip_continent_name   continent.names.en
//	$geoip_continent_code   continent.code
//	$geoip_postal_code      postal.code
//	$geoip_time_zone        location.time_zone
//
// # Addresses
//
// IPv4 and IPv6 addresses are looked up as they are, IPv4-mapped IPv6 addresses
// as IPv4; zones are ignored. Some addresses are unknown whatever the database
// says: the invalid and the unspecified address, loopback, private, link-local
// and multicast addresses, and the IPv4 broadcast address.
//
// # Guarantees
//
// A Resolver is safe for concurrent use. Look-ups take no lock and do no I/O;
// if the record is in the cache, they do not allocate. Each look-up is answered
// from one file, the newest that was loaded, and the cache keeps nothing of an
// older file. A nil *Resolver is valid and knows no address, like a closed one.
//
// The file is read into memory as a whole. It is not mapped, because a mapped
// file that is overwritten or truncated in place changes answers halfway and
// kills the process with SIGBUS. A Resolver needs as much memory as the file is
// large, and twice as much while it loads a new version.
//
// Before a file is used, its search tree is checked and each record is decoded.
// A file that fails is refused with the reason, and the last good version stays
// in service. Texts that are longer than City allows make a file fail: 16 bytes
// for a code, 1,024 for a name. A field of City that has another type, such as a
// number as a postal code, makes only the addresses of its record unknown.
//
// The best way to replace a file is to write a new one beside it and to rename
// it. Overwriting the file in place works too: Watch loads a file when it has
// been left alone for two seconds. If it is half-written by then, it is refused
// as a rule, and tried again when it changes. A Resolver cannot notice a writer
// that pauses for longer halfway through a file of the same layout.
package geoip
