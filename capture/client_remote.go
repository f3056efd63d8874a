package capture

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

// A remoteDestination posts batches to a server (wire.md §1.3, §2.4 and §2.9).
type remoteDestination struct {
	url, key  string // the URL has no slash at its end
	userAgent string
	http      *http.Client
	own       bool // http was made by the Client

	body bytes.Buffer
	zip  *gzip.Writer
	json []byte
}

func newRemoteDestination(c *ClientConfig) *remoteDestination {
	d := &remoteDestination{
		url: strings.TrimRight(c.URL, "/"),
		key: c.APIKey,
		// The second product says that a server is asking (api.md §4.4).
		userAgent: libraryOfClient() + " svc-go/" + clientVersion(),
		zip:       gzip.NewWriter(nil),
	}
	var client http.Client
	if c.HTTP != nil {
		client = *c.HTTP
	} else {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.MaxIdleConnsPerHost = 1 // one request at a time
		client = http.Client{Timeout: 10 * time.Second, Transport: transport}
		d.own = true
	}
	if client.CheckRedirect == nil {
		// A client that follows 301 or 302 drops the body, and an answer 200 then
		// does not mean that the events arrived.
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	d.http = &client
	return d
}

func (d *remoteDestination) close() {
	if d.own {
		d.http.CloseIdleConnections()
	}
}

// libraryOfClient names the library as headers do.
func libraryOfClient() string { return clientLibrary + "/" + clientVersion() }

func (d *remoteDestination) deliver(ctx context.Context, p *parcel) verdict {
	// Each attempt tells the server the time, to correct the times of the events
	// (wire.md §2.6).
	now := time.Now().UTC()
	if err := d.encode(p, now); err != nil {
		return verdict{err: err, reason: "encoding"}
	}
	path := "/batch/"
	if p.analytics {
		path = "/i/v1/analytics/events"
	}
	// The transport may still read a body after it has returned an answer, so the
	// buffer cannot be reused.
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url+path, bytes.NewReader(bytes.Clone(d.body.Bytes())))
	if err != nil {
		return verdict{err: d.redact(err), reason: "URL"}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Content-Encoding", "gzip")
	r.Header.Set("User-Agent", d.userAgent)
	if p.analytics {
		r.Header.Set("Authorization", "Bearer "+d.key)
		r.Header.Set("PostHog-Sdk-Info", libraryOfClient())
		r.Header.Set("PostHog-Attempt", strconv.Itoa(p.attempt))
		r.Header.Set("PostHog-Request-Id", p.id.String())
		r.Header.Set("PostHog-Request-Timestamp", now.Format(timeLayout))
	}
	answer, err := d.http.Do(r)
	if err != nil {
		return verdict{err: d.redact(err), retry: true}
	}
	defer answer.Body.Close()
	size := int64(maxAnswerBytes)
	if p.analytics {
		size += int64(len(p.events)) * maxResultBytes
	}
	// An unread rest costs only the connection.
	text, err := io.ReadAll(io.LimitReader(answer.Body, size))
	status := answer.StatusCode
	after := retryAfter(answer.Header.Get("Retry-After"), time.Now())
	switch {
	case status < 200 || status >= 300:
	case !p.analytics:
		return verdict{}
	case err != nil:
		return verdict{err: d.redact(err), retry: true, after: after}
	default:
		return d.results(p, text, after)
	}
	return verdict{
		err:    &ResponseError{Status: status, Text: d.firstLine(text)},
		reason: strconv.Itoa(status),
		retry:  status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status >= 500,
		after:  after,
		// Two events of a program may have one UUID.
		halve: status == http.StatusRequestEntityTooLarge ||
			p.analytics && status == http.StatusBadRequest && bytes.Contains(text, []byte(`"duplicate_event_uuid"`)),
	}
}

// results reads what became of the events of a parcel (wire.md §2.9). An event without
// a result, or with an unknown one, was accepted.
func (d *remoteDestination) results(p *parcel, text []byte, after time.Duration) verdict {
	var answer struct {
		Results map[string]struct {
			Result  string `json:"result"`
			Details string `json:"details"`
		} `json:"results"`
	}
	err := json.Unmarshal(text, &answer)
	if err == nil && answer.Results == nil {
		err = errors.New(`it has no "results"`)
	}
	if err != nil {
		// A server that does not know the route answers otherwise.
		return verdict{
			err:    fmt.Errorf("the server has answered 200, but its answer cannot be read (check URL): %w", err),
			reason: "200 without results",
		}
	}
	v := verdict{after: after}
	for i := range p.events {
		e := &p.events[i]
		result := answer.Results[e.UUID.String()]
		details := cmp.Or(d.firstLine([]byte(result.Details)), "no details")
		switch result.Result {
		case "drop":
			v.faults = append(v.faults, fault{e.Name, details, fmt.Errorf("the server drops it: %s", details)})
		case "retry":
			v.rest = append(v.rest, *e)
			v.err, v.retry = fmt.Errorf("the server could not store it: %s", details), true
		}
	}
	return v
}

const (
	timeLayout     = "2006-01-02T15:04:05.000000Z" // of times in UTC
	maxAnswerBytes = 4 << 10                       // that are read of an answer
	maxResultBytes = 512                           // more, for the result of each event
)

// encode writes the body of a request into d.body.
func (d *remoteDestination) encode(p *parcel, now time.Time) error {
	b := d.json[:0]
	if p.analytics {
		b = append(b, `{"created_at":"`...)
		b = p.created.AppendFormat(b, timeLayout)
	} else {
		b = append(b, `{"api_key":`...)
		b = appendJSON(b, d.key)
		b = append(b, `,"sent_at":"`...)
		b = now.AppendFormat(b, timeLayout)
	}
	b = append(b, `","batch":[`...)
	for i := range p.events {
		e := &p.events[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"uuid":"`...)
		b = append(b, e.UUID.String()...)
		b = append(b, `","timestamp":"`...)
		b = e.Time.AppendFormat(b, timeLayout)
		b = append(b, `","event":`...)
		b = appendJSON(b, e.Name)
		b = append(b, `,"distinct_id":`...)
		b = appendJSON(b, e.DistinctID)
		if p.analytics {
			b = appendLifted(b, e.Properties)
		} else {
			b = append(b, `,"properties":`...)
			b = append(b, e.Properties...)
		}
		b = append(b, '}')
	}
	b = append(b, `]}`...)
	d.json = b
	if cap(d.json) > 4*maxRequestBytes {
		d.json = nil // of a huge event
	}
	d.body.Reset()
	d.zip.Reset(&d.body)
	if _, err := d.zip.Write(b); err != nil {
		return err
	}
	return d.zip.Close()
}

// liftedMembers are the properties that the newer route has elsewhere: as members of the
// event, or of its options (wire.md §2.9).
var liftedMembers = []struct {
	property, member string
	option           bool
	kind             jsonscan.Kind // jsonscan.True stands for both booleans
}{
	{"$session_id", "session_id", false, jsonscan.String},
	{"$window_id", "window_id", false, jsonscan.String},
	{"$process_person_profile", "process_person_profile", true, jsonscan.True},
	{"$cookieless_mode", "cookieless_mode", true, jsonscan.True},
	{"$ignore_sent_at", "disable_skew_correction", true, jsonscan.True},
	{"$product_tour_id", "product_tour_id", true, jsonscan.String},
}

// appendLifted appends the members options and properties of an event, and what else
// comes from its properties. A property of another kind than the route takes stays
// where it is.
func appendLifted(dst, properties []byte) []byte {
	lift := func(name []byte, v jsonscan.Value) int {
		if len(name) == 0 || name[0] != '$' {
			return -1
		}
		kind := v.Kind()
		if kind == jsonscan.False {
			kind = jsonscan.True
		}
		for i := range liftedMembers {
			if m := &liftedMembers[i]; string(name) == m.property && kind == m.kind {
				return i
			}
		}
		return -1
	}
	found := make([]jsonscan.Value, len(liftedMembers)) // the last of equal names counts
	some := false
	for o := jsonscan.Value(properties).Object(); o.Next(); {
		if i := lift(o.Name(), o.Value()); i >= 0 {
			found[i], some = o.Value(), true
		}
	}
	for i, v := range found {
		if v != nil && !liftedMembers[i].option {
			dst = appendMember(dst, liftedMembers[i].member, v)
		}
	}
	dst = append(dst, `,"options":{`...)
	for i, v := range found {
		if v != nil && liftedMembers[i].option {
			dst = appendMember(dst, liftedMembers[i].member, v)
		}
	}
	dst = append(dst, `},"properties":`...)
	if !some {
		return append(dst, properties...)
	}
	dst = append(dst, '{')
	for o := jsonscan.Value(properties).Object(); o.Next(); {
		if lift(o.Name(), o.Value()) < 0 {
			dst = appendMember(dst, o.RawName(), o.Value())
		}
	}
	return append(dst, '}')
}

// redact removes what may hold a secret from an error of package http: the URL, and
// the key.
func (d *remoteDestination) redact(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if strings.Contains(err.Error(), d.key) {
		err = errors.New(strings.ReplaceAll(err.Error(), d.key, "…"))
	}
	return fmt.Errorf("capture: post a batch: %w", err)
}

// firstLine returns the beginning of the first line of an answer.
func (d *remoteDestination) firstLine(text []byte) string {
	const maxLine = 200 // characters
	s := strings.ReplaceAll(strings.ToValidUTF8(string(text), "\uFFFD"), d.key, "…")
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	n := 0
	return strings.Map(func(r rune) rune {
		if n++; n > maxLine || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, s)
}

// retryAfter reads a Retry-After header: seconds or a date. It returns zero for
// anything else.
func retryAfter(s string, now time.Time) time.Duration {
	if s == "" {
		return 0
	}
	if seconds, err := strconv.ParseUint(s, 10, 64); err == nil {
		return time.Duration(min(seconds, uint64(maxRetryDelay/time.Second))) * time.Second
	}
	t, err := http.ParseTime(s)
	if err != nil {
		return 0
	}
	return max(t.Sub(now), 0)
}
