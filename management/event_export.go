package management

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"iter"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/rawjson"
	"github.com/flagstaff-go/flagstaff/internal/text"
	"github.com/flagstaff-go/flagstaff/management/check"
)

// An EventExport says what [Service.WriteEvents] writes.
type EventExport struct {
	EventQuery

	// Format is "ndjson", one JSON object to a line, or "csv"; "" is ndjson.
	Format string

	// Exposures writes only events that tell of the value of a flag, as an
	// [exposureRow] each.
	Exposures bool
}

// An exposureRow says that somebody was given a value of a flag, in an export.
type exposureRow struct {
	UUID       uuid.UUID       `json:"uuid"` // of the event
	Timestamp  time.Time       `json:"timestamp"`
	DistinctID string          `json:"distinct_id"`
	PersonID   *uuid.UUID      `json:"person_id"` // of the person that has the distinct ID now; nil: null
	Groups     json.RawMessage `json:"groups"`    // an object of keys by group type
	Flag       string          `json:"flag"`
	Variant    json.RawMessage `json:"variant"` // the value: a text, a number, true or false; null if the event has none
}

// flagCalled is the name of events that tell of the value of a flag (wire.md §2.8).
const flagCalled = "$feature_flag_called"

// exposuresAtOnce is for how many exposures persons are looked up at once.
const exposuresAtOnce = 500

// WriteEvents writes the events of a project that a query selects, in the order in which
// they were stored, and returns how many. Nothing was written if it returns an [*Error].
// What comes later than the call may be missing. It needs scope query:read.
func (s *Service) WriteEvents(ctx context.Context, dst io.Writer, p *Principal, ref string, q EventExport) (written int, err error) {
	w, err := s.capturedAt(ctx, p, ref, "query:read")
	if err != nil {
		return 0, err
	}
	out, err := newRowWriter(dst, q.Format)
	if err != nil {
		return 0, err
	}
	if q.Exposures {
		if q.Event != "" && q.Event != flagCalled {
			return 0, invalid("event", "invalid_choice", "%q is not an event of an exposure: want %s, or leave it out.", check.Excerpt(q.Event), flagCalled)
		}
		q.Event = flagCalled
	}
	f, found, err := q.filter(ctx, w)
	if err != nil {
		return 0, err
	}
	columns := []string{"uuid", "event", "distinct_id", "timestamp", "received_at", "properties"}
	if q.Exposures {
		columns = []string{"uuid", "timestamp", "distinct_id", "person_id", "groups", "flag", "variant"}
	}
	if err := out.head(columns); err != nil {
		return 0, err
	}
	if found {
		events := s.c.Data.AllEvents(ctx, w.at.Project.ID, f)
		if q.Exposures {
			written, err = w.writeExposures(ctx, out, events)
		} else {
			written, err = writeEvents(out, events)
		}
		if err != nil {
			return written, err
		}
	}
	return written, out.flush()
}

func writeEvents(out *rowWriter, events iter.Seq2[capture.Event, error]) (n int, err error) {
	for e, err := range events {
		if err != nil {
			return n, err
		}
		v := showEvent(&e)
		if err := out.row(v, v.UUID.String(), v.Event, v.DistinctID, formatTime(v.Timestamp), formatTime(v.ReceivedAt), string(v.Properties)); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func (w *work) writeExposures(ctx context.Context, out *rowWriter, events iter.Seq2[capture.Event, error]) (n int, err error) {
	var list []exposureRow
	write := func() error {
		ids := each(list, func(v *exposureRow) string { return v.DistinctID })
		persons, err := w.c.Data.PersonIDs(ctx, w.at.Project.ID, ids)
		if err != nil {
			return err
		}
		for i := range list {
			v := &list[i]
			person := ""
			if id, ok := persons[v.DistinctID]; ok {
				v.PersonID, person = &id, id.String()
			}
			if err := out.row(v, v.UUID.String(), formatTime(v.Timestamp), v.DistinctID, person, string(v.Groups), v.Flag, plainValue(v.Variant)); err != nil {
				return err
			}
			n++
		}
		list = list[:0]
		return nil
	}
	for e, err := range events {
		if err != nil {
			return n, err
		}
		list = append(list, showExposure(&e))
		if len(list) == exposuresAtOnce {
			if err := write(); err != nil {
				return n, err
			}
		}
	}
	return n, write()
}

func showExposure(e *capture.Event) exposureRow {
	v := exposureRow{UUID: e.UUID, Timestamp: e.Time, DistinctID: e.DistinctID, Groups: json.RawMessage("{}"), Variant: json.RawMessage("null")}
	for o := jsonscan.Value(e.Properties).Object(); o.Next(); {
		value := json.RawMessage(o.Value())
		switch string(o.Name()) {
		case "$feature_flag":
			v.Flag = plainValue(value)
		case "$feature_flag_response":
			v.Variant = bytes.Clone(value)
		case "$groups":
			if _, ok := rawjson.Object(value); ok {
				v.Groups = bytes.Clone(value)
			}
		}
	}
	return v
}

// plainValue returns a text of JSON as it reads, and other JSON as it is; "" for null.
func plainValue(value json.RawMessage) string {
	var s string
	if err := json.Unmarshal(value, &s); err != nil {
		return string(value)
	}
	return s
}

func formatTime(t time.Time) string { return t.Format(time.RFC3339Nano) }

// A rowWriter writes rows as JSON or as CSV.
type rowWriter struct {
	buffered *bufio.Writer
	json     *json.Encoder // nil: CSV
	csv      *csv.Writer
}

func newRowWriter(dst io.Writer, format string) (*rowWriter, error) {
	const size = 64 << 10 // bytes
	w := &rowWriter{buffered: bufio.NewWriterSize(dst, size)}
	if err := judgeError(check.Selected("format", format, "ndjson", "csv")); err != nil {
		return nil, err
	}
	if format == "csv" {
		w.csv = csv.NewWriter(w.buffered)
	} else {
		w.json = json.NewEncoder(w.buffered)
		w.json.SetEscapeHTML(false)
	}
	return w, nil
}

func (w *rowWriter) head(columns []string) error {
	if w.csv == nil {
		return nil
	}
	return w.csv.Write(columns)
}

// row writes a value as JSON, or cells as CSV that no spreadsheet takes for formulas.
func (w *rowWriter) row(v any, cells ...string) error {
	if w.csv == nil {
		return w.json.Encode(v)
	}
	for i := range cells {
		cells[i] = text.CSVCell(cells[i])
	}
	return w.csv.Write(cells)
}

func (w *rowWriter) flush() error {
	if w.csv != nil {
		w.csv.Flush()
		if err := w.csv.Error(); err != nil {
			return err
		}
	}
	return w.buffered.Flush()
}
