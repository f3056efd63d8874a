package capture

import (
	"bytes"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	plaintext "github.com/flagstaff-go/flagstaff/internal/text"
)

// An AnalyticsError says why a request to /i/v1/analytics/events is refused as a
// whole (wire.md §2.9).
type AnalyticsError struct {
	Tag  string // for programs
	Text string // for people
}

func (e *AnalyticsError) Error() string { return e.Text }
func (e *AnalyticsError) Unwrap() error { return ErrMalformed }

func refuse(tag, format string, args ...any) error {
	return &AnalyticsError{tag, fmt.Sprintf(format, args...)}
}

// A Result is what becomes of an event of /i/v1/analytics/events.
type Result struct {
	UUID    string // as the client wrote it
	Result  string // "ok", "warning", "drop" or "retry"
	Details string // why, if not "ok"
	Event   int    // index in Events; -1 if it is not stored
}

// An AnalyticsBatch is what [AnalyticsBatch.Parse] reads. The zero value is
// ready.
type AnalyticsBatch struct {
	Events     []Event
	Results    []Result // one for each event of the request
	Historical bool
}

// An AnalyticsRequest is what the headers of a request to /i/v1/analytics/events
// say, besides the Request: SentAt is PostHog-Request-Timestamp.
type AnalyticsRequest struct {
	Request

	// Library and LibraryVersion are the parts of PostHog-Sdk-Info.
	Library        string
	LibraryVersion string
}

// Parse reads the events of a request to /i/v1/analytics/events (wire.md §2.9). If
// the error, an [*AnalyticsError], is nil, there is a Result for each event, and
// Events has the ones that can be stored. Their Project is zero.
func (b *AnalyticsBatch) Parse(body []byte, r AnalyticsRequest) error {
	*b = AnalyticsBatch{Events: b.Events[:0], Results: b.Results[:0]}
	r.Now = r.Now.UTC().Truncate(time.Microsecond)
	if !utf8.Valid(body) {
		return refuse("request_decoding_error", "The body is not UTF-8.")
	}
	v, err := jsonscan.Parse(body, jsonscan.MaxDepth)
	if err != nil {
		return refuse("request_parsing_error", "The body is not JSON: %v", err)
	}
	if v.Kind() != jsonscan.Object {
		return refuse("request_parsing_error", "The body must be an object, not %s.", v.Describe())
	}
	var batch, created jsonscan.Value
	for o := v.Object(); o.Next(); {
		switch string(o.Name()) {
		case "batch":
			batch = o.Value()
		case "created_at":
			created = o.Value()
		case "historical_migration":
			b.Historical, _ = o.Value().Bool()
		}
	}
	if batch.Kind() != jsonscan.Array {
		return refuse("request_parsing_error", "The field batch must be an array of events, not %s.", batch.Describe())
	}
	var list []analyticsEvent
	for a := batch.Array(); a.Next(); {
		if len(list) == MaxEvents {
			return refuse("invalid_batch", "The batch has more than %d events.", MaxEvents)
		}
		var e analyticsEvent
		if err := e.read(a.Value()); err != nil {
			return err
		}
		if list == nil {
			list = make([]analyticsEvent, 0, guess(batch, a.Value()))
		}
		list = append(list, e)
	}
	if len(list) == 0 {
		return refuse("empty_batch", "The batch holds no event.")
	}
	if _, ok := parseTime(string(textOf(created))); !ok {
		return refuse("invalid_batch", "The field created_at must be a time such as 2026-01-02T15:04:05.999Z.")
	}
	seen := make(map[uuid.UUID]bool, len(list))
	for i := range list {
		id, err := ParseUUID(list[i].id)
		switch {
		case list[i].id == "":
			return refuse("missing_event_uuid", "Event %d has no uuid.", i)
		case err != nil:
			return refuse("invalid_event_uuid", "The uuid of event %d is not a UUID.", i)
		case seen[id]:
			return refuse("duplicate_event_uuid", "The uuid of event %d is that of an earlier one.", i)
		}
		seen[id] = true
		list[i].number = id
	}

	b.Events, b.Results = slices.Grow(b.Events, len(list)), slices.Grow(b.Results, len(list))
	w := Batch{r: r.Request, clock: clock{r.Now, r.SentAt}}
	library := r.library()
	for i := range list {
		e := &list[i]
		w.left = len(list) - i
		event, details := e.event(&w, library)
		result := Result{UUID: e.id, Result: "ok", Event: -1}
		switch {
		case details != "":
			result.Result, result.Details = "drop", details
		case event.Name == "$snapshot" || event.Name == "$snapshot_items":
		default:
			result.Event = len(b.Events)
			if isNobody(event.DistinctID) {
				event.NoPerson = true
				result.Result, result.Details = "warning", "person_processing_disabled"
			}
			b.Events = append(b.Events, event)
		}
		b.Results = append(b.Results, result)
	}
	return nil
}

