package geoip

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"unicode/utf8"

	"github.com/oschwald/geoip2-golang/v2"
	"github.com/oschwald/maxminddb-golang/v2"
)

// A file is a database in memory with the cache of its records. It is dropped,
// never closed, because look-ups may still be using it.
type file struct {
	content []byte
	// reader walks the search tree, which gives the offset of an address's
	// record. geoip2.Reader does not tell the offset and refuses types of
	// databases that it does not know, so only its model of a record is used.
	reader   *maxminddb.Reader
	ipv4Only bool
	cache    cache
}

// newFile checks content, which belongs to the file from then on.
func newFile(content []byte, cacheSize int) (f *file, err error) {
	// The reader is made for hostile files. If it panics nevertheless, the file
	// is at fault, and the process need not end.
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
		return nil, fmt.Errorf("is not a MaxMind database, or truncated, or still compressed: %w", err)
	}
	f = &file{content: content, reader: reader, ipv4Only: reader.Metadata.IPVersion == 4, cache: newCache(cacheSize)}
	if err := f.verify(); err != nil {
		return nil, err
	}
	return f, nil
}

// separator is the number of zero bytes between the search tree and the data
// section. Pointers from the tree into the data section count them (MaxMind DB
// format 2.0).
const separator = 16

// verify checks the metadata, the search tree and the records. It is less
// strict than [maxminddb.Reader.Verify], which demands a description and a data
// section without unused records. Look-ups need neither, and several common
// writers make files without them.
//
// The nodes are checked in the order of the file and not along the branches.
// This takes linear time even if the tree of a damaged file has loops. A look-up
// in such a tree ends after as many steps as its address has bits.
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
	width := m.RecordSize / 4 // bytes of a node, which has two records
	if m.NodeCount == 0 || m.NodeCount > uint(len(f.content))/width {
		return fmt.Errorf("is damaged: it cannot have %d nodes", m.NodeCount)
	}
	seen := make(map[uint]struct{})
	cities := false
	var mistyped error // the first record with a field of another type
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
			if err != nil {
				err = fmt.Errorf("record at offset %d: %w", offset, err)
				if !isTypeError(err) {
					return fmt.Errorf("is damaged: %w", err)
				}
				if mistyped == nil {
					mistyped = err
				}
			}
			cities = cities || l.City != ""
		}
	}
	if !cities {
		err := fmt.Errorf("is of type %q and has no English name of a city: a City database is needed", m.DatabaseType)
		if mistyped != nil {
			err = fmt.Errorf("%w (%w)", err, mistyped)
		}
		return err
	}
	return nil
}

// children reads the two records of a node.
func children(node []byte) (left, right uint) {
	switch len(node) {
	case 6:
		return bigEndian(node[:3]), bigEndian(node[3:])
	case 7: // the middle byte has the highest bits of both
		return uint(node[3])&0xf0<<20 | bigEndian(node[:3]), uint(node[3])&0x0f<<24 | bigEndian(node[4:])
	default:
		return bigEndian(node[:4]), bigEndian(node[4:])
	}
}

func bigEndian(b []byte) (n uint) {
	for _, c := range b {
		n = n<<8 | uint(c)
	}
	return n
}

func isTypeError(err error) bool {
	_, ok := errors.AsType[maxminddb.UnmarshalTypeError](err)
	return ok
}

// cityPool saves look-ups that miss the cache from allocating a City, which
// takes some 900 bytes.
var cityPool = sync.Pool{New: func() any { return new(geoip2.City) }}

// decode reads the record at an offset. After an error the location is empty.
func (f *file) decode(offset uintptr) (Location, error) {
	c := cityPool.Get().(*geoip2.City)
	defer cityPool.Put(c)
	*c = geoip2.City{} // decoding leaves fields as they are that a record lacks
	if err := f.reader.LookupOffset(offset).Decode(c); err != nil {
		return Location{}, err
	}
	l := Location{
		City:          c.City.Names.English,
		Country:       c.Country.Names.English,
		CountryCode:   c.Country.ISOCode,
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

// lookup returns the record of an address, nil if the database has none or an
// empty one.
func (f *file) lookup(a netip.Addr) *record {
	if f.ipv4Only && a.Is6() {
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

// load decodes a record into the cache. A record that cannot be decoded goes
// there as an empty one.
func (f *file) load(offset uintptr) *record {
	l, _ := f.decode(offset)
	r := &record{offset: offset, known: l != Location{}, location: l}
	r.properties = r.location.Properties()
	f.cache.put(r)
	return r
}
