package capture

import (
	"bytes"
	"encoding/json"
	"math"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/numeral"
	plaintext "github.com/flagstaff-go/flagstaff/internal/text"
)

// Limits of one request.
const (
	// MaxEvents is how many events one request may have.
	MaxEvents = 20_000

	// MaxID is how many characters of a distinct ID count (wire.md §2.4).
	MaxID = 200

	// MaxName is how many characters an event name may have; the rest is cut off.
	MaxName = 200

	// maxKey is how long an API key may be, in bytes.
	maxKey = 64
)

// A Property is a name and a value in JSON. The name is written unchanged, so it
// must not need escapes.
type Property struct {
	Name  string
	Value string
}

// A Request is what is known about the request that brings events, besides its
// body.
type Request struct {
	Now    time.Time // when it arrived
	SentAt time.Time // the query's "_", see [SentAt]; zero: not said
	Engage bool      // it came by the route /engage

	// MaxEvent is how many bytes an event may have, as [Event.Size] counts them. Zero:
	// any number.
	MaxEvent int

	// IP is the client's address, for the property $ip. The zero Addr: the property
	// is not added.
	IP netip.Addr

	// Agent returns the properties that the User-Agent gives ($browser, $os, …),
	// and Geo the properties that the client's address gives. Each is called at
	// most once, and only for events that do not bring properties of that kind
	// themselves. The result is copied into each of these events, so it should be
	// short. Nil: there are none.
	Agent func() []Property
	Geo   func() []Property
}

// A Batch is what [Batch.Parse] reads. The zero value is ready.
type Batch struct {
	APIKey string
	Events []Event

	// Historical says that the events are an import of old ones (wire.md §2.5).
	Historical bool

	// Dropped is how many events were understood and are not in Events, because
	// they are never stored: recordings and $performance_event.
	Dropped int

	r     Request
	clock clock
	ip    string // r.IP as a property's value
	agent lazy
	geo   lazy

	left   int        // events that are still to be made
	memory []byte     // for properties
	added  []Property // used again for each event

	// ipAt is where the member $ip that was added stands in the properties of the
	// last event, 0 if none was added. ipsAt has the same for each of Events; it is
	// empty if Request.IP is not set.
	ipAt  int
	ipsAt []int
}

// lazy asks for properties when they are first needed.
type lazy struct {
	asked bool
	list  []Property
}

func (l *lazy) get(ask func() []Property) []Property {
	if !l.asked && ask != nil {
		l.asked, l.list = true, ask()
	}
	return l.list
}

// Parse reads the events of a capture request: JSON in any of the shapes of wire.md
// §2.3. It reads all events or none; then the error is a [*RequestError]. Project
// is zero in the events. Nothing refers to body afterwards.
//
// Parse reuses the memory of Events. A caller who has given the events away, for
// example to a [Collector], sets Events to nil first.
func (b *Batch) Parse(body []byte, r Request) error {
	*b = Batch{r: r, Events: b.Events[:0]}
	r.Now = r.Now.UTC().Truncate(time.Microsecond)
	b.r.Now = r.Now
	b.clock = clock{r.Now, r.SentAt}
	if !utf8.Valid(body) {
		return errUTF8
	}
	raw, err := b.shape(body)
	if err != nil {
		return err
	}
	if err := b.read(raw); err != nil {
		b.Events = b.Events[:0]
		return err
	}
	return nil
}

// Anonymize removes the client's address from Events, where Parse has added it. A
// project that wants no addresses is often found only by what Parse has read.
func (b *Batch) Anonymize() {
	for i, at := range b.ipsAt[:min(len(b.ipsAt), len(b.Events))] {
		if at == 0 {
			continue
		}
		p := b.Events[i].Properties
		end := at + len(`"$ip":`) + len(b.ip)
		switch {
		case p[end] == ',':
			end++
		case p[at-1] == ',':
			at--
		}
		b.Events[i].Properties = slices.Delete(p, at, end)
	}
	b.ipsAt = nil
}

