package api

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/flagstaff-go/flagstaff/internal/keykind"
)

const (
	maxAnswer     = 64 << 20         // bytes of an answer
	maxRequest    = 30 * time.Second // for one request and its answer, unless the Config says so
	maxRetryAfter = time.Minute      // for which the client waits when the server asks it to
	maxTries      = 4                // of one request
	pageSize      = 100              // entries that a page is asked for
	maxPages      = 10_000           // of one list
)

// A Config says which server to talk to, and as whom.
type Config struct {
	URL     string // http or https, without query and fragment
	Key     string // a personal API key
	Project string // ID of the project; "" is the current project of the key's user

	// Insecure lets the key go unencrypted to another machine.
	Insecure bool

	// Roots are the authorities whose certificates of servers count. Nil: the system's.
	Roots *x509.CertPool

	UserAgent string // "" is "flagstaff"

	// Timeout is for one request and its answer. Zero is half a minute.
	Timeout time.Duration

	// Wait waits before a request is tried again, or returns an error if ctx ends. Nil
	// waits for real.
	Wait func(ctx context.Context, d time.Duration) error
}

// A Client talks to one server. It is safe for concurrent use.
type Client struct {
	c       Config
	base    *url.URL
	ifMatch string // for every request
	http    *http.Client
	streams *http.Client // for answers of any length: it has no timeout
}

// ErrUnencrypted says that only [Config.Insecure] allows an address.
var ErrUnencrypted = errors.New("the key would go unencrypted")

// New returns a Client. The error names what is wrong with the URL or the key, and
// quotes neither a password nor the key.
func New(c Config) (*Client, error) {
	u, err := url.Parse(c.URL)
	mistaken := keykind.Mistaken(c.Key, "the management API", keykind.Personal)
	switch {
	case !strings.Contains(c.URL, "://"):
		example := "https://flags.example.com"
		if !strings.ContainsAny(c.URL, "@ ") { // it could be a password
			example = "https://" + c.URL
		}
		return nil, fmt.Errorf("the URL of the server does not begin with https:// or http://: write it such as %s", example)
	case err == nil && strings.Contains(u.Path+"/", "/api/"):
		return nil, fmt.Errorf("the URL of the server must be its address alone, such as %s://%s, without %s", u.Scheme, u.Host, u.Path)
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("the URL of the server must be such as https://flags.example.com, without query and fragment")
	case u.User != nil:
		return nil, errors.New("the URL of the server must not have a user or a password: the key is all that the server wants")
	case c.Key == "":
		return nil, errors.New("there is no personal API key")
	case strings.ContainsFunc(c.Key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, errors.New("the personal API key has characters that no key has, such as blanks")
	case mistaken != "":
		return nil, errors.New(mistaken)
	case u.Scheme == "http" && !c.Insecure && !Loopback(u.Hostname()):
		return nil, fmt.Errorf("%w to %s: use https", ErrUnencrypted, u.Host)
	}
	if c.Wait == nil {
		c.Wait = Wait
	}
	transport := http.DefaultTransport
	if c.Roots != nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		own.TLSClientConfig = &tls.Config{RootCAs: c.Roots}
		transport = own
	}
	c.UserAgent = cmp.Or(c.UserAgent, "flagstaff")
	// A redirect could take the key elsewhere.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{
		c: c, base: u,
		http:    &http.Client{Transport: transport, CheckRedirect: stay, Timeout: cmp.Or(c.Timeout, maxRequest)},
		streams: &http.Client{Transport: transport, CheckRedirect: stay},
	}, nil
}

// Loopback reports whether a host is this machine.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// IfMatch returns a client whose requests are refused unless things are in the state that
// an ETag names. "" is any state.
func (c *Client) IfMatch(etag string) *Client {
	other := *c
	other.ifMatch = etag
	return &other
}

// InProject returns the path of something in the project, such as
// InProject("feature_flags", "new-checkout"). Names may have any characters.
func (c *Client) InProject(names ...string) string {
	return Path(append([]string{"projects", cmp.Or(c.c.Project, "@current")}, names...)...)
}

// Path returns the path of something in the management API. Names may have any
// characters.
func Path(names ...string) string {
	var b strings.Builder
	b.WriteString("/api/")
	for _, name := range names {
		// The names "." and ".." would be taken for steps in the path.
		b.WriteString(strings.ReplaceAll(url.PathEscape(name), ".", "%2E") + "/")
	}
	return b.String()
}

// Get asks for JSON and decodes it.
func (c *Client) Get(ctx context.Context, path string, into any) error {
	return c.do(ctx, http.MethodGet, path, "application/json", nil, into)
}

// Send sends JSON by POST, PATCH or another method, and decodes the answer. body may be
// nil for none, and into for an answer that does not matter.
func (c *Client) Send(ctx context.Context, method, path string, body, into any) error {
	encoded, err := encode(body)
	if err != nil {
		return err
	}
	return c.do(ctx, method, path, "application/json", encoded, into)
}

