package main

import (
	"fmt"
	"io"
	"net"

	"github.com/maxmind/mmdbwriter"
	"github.com/maxmind/mmdbwriter/mmdbtype"
)

// built is the build time that the database states: 2026-01-01, 00:00 UTC. It
// is fixed so that the file is the same each time.
const built = 1767225600

func write(w io.Writer) error {
	tree, err := mmdbwriter.New(mmdbwriter.Options{
		BuildEpoch:   built,
		DatabaseType: "Flagstaff-City-Test",
		Description:  map[string]string{"en": "Flagstaff test data: documentation networks only"},
		Languages:    []string{"de", "en", "fr", "ja"},
		RecordSize:   24,
		// Networks for documentation count as reserved.
		IncludeReservedNetworks: true,
	})
	if err != nil {
		return err
	}
	for _, n := range networks {
		_, network, err := net.ParseCIDR(n.prefix)
		if err != nil {
			return err
		}
		if err := tree.Insert(network, n.record); err != nil {
			return fmt.Errorf("%s: %w", n.prefix, err)
		}
	}
	_, err = tree.WriteTo(w)
	return err
}

type m = mmdbtype.Map

// named returns names by language: named("en", "Munich", "de", …).
func named(languagesAndNames ...string) m {
	names := m{}
	for i := 0; i < len(languagesAndNames); i += 2 {
		names[mmdbtype.String(languagesAndNames[i])] = mmdbtype.String(languagesAndNames[i+1])
	}
	return m{"names": names}
}

// withField adds a field to a record or to a part of one.
func withField(to m, name mmdbtype.String, value mmdbtype.DataType) m {
	to[name] = value
	return to
}

func continent(code mmdbtype.String, names ...string) m {
	return withField(named(names...), "code", code)
}

func country(code mmdbtype.String, names ...string) m {
	return withField(named(names...), "iso_code", code)
}
func postal(code mmdbtype.String) m { return m{"code": code} }

func location(latitude, longitude mmdbtype.Float64, zone mmdbtype.String) m {
	l := m{"latitude": latitude, "longitude": longitude, "accuracy_radius": mmdbtype.Uint16(50)}
	if zone != "" {
		l["time_zone"] = zone
	}
	return l
}

// networks are the content of the database. A later network overrides the part
// of an earlier one that contains it. The networks are reserved by RFC 5737,
// 3849, 9637 and 6676.
var networks = []struct {
	prefix string
	record m
}{
	// All fields, with other languages and with fields that are not read.
	{"192.0.2.0/26", m{
		"city":         withField(named("de", "London", "en", "London", "fr", "Londres", "ja", "ロンドン"), "geoname_id", mmdbtype.Uint32(2643743)),
		"continent":    continent("EU", "de", "Europa", "en", "Europe", "fr", "Europe", "ja", "ヨーロッパ"),
		"country":      country("GB", "de", "Vereinigtes Königreich", "en", "United Kingdom", "fr", "Royaume-Uni", "ja", "英国"),
		"location":     location(51.5085, -0.1257, "Europe/London"),
		"postal":       postal("SW1A"),
		"subdivisions": mmdbtype.Slice{country("ENG", "en", "England")},
	}},
	{"192.0.2.64/26", m{
		"city":      named("en", "Montreal", "fr", "Montréal"),
		"continent": continent("NA", "en", "North America", "fr", "Amérique du Nord"),
		"country":   country("CA", "en", "Canada", "fr", "Canada"),
		"location":  location(45.5088, -73.5878, "America/Toronto"),
		"postal":    postal("H2Y"),
	}},
	{"203.0.113.0/25", m{
		"city":      named("en", "Tokyo", "ja", "東京"),
		"continent": continent("AS", "en", "Asia", "ja", "アジア"),
		"country":   country("JP", "en", "Japan", "ja", "日本"),
		"location":  location(35.6895, 139.6917, "Asia/Tokyo"),
		"postal":    postal("100-0001"),
	}},
	// One address within another network; a name beyond ASCII.
	{"203.0.113.77/32", m{
		"city":      named("en", "São Paulo"),
		"continent": continent("SA", "en", "South America"),
		"country":   country("BR", "en", "Brazil"),
		"location":  location(-23.5475, -46.6361, "America/Sao_Paulo"),
		"postal":    postal("01000"),
	}},

	// Some of the fields: a country only, a time zone only, an empty postal
	// code.
	{"192.0.2.128/26", m{
		"continent": continent("EU", "en", "Europe"),
		"country":   country("DE", "de", "Deutschland", "en", "Germany"),
	}},
	{"198.51.100.0/25", m{"location": location(-33.8678, 151.2073, "Australia/Sydney")}},
	{"2001:db8::/33", m{"continent": continent("AF", "en", "Africa"), "postal": postal("")}},

	// Names only in languages other than English: the codes remain.
	{"192.0.2.192/27", m{
		"city":      named("de", "München"),
		"continent": continent("EU", "de", "Europa"),
		"country":   country("DE", "de", "Deutschland"),
	}},

	// None of the fields that are read; no fields at all.
	{"192.0.2.224/27", m{
		"location":           location(0, 0, ""),
		"registered_country": country("US", "en", "United States"),
		"traits":             m{"is_anycast": mmdbtype.Bool(true)},
	}},
	{"2001:db8:8000::/33", m{}},

	// IPv6.
	{"2001:db8:1::/48", m{
		"city":      named("en", "Nairobi"),
		"continent": continent("AF", "en", "Africa"),
		"country":   country("KE", "en", "Kenya"),
		"location":  location(-1.2833, 36.8167, "Africa/Nairobi"),
		"postal":    postal("00100"),
	}},
	{"3fff::/20", m{
		"city":      named("en", "Auckland"),
		"continent": continent("OC", "en", "Oceania"),
		"country":   country("NZ", "en", "New Zealand"),
		"location":  location(-36.8485, 174.7635, "Pacific/Auckland"),
	}},

	// Multicast for documentation is nobody's address, whatever a database
	// says.
	{"233.252.0.0/24", m{"country": country("US", "en", "United States")}},
}