// shape finds out which shape a body has and returns its events. It takes over what
// the envelope of a batch says. The walk over the outermost value checks the whole
// body, so nothing needs to do so before.
func (b *Batch) shape(body []byte) ([]rawEvent, error) {
	v := jsonscan.Value(bytes.TrimLeft(body, " \t\r\n"))
	switch v.Kind() {
	case jsonscan.Array:
		return eventsOf(v, false)
	case jsonscan.Object:
	default:
		if _, err := jsonscan.Parse(body, jsonscan.MaxDepth); err != nil {
			return nil, notJSON(err)
		}
		return nil, notEvents(v, "the body", "an object or an array")
	}
	var batch, sentAt, historical jsonscan.Value
	var keys [2][]byte // by precedence
	o := v.Object()
	for o.Next() {
		value := o.Value()
		var err error
		switch string(o.Name()) {
		case "batch":
			batch = value
		case "api_key":
			keys[0], err = keyText("api_key", value)
		case "token":
			keys[1], err = keyText("token", value)
		case "sent_at":
			sentAt = value
		case "historical_migration":
			historical = value
		}
		if err != nil {
			return nil, err
		}
	}
	if err := o.Err(); err != nil {
		return nil, notJSON(err)
	}
	if batch.Kind() == jsonscan.Array {
		if t, ok := parseTime(string(textOf(sentAt))); ok && t != outOfRange {
			b.clock.sentAt = t
		}
		b.Historical, _ = historical.Bool()
		b.APIKey = string(firstOf(keys[:]))
		return eventsOf(batch, keys[0] == nil && keys[1] == nil)
	}
	var e rawEvent
	if err := e.read(v); err != nil {
		return nil, err
	}
	if e.event == nil && batch != nil && batch.Kind() != jsonscan.Null {
		return nil, wrongField("batch", batch, "an array of events")
	}
	return []rawEvent{e}, nil
}

// eventsOf reads an array of events. If bare is true, it is the array of a batch
// without an API key, and each event must have one.
func eventsOf(v jsonscan.Value, bare bool) ([]rawEvent, error) {
	var list []rawEvent
	a := v.Array()
	for a.Next() {
		if len(list) == MaxEvents {
			return nil, errMany
		}
		var e rawEvent
		if err := e.read(a.Value()); err != nil {
			return nil, err
		}
		if bare && len(e.key) == 0 {
			return nil, errShape
		}
		if list == nil {
			list = make([]rawEvent, 0, guess(v, a.Value()))
		}
		list = append(list, e)
	}
	if err := a.Err(); err != nil {
		return nil, notJSON(err)
	}
	if len(list) == 0 {
		return nil, errEmpty
	}
	return list, nil
}

// guess says how many events a batch holds if all are as large as the first one, as
// they are about in most batches.
func guess(batch, first jsonscan.Value) int { return min(MaxEvents, len(batch)/(len(first)+1)+1) }

// A rawEvent is an event as it was sent. It refers to the body.
type rawEvent struct {
	key        []byte
	engage     bool // it has a distinct ID where /engage has it
	event      jsonscan.Value
	id         jsonscan.Value
	uuid       jsonscan.Value
	timestamp  jsonscan.Value
	offset     jsonscan.Value
	properties jsonscan.Value
	set        jsonscan.Value
	setOnce    jsonscan.Value

	known knownProperties
}

// knownProperties are the properties at which capturing looks.
type knownProperties struct {
	nonEmpty bool // there are some

	// Present, whatever the value.
	ip, agent, geo, set, setOnce, lib, session, window, profile, cookieless bool

	noGeo   bool // $geoip_disable
	exact   bool // $ignore_sent_at
	badMode bool // $cookieless_mode is not a boolean
	id      jsonscan.Value
	key     []byte
}

