package foreign

import (
	"bytes"
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

	"github.com/flagstaff-go/flagstaff/cmd/internal/api"
	"github.com/flagstaff-go/flagstaff/flags"
)

// A call is a request of a product.
type call struct {
	path   string // with the query
	header map[string]string
	body   any // sent as JSON by POST; nil: GET
}

// An Error says that a product does not answer. It is for people, and does not have the key.
type Error struct {
	Final bool // the next request will come to the same
	text  string
}

func (e *Error) Error() string { return e.text }

func (c *Client) failed(final bool, format string, args ...any) *Error {
	text := fmt.Sprintf(format, args...)
	if c.Key != "" {
		text = strings.ReplaceAll(text, c.Key, "…")
	}
	return &Error{final, text}
}

// send sends a request until it is answered.
func (c *Client) send(ctx context.Context, request *call) (answer []byte, err error) {
	err = api.Again(ctx, c.Wait, func() (again bool, pause time.Duration, err error) {
		answer, again, pause, err = c.once(ctx, request)
		return again, pause, err
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return answer, err
}

// once sends a request. again says that another try may help, after a pause if the server asks
// for one.
func (c *Client) once(ctx context.Context, request *call) (answer []byte, again bool, pause time.Duration, err error) {
	method, body := http.MethodGet, []byte(nil)
	if request.body != nil {
		method = http.MethodPost
		if body, err = json.Marshal(request.body); err != nil {
			return nil, false, 0, c.failed(false, "make a request to %s: %v", c.host, err)
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, c.URL+request.path, bytes.NewReader(body))
	if err != nil {
		return nil, false, 0, c.failed(true, "make a request to %s: %v", c.host, err)
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", c.UserAgent)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, value := range request.header {
		r.Header.Set(name, value)
	}
	response, err := c.HTTP.Do(r)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err // the rest has the key of some products
		}
		return nil, true, 0, c.failed(false, "%s does not answer: %v", c.host, err)
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(response.Body, flags.MaxDocument+1))
	status := response.StatusCode
	switch {
	case status == http.StatusOK && err != nil:
		return nil, true, 0, c.failed(false, "the answer of %s breaks off: %v", c.host, err)
	case status == http.StatusOK && len(answer) > flags.MaxDocument:
		return nil, false, 0, c.failed(true, "the answer of %s has more than %d MiB", c.host, flags.MaxDocument>>20)
	case status == http.StatusOK:
		return answer, false, 0, nil
	case status >= 300 && status < 400:
		return nil, false, 0, c.failed(true, "%s sends the client elsewhere: give the address of %s itself", c.host, c.From)
	}
	text := c.host + " answered " + response.Status + detail(answer)
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, false, 0, c.failed(true, "%s; the key is taken from FLAGSTAFF_FROM_KEY", text)
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return nil, false, 0, c.failed(true, "%s; is it the address of %s?", text, c.From)
	}
	return nil, status == http.StatusTooManyRequests || status >= 500, retryAfter(response.Header, time.Now()), c.failed(false, "%s", text)
}

// retryAfter returns for how long a server wants to be left alone: it says so in seconds or by a
// time, which is one of RFC 3339 in OFREP.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	moment, err := http.ParseTime(text)
	if err != nil {
		moment, err = time.Parse(time.RFC3339, text)
	}
	if err != nil {
		return 0
	}
	return max(0, moment.Sub(now))
}

// detail returns what an answer says of a refusal, fit for a line.
func detail(answer []byte) string {
	var body map[string]any
	if json.Unmarshal(answer, &body) != nil {
		return ""
	}
	for _, name := range []string{"errorDetails", "message", "error"} {
		if text, ok := body[name].(string); ok && text != "" {
			return ": " + api.Clean(text)
		}
	}
	return ""
}
