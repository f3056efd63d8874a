package geoip_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/geoip"
	"github.com/flagstaff-go/flagstaff/internal/fulltest"
)

// TestOpenRefuses: an error names the path and says what is wrong.
func TestOpenRefuses(t *testing.T) {
	var compressed bytes.Buffer
	z := gzip.NewWriter(&compressed)
	if _, err := z.Write(testContent(t)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	with := func(change func(d *database)) []byte {
		d := newDatabase("Test-City", 4, 24)
		d.insert("20.0.0.0/24", place("1"))
		change(d)
		return d.bytes()
	}
	only := func(kind string, record any) []byte {
		d := newDatabase(kind, 4, 24)
		d.insert("20.0.0.0/24", record)
		return d.bytes()
	}
	for _, tt := range []struct {
		name    string
		content []byte
		want    string
	}{
		{"empty", []byte{}, "is empty"},
		{"text", []byte("<html>Not found</html>"), "is not a MaxMind database"},
		{"compressed", compressed.Bytes(), "still compressed"},
		{"a metadata marker alone", []byte("\xab\xcd\xefMaxMind.com"), "is not a MaxMind database"},
		{"networks of providers", only("GeoLite2-ASN", object{"autonomous_system_number": 64496}), `is of type "GeoLite2-ASN" and has no English name of a city`},
		{"countries", only("GeoLite2-Country", object{"country": object{"iso_code": "GB", "names": object{"en": "United Kingdom"}}}), `"GeoLite2-Country"`},
		{"no networks", newDatabase("Empty-City", 4, 24).bytes(), "no English name of a city"},
		{"cities in German", only("Deutsche-City", object{"city": object{"names": object{"de": "München"}}}), "no English name of a city"},
		{"cities that cannot be read", only("Own-City", object{"city": object{"names": object{"en": 1}}}), `no English name of a city: a City database is needed (record at offset 0: `},
		{"a country code of 17 bytes", with(func(d *database) {
			d.insert("20.0.1.0/24", object{"country": object{"iso_code": strings.Repeat("A", 17)}})
		}), "is damaged: record at offset"},
		{"an unknown IP version", with(func(d *database) { d.version = 5 }), "is for IP version 5"},
		{"a record that ends too early", with(func(d *database) { d.insertEncoded("20.0.1.0/24", []byte{7<<5 | 1, 2<<5 | 4, 'c'}) }), "is damaged: record at offset"},
		{"a record outside the file", with(func(d *database) { d.insertOffset(netip.MustParsePrefix("20.0.1.0/24"), 1<<16) }), "is damaged: record at offset 65536"},
		{"a record in the separator", with(func(d *database) { d.nodes[0][1] = len(d.nodes) + 3 }), "node 0 of its tree points nowhere"},
		{"a name that is not UTF-8", with(func(d *database) {
			d.insert("20.0.1.0/24", object{"city": object{"names": object{"en": "S\xe3o Paulo"}}})
		}), `"S\xe3o Paulo" is not UTF-8`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := temporary(t, tt.content)
			r, err := geoip.Open(path, geoip.Options{})
			if err == nil {
				t.Fatalf("Open = %+v, want an error", r.Status())
			}
			if !strings.HasPrefix(err.Error(), "geoip: "+path+" ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Open: %v, want the path and %q", err, tt.want)
			}
		})
	}
	t.Run("missing", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "none.mmdb")
		if _, err := geoip.Open(path, geoip.Options{}); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), path) {
			t.Errorf("Open: %v, want ErrNotExist and the path", err)
		}
	})
	t.Run("directory", func(t *testing.T) {
		if _, err := geoip.Open(t.TempDir(), geoip.Options{}); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("Open: %v, want that it is not a regular file", err)
		}
	})
}

// TestTruncated: a file that ends anywhere but at its end is refused.
func TestTruncated(t *testing.T) {
	for name, content := range map[string][]byte{"mmdbgen": testContent(t), "small": small(6, 28)} {
		for n := range len(content) {
			if _, err := geoip.OpenContent(content[:n], geoip.Options{}); err == nil {
				t.Errorf("%s: %d bytes of %d are accepted", name, n, len(content))
			}
		}
	}
	path := temporary(t, nil)
	content := testContent(t)
	for n := 0; n < len(content); n += 97 {
		write(t, path, content[:n])
		if _, err := geoip.Open(path, geoip.Options{}); err == nil {
			t.Errorf("a file of %d bytes of %d is accepted", n, len(content))
		}
	}
}

// TestDamaged changes each byte of two files to several values. A changed file
// that is not refused must be harmless.
func TestDamaged(t *testing.T) {
	step := fulltest.Count(13, 1)
	for _, content := range [][]byte{testContent(t), small(4, 28)} {
		for i := 0; i < len(content); i += step {
			was := content[i]
			for _, b := range []byte{0, 0xff, was ^ 1, was ^ 0x80, was + 1} {
				content[i] = b
				checkContent(t, content)
			}
			content[i] = was
		}
	}
}

// TestLoops: a look-up that enters a loop of the tree ends, and finds nothing.
func TestLoops(t *testing.T) {
	d := newDatabase("Loop-City", 4, 24)
	d.insert("20.0.0.0/24", place("1"))
	d.insert("200.0.0.0/24", place("2"))
	node := d.nodes[0][1]
	d.nodes[node][0] = node // 128.0.0.0/2: the loop goes on while bits are 0
	r := open(t, temporary(t, d.bytes()), geoip.Options{})
	for _, addr := range []string{"128.0.0.0", "128.0.0.1", "128.0.0.2"} {
		if l, ok := r.Lookup(netip.MustParseAddr(addr)); ok {
			t.Errorf("Lookup(%s) = %v, want unknown", addr, l)
		}
	}
	for addr, tag := range map[string]string{"20.0.0.1": "1", "200.0.0.1": "2"} {
		if l, ok := r.Lookup(netip.MustParseAddr(addr)); !ok || *l != placeLocation(tag) {
			t.Errorf("Lookup(%s) = %v, %v, want place %s", addr, l, ok, tag)
		}
	}
}

// TestMemoryIsItsOwn: changes of the file after Open have no effect.
func TestMemoryIsItsOwn(t *testing.T) {
	path := temporary(t, testContent(t))
	r := open(t, path, geoip.Options{})
	before, _ := r.Lookup(netip.MustParseAddr("192.0.2.1"))
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	l, ok := r.Lookup(netip.MustParseAddr("203.0.113.1"))
	if !ok || *l != tokyo || *before != london {
		t.Errorf("after truncation: %v, %v, and %v", l, ok, before)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if l, ok := r.Lookup(netip.MustParseAddr("2001:db8:1::1")); !ok || *l != nairobi {
		t.Errorf("after removal: %v, %v", l, ok)
	}
}
