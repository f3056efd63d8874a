package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/flagstaff-go/flagstaff/cmd/internal/tool"
)

// exportEventsCommand writes stored events.
func (p *program) exportEventsCommand() *cli.Command {
	var r remote
	var to, event, person, distinctID, since, until string
	var exposures bool
	format := "ndjson"
	return &cli.Command{
		Name:      "events",
		Usage:     "write stored events as NDJSON or CSV",
		UsageText: tool.ProgramName + " export events [-format FORMAT] [-exposures] [-from TIME] [-to TIME] [-o FILE] [FLAGS]",
		Description: `Export events writes the events that the server has, in the order in which they were
stored: as NDJSON, a JSON object to a line, or as CSV. With -exposures it writes who was
given which value of which flag: a line for each event $feature_flag_called, with time,
distinct ID, person, groups, flag and variant.

Times are such as 2026-11-01 or 2026-11-01T08:30:00Z, in UTC unless they say otherwise. An
export that breaks off fails: FILE is then as it was, and standard output has a part.

Examples:

	flagstaff export events -from 2026-11-01 -to 2026-12-01 -o november.ndjson
	flagstaff export events -exposures -format csv -o exposures.csv
	flagstaff export events -event signup | jq .distinct_id`,
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "o", Usage: "write to `FILE`, which is replaced as a whole, instead of standard output", Destination: &to},
			&cli.StringFlag{Name: "format", Usage: "`FORMAT` is ndjson or csv (default ndjson)", HideDefault: true, Value: format, Destination: &format},
			&cli.BoolFlag{Name: "exposures", Usage: "only who was given which value of which flag", Destination: &exposures},
			&cli.StringFlag{Name: "from", Usage: "only events from this `TIME` on", Destination: &since},
			&cli.StringFlag{Name: "to", Usage: "only events before this `TIME`", Destination: &until},
			&cli.StringFlag{Name: "event", Usage: "only events with this `NAME`", Destination: &event},
			&cli.StringFlag{Name: "person", Usage: "only events of this `PERSON`, by UUID or by a distinct ID", Destination: &person},
			&cli.StringFlag{Name: "distinct-id", Usage: "only events with this distinct `ID`", Destination: &distinctID},
		}, r.Connection.Flags()...),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if format != "ndjson" && format != "csv" {
				return tool.BadValue("format", format, "ndjson or csv")
			}
			query := url.Values{"format": {format}}
			for name, value := range map[string]string{"event": event, "person_id": person, "distinct_id": distinctID} {
				if value != "" {
					query.Set(name, value)
				}
			}
			if exposures {
				query.Set("exposures", "true")
			}
			// The server excludes the time itself.
			if err := setTime(query, "after", "from", since, -time.Microsecond); err != nil {
				return err
			}
			if err := setTime(query, "before", "to", until, 0); err != nil {
				return err
			}
			if _, err := p.connect(&r, cmd); err != nil {
				return err
			}
			var events int64
			write := func(w io.Writer) (err error) {
				events, err = p.fetchEvents(ctx, &r, query, w)
				return err
			}
			if to == "" || to == "-" {
				return write(p.Stdout)
			}
			const private = 0o600 // events are about persons
			if err := tool.ReplaceFile(to, private, write); err != nil {
				return err
			}
			return p.Print("wrote %s to %s", tool.Count(int(events), "event"), tool.Printable(to))
		},
	}
}

// fetchEvents writes what the server exports, and returns how many events it has.
func (p *program) fetchEvents(ctx context.Context, r *remote, query url.Values, dst io.Writer) (int64, error) {
	var received atomic.Int64
	stop := p.Progress(func() string { return fmt.Sprintf("received %.1f MB", float64(received.Load())/1e6) })
	defer stop()
	w := writerFunc(func(b []byte) (int, error) {
		n, err := dst.Write(b)
		received.Add(int64(n))
		return n, err
	})
	value, err := r.client.Copy(ctx, r.client.InProject("events", "export")+"?"+query.Encode(), "X-Event-Count", w)
	if err != nil && received.Load() > 0 {
		return 0, fmt.Errorf("the export is not complete: %w", err)
	}
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the export is not complete: the server says that it has %q events", tool.Printable(value))
	}
	return n, nil
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// setTime sets a parameter to the time that a flag has, and some time later.
func setTime(query url.Values, parameter, flag, value string, later time.Duration) error {
	if value == "" {
		return nil
	}
	for _, form := range []string{time.RFC3339Nano, time.DateOnly, "2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if t, err := time.Parse(form, value); err == nil {
			query.Set(parameter, t.Add(later).UTC().Format(time.RFC3339Nano))
			return nil
		}
	}
	return tool.BadValue(flag, value, "a time such as 2026-11-01 or 2026-11-01T08:30:00Z")
}
