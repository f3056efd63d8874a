package jetstream

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

// An event is encoded as
//
//	version     1 byte, 1
//	bits        1 byte, bit 0: NoPerson
//	UUID        16 bytes
//	project     varint
//	time        varint, microseconds since 1970
//	received    varint, microseconds after time
//	name        uvarint length, text
//	distinct ID uvarint length, text
//	properties  the rest
//
// with varints as in encoding/binary, in their shortest form.
const (
	version = 1

	bitNoPerson = 1 << 0
)

// appendEvent appends the encoding of an event.
func appendEvent(dst []byte, e *capture.Event) []byte {
	var bits byte
	if e.NoPerson {
		bits |= bitNoPerson
	}
	at := e.Time.UnixMicro()
	dst = append(dst, version, bits)
	dst = append(dst, e.UUID[:]...)
	dst = binary.AppendVarint(dst, e.Project)
	dst = binary.AppendVarint(dst, at)
	dst = binary.AppendVarint(dst, e.Received.UnixMicro()-at)
	dst = binary.AppendUvarint(dst, uint64(len(e.Name)))
	dst = append(dst, e.Name...)
	dst = binary.AppendUvarint(dst, uint64(len(e.DistinctID)))
	dst = append(dst, e.DistinctID...)
	return append(dst, e.Properties...)
}

// maxDepth is how many levels deep properties may be nested; capturing accepts
// less.
const maxDepth = 10_000

// decodeEvent is the reverse of appendEvent. The event refers to b. Each event that
// it accepts fulfils what capture.Event promises to stores.
func decodeEvent(b []byte) (capture.Event, error) {
	var e capture.Event
	if len(b) == 0 {
		return e, errors.New("message is empty")
	}
	if b[0] != version {
		return e, fmt.Errorf("encoding has version %d, want %d; a newer release may have written it", b[0], version)
	}
	if len(b) < 2+len(e.UUID) {
		return e, errors.New("message is cut off")
	}
	if b[1]&^bitNoPerson != 0 {
		return e, fmt.Errorf("encoding has bits %#x, want 0 or 1", b[1])
	}
	e.NoPerson = b[1] == bitNoPerson
	copy(e.UUID[:], b[2:])

	d := decoder{rest: b[2+len(e.UUID):]}
	e.Project = d.varint()
	at := d.varint()
	e.Time = time.UnixMicro(at).UTC()
	e.Received = time.UnixMicro(at + d.varint()).UTC()
	e.Name, e.DistinctID = d.text(), d.text()
	e.Properties = d.rest
	switch {
	case d.broken:
		return e, errors.New("message is cut off, or its numbers are too large")
	case e.Name == "":
		return e, errors.New("event has no name")
	case !storableTime(e.Time) || !storableTime(e.Received):
		return e, errors.New("event has a time before year 0 or after year 9999")
	}
	for _, text := range []string{e.Name, e.DistinctID} {
		if !utf8.ValidString(text) {
			return e, errors.New("name or distinct ID is not UTF-8")
		}
	}
	if len(e.Properties) == 0 {
		e.Properties = nil
		return e, nil
	}
	v, err := jsonscan.Parse(e.Properties, maxDepth)
	if err != nil || v.Kind() != jsonscan.Object {
		return e, errors.New("properties are not a JSON object")
	}
	e.Properties = json.RawMessage(v)
	return e, nil
}

// storableTime reports whether stores know the year of a time.
func storableTime(t time.Time) bool { return t.Year() >= 0 && t.Year() <= 9999 }

// A decoder takes values off the front of an encoding.
type decoder struct {
	rest   []byte
	broken bool
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.rest)
	d.skip(n)
	return v
}

// skip passes over a varint of n bytes, as encoding/binary counts them. A varint
// that could be shorter ends in a byte 0.
func (d *decoder) skip(n int) {
	if n <= 0 || n > 1 && d.rest[n-1] == 0 {
		d.broken, d.rest = true, nil
		return
	}
	d.rest = d.rest[n:]
}

func (d *decoder) text() string {
	size, n := binary.Uvarint(d.rest)
	d.skip(n)
	if d.broken || size > uint64(len(d.rest)) {
		d.broken = true
		return ""
	}
	s := string(d.rest[:size])
	d.rest = d.rest[size:]
	return s
}