func (e *rawEvent) read(v jsonscan.Value) error {
	if v.Kind() != jsonscan.Object {
		return notEvents(v, "an event", "an object")
	}
	var id, dollarID jsonscan.Value
	var keys [4][]byte // by precedence
	for o := v.Object(); o.Next(); {
		value := o.Value()
		null := value.Kind() == jsonscan.Null
		var err error
		switch string(o.Name()) {
		case "token":
			keys[0], err = keyText("token", value)
		case "$token":
			keys[1], err = keyText("$token", value)
		case "api_key":
			keys[2], err = keyText("api_key", value)
		case "distinct_id":
			if !null {
				id = value
			}
		case "$distinct_id":
			if !null {
				dollarID = value
			}
		case "event":
			e.event, err = stringOf("event", value)
		case "uuid":
			e.uuid, err = stringOf("uuid", value)
		case "timestamp":
			e.timestamp, err = stringOf("timestamp", value)
		case "offset":
			e.offset = value
		case "properties":
			e.properties, err = objectOf("properties", value)
		case "$set":
			e.set, err = objectOf("$set", value)
		case "$set_once":
			e.setOnce, err = objectOf("$set_once", value)
		}
		if err != nil {
			return err
		}
	}
	e.id = id
	if id == nil {
		e.id = dollarID
	}
	e.engage = e.id != nil
	e.known.read(e.properties)
	if e.id == nil {
		e.id = e.known.id
	}
	keys[3] = e.known.key
	e.key = firstOf(keys[:])
	return nil
}

// firstOf returns the first text that is not empty.
func firstOf(texts [][]byte) []byte {
	for _, s := range texts {
		if len(s) > 0 {
			return s
		}
	}
	return nil
}

// read looks at an event's properties.
func (k *knownProperties) read(properties jsonscan.Value) {
	if properties == nil {
		return
	}
	for o := properties.Object(); o.Next(); {
		k.nonEmpty = true
		value := o.Value()
		switch n := o.Name(); string(n) {
		case "token":
			// Events of other kinds have a property of this name with another
			// meaning.
			k.key = textOf(value)
		case "distinct_id":
			if value.Kind() != jsonscan.Null {
				k.id = value
			}
		case "$ip":
			k.ip = true
		case "$browser", "$browser_version", "$os", "$os_version", "$device", "$device_type", "$raw_user_agent":
			k.agent = true
		case "$geoip_disable":
			k.noGeo, _ = value.Bool()
		case "$ignore_sent_at":
			k.exact, _ = value.Bool()
		case "$set":
			k.set = true
		case "$set_once":
			k.setOnce = true
		case "$lib":
			k.lib = true
		case "$session_id":
			k.session = true
		case "$window_id":
			k.window = true
		case "$process_person_profile":
			k.profile = true
		case "$cookieless_mode":
			k.cookieless = true
			_, ok := value.Bool()
			k.badMode = !ok && value.Kind() != jsonscan.Null
		default:
			if bytes.HasPrefix(n, []byte("$geoip_")) {
				k.geo = true
			}
		}
	}
}

// read makes Events of what was sent. It checks in the order of wire.md §2.4: keys,
// then events.
func (b *Batch) read(list []rawEvent) error {
	if len(list) == 1 && list[0].event == nil && (!b.r.Engage || !list[0].engage) {
		return errShape
	}
	b.APIKey = strings.TrimSpace(b.APIKey)
	if b.APIKey == "" {
		for i := range list {
			key := bytes.TrimSpace(list[i].key)
			switch {
			case len(key) == 0:
				return errNoKey
			case i == 0:
				b.APIKey = string(key)
			case string(key) != b.APIKey:
				return errKeys
			}
		}
	}
	if err := checkKey(b.APIKey); err != nil {
		return err
	}
	performance := 0
	b.Events = slices.Grow(b.Events, len(list))
	if b.r.IP.IsValid() {
		b.ipsAt = make([]int, 0, len(list))
	}
	for i := range list {
		b.left = len(list) - i
		e := &list[i]
		if e.event == nil {
			if !b.r.Engage || !e.engage {
				return errShape
			}
		}
		event, keep, err := b.event(e)
		if err != nil {
			return err
		}
		switch {
		case event.Name == "$performance_event":
			performance++
		case keep:
			b.Events = append(b.Events, event)
			if b.r.IP.IsValid() {
				b.ipsAt = append(b.ipsAt, b.ipAt)
			}
		}
	}
	if performance == len(list) {
		return errOnly
	}
	b.Dropped = len(list) - len(b.Events)
	return nil
}

