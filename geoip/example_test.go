package geoip_test

import (
	"fmt"
	"log"
	"net/netip"

	"github.com/flagstaff-go/flagstaff/geoip"
)

func Example() {
	r, err := geoip.Open("../testdata/geoip/test.mmdb", geoip.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()

	for name, value := range r.Properties(netip.MustParseAddr("192.0.2.130")) {
		fmt.Println(name, value)
	}
	// Output:
	// $geoip_country_name Germany
	// $geoip_country_code DE
	// $geoip_continent_name Europe
	// $geoip_continent_code EU
}

func ExampleResolver_Lookup() {
	r, err := geoip.Open("../testdata/geoip/test.mmdb", geoip.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()

	for _, addr := range []string{"203.0.113.77", "2001:db8:1::1", "127.0.0.1"} {
		if l, ok := r.Lookup(netip.MustParseAddr(addr)); ok {
			fmt.Printf("%s: %s, %s\n", addr, l.City, l.Country)
		} else {
			fmt.Printf("%s: unknown\n", addr)
		}
	}
	// Output:
	// 203.0.113.77: São Paulo, Brazil
	// 2001:db8:1::1: Nairobi, Kenya
	// 127.0.0.1: unknown
}
