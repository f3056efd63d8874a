package geoip_test

import (
	"fmt"
	"iter"
	"maps"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/geoip"
)

// locator has the method that server.Config.Geo needs.
type locator interface {
	Properties(netip.Addr) iter.Seq2[string, string]
}

var _ locator = (*geoip.Resolver)(nil)

// The expected places are written down in examples/mmdbgen.
var (
	london = geoip.Location{
		City: "London", Country: "United Kingdom", CountryCode: "GB", Continent: "Europe", ContinentCode: "EU",
		PostalCode: "SW1A", TimeZone: "Europe/London",
	}
	tokyo = geoip.Location{
		City: "Tokyo", Country: "Japan", CountryCode: "JP", Continent: "Asia", ContinentCode: "AS",
		PostalCode: "100-0001", TimeZone: "Asia/Tokyo",
	}
	saoPaulo = geoip.Location{
		City: "São Paulo", Country: "Brazil", CountryCode: "BR", Continent: "South America", ContinentCode: "SA",
		PostalCode: "01000", TimeZone: "America/Sao_Paulo",
	}
	nairobi = geoip.Location{
		City: "Nairobi", Country: "Kenya", CountryCode: "KE", Continent: "Africa", ContinentCode: "AF",
		PostalCode: "00100", TimeZone: "Africa/Nairobi",
	}
)

// TestLookup: evaluation.md §10, fields and addresses.
func TestLookup(t *testing.T) {
	tests := []struct {
		name, addr string
		want       geoip.Location // zero: unknown
	}{
		{"all fields", "192.0.2.1", london},
		{"first of a network", "192.0.2.0", london},
		{"last of a network", "192.0.2.63", london},
		{"the next network", "192.0.2.64", geoip.Location{
			City: "Montreal", Country: "Canada", CountryCode: "CA", Continent: "North America", ContinentCode: "NA",
			PostalCode: "H2Y", TimeZone: "America/Toronto",
		}},
		{"before one address in a network", "203.0.113.76", tokyo},
		{"one address in a network", "203.0.113.77", saoPaulo},
		{"after one address in a network", "203.0.113.78", tokyo},
		{"a country only", "192.0.2.130", geoip.Location{Country: "Germany", CountryCode: "DE", Continent: "Europe", ContinentCode: "EU"}},
		{"a time zone only", "198.51.100.9", geoip.Location{TimeZone: "Australia/Sydney"}},
		{"an empty postal code", "2001:db8:2::1", geoip.Location{Continent: "Africa", ContinentCode: "AF"}},
		{"no English names", "192.0.2.200", geoip.Location{CountryCode: "DE", ContinentCode: "EU"}},
		{"none of the fields", "192.0.2.230", geoip.Location{}},
		{"an empty record", "2001:db8:8000::1", geoip.Location{}},
		{"no record", "198.51.100.200", geoip.Location{}},
		{"no record, far from any", "8.8.8.8", geoip.Location{}},

		{"IPv6", "2001:db8:1::1", nairobi},
		{"IPv6, last of a network", "2001:db8:1:ffff:ffff:ffff:ffff:ffff", nairobi},
		{"IPv6 without a city", "3fff:0:1::", geoip.Location{
			City: "Auckland", Country: "New Zealand", CountryCode: "NZ", Continent: "Oceania", ContinentCode: "OC", TimeZone: "Pacific/Auckland",
		}},
		{"IPv6, no record", "2600::1", geoip.Location{}},
		{"IPv4-mapped", "::ffff:192.0.2.1", london},
		{"IPv4-mapped, in hexadecimal", "::ffff:c000:201", london},
		{"IPv4-mapped with a zone", "::ffff:192.0.2.1%eth0", london},
		{"IPv6 with a zone", "2001:db8:1::1%eth0", nairobi},
		{"6to4 of an IPv4 network", "2002:c000:0201::1", london},

		{"multicast that has a record", "233.252.0.1", geoip.Location{}},
	}
	for _, size := range []int{0, -1, 1, 2, 1000} {
		r := open(t, testFile, geoip.Options{CacheSize: size})
		for range 2 { // the second time from the cache
			for _, tt := range tests {
				t.Run(fmt.Sprintf("%s, cache size %d", tt.name, size), func(t *testing.T) {
					a := netip.MustParseAddr(tt.addr)
					got, ok := r.Lookup(a)
					if !ok {
						got = &geoip.Location{}
					}
					if diff := cmp.Diff(tt.want, *got); diff != "" || ok != (tt.want != geoip.Location{}) {
						t.Errorf("Lookup(%s) = %v, %v (-want +got)\n%s", a, got, ok, diff)
					}
					if diff := cmp.Diff(maps.Collect(tt.want.Properties()), maps.Collect(r.Properties(a))); diff != "" {
						t.Errorf("Properties(%s) (-want +got)\n%s", a, diff)
					}
				})
			}
		}
	}
}