// checkKey checks the form of a trimmed API key.
func checkKey(key string) error {
	switch {
	case key == "":
		return errNoKey
	case len(key) > maxKey:
		return errLongKey
	case strings.IndexByte(key, 0) >= 0:
		return errNullKey
	case strings.HasPrefix(key, "phx_"):
		return errPersonal
	}
	for i := range len(key) {
		if key[i] >= utf8.RuneSelf {
			return errASCIIKey
		}
	}
	return nil
}

// event makes an Event. keep is false if the event is accepted and not stored.
func (b *Batch) event(e *rawEvent) (event Event, keep bool, err error) {
	event.Name = "$identify" // what /engage means without a name
	if e.event != nil {
		event.Name = plaintext.Identifier(string(textOf(e.event)), MaxName)
	}
	if event.Name == "" {
		return event, false, errName
	}
	if e.known.badMode {
		return event, false, errMode
	}
	event.DistinctID = distinctID(e.id)
	if blank(event.DistinctID) {
		switch e.id.Kind() {
		case jsonscan.Object, jsonscan.Array, jsonscan.True, jsonscan.False:
			return event, false, wrongField("distinct_id", e.id, "a string or a number")
		}
		return event, false, errID
	}
	event.Received = b.r.Now
	if event.Time, err = b.time(e); err != nil {
		return event, false, err
	}
	if s := textOf(e.uuid); len(s) > 0 {
		if event.UUID, err = parseUUIDBytes(s); err != nil {
			return event, false, wrongValue("uuid", jsonscan.Clip(e.uuid), "a UUID or empty")
		}
	} else {
		event.UUID = NewUUID(event.Time)
	}
	if event.Name == "$snapshot" || event.Name == "$snapshot_items" {
		return event, false, nil // recordings are not kept (wire.md §2.8)
	}
	event.Properties = b.properties(e, nil)
	if n := event.Size(); b.r.MaxEvent > 0 && n > b.r.MaxEvent {
		return event, false, tooLarge(n, b.r.MaxEvent)
	}
	return event, true, nil
}

// time returns when an event happened.
func (b *Batch) time(e *rawEvent) (time.Time, error) {
	if e.offset != nil && e.offset.Kind() != jsonscan.Null {
		offset, ok := e.offset.Float()
		if !ok || offset != math.Trunc(offset) {
			return time.Time{}, wrongField("offset", e.offset, "a whole number of milliseconds")
		}
		return b.clock.before(offset), nil
	}
	t, _ := parseTime(string(textOf(e.timestamp)))
	return b.clock.at(t, e.known.exact), nil
}

// properties writes an event's properties, with what the request adds, and with the
// event's person updates. Person updates at the top level replace those among the
// properties as a whole. more is added unchanged.
func (b *Batch) properties(e *rawEvent, more []Property) json.RawMessage {
	k := &e.known
	added, ip := append(b.added[:0], more...), -1
	if b.r.IP.IsValid() && !k.ip {
		if b.ip == "" {
			var room [48]byte
			quoted := b.r.IP.WithZone("").AppendTo(append(room[:0], '"')) // a zone may be any text
			b.ip = string(append(quoted, '"'))
		}
		ip = len(added)
		added = append(added, Property{"$ip", b.ip})
	}
	if !k.agent && b.r.Agent != nil {
		added = append(added, b.agent.get(b.r.Agent)...)
	}
	if !k.geo && !k.noGeo && b.r.Geo != nil {
		added = append(added, b.geo.get(b.r.Geo)...)
	}
	size := len(e.properties) + len(e.set) + len(e.setOnce) + len(`{,"$set":,"$set_once":}`)
	for _, p := range added {
		size += len(p.Name) + len(p.Value) + len(`"":,`)
	}
	b.added = added
	dst := append(b.allocate(size), '{')
	switch {
	case e.set != nil && k.set || e.setOnce != nil && k.setOnce:
		for o := e.properties.Object(); o.Next(); {
			switch n := string(o.Name()); {
			case n == "$set" && e.set != nil, n == "$set_once" && e.setOnce != nil:
			default:
				dst = appendMember(dst, o.RawName(), o.Value())
			}
		}
	case k.nonEmpty:
		inner := bytes.TrimSpace(e.properties)
		dst = append(dst, bytes.TrimSpace(inner[1:len(inner)-1])...)
	}
	if e.set != nil {
		dst = appendMember(dst, "$set", e.set)
	}
	if e.setOnce != nil {
		dst = appendMember(dst, "$set_once", e.setOnce)
	}
	b.ipAt = 0
	for i, p := range added {
		dst = appendMember(dst, p.Name, p.Value)
		if i == ip {
			b.ipAt = len(dst) - len(`"$ip":`) - len(p.Value)
		}
	}
	dst = append(dst, '}')
	b.memory = b.memory[len(dst):]
	return dst[:len(dst):len(dst)]
}

