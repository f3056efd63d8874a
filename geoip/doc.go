// Package geoip turns an IP address into the seven $geoip_* properties.
//
//	r, err := geoip.Open("GeoLite2-City.mmdb", geoip.Options{})
//	if err != nil { … }
//	go r.Watch(ctx, time.Minute) // follows new versions of the file until ctx ends
//
//	for name, value := range r.Properties(addr) { … }
//
// A [Resolver] is what package server takes as its Locator.
//
// # The database
//
// Any City database in the MaxMind DB format will do, under whatever name:
// GeoLite2 City and GeoIP2 City or Enterprise of MaxMind, DB-IP City, or one of
// your own making. None comes with this package, and nothing is downloaded: a
// tool such as MaxMind's geoipupdate keeps the file current, Watch sees it.
//
// Of a record these fields are read (evaluation.md §10). A property is there
// only if the record has its field; names are the English ones.
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
// IPv4 and IPv6 are looked up as they are, IPv4-mapped IPv6 addresses as IPv4;
// zones are ignored. Unknown are, whatever the database says of them: the
// invalid and the unspecified address, loopback, private, link-local and
// multicast addresses, and the IPv4 broadcast address.
//
// # Guarantees
//
// A Resolver is safe for concurrent use. Look-ups take no lock, do no I/O and
// do not allocate if the record is in the cache. Each is answered from one file,
// the newest one that was loaded; nothing of an older one is left in the cache.
// A nil *Resolver is valid and knows no address. So is a closed one.
//
// The file is read into memory as a whole, not mapped: a mapped file that is
// overwritten or truncated in place changes answers under way and kills the
// process with SIGBUS. A Resolver needs as much memory as the file is large, and
// twice that while a new version is loaded.
//
// Before a file is used, its search tree is checked and each record is decoded.
// A file that fails is refused, with the reason, and the last good one stays.
// Should a record have a field of another type than expected, a number as a
// postal code, then its addresses are unknown, and the other records unharmed.
//
// The best way to replace a file is to write a new one beside it and to rename
// it. Overwriting it in place works too: Watch loads a file when it has been
// left alone for two seconds, and what is half-written by then is refused as a
// rule and tried again when it changes. A Resolver cannot see a writer that
// pauses for longer halfway through a file of the same layout.
package geoip
