package geoip

import (
	"errors"
	"fmt"
	"net/netip"
	"unicode/utf8"

	"github.com/oschwald/maxminddb-golang/v2"
)

// A file is a database in memory with the cache of its records. It is dropped,
// never closed: look-ups may still be using it.
type file struct {
	content []byte
	reader  *maxminddb.Reader
	only4   bool // IPv4 only
	cache   cache
}

// newFile checks content, which belongs to the file from then on.
func newFile(content []byte, cacheSize int) (f *file, err error) {
	// The reader is made for hostile files. If it panics nevertheless, that is
	// a fault of the file and no reason to take the process down.
	defer func() {
		if p := recover(); p != nil {
			f, err = nil, fmt.Errorf("is damaged: reading it panicked: %v", p)
		}
	}()
	if len(content) == 0 {
		return nil, errors.New("is empty")
	}
	reader, err := maxminddb.OpenBytes(content)
	if err != nil {
		return nil, fmt.Errorf("is no MaxMind database, or truncated, or still compressed: %w", err)
	}
	f = &file{content: content, reader: reader, only4: reader.Metadata.IPVersion == 4, cache: newCache(cacheSize)}
	if err := f.verify(); err != nil {
		return nil, err
	}
	return f, nil
}

// separator is the number of zeros between search tree and data section, by
// which pointers into the latter are shifted. MaxMind DB format 2.0.
const separator = 16

// verify checks metadata, search tree and records. It is less strict than
// [maxminddb.Reader.Verify], which wants the data section to have nothing but
// records of the tree, a description and more that look-ups do without, and
// refuses files of several common writers.
//
// It looks at the nodes in the order of the file and not along the branches.
// That takes linear time even if the tree of a damaged file has loops, in which
// a look-up goes around for no longer than its address has bits.
func (f *file) verify() error {
	m := &f.reader.Metadata
	switch {
	case m.BinaryFormatMajorVersion != 2:
		return fmt.Errorf("has version %d of the format, not 2", m.BinaryFormatMajorVersion)
	case m.IPVersion != 4 && m.IPVersion != 6:
		return fmt.Errorf("is damaged: it is for IP version %d", m.IPVersion)
	case m.RecordSize != 24 && m.RecordSize != 28 && m.RecordSize != 32:
		return fmt.Errorf("is damaged: its tree has records of %d bits", m.RecordSize)
	}
	width := m.RecordSize / 4 // bytes per node of two records
	if m.NodeCount == 0 || m.NodeCount > uint(len(f.content))/width {
		return fmt.Errorf("is damaged: it cannot have %d nodes", m.NodeCount)
	}
	seen := make(map[uint]struct{})
	cities := false
	for node := range m.NodeCount {
		left, right := children(f.content[node*width:][:width])
		for _, child := range [2]uint{left, right} {
			switch {
			case child <= m.NodeCount: // another node, or nothing
				continue
			case child < m.NodeCount+separator:
				return fmt.Errorf("is damaged: node %d of its tree points nowhere", node)
			}
			offset := child - m.NodeCount - separator
			if _, ok := seen[offset]; ok {
				continue
			}
			seen[offset] = struct{}{}
			l, err := f.decode(uintptr(offset))
			if err != nil && !isTypeError(err) {
				return fmt.Errorf("is damaged: record at offset %d: %w", offset, err)
			}
			cities = cities || l.City != ""
		}
	}
	if !cities {
		return fmt.Errorf("is of type %q and has no English name of a city: a City database is needed", m.DatabaseType)
	}
	return nil
}

// children reads the two records of a node.
func children(node []byte) (left, right uint) {
	switch len(node) {
	case 6:
		return be(node[:3]), be(node[3:])
	case 7: // the middle byte has the highest bits of both
		return uint(node[3])&0xf0<<20 | be(node[:3]), uint(node[3])&0x0f<<24 | be(node[4:])
	default:
		return be(node[:4]), be(node[4:])
	}
}

func be(b []byte) (n uint) {
	for _, c := range b {
		n = n<<8 | uint(c)
	}
	return n
}

func isTypeError(err error) bool {
	_, ok := errors.AsType[maxminddb.UnmarshalTypeError](err)
	return ok
}

// names are the names of something by language.
type names struct {
	Names struct {
		English string `maxminddb:"en"`
	} `maxminddb:"names"`
}

// city is the part of a City record that is read.
type city struct {
	City    names `maxminddb:"city"`
	Country struct {
		names
		Code string `maxminddb:"iso_code"`
	} `maxminddb:"country"`
	Continent struct {
		names
		Code string `maxminddb:"code"`
	} `maxminddb:"continent"`
	Postal struct {
		Code string `maxminddb:"code"`
	} `maxminddb:"postal"`
	Location struct {
		TimeZone string `maxminddb:"time_zone"`
	} `maxminddb:"location"`
}

// decode reads the record at an offset. After an error the location is empty.
func (f *file) decode(offset uintptr) (Location, error) {
	var c city
	if err := f.reader.LookupOffset(offset).Decode(&c); err != nil {
		return Location{}, err
	}
	l := Location{
		City:          c.City.Names.English,
		Country:       c.Country.Names.English,
		CountryCode:   c.Country.Code,
		Continent:     c.Continent.Names.English,
		ContinentCode: c.Continent.Code,
		PostalCode:    c.Postal.Code,
		TimeZone:      c.Location.TimeZone,
	}
	for _, text := range [...]string{l.City, l.Country, l.CountryCode, l.Continent, l.ContinentCode, l.PostalCode, l.TimeZone} {
		if !utf8.ValidString(text) {
			return Location{}, fmt.Errorf("%q is not UTF-8", text)
		}
	}
	return l, nil
}

// lookup returns the record of an address, nil if there is none or nothing in
// it.
func (f *file) lookup(a netip.Addr) *record {
	if f.only4 && a.Is6() {
		return nil
	}
	result := f.reader.Lookup(a)
	if !result.Found() {
		return nil
	}
	offset := result.Offset()
	r := f.cache.get(offset)
	if r == nil {
		r = f.load(offset)
	}
	if !r.known {
		return nil
	}
	return r
}

// load decodes a record into the cache. One that cannot be decoded goes there
// as well, as an empty one.
func (f *file) load(offset uintptr) *record {
	l, _ := f.decode(offset)
	r := &record{offset: offset, known: l != Location{}, location: l}
	r.properties = r.location.Properties()
	f.cache.put(r)
	return r
}
