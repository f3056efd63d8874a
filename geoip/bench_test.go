package geoip_test

import (
	"net/netip"
	"testing"

	"github.com/oschwald/maxminddb-golang/v2"

	"github.com/flagstaff-go/flagstaff/geoip"
)

// BenchmarkG1 compares a look-up with its floor, the walk down the search tree
// without decoding. The database has 98,304 networks. The cached cases look up
// 4,096 addresses in turn; the uncached ones go through 65,536 records and have
// no cache.
func BenchmarkG1(b *testing.B) {
	content := large()
	path := temporary(b, content)
	reader, err := maxminddb.OpenBytes(content)
	if err != nil {
		b.Fatal(err)
	}
	// The odd factor keeps look-ups that follow each other apart in the tree.
	addrs := make([]netip.Addr, 1<<16)
	for i := range addrs {
		n := uint16(i * 40503)
		addrs[i] = netip.AddrFrom4([4]byte{20, byte(n >> 8), byte(n), byte(i)})
	}
	few := addrs[:1<<12]

	run := func(name string, addrs []netip.Addr, lookup func(netip.Addr) bool) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for _, a := range addrs {
				lookup(a)
			}
			i := 0
			for b.Loop() {
				if !lookup(addrs[i&(len(addrs)-1)]) {
					b.Fatalf("%s is unknown", addrs[i&(len(addrs)-1)])
				}
				i++
			}
		})
	}
	floor := func(a netip.Addr) bool { return reader.Lookup(a).Found() }
	cached := open(b, path, geoip.Options{})
	uncached := open(b, path, geoip.Options{CacheSize: -1})
	run("cached/flagstaff", few, func(a netip.Addr) bool { _, ok := cached.Lookup(a); return ok })
	run("cached/floor", few, floor)
	run("uncached/flagstaff", addrs, func(a netip.Addr) bool { _, ok := uncached.Lookup(a); return ok })
	run("uncached/floor", addrs, floor)
}

// BenchmarkOpen loads a database of 98,304 networks.
func BenchmarkOpen(b *testing.B) {
	content := large()
	path := temporary(b, content)
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := geoip.Open(path, geoip.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkParallel looks up from all processors at once.
func BenchmarkParallel(b *testing.B) {
	r := open(b, testFile, geoip.Options{})
	a := netip.MustParseAddr("192.0.2.1")
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r.Lookup(a)
		}
	})
}
