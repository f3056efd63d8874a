package geoip_test

import (
	"net/netip"
	"testing"

	"github.com/flagstaff-go/flagstaff/geoip"
)

// probes are addresses in and beside the networks of the seeds.
var probes = func() (all []netip.Addr) {
	for _, s := range []string{
		"192.0.2.1", "192.0.2.64", "192.0.2.130", "192.0.2.200", "192.0.2.230", "198.51.100.1", "203.0.113.77", "20.0.0.1", "20.0.1.1",
		"8.8.8.8", "223.255.255.255", "2001:db8::1", "2001:db8:1::1", "2001:db8:8000::1", "3fff::1", "2002:c000:0201::1", "2600::1", "fbff::1",
	} {
		all = append(all, netip.MustParseAddr(s))
	}
	return all
}()

// FuzzOpen: no content makes Open or a look-up panic, hang or invent text. A
// Resolver with a cache answers like a Resolver without one.
func FuzzOpen(f *testing.F) {
	f.Add(testContent(f))
	for _, version := range []int{4, 6} {
		for _, size := range []int{24, 28, 32} {
			f.Add(small(version, size))
		}
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		if len(content) > 1<<16 {
			t.Skip("large files are only slower")
		}
		checkContent(t, content)
	})
}

// checkContent opens the content and, unless it is refused, looks the probes up.
func checkContent(t *testing.T, content []byte) {
	t.Helper()
	cached, err := geoip.OpenContent(content, geoip.Options{CacheSize: 4})
	uncached, err2 := geoip.OpenContent(content, geoip.Options{CacheSize: -1})
	if (err == nil) != (err2 == nil) {
		t.Fatalf("refused and not refused: %v, %v", err, err2)
	}
	if err != nil {
		return
	}
	for _, a := range append(probes, probes...) {
		got, ok := cached.Lookup(a)
		want, ok2 := uncached.Lookup(a)
		if ok != ok2 || ok && *got != *want {
			t.Fatalf("Lookup(%s) = %v, %v with a cache, %v, %v without", a, got, ok, want, ok2)
		}
		for name, value := range cached.Properties(a) {
			if value == "" || len(value) > len(content) {
				t.Fatalf("%s of %s has %d bytes in a file of %d", name, a, len(value), len(content))
			}
		}
	}
}

// small is a database of a few networks.
func small(version, recordSize int) []byte {
	d := newDatabase("Small-City", version, recordSize)
	d.insert("20.0.0.0/24", place("1"))
	d.insert("20.0.1.0/24", place("2"))
	d.insert("192.0.2.0/25", object{"city": object{"names": object{"en": "Here"}}, "location": object{"latitude": 7}})
	if version == 6 {
		d.insert("2001:db8::/32", place("3"))
	}
	return d.bytes()
}
