package geoip_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/bits"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/flagstaff-go/flagstaff/geoip"
)

// testFile is the database that examples/mmdbgen makes.
const testFile = "../testdata/geoip/test.mmdb"

// A database is a small writer of the MaxMind DB format 2.0. It makes large files
// and files that a proper writer would refuse to make.
type database struct {
	kind       string // metadata: database_type
	version    int    // 4 or 6
	recordSize int    // 24, 28 or 32

	nodes   [][2]int       // children: 0 is nothing, > 0 a node, < 0 ^(offset in data)
	data    []byte         // data section
	offsets map[string]int // encoded record → offset
}

func newDatabase(kind string, version, recordSize int) *database {
	return &database{kind: kind, version: version, recordSize: recordSize, nodes: make([][2]int, 1), offsets: map[string]int{}}
}

// insert sets the record of a network. Networks must not contain each other.
func (d *database) insert(network string, record any) { d.insertEncoded(network, encode(nil, record)) }

func (d *database) insertEncoded(network string, record []byte) {
	offset, ok := d.offsets[string(record)]
	if !ok {
		offset = len(d.data)
		d.data = append(d.data, record...)
		d.offsets[string(record)] = offset
	}
	d.insertOffset(netip.MustParsePrefix(network), offset)
}

func (d *database) insertOffset(p netip.Prefix, offset int) {
	address, n := p.Addr().AsSlice(), p.Bits()
	if d.version == 6 && p.Addr().Is4() {
		address, n = append(make([]byte, 12), address...), n+96
	}
	node := 0
	for i := range n {
		bit := address[i/8] >> (7 - i%8) & 1
		if i == n-1 {
			d.nodes[node][bit] = ^offset
			return
		}
		if d.nodes[node][bit] <= 0 {
			d.nodes = append(d.nodes, [2]int{})
			d.nodes[node][bit] = len(d.nodes) - 1
		}
		node = d.nodes[node][bit]
	}
}

// bytes returns the file.
func (d *database) bytes() []byte {
	var file []byte
	for _, node := range d.nodes {
		var child [2]uint32
		for i, c := range node {
			switch {
			case c == 0:
				child[i] = uint32(len(d.nodes))
			case c > 0:
				child[i] = uint32(c)
			default:
				child[i] = uint32(len(d.nodes) + 16 + ^c)
			}
		}
		left, right := binary.BigEndian.AppendUint32(nil, child[0]), binary.BigEndian.AppendUint32(nil, child[1])
		switch d.recordSize {
		case 24:
			file = append(append(file, left[1:]...), right[1:]...)
		case 28:
			file = append(append(append(file, left[1:]...), left[0]<<4|right[0]), right[1:]...)
		default:
			file = append(append(file, left...), right...)
		}
	}
	file = append(append(file, make([]byte, 16)...), d.data...)
	file = append(file, "\xab\xcd\xefMaxMind.com"...)
	return encode(file, object{
		"binary_format_major_version": 2, "binary_format_minor_version": 0, "build_epoch": 1767225600,
		"database_type": d.kind, "description": object{"en": "test"}, "ip_version": d.version, "node_count": len(d.nodes), "record_size": d.recordSize,
	})
}

type object = map[string]any

// encode appends a value in the format's encoding, without pointers.
func encode(dst []byte, v any) []byte {
	switch v := v.(type) {
	case string:
		return append(control(dst, 2, len(v)), v...)
	case int:
		size := (bits.Len(uint(v)) + 7) / 8
		return append(control(dst, 6, size), binary.BigEndian.AppendUint32(nil, uint32(v))[4-size:]...)
	case object:
		dst = control(dst, 7, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			dst = encode(encode(dst, key), v[key])
		}
		return dst
	default:
		panic(fmt.Sprintf("no encoding for %T", v))
	}
}

// control appends the bytes that tell the type and the size of a value.
func control(dst []byte, kind, size int) []byte {
	switch {
	case size < 29:
		return append(dst, byte(kind<<5|size))
	case size < 29+256:
		return append(dst, byte(kind<<5|29), byte(size-29))
	default:
		return append(dst, byte(kind<<5|30), byte((size-285)>>8), byte(size-285))
	}
}

// place returns a record with all fields that become properties. Each of them
// ends in tag.
func place(tag string) object {
	name := func(kind string) object { return object{"en": kind + tag, "de": "de-" + kind + tag} }
	return object{
		"city":      object{"names": name("City")},
		"country":   object{"names": name("Country"), "iso_code": "C" + tag},
		"continent": object{"names": name("Continent"), "code": "K" + tag},
		"postal":    object{"code": "P" + tag},
		"location":  object{"time_zone": "Zone/" + tag},
	}
}

// placeLocation is the location that the record place(tag) is read as.
func placeLocation(tag string) geoip.Location {
	return geoip.Location{
		City: "City" + tag, Country: "Country" + tag, CountryCode: "C" + tag,
		Continent: "Continent" + tag, ContinentCode: "K" + tag, PostalCode: "P" + tag, TimeZone: "Zone/" + tag,
	}
}

// large is a database of 98,304 networks with 65,536 different records: one for
// each /24 of 20.0.0.0/8, and half of them again in IPv6.
func large() []byte {
	d := newDatabase("Large-City", 6, 28)
	for i := range 1 << 16 {
		n := netip.PrefixFrom(netip.AddrFrom4([4]byte{20, byte(i >> 8), byte(i)}), 24)
		d.insert(n.String(), place(fmt.Sprint(i)))
	}
	for i := range 1 << 15 {
		n := netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20, 1, 0x0d, 0xb8, byte(i >> 8), byte(i)}), 48)
		d.insert(n.String(), place(fmt.Sprint(i)))
	}
	return d.bytes()
}

// write overwrites a file in place.
func write(t testing.TB, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// replace puts a new file in the place of a file by renaming.
func replace(t testing.TB, path string, content []byte) {
	t.Helper()
	write(t, path+".new", content)
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// temporary returns the path of a new file with the content.
func temporary(t testing.TB, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "city.mmdb")
	write(t, path, content)
	return path
}

// open opens the database at path until the test ends.
func open(t testing.TB, path string, o geoip.Options) *geoip.Resolver {
	t.Helper()
	r, err := geoip.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return r
}

// testContent is the content of testFile.
func testContent(t testing.TB) []byte {
	t.Helper()
	content, err := os.ReadFile(testFile)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