// encode returns the JSON of a body, nil for none.
func encode(body any) ([]byte, error) {
	if body == nil {
		return nil, nil
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	return encoded, nil
}

// Upload sends JSON that is there as text by POST, and decodes the answer.
func (c *Client) Upload(ctx context.Context, path string, document []byte, into any) error {
	return c.do(ctx, http.MethodPost, path, "application/json", document, into)
}

// Text asks for plain text. body may be nil, and is sent as JSON otherwise.
func (c *Client) Text(ctx context.Context, method, path string, body any) (string, error) {
	encoded, err := encode(body)
	if err != nil {
		return "", err
	}
	var text string
	err = c.do(ctx, method, path, "text/plain", encoded, &text)
	return text, err
}

// Copy writes an answer of any length to dst. The error says so if the answer breaks
// off, or if the server sends nothing for the time of a request. The answer counts as
// complete if it ends with a trailer, whose value Copy returns.
func (c *Client) Copy(ctx context.Context, path, trailer string, dst io.Writer) (value string, err error) {
	err = c.again(ctx, http.MethodGet, func() error {
		value, err = c.copyOnce(ctx, path, trailer, dst)
		return err
	})
	return value, err
}

func (c *Client) copyOnce(ctx context.Context, path, trailer string, dst io.Writer) (string, error) {
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	patience := time.AfterFunc(c.http.Timeout, stop)
	defer patience.Stop()
	response, err := c.send(waiting, c.streams, http.MethodGet, path, "*/*", nil)
	if err == nil {
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			_, err = c.read(response, http.MethodGet, path)
		} else if err = copyAll(dst, response.Body, patience, c.http.Timeout); err != nil {
			err = fmt.Errorf("the answer of %s breaks off: %w", c.base.Host, err)
		}
	}
	switch {
	case err != nil && waiting.Err() != nil && ctx.Err() == nil:
		return "", c.silent()
	case err != nil:
		return "", err
	}
	value := response.Trailer.Get(trailer)
	if value == "" {
		return "", fmt.Errorf("the answer of %s ends without saying that it is complete: is there a proxy that leaves trailers out, or a server that is not a Flagstaff server?", c.base.Host)
	}
	return value, nil
}