// library returns the properties of the SDK.
func (r *AnalyticsRequest) library() []Property {
	if r.Library == "" {
		return nil
	}
	list := []Property{{"$lib", quote(r.Library)}}
	if r.LibraryVersion != "" {
		list = append(list, Property{"$lib_version", quote(r.LibraryVersion)})
	}
	return list
}

// An analyticsEvent is an event as it was sent.
type analyticsEvent struct {
	rawEvent
	id     string // uuid
	number uuid.UUID

	session, window jsonscan.Value
	options         jsonscan.Value
	badProperties   bool
}

func (e *analyticsEvent) read(v jsonscan.Value) error {
	if v.Kind() != jsonscan.Object {
		return refuse("request_parsing_error", "An event must be an object, not %s.", v.Describe())
	}
	for o := v.Object(); o.Next(); {
		value := o.Value()
		if value.Kind() == jsonscan.Null {
			continue
		}
		switch string(o.Name()) {
		case "event":
			e.rawEvent.event = value
		case "uuid":
			e.id = string(textOf(value))
			if value.Kind() != jsonscan.String {
				e.id = "no string"
			}
		case "distinct_id":
			e.rawEvent.id = value
		case "timestamp":
			e.timestamp = value
		case "session_id":
			e.session = value
		case "window_id":
			e.window = value
		case "options":
			e.options = value
		case "properties":
			e.properties = value
		}
	}
	if e.properties != nil && e.properties.Kind() != jsonscan.Object {
		e.properties, e.badProperties = nil, true
	}
	e.known.read(e.properties)
	return nil
}

// event makes an Event, or says why it is dropped.
func (e *analyticsEvent) event(w *Batch, library []Property) (event Event, details string) {
	event.Name = string(textOf(e.rawEvent.event))
	switch {
	case blank(event.Name):
		return event, "missing_event_name"
	case event.Name == "$performance_event":
		return event, "dropped_performance_event"
	case utf8.RuneCountInString(event.Name) > MaxName:
		return event, "event_name_too_long"
	}
	event.Name = plaintext.Identifier(event.Name, MaxName)
	id := idText(e.rawEvent.id)
	event.DistinctID = plaintext.Identifier(string(id), MaxID)
	switch {
	case len(bytes.TrimSpace(id)) == 0: // none, or no string and no number
		return event, "missing_distinct_id"
	case utf8.RuneCount(id) > MaxID:
		return event, "distinct_id_too_large"
	}
	if e.badProperties {
		return event, "malformed_event_properties"
	}
	stated, ok := parseTime(string(textOf(e.timestamp)))
	if !ok {
		return event, "invalid_event_timestamp"
	}
	more, exact, ok := e.more(library)
	if !ok {
		return event, "invalid_options"
	}
	event.UUID = e.number
	event.Received = w.r.Now
	event.Time = w.clock.at(stated, exact || e.known.exact)
	event.Properties = w.properties(&e.rawEvent, more)
	if w.r.MaxEvent > 0 && event.Size() > w.r.MaxEvent {
		return event, "event_too_large"
	}
	return event, ""
}

// more returns the properties that other routes have among the properties, and this
// one elsewhere.
func (e *analyticsEvent) more(library []Property) (more []Property, exact, ok bool) {
	add := func(present bool, name string, v jsonscan.Value) {
		if !present && v != nil {
			more = append(more, Property{name, string(v)})
		}
	}
	k := &e.known
	if !k.lib {
		more = append(more, library...)
	}
	add(k.session, "$session_id", e.session)
	add(k.window, "$window_id", e.window)
	if e.options == nil {
		return more, false, true
	}
	if e.options.Kind() != jsonscan.Object {
		return nil, false, false
	}
	for o := e.options.Object(); o.Next(); {
		value := o.Value()
		if value.Kind() == jsonscan.Null {
			continue
		}
		truth, isBool := value.Bool()
		switch string(o.Name()) {
		case "process_person_profile":
			add(k.profile, "$process_person_profile", value)
		case "cookieless_mode":
			add(k.cookieless, "$cookieless_mode", value)
		case "disable_skew_correction":
			exact = truth
		case "product_tour_id":
			add(false, "$product_tour_id", value)
			continue // it may be any value
		default:
			continue
		}
		if !isBool {
			return nil, false, false
		}
	}
	return more, exact, true
}