// appendMember appends a member to the object that ends dst. The name needs no escapes.
func appendMember[N, V ~string | ~[]byte](dst []byte, name N, value V) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return append(append(append(append(dst, '"'), name...), `":`...), value...)
}

// allocate returns memory for size bytes: the free part of a piece that several
// events share. Events of one request are stored together, so no event keeps the
// memory of others alive for long.
func (b *Batch) allocate(size int) []byte {
	const maxPiece = 64 << 10 // bytes
	if len(b.memory) < size {
		b.memory = make([]byte, max(size, min(size*b.left, maxPiece)))
	}
	return b.memory[:0]
}

// textOf returns the text of a string, nil for anything else. It may share the
// memory of v.
func textOf(v jsonscan.Value) []byte {
	if s, ok := v.Plain(); ok {
		return s
	}
	s, ok := v.AppendString(nil)
	if !ok {
		return nil
	}
	return s
}

// stringOf returns v if it is a string and nil if it is null.
func stringOf(field string, v jsonscan.Value) (jsonscan.Value, error) {
	switch v.Kind() {
	case jsonscan.String:
		return v, nil
	case jsonscan.Null:
		return nil, nil
	}
	return nil, wrongField(field, v, "a string")
}

// keyText returns the text of an API key, nil if v is null.
func keyText(field string, v jsonscan.Value) ([]byte, error) {
	v, err := stringOf(field, v)
	return textOf(v), err
}

// objectOf returns v if it is an object and nil if it is null.
func objectOf(field string, v jsonscan.Value) (jsonscan.Value, error) {
	switch v.Kind() {
	case jsonscan.Object:
		return v, nil
	case jsonscan.Null:
		return nil, nil
	}
	return nil, wrongField(field, v, "an object")
}

// distinctID returns a distinct ID without NUL, cut to its limit. It is "" without
// one.
func distinctID(v jsonscan.Value) string { return plaintext.Identifier(string(idText(v)), MaxID) }

// idText returns a distinct ID as text: the text of a string, and a number as /flags
// writes it. Nothing else is one. The text may share the memory of v.
func idText(v jsonscan.Value) []byte {
	switch v.Kind() {
	case jsonscan.String:
		return textOf(v)
	case jsonscan.Number:
		return numeral.Append(nil, v)
	}
	return nil
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

// ParseUUID reads a UUID in the form of RFC 4122, 36 characters.
func ParseUUID(s string) (uuid.UUID, error) { return parseUUIDBytes([]byte(s)) }

func parseUUIDBytes(s []byte) (uuid.UUID, error) {
	if len(s) != len("00000000-0000-0000-0000-000000000000") {
		return uuid.UUID{}, ErrMalformed
	}
	return uuid.ParseBytes(s)
}

// NewUUID returns a random UUID of version 7 whose time is t, so that events
// sort by it (wire.md §2.7).
func NewUUID(t time.Time) uuid.UUID {
	id := uuid.Must(uuid.NewRandom())
	ms := max(t.UnixMilli(), 0)
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	id[6] = id[6]&0x0F | 0x70
	return id
}

// quote returns s as JSON.
func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil { // cannot be: a string
		return `""`
	}
	return string(b)
}
