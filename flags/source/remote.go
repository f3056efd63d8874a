package source

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/keykind"
)

var (
	// ErrRefused says that the server does not accept the keys of a Remote.
	ErrRefused = errors.New("source: the server refuses the keys")

	// ErrQuotaLimited says that the project's quota is used up, and that the
	// server sends no definitions until there is a new one.
	ErrQuotaLimited = errors.New("source: the project's quota is used up")
)

// Remote is a Source that gets the definitions of a project, with its rule sets, from a server:
// Flagstaff's, or PostHog's (GET /flags/definitions, wire.md §5).
//
// If the server fails, a Loader keeps its definitions. This includes the answer
// that the quota is used up (402, [ErrQuotaLimited]), after which SDKs drop
// theirs: evaluation in this process costs the server nothing, and flags that
// all fall back at the same moment can do more harm than flags that are a
// little old. After this answer, a Loader pauses for five minutes. It follows a
// pause that the server requests by Retry-After, as with 429, up to ten
// minutes. After other errors, including wrong keys (401 and 403, [ErrRefused]),
// it tries again after 30 to 60 seconds.
//
// While a Loader runs, it also follows the event stream of Flagstaff's server, which tells
// of a change within a second (wire.md §7.4), and then loads at once. The stream takes a
// connection of its own. It changes nothing else: while there is none, because the server
// is another one or a proxy does not let it through, changes are seen by the next poll.
//
// The version has two parts. A hash of the document keeps a document that is
// only sent again from being loaded again. The entity tag, if there is one,
// lets the server omit an unchanged document.
type Remote struct {
	// URL is the address of the server, such as "https://flags.example.com",
	// without the path of the endpoint.
	URL string

	// ProjectKey is the project's API key (phc_…). Empty means the project of
	// SecretKey.
	ProjectKey string

	// SecretKey is the project's secret key (phs_…), or a personal API key
	// (phx_…) with scope feature_flag:read. No error contains it.
	SecretKey string

	// Client sends the requests. It should have a Timeout. Nil means a client
	// with a timeout of 30 seconds.
	Client *http.Client

	// MaxBytes limits the document. Zero, or a larger value, means the limit of
	// [flags.Decode], 64 MiB.
	MaxBytes int64

	// Evaluate makes [Loader.RemoteResults] let the server evaluate flags that depend on what
	// only it knows. It needs ProjectKey.
	Evaluate bool

	// EvaluateTimeout is how long a call of [Loader.RemoteResults] waits for the server. Zero means
	// 500 ms. ResultTTL is how long results are kept for equal requests. Zero means
	// ten seconds, and less than zero that none is kept.
	EvaluateTimeout, ResultTTL time.Duration

	// KeepLast keeps the last good definition of a flag in force when the server sends one
	// that is broken, as for a [File] (evaluation.md §1.9). The server evaluates the broken
	// one, so that values can differ from the server's until it is mended.
	KeepLast bool

	// Poll makes a Loader learn of changes by polling alone.
	Poll bool
}

const (
	remoteInterval = 30 * time.Second
	remoteBackoff  = 60 * time.Second
	remoteTimeout  = 30 * time.Second
	quotaPause     = 5 * time.Minute
	userAgent      = "flagstaff-go (+https://github.com/flagstaff-go/flagstaff)"
	maxRedirects   = 10
)

// Pace returns the intervals at which SDKs poll the server: every 30 seconds,
// and up to every 60 seconds while that fails.
func (r Remote) Pace() (interval, maxBackoff time.Duration) { return remoteInterval, remoteBackoff }

// Origin returns "remote".
func (r Remote) Origin() string { return "remote" }

// Identity returns a hash of the URL and of the key that identifies the
// project.
func (r Remote) Identity() string {
	project := "project " + r.ProjectKey
	if r.ProjectKey == "" {
		project = "secret " + r.SecretKey
	}
	hash := sha256.Sum256([]byte(strings.TrimRight(r.URL, "/") + "\x00" + project))
	return "remote " + hex.EncodeToString(hash[:])
}

// Load asks the server. It returns [ErrNotModified] if the caller has the current
// version.
func (r Remote) Load(ctx context.Context, have string) (*flags.Definitions, string, error) {
	return load(ctx, r, have, decode)
}

// Document is Load without decoding.
func (r Remote) Document(ctx context.Context, have string) (document []byte, version string, err error) {
	haveHash, haveETag, _ := strings.Cut(have, " ")
	query := "send_cohorts&rule_sets"
	if r.ProjectKey != "" {
		query = "token=" + url.QueryEscape(r.ProjectKey) + "&" + query
	}
	follower := followerOf(ctx)
	wanted := follower.wanted()
	if wanted != "" {
		query += "&flagConfigEtag=" + url.QueryEscape(wanted)
	}
	request, err := r.request(ctx, http.MethodGet, "flags/definitions", query)
	if err != nil {
		return nil, "", err
	}
	request.Header.Set("Authorization", "Bearer "+r.SecretKey)
	if haveETag != "" {
		request.Header.Set("If-None-Match", haveETag)
	}
	response, err := r.client().Do(request)
	if err != nil {
		return nil, "", fmt.Errorf("source: ask %s for definitions: %w", request.URL.Host, r.redact(err))
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode == http.StatusNotModified && haveETag != "":
		follower.loaded(r, response, wanted)
		return nil, have, ErrNotModified
	case response.StatusCode != http.StatusOK:
		// If the rest of a short body is read, the connection can be reused.
		_, _ = io.CopyN(io.Discard, response.Body, 4<<10)
		return nil, "", refusal(response)
	}
	if document, err = r.read(response); err != nil {
		return nil, "", err
	}
	follower.loaded(r, response, wanted)
	hash := strconv.FormatUint(xxhash.Sum64(document), 16)
	version = hash
	if etag := response.Header.Get("ETag"); strings.HasPrefix(strings.TrimPrefix(etag, "W/"), `"`) {
		version += " " + etag
	}
	if hash == haveHash {
		return nil, version, ErrNotModified
	}
	return document, version, nil
}