// TestNobodysAddresses: evaluation.md §10, "loopback, unparsable or unknown
// address: no properties". These ranges are unknown although the database of
// this test has a record for every address.
func TestNobodysAddresses(t *testing.T) {
	d := newDatabase("Everything-City", 6, 24)
	d.insert("::/1", place("1"))
	d.insert("8000::/1", place("1"))
	r := open(t, temporary(t, d.bytes()), geoip.Options{})
	for _, tt := range []struct {
		name  string
		known bool
		addrs []string
	}{
		{"public", true, []string{"8.8.8.8", "2600::1", "::ffff:8.8.8.8", "9.255.255.255", "11.0.0.0", "172.15.0.1", "172.32.0.1", "128.0.0.1"}},
		{"unspecified", false, []string{"0.0.0.0", "::", "::ffff:0.0.0.0"}},
		{"loopback", false, []string{"127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1", "::1%lo"}},
		{"private", false, []string{"10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "fc00::1", "fdff::1", "::ffff:10.0.0.1", "fd00::1%eth0"}},
		{"link-local", false, []string{"169.254.1.1", "fe80::1", "fe80::1%eth0", "::ffff:169.254.1.1"}},
		{"multicast", false, []string{"224.0.0.1", "239.255.255.255", "ff02::1", "ff02::1%eth0", "::ffff:224.0.0.1"}},
		{"broadcast", false, []string{"255.255.255.255"}},
	} {
		for _, addr := range tt.addrs {
			l, ok := r.Lookup(netip.MustParseAddr(addr))
			if ok != tt.known || ok != (l != nil) {
				t.Errorf("%s: Lookup(%s) = %v, %v, want %v", tt.name, addr, l, ok, tt.known)
			}
		}
	}
	if l, ok := r.Lookup(netip.Addr{}); ok || l != nil {
		t.Errorf("Lookup of the zero address = %v, %v, want nil, false", l, ok)
	}
}

// TestFormats: each size of record, IPv4 alone and with IPv6.
func TestFormats(t *testing.T) {
	for _, version := range []int{4, 6} {
		for _, size := range []int{24, 28, 32} {
			t.Run(fmt.Sprintf("IPv%d, %d bits", version, size), func(t *testing.T) {
				d := newDatabase("Any-City", version, size)
				for i := range 300 {
					d.insert(fmt.Sprintf("198.18.%d.%d/31", i/100, i%100*2), place(fmt.Sprint(i)))
				}
				if version == 6 {
					d.insert("2001:db8::/32", place("six"))
				}
				r := open(t, temporary(t, d.bytes()), geoip.Options{CacheSize: 16})
				for i := range 300 {
					a := netip.AddrFrom4([4]byte{198, 18, byte(i / 100), byte(i%100*2 + i%2)})
					// The tree has no branch for IPv4-mapped addresses.
					for _, a := range []netip.Addr{a, netip.AddrFrom16(a.As16())} {
						l, ok := r.Lookup(a)
						if want := placeLocation(fmt.Sprint(i)); !ok || *l != want {
							t.Fatalf("Lookup(%s) = %v, %v, want %v", a, l, ok, want)
						}
					}
				}
				if _, ok := r.Lookup(netip.MustParseAddr("198.18.200.1")); ok {
					t.Error("an address without a record is known")
				}
				l, ok := r.Lookup(netip.MustParseAddr("2001:db8::1"))
				if ok != (version == 6) || ok && *l != placeLocation("six") {
					t.Errorf("Lookup of an IPv6 address = %v, %v", l, ok)
				}
			})
		}
	}
}

// TestProperties: evaluation.md §10, the table.
func TestProperties(t *testing.T) {
	type pair struct{ Name, Value string }
	collect := func(seq iter.Seq2[string, string]) (all []pair) {
		for name, value := range seq {
			all = append(all, pair{name, value})
		}
		return all
	}
	want := []pair{
		{"$geoip_city_name", "London"},
		{"$geoip_country_name", "United Kingdom"},
		{"$geoip_country_code", "GB"},
		{"$geoip_continent_name", "Europe"},
		{"$geoip_continent_code", "EU"},
		{"$geoip_postal_code", "SW1A"},
		{"$geoip_time_zone", "Europe/London"},
	}
	if diff := cmp.Diff(want, collect(london.Properties())); diff != "" {
		t.Errorf("Location.Properties (-want +got)\n%s", diff)
	}
	r := open(t, testFile, geoip.Options{})
	if diff := cmp.Diff(want, collect(r.Properties(netip.MustParseAddr("192.0.2.1")))); diff != "" {
		t.Errorf("Resolver.Properties (-want +got)\n%s", diff)
	}
	if got := collect((*geoip.Location)(nil).Properties()); got != nil {
		t.Errorf("a nil Location has %v", got)
	}
	if got := collect((&geoip.Location{}).Properties()); got != nil {
		t.Errorf("an empty Location has %v", got)
	}
	part := geoip.Location{CountryCode: "GB", TimeZone: "Europe/London"}
	if diff := cmp.Diff([]pair{want[2], want[6]}, collect(part.Properties())); diff != "" {
		t.Errorf("empty fields (-want +got)\n%s", diff)
	}
	for stop := range len(want) { // an iteration may end anywhere
		var got []pair
		for name, value := range london.Properties() {
			if got = append(got, pair{name, value}); len(got) > stop {
				break
			}
		}
		if !slices.Equal(got, want[:stop+1]) {
			t.Errorf("stopped after %d: %v", stop+1, got)
		}
	}
}

func TestNilResolver(t *testing.T) {
	var r *geoip.Resolver
	if l, ok := r.Lookup(netip.MustParseAddr("192.0.2.1")); ok || l != nil {
		t.Errorf("Lookup = %v, %v, want nil, false", l, ok)
	}
	for name := range r.Properties(netip.MustParseAddr("192.0.2.1")) {
		t.Errorf("Properties has %s", name)
	}
	if got := r.Status(); got != (geoip.Status{}) {
		t.Errorf("Status = %+v, want none", got)
	}
	if err := r.Refresh(); err != nil {
		t.Errorf("Refresh: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// TestUnexpectedTypes: a record that cannot be read is unknown. The other records
// of its file are not affected.
func TestUnexpectedTypes(t *testing.T) {
	d := newDatabase("Own-City", 4, 24)
	d.insert("20.0.0.0/24", place("good"))
	for i, record := range []any{
		object{"city": object{"names": object{"en": "Here"}}, "postal": object{"code": 12345}},
		object{"city": "Here"},
		object{"city": object{"names": object{"en": 1}}},
		object{"location": 7},
		object{"city": object{"names": object{"en": "Here"}}, "location": object{"latitude": 7}}, // no property, but a field of City
		"a text",
		42,
	} {
		d.insert(fmt.Sprintf("20.0.%d.0/24", i+1), record)
	}
	r := open(t, temporary(t, d.bytes()), geoip.Options{})
	for range 2 {
		if l, ok := r.Lookup(netip.MustParseAddr("20.0.0.1")); !ok || *l != placeLocation("good") {
			t.Errorf("the good record: %v, %v", l, ok)
		}
		for i := 1; i <= 7; i++ {
			a := netip.AddrFrom4([4]byte{20, 0, byte(i), 1})
			if l, ok := r.Lookup(a); ok {
				t.Errorf("Lookup(%s) = %v, want unknown", a, l)
			}
		}
	}
}

func TestCachedLookupsDoNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	r := open(t, testFile, geoip.Options{})
	for _, addr := range []string{"192.0.2.1", "::ffff:192.0.2.1", "2001:db8:1::1", "192.0.2.230", "198.51.100.200", "10.0.0.1", "fe80::1%eth0"} {
		a := netip.MustParseAddr(addr)
		if n := testing.AllocsPerRun(100, func() { r.Lookup(a) }); n != 0 {
			t.Errorf("Lookup(%s) allocates %v times, want 0", a, n)
		}
		var l locator = r // as package server calls it
		length := 0
		count := func(_, value string) bool { length += len(value); return true }
		if n := testing.AllocsPerRun(100, func() { l.Properties(a)(count) }); n != 0 {
			t.Errorf("Properties(%s) allocates %v times, want 0", a, n)
		}
	}
	four := newDatabase("Four-City", 4, 24)
	four.insert("20.0.0.0/8", place("1"))
	four.insert("21.0.0.0/8", place("2"))
	r = open(t, temporary(t, four.bytes()), geoip.Options{CacheSize: 2})
	if n := testing.AllocsPerRun(100, func() {
		r.Lookup(netip.AddrFrom4([4]byte{20, 0, 0, 1}))
		r.Lookup(netip.AddrFrom4([4]byte{21, 0, 0, 1}))
	}); n != 0 {
		t.Errorf("two records in turn in a cache for two: %v allocations, want 0", n)
	}
	a := netip.MustParseAddr("2001:db8::1")
	if n := testing.AllocsPerRun(100, func() { r.Lookup(a) }); n != 0 {
		t.Errorf("Lookup of an IPv6 address in an IPv4 database allocates %v times, want 0", n)
	}
}