// copyAll copies src. The timer runs only while src is waited for, since dst may take
// long.
func copyAll(dst io.Writer, src io.Reader, timer *time.Timer, patience time.Duration) error {
	part := make([]byte, 64<<10)
	for {
		timer.Reset(patience)
		n, err := src.Read(part)
		timer.Stop()
		if n > 0 {
			if _, err := dst.Write(part[:n]); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// List yields all entries of a list, page by page, of the ones that a query selects,
// which may be nil. An error ends it.
func List[T any](ctx context.Context, c *Client, path string, query url.Values) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		offset := 0
		for range maxPages {
			var page struct {
				Next    *string `json:"next"`
				Results []T     `json:"results"`
			}
			// The links of a server begin with what it takes for its own address, which
			// need not be the one by which this client reaches it.
			window := url.Values{"limit": {strconv.Itoa(pageSize)}, "offset": {strconv.Itoa(offset)}}
			maps.Copy(window, query)
			if err := c.Get(ctx, path+"?"+window.Encode(), &page); err != nil {
				yield(zero, err)
				return
			}
			for _, entry := range page.Results {
				if !yield(entry, nil) {
					return
				}
			}
			if offset += len(page.Results); page.Next == nil || len(page.Results) == 0 {
				return
			}
		}
		yield(zero, fmt.Errorf("the list %s has more than %d pages", path, maxPages))
	}
}

// An Error is an answer of the server that refuses the request.
type Error struct {
	Status     int
	Code       string // such as "not_found"; "" if the answer is not an error of the API
	Attr       string // the field that is wrong, or ""
	Detail     string
	Problems   []Problem     // of a document that is refused
	RetryAfter time.Duration // for which the server wants to be left alone; 0 if it did not say
	BasePath   string        // the path in the URL of the server, or ""

	request string // method and path
}

// A Problem is why a document is refused.
type Problem struct {
	What   string `json:"what"`   // the flag or the cohort
	Place  string `json:"place"`  // in the document, as a JSON pointer, or ""
	Reason string `json:"reason"` // for people
}

// Error says in one line what the server said.
func (e *Error) Error() string {
	text := e.Detail
	if e.Attr != "" {
		text = e.Attr + ": " + text
	}
	text = cmp.Or(text, http.StatusText(e.Status))
	return fmt.Sprintf("the server refuses %s with status %d: %s", e.request, e.Status, text)
}

// do sends a request until it is answered. The server says by status 429 and 503 that it
// has not done anything, so that any request may be tried again; what failed on the way
// is tried again only if it changes nothing.
func (c *Client) do(ctx context.Context, method, path, accept string, body []byte, into any) error {
	return c.again(ctx, method, func() error { return c.once(ctx, method, path, accept, body, into) })
}

// again calls once until a request is answered, as do says.
func (c *Client) again(ctx context.Context, method string, once func() error) error {
	return Again(ctx, c.c.Wait, func() (again bool, pause time.Duration, err error) {
		err = once()
		if refused, ok := errors.AsType[*Error](err); ok {
			switch refused.Status {
			case http.StatusTooManyRequests, http.StatusServiceUnavailable:
				return true, refused.RetryAfter, err
			case http.StatusBadGateway, http.StatusGatewayTimeout:
				return method == http.MethodGet, 0, err
			}
		}
		return false, 0, err
	})
}

// Again calls once until it has no error, or is not to be called again. In between it waits for
// the pause that a server asks for, if that is not too long, or longer from one to the next.
func Again(ctx context.Context, wait func(context.Context, time.Duration) error, once func() (again bool, pause time.Duration, err error)) error {
	for try := 1; ; try++ {
		again, pause, err := once()
		if err == nil || !again || pause > maxRetryAfter || try == maxTries || ctx.Err() != nil {
			return err
		}
		if err := wait(ctx, cmp.Or(pause, time.Duration(try)*time.Second)); err != nil {
			return err
		}
	}
}

// Wait returns after a pause, or when ctx ends.
func Wait(ctx context.Context, pause time.Duration) error {
	select {
	case <-time.After(pause):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// send sends a request.
func (c *Client) send(ctx context.Context, client *http.Client, method, path, accept string, body []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.base.String(), "/")+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make a request to %s: %w", c.base.Host, err)
	}
	request.Header.Set("Authorization", "Bearer "+c.c.Key)
	request.Header.Set("Accept", accept)
	request.Header.Set("User-Agent", c.c.UserAgent)
	if c.ifMatch != "" {
		request.Header.Set("If-Match", strconv.Quote(c.ifMatch))
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := client.Do(request)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok {
			if failed.Timeout() && ctx.Err() == nil {
				return nil, c.silent()
			}
			err = failed.Err // the rest is said below
		}
		return nil, fmt.Errorf("the server at %s does not answer: %w", c.base.Host, err)
	}
	return response, nil
}

func (c *Client) silent() error {
	return fmt.Errorf("the server at %s does not answer within %v", c.base.Host, c.http.Timeout)
}

// read reads an answer as a whole, and returns an error if it refuses the request.
func (c *Client) read(response *http.Response, method, path string) ([]byte, error) {
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the answer of %s breaks off: %w", c.base.Host, err)
	case len(answer) > maxAnswer:
		return nil, fmt.Errorf("the answer of %s to %s %s has more than %d bytes", c.base.Host, method, path, maxAnswer)
	case response.StatusCode >= 300 && response.StatusCode < 400:
		return nil, fmt.Errorf("the server at %s sends the client elsewhere, to %s: give the address of the server itself", c.base.Host, Clean(response.Header.Get("Location")))
	case response.StatusCode >= 300:
		refused := refusal(method+" "+path, response, answer)
		refused.BasePath = Clean(strings.Trim(c.base.Path, "/"))
		return nil, refused
	}
	return answer, nil
}

func (c *Client) once(ctx context.Context, method, path, accept string, body []byte, into any) error {
	response, err := c.send(ctx, c.http, method, path, accept, body)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := c.read(response, method, path)
	if err != nil {
		return err
	}
	switch into := into.(type) {
	case nil:
		return nil
	case *string:
		*into = string(answer)
		return nil
	}
	if len(answer) == 0 {
		return nil
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("the answer of %s to %s %s is not what the management API sends: %w; is it a Flagstaff server?", c.base.Host, method, path, err)
	}
	return nil
}

// refusal reads an answer that refuses a request.
func refusal(request string, response *http.Response, answer []byte) *Error {
	e := &Error{Status: response.StatusCode, request: request}
	var body struct {
		Code     string          `json:"code"`
		Detail   json.RawMessage `json:"detail"`
		Attr     *string         `json:"attr"`
		Problems []Problem       `json:"problems"`
	}
	if json.Unmarshal(answer, &body) == nil {
		e.Code = Clean(body.Code)
		if body.Attr != nil {
			e.Attr = Clean(*body.Attr)
		}
		var text string
		if json.Unmarshal(body.Detail, &text) != nil {
			text = string(body.Detail)
		}
		e.Detail = Clean(text)
		for _, p := range body.Problems {
			e.Problems = append(e.Problems, Problem{Clean(p.What), p.Place, Clean(p.Reason)})
		}
	}
	if seconds, err := strconv.ParseUint(response.Header.Get("Retry-After"), 10, 31); err == nil {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	return e
}

// Clean makes what a server says fit for a line on a terminal.
func Clean(text string) string {
	const shown = 500 // bytes
	if len(text) > shown {
		text = strings.ToValidUTF8(text[:shown], "") + "…"
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}
