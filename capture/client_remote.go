package capture

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// A remoteDestination posts batches to a server (wire.md §1.3 and §2.4).
type remoteDestination struct {
	url, key  string
	userAgent string
	http      *http.Client
	own       bool // http was made by the Client

	body bytes.Buffer
	zip  *gzip.Writer
	json []byte
}

func newRemoteDestination(c *ClientConfig) *remoteDestination {
	d := &remoteDestination{
		url: strings.TrimRight(c.URL, "/") + "/batch/",
		key: c.APIKey,
		// The second product says that a server is asking (api.md §4.4).
		userAgent: clientLibrary + "/" + clientVersion() + " svc-go/" + clientVersion(),
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

func (d *remoteDestination) deliver(ctx context.Context, events []Event) verdict {
	// The body is made for each attempt, because sent_at tells the server how to
	// correct the times of the events (wire.md §2.6).
	if err := d.encode(events, time.Now()); err != nil {
		return verdict{err: err}
	}
	// The transport may still read a body after it has returned an answer, so the
	// buffer cannot be reused.
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url, bytes.NewReader(bytes.Clone(d.body.Bytes())))
	if err != nil {
		return verdict{err: d.redact(err)}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Content-Encoding", "gzip")
	r.Header.Set("User-Agent", d.userAgent)
	answer, err := d.http.Do(r)
	if err != nil {
		return verdict{err: d.redact(err), retry: true}
	}
	defer answer.Body.Close()
	// An unread rest costs only the connection.
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 4096))
	status := answer.StatusCode
	if status >= 200 && status < 300 {
		return verdict{}
	}
	return verdict{
		err:   &ResponseError{Status: status, Text: d.firstLine(text)},
		retry: status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status >= 500,
		after: retryAfter(answer.Header.Get("Retry-After"), time.Now()),
		halve: status == http.StatusRequestEntityTooLarge,
	}
}

// encode writes the body of a request into d.body.
func (d *remoteDestination) encode(events []Event, now time.Time) error {
	const layout = "2006-01-02T15:04:05.000000Z"
	b := append(d.json[:0], `{"api_key":`...)
	b = appendJSON(b, d.key)
	b = append(b, `,"sent_at":"`...)
	b = now.UTC().AppendFormat(b, layout)
	b = append(b, `","batch":[`...)
	for i := range events {
		e := &events[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"uuid":"`...)
		b = append(b, e.UUID.String()...)
		b = append(b, `","timestamp":"`...)
		b = e.Time.AppendFormat(b, layout)
		b = append(b, `","event":`...)
		b = appendJSON(b, e.Name)
		b = append(b, `,"distinct_id":`...)
		b = appendJSON(b, e.DistinctID)
		b = append(b, `,"properties":`...)
		b = append(b, e.Properties...)
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
