package management

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/internal/rawjson"
	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// An EventView is an event as the API shows it.
type EventView struct {
	ID         uuid.UUID       `json:"id"` // as UUID
	UUID       uuid.UUID       `json:"uuid"`
	Event      string          `json:"event"`
	DistinctID string          `json:"distinct_id"`
	Timestamp  time.Time       `json:"timestamp"`   // when it happened
	ReceivedAt time.Time       `json:"received_at"` // when it arrived
	Properties json.RawMessage `json:"properties"`
}

func showEvent(e *capture.Event) *EventView {
	return &EventView{e.UUID, e.UUID, e.Name, e.DistinctID, e.Time, e.Received, rawjson.Or(e.Properties, "{}")}
}

// An EventQuery selects events of a project, as the parameters of a request say it. An
// empty field excludes nothing.
type EventQuery struct {
	Event      string
	PersonID   string // a UUID of a person, or one of the person's distinct IDs
	DistinctID string
	After      string // a time: only later events
	Before     string // a time: only earlier events
}

// An EventPage is a part of a list of events.
type EventPage struct {
	Items []*EventView // newest first

	// Next is the cursor of the next page; "" if there is none. A page of large events
	// may have fewer than were asked for, and still a next one.
	Next string
}

// filter checks a query and finds its person. found is false if there is none.
func (q *EventQuery) filter(ctx context.Context, w *work) (f storage.EventFilter, found bool, err error) {
	for _, text := range []struct {
		attr, value string
		most        int
	}{{"event", q.Event, capture.MaxName}, {"distinct_id", q.DistinctID, capture.MaxID}, {"person_id", q.PersonID, capture.MaxID}} {
		if err := judgeError(check.Length(text.attr, text.value, text.most)); err != nil {
			return f, false, err
		}
	}
	f.Name, f.DistinctID = q.Event, q.DistinctID
	for _, at := range []struct {
		attr, value string
		into        *time.Time
	}{{"after", q.After, &f.After}, {"before", q.Before, &f.Before}} {
		if at.value == "" {
			continue
		}
		t, err := check.ReadTime(at.attr, new(optional.Of(at.value)))
		if err != nil {
			return f, false, judgeError(err)
		}
		*at.into = *t
	}
	if q.PersonID == "" {
		return f, true, nil
	}
	person, err := w.findPerson(ctx, q.PersonID)
	if errors.Is(err, ErrNotFound) {
		return f, false, nil
	}
	if err != nil {
		return f, false, err
	}
	f.Person = person.ID
	return f, true, nil
}

// cursorOf returns the text by which a client names a place.
func cursorOf(p storage.EventPlace) string {
	if p.ID == 0 {
		return ""
	}
	return strconv.FormatInt(p.Time.UnixMicro(), 36) + "-" + strconv.FormatInt(p.ID, 36)
}

func readPlace(attr, cursor string) (p storage.EventPlace, err error) {
	if cursor == "" {
		return p, nil
	}
	at, id, ok := strings.Cut(strings.TrimPrefix(cursor, "-"), "-") // times before 1970 are negative
	micros, e1 := strconv.ParseInt(at, 36, 64)
	n, e2 := strconv.ParseInt(id, 36, 64)
	if cursor[0] == '-' {
		micros = -micros
	}
	if p = (storage.EventPlace{Time: time.UnixMicro(micros).UTC(), ID: n}); !ok || e1 != nil || e2 != nil || n <= 0 || cursorOf(p) != cursor {
		return storage.EventPlace{}, invalid(attr, "invalid_input", "%q is not a place in a list: use next of the page before.", check.Excerpt(cursor))
	}
	return p, nil
}

// ListEvents returns a page of the events of a project that a query selects, newest
// first, at most limit; cursor is Next of the page before, or "". It needs scope
// query:read.
func (s *Service) ListEvents(ctx context.Context, p *Principal, ref string, q EventQuery, cursor string, limit int) (*EventPage, error) {
	w, err := s.capturedAt(ctx, p, ref, "query:read")
	if err != nil {
		return nil, err
	}
	from, err := readPlace("cursor", cursor)
	if err != nil {
		return nil, err
	}
	f, found, err := q.filter(ctx, w)
	if err != nil || !found {
		return &EventPage{Items: []*EventView{}}, err
	}
	list, next, err := s.c.Data.FindEvents(ctx, w.at.Project.ID, f, from, max(limit, 1))
	if err != nil {
		return nil, err
	}
	return &EventPage{each(list, showEvent), cursorOf(next)}, nil
}

// GetEvent returns an event by its UUID. It needs scope query:read.
func (s *Service) GetEvent(ctx context.Context, p *Principal, ref, id string) (*EventView, error) {
	w, err := s.capturedAt(ctx, p, ref, "query:read")
	if err != nil {
		return nil, err
	}
	u, err := check.ParseID(id)
	if err != nil {
		return nil, notFound("Event not found.")
	}
	e, err := s.c.Data.EventByUUID(ctx, w.at.Project.ID, u)
	if err != nil {
		return nil, storeError(err)
	}
	return showEvent(e), nil
}
