package capture

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

// Limits of what one request may hold.
const (
	// MaxEvents is how many events one request may have.
	MaxEvents = 20_000

	// MaxID is how many characters of a distinct ID count (wire.md §2.4).
	MaxID = 200

	// MaxName is how many characters an event name has; the rest is cut off.
	MaxName = 200

	// maxKey is how long an API key may be, in bytes.
	maxKey = 64
)

// A Property is a name and a value in JSON.
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

	// IP is the client's address, for the property $ip. The zero Addr: it is
	// not added.
	IP netip.Addr

	// Agent tells the properties that the User-Agent gives ($browser, $os, …),
	// Geo those of the client's address. Each is called at most once, and only
	// for events that do not bring properties of that sort themselves. Nil:
	// there are none.
	Agent func() []Property
	Geo   func() []Property
}

// A Batch is what [Batch.Parse] reads. The zero value is ready.
type Batch struct {
	APIKey string
	Events []Event

	// Historical says that the events are an import of old ones
	// (wire.md §2.5).
	Historical bool

	r     Request
	clock clock
	agent lazy
	geo   lazy
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

// Parse reads the events of a capture request: JSON in any of the shapes of
// wire.md §2.3. All events are read or none; the error is then a
// [*RequestError]. Project is left zero in the events. Nothing refers to body
// afterwards.
func (b *Batch) Parse(body []byte, r Request) error {
	*b = Batch{r: r, Events: b.Events[:0]}
	r.Now = r.Now.UTC().Truncate(time.Microsecond)
	b.r.Now = r.Now
	b.clock = clock{r.Now, r.SentAt}
	if !utf8.Valid(body) {
		return &RequestError{ErrMalformed, "failed to decode request: body is not UTF-8"}
	}
	v, err := jsonscan.Parse(body, jsonscan.MaxDepth)
	if err != nil {
		return unparsable("%v", err)
	}
	raw, err := b.shape(v)
	if err != nil {
		return err
	}
	return b.read(raw)
}

// shape finds out which shape a body has and returns its events. Of a batch it
// takes over what the envelope says.
func (b *Batch) shape(v jsonscan.Value) ([]rawEvent, error) {
	switch v.Kind() {
	case jsonscan.Array:
		return b.list(v, false)
	case jsonscan.Object:
	default:
		return nil, unparsable("the body must be an object or an array")
	}
	var batch jsonscan.Value
	var key string
	for o := v.Object(); o.Next(); {
		value := o.Value()
		switch string(name(&o)) {
		case "batch":
			batch = value
		case "api_key", "token":
			text, err := optionalText("api_key", value)
			if err != nil {
				return nil, err
			}
			if text != "" {
				key = text
			}
		case "sent_at":
			if t, ok := parseTime(decoded(value)); ok {
				b.clock.sentAt = t
			}
		case "historical_migration":
			b.Historical, _ = value.Bool()
		}
	}
	if batch.Kind() == jsonscan.Array {
		b.APIKey = key
		return b.list(batch, key == "")
	}
	b.clock.sentAt = b.r.SentAt // an event's own sent_at is ignored
	var e rawEvent
	if err := e.read(v); err != nil {
		return nil, err
	}
	return []rawEvent{e}, nil
}

// list reads an array of events. bare says that it is that of a batch without an
// API key, whose events then must have one each.
func (b *Batch) list(v jsonscan.Value, bare bool) ([]rawEvent, error) {
	var list []rawEvent
	for a := v.Array(); a.Next(); {
		if len(list) == MaxEvents {
			return nil, errMany
		}
		var e rawEvent
		if err := e.read(a.Value()); err != nil {
			return nil, err
		}
		if bare && e.key == "" {
			return nil, errShape
		}
		list = append(list, e)
	}
	if len(list) == 0 {
		return nil, errEmpty
	}
	return list, nil
}

// A rawEvent is an event as it was sent. It refers to the body.
type rawEvent struct {
	key        string
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

// knownProperties are those that capturing looks at.
type knownProperties struct {
	nonEmpty bool // there are some

	// Present, whatever the value.
	ip, agent, geo, set, setOnce, lib, session, window, profile, cookieless bool

	noGeo   bool // $geoip_disable
	exact   bool // $ignore_sent_at
	badMode bool // $cookieless_mode is no boolean
	id      jsonscan.Value
	key     string
}

func (e *rawEvent) read(v jsonscan.Value) error {
	if v.Kind() != jsonscan.Object {
		return unparsable("an event must be an object, not %s", clip(v))
	}
	var id, dollarID jsonscan.Value
	var keys [3]string // by precedence
	for o := v.Object(); o.Next(); {
		value := o.Value()
		null := value.Kind() == jsonscan.Null
		var err error
		switch n := name(&o); string(n) {
		case "token":
			keys[0], err = optionalText(string(n), value)
		case "$token":
			keys[1], err = optionalText(string(n), value)
		case "api_key":
			keys[2], err = optionalText(string(n), value)
		case "distinct_id":
			if !null {
				id = value
			}
		case "$distinct_id":
			if !null {
				dollarID = value
			}
		case "event":
			e.event, err = text(string(n), value)
		case "uuid":
			e.uuid, err = text(string(n), value)
		case "timestamp":
			e.timestamp, err = text(string(n), value)
		case "offset":
			e.offset = value
		case "properties":
			e.properties, err = object(string(n), value)
		case "$set":
			e.set, err = object(string(n), value)
		case "$set_once":
			e.setOnce, err = object(string(n), value)
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
	for _, key := range append(keys[:], e.known.key) {
		if key != "" {
			e.key = key
			break
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
		switch n := name(&o); string(n) {
		case "token":
			// Not all events that have a property of this name mean it so.
			k.key = decoded(value)
		case "distinct_id":
			if value.Kind() != jsonscan.Null {
				k.id = value
			}
		case "$ip":
			k.ip = true
		case "$browser", "$os", "$device_type":
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

// read makes Events of what was sent. The order of its checks is that of
// wire.md §2.4: keys, then events.
func (b *Batch) read(list []rawEvent) error {
	if len(list) == 1 && list[0].event == nil && (!b.r.Engage || !list[0].engage) {
		return errShape
	}
	if b.APIKey == "" {
		for i := range list {
			key := list[i].key
			switch {
			case key == "":
				return errNoKey
			case i == 0:
				b.APIKey = key
			case strings.TrimSpace(key) != strings.TrimSpace(b.APIKey):
				return errKeys
			}
		}
	}
	b.APIKey = strings.TrimSpace(b.APIKey)
	if err := checkKey(b.APIKey); err != nil {
		return err
	}
	performance := 0
	for i := range list {
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
		}
	}
	if performance == len(list) {
		return errOnly
	}
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

// event makes an Event. keep is false for those that are accepted and not
// stored.
func (b *Batch) event(e *rawEvent) (event Event, keep bool, err error) {
	event.Name = "$identify" // what /engage means without a name
	if e.event != nil {
		event.Name = identifier(decoded(e.event), MaxName)
	}
	if event.Name == "" {
		return event, false, errName
	}
	if e.known.badMode {
		return event, false, errMode
	}
	event.DistinctID = distinctID(e.id)
	if blank(event.DistinctID) {
		return event, false, errID
	}
	event.Received = b.r.Now
	if event.Time, err = b.time(e); err != nil {
		return event, false, err
	}
	if s := decoded(e.uuid); s != "" {
		if event.UUID, err = ParseUUID(s); err != nil {
			return event, false, wrongField("uuid", e.uuid, "a UUID or empty")
		}
	} else {
		event.UUID = NewUUID(event.Time)
	}
	if event.Name == "$snapshot" || event.Name == "$snapshot_items" {
		return event, false, nil // recordings are not kept (wire.md §2.8)
	}
	event.Properties = b.properties(e, nil)
	return event, true, nil
}

// time is when an event happened.
func (b *Batch) time(e *rawEvent) (time.Time, error) {
	if e.offset != nil && e.offset.Kind() != jsonscan.Null {
		offset, ok := e.offset.Float()
		if !ok || offset != float64(int64(offset)) {
			return time.Time{}, wrongField("offset", e.offset, "a whole number of milliseconds")
		}
		return b.clock.before(int64(offset)), nil
	}
	t, _ := parseTime(decoded(e.timestamp))
	return b.clock.at(t, e.known.exact), nil
}

// properties writes an event's properties with what the request adds, and with
// its person updates, of which those at the top level win as a whole. more are
// added as they are.
func (b *Batch) properties(e *rawEvent, more []Property) json.RawMessage {
	k := &e.known
	added := more
	if b.r.IP.IsValid() && !k.ip {
		added = append(added, Property{"$ip", `"` + b.r.IP.String() + `"`})
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
	dst := append(make([]byte, 0, size), '{')
	member := func(name string, value []byte) {
		if len(dst) > 1 {
			dst = append(dst, ',')
		}
		dst = append(append(append(append(dst, '"'), name...), `":`...), value...)
	}
	switch {
	case e.set != nil && k.set || e.setOnce != nil && k.setOnce:
		for o := e.properties.Object(); o.Next(); {
			switch n := string(name(&o)); {
			case n == "$set" && e.set != nil, n == "$set_once" && e.setOnce != nil:
			default:
				member(string(o.Key()), o.Value())
			}
		}
	case k.nonEmpty:
		inner := bytes.TrimSpace(e.properties)
		dst = append(dst, bytes.TrimSpace(inner[1:len(inner)-1])...)
	}
	if e.set != nil {
		member("$set", e.set)
	}
	if e.setOnce != nil {
		member("$set_once", e.setOnce)
	}
	for _, p := range added {
		member(p.Name, []byte(p.Value))
	}
	return append(dst, '}')
}

// name returns the name of the current member.
func name(o *jsonscan.Members) []byte {
	if o.KeyPlain() {
		return o.Key()
	}
	return o.AppendKey(nil)
}

// decoded returns the text of a string, "" for anything else.
func decoded(v jsonscan.Value) string {
	s, ok := v.AppendString(nil)
	if !ok {
		return ""
	}
	return string(s)
}

// text returns v if it is a string and nil if it is null.
func text(field string, v jsonscan.Value) (jsonscan.Value, error) {
	switch v.Kind() {
	case jsonscan.String:
		return v, nil
	case jsonscan.Null:
		return nil, nil
	}
	return nil, wrongField(field, v, "a string")
}

func optionalText(field string, v jsonscan.Value) (string, error) {
	v, err := text(field, v)
	if err != nil {
		return "", &RequestError{ErrMalformed, "failed to parse request: field \"" + field + "\" must be a string"} // it may be a key: do not quote it
	}
	return decoded(v), nil
}

// object returns v if it is an object and nil if it is null.
func object(field string, v jsonscan.Value) (jsonscan.Value, error) {
	switch v.Kind() {
	case jsonscan.Object:
		return v, nil
	case jsonscan.Null:
		return nil, nil
	}
	return nil, wrongField(field, v, "an object")
}

// distinctID returns a distinct ID as text: a string's text, of other values
// their JSON, without NUL and not longer than it may be. It is "" without one.
func distinctID(v jsonscan.Value) string {
	switch v.Kind() {
	case jsonscan.String:
		return identifier(decoded(v), MaxID)
	case jsonscan.Invalid, jsonscan.Null:
		return ""
	case jsonscan.Object, jsonscan.Array:
		var compact bytes.Buffer
		if err := json.Compact(&compact, v); err != nil {
			return ""
		}
		return identifier(compact.String(), MaxID)
	default:
		return identifier(string(v), MaxID)
	}
}

// identifier makes text fit for a key: a NUL becomes U+FFFD, and what is beyond
// most characters is cut off.
func identifier(s string, most int) string {
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "\uFFFD")
	}
	if len(s) > most {
		n := 0
		for i := range s {
			if n == most {
				return s[:i]
			}
			n++
		}
	}
	return s
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

// ParseUUID reads a UUID in the form of RFC 4122, 36 characters.
func ParseUUID(s string) (uuid.UUID, error) {
	if len(s) != len("00000000-0000-0000-0000-000000000000") {
		return uuid.UUID{}, ErrMalformed
	}
	return uuid.Parse(s)
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
	if err != nil { // strings always can be encoded
		return `""`
	}
	return string(b)
}