// request returns a request to a path below the URL. It does not carry the secret
// key.
func (r Remote) request(ctx context.Context, method, path, query string) (*http.Request, error) {
	u, err := url.Parse(r.URL)
	switch {
	case err != nil: // the error has the whole URL, which may contain a password
		return nil, errors.New("source: Remote.URL is not a URL")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		u.RawQuery, u.Fragment = "", ""
		return nil, fmt.Errorf("source: Remote.URL is %q, want http or https, a host and perhaps a path, nothing else", u.Redacted())
	case r.SecretKey == "":
		return nil, errors.New("source: Remote has no SecretKey")
	case !isKey(r.SecretKey):
		return nil, errors.New("source: Remote.SecretKey has white space or other characters that are in no key")
	case !isKey(r.ProjectKey):
		return nil, errors.New("source: Remote.ProjectKey has white space or other characters that are in no key")
	case keykind.Mistaken(r.SecretKey, "", keykind.Secret, keykind.Personal) != "":
		return nil, errors.New("source: " + keykind.Mistaken(r.SecretKey, "Remote.SecretKey", keykind.Secret, keykind.Personal))
	case keykind.Mistaken(r.ProjectKey, "", keykind.Project) != "":
		return nil, errors.New("source: " + keykind.Mistaken(r.ProjectKey, "Remote.ProjectKey", keykind.Project))
	case r.Evaluate && r.ProjectKey == "":
		return nil, errors.New("source: Remote.Evaluate needs ProjectKey, the project's API key (phc_…)")
	}
	u = u.JoinPath(path)
	u.RawQuery = query
	request, err := http.NewRequestWithContext(ctx, method, u.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("source: ask %s: %w", u.Host, r.redact(err))
	}
	request.Header.Set("User-Agent", userAgent)
	request.Header.Set("Accept", "application/json")
	return request, nil
}

// isKey reports whether a key can be sent unchanged: it must be printable
// ASCII.
func isKey(key string) bool {
	return !strings.ContainsFunc(key, func(c rune) bool { return c <= ' ' || c >= 0x7f })
}

// client returns a client that does not follow a redirect from https to http:
// net/http would send the key along if the host is the same.
func (r Remote) client() *http.Client {
	c := http.Client{Timeout: remoteTimeout}
	if r.Client != nil {
		c = *r.Client
	}
	check := c.CheckRedirect
	c.CheckRedirect = func(request *http.Request, via []*http.Request) error {
		switch {
		case via[len(via)-1].URL.Scheme == "https" && request.URL.Scheme != "https":
			return errors.New("it redirects from https to " + request.URL.Scheme)
		case check != nil:
			return check(request, via)
		case len(via) >= maxRedirects:
			return fmt.Errorf("it redirects more than %d times", maxRedirects)
		}
		return nil
	}
	return &c
}

// redact removes URLs from an error of net/http. If the text contains the key,
// which a server could have sent back, redact replaces the whole text.
func (r Remote) redact(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	if strings.Contains(err.Error(), r.SecretKey) {
		return errors.New("the request failed with an error that contains the key")
	}
	return err
}

func (r Remote) read(response *http.Response) ([]byte, error) {
	limit := int64(flags.MaxDocument)
	if r.MaxBytes > 0 {
		limit = min(r.MaxBytes, limit)
	}
	document, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	if err != nil {
		return nil, fmt.Errorf("source: read definitions of %s: %w", response.Request.URL.Host, r.redact(err))
	}
	if int64(len(document)) > limit {
		return nil, fmt.Errorf("source: %w: the server's answer has more than %d bytes", flags.ErrTooLarge, limit)
	}
	return document, nil
}

// refusal returns the error for a status. It does not quote the body, whose
// content is up to the server.
func refusal(response *http.Response) error {
	err := fmt.Errorf("source: %s answers %d %s", response.Request.URL.Host, response.StatusCode, http.StatusText(response.StatusCode))
	after := retryAfter(response.Header, time.Now())
	switch response.StatusCode {
	case http.StatusUnauthorized:
		err = fmt.Errorf("%w (401): SecretKey must be the project's secret key (phs_…) or a personal API key (phx_…) that is still valid", ErrRefused)
	case http.StatusForbidden:
		err = fmt.Errorf("%w (403): SecretKey needs the scope feature_flag:read and access to the project of ProjectKey", ErrRefused)
	case http.StatusPaymentRequired:
		err = fmt.Errorf("%w (402): definitions that are loaded stay in use", ErrQuotaLimited)
		after = cmp.Or(after, quotaPause)
	}
	if after > 0 {
		return &RetryError{after, err}
	}
	return err
}
