package source_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/source"
	"github.com/flagstaff-go/flagstaff/flags/wire"
	"github.com/flagstaff-go/flagstaff/internal/reference"
	"github.com/flagstaff-go/flagstaff/runtime"
)

const secret = "phs_abcdefghijklmnop"

// A definitionsServer answers like the definitions endpoint (wire.md §5.1). Its
// fields may be changed between requests.
type definitionsServer struct {
	*httptest.Server
	document []byte
	noETag   bool
	requests []*http.Request
}

func serveDefinitions(t *testing.T, document string) *definitionsServer {
	t.Helper()
	s := &definitionsServer{document: []byte(document)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests = append(s.requests, r)
		if !s.noETag {
			etag := wire.DefinitionsETag(s.document)
			w.Header().Set("ETag", etag)
			if r.Header.Get("If-None-Match") == etag {
				w.WriteHeader(http.StatusNotModified)
				return
			}
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write(s.document)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *definitionsServer) remote() source.Remote {
	return source.Remote{URL: s.URL, ProjectKey: "phc_project", SecretKey: secret}
}

// TestRemote follows a server through changes (wire.md §5.1).
func TestRemote(t *testing.T) {
	for _, noETag := range []bool{false, true} {
		t.Run(fmt.Sprintf("without entity tags %v", noETag), func(t *testing.T) {
			server := serveDefinitions(t, document("a"))
			server.noETag = noETag
			var e flags.Evaluator
			l := source.NewLoader(&e, server.remote(), source.LoaderConfig{})
			if err := l.Refresh(t.Context()); err != nil || !flagOn(&e, "a") {
				t.Fatalf("Refresh = %v, flag on: %v", err, flagOn(&e, "a"))
			}
			first := e.Snapshot()
			if status := l.Status(); status.Origin != "remote" || status.Fetched.IsZero() ||
				strings.Contains(status.Version, wire.DefinitionsETag(server.document)) == noETag {
				t.Errorf("Status = %+v", status)
			}
			if err := l.Refresh(t.Context()); err != nil || e.Snapshot() != first {
				t.Errorf("Refresh without a change = %v, snapshot stayed: %v", err, e.Snapshot() == first)
			}
			server.document = []byte(document("b"))
			if err := l.Refresh(t.Context()); err != nil || !flagOn(&e, "b") {
				t.Errorf("Refresh after a change = %v, flag on: %v", err, flagOn(&e, "b"))
			}

			want := []string{"", wire.DefinitionsETag([]byte(document("a"))), wire.DefinitionsETag([]byte(document("a")))}
			if noETag {
				want = []string{"", "", ""}
			}
			for i, r := range server.requests {
				if r.Method != http.MethodGet || r.URL.Path != "/flags/definitions" || r.URL.RawQuery != "token=phc_project&send_cohorts&rule_sets" {
					t.Errorf("request %d = %s %s", i, r.Method, r.URL)
				}
				if got := r.Header.Get("Authorization"); got != "Bearer "+secret {
					t.Errorf("request %d has Authorization %q", i, got)
				}
				if got := r.Header.Get("User-Agent"); !strings.Contains(got, "flagstaff") {
					t.Errorf("request %d has User-Agent %q", i, got)
				}
				if got := r.Header.Get("If-None-Match"); i < len(want) && got != want[i] {
					t.Errorf("request %d has If-None-Match %q, want %q", i, got, want[i])
				}
			}
		})
	}
}

// TestRemoteSameDocument covers a server whose entity tags differ although the
// document is the same, which happens with replicas.
func TestRemoteSameDocument(t *testing.T) {
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n++
		w.Header().Set("ETag", fmt.Sprintf("%q", strconv.Itoa(n)))
		io.WriteString(w, document("a"))
	}))
	defer server.Close()
	remote := source.Remote{URL: server.URL, SecretKey: secret}
	_, first, err := remote.Load(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	_, second, err := remote.Load(t.Context(), first)
	if !errors.Is(err, source.ErrNotModified) || second == first || !strings.Contains(second, `"2"`) {
		t.Errorf("Load of the same document = %q, %v; want the new entity tag and ErrNotModified", second, err)
	}
}

// TestRemoteURL checks which URLs are requested, and that errors about other
// URLs contain no password.
func TestRemoteURL(t *testing.T) {
	for _, tt := range []struct {
		url, project, want string
		err                string
	}{
		{"https://flags.example.com", "phc_a", "https://flags.example.com/flags/definitions?token=phc_a&send_cohorts&rule_sets", ""},
		{"https://flags.example.com/", "", "https://flags.example.com/flags/definitions?send_cohorts&rule_sets", ""},
		{"http://127.0.0.1:8000/prefix/", "phc_&=", "http://127.0.0.1:8000/prefix/flags/definitions?token=phc_%26%3D&send_cohorts&rule_sets", ""},
		{"", "", "", "Remote.URL"},
		{"flags.example.com", "", "", "Remote.URL"},
		{"ftp://flags.example.com", "", "", "Remote.URL"},
		{"https://", "", "", "Remote.URL"},
		{"https://user:hunter2@flags.example.com", "", "", "Remote.URL"},
		{"https://user:hunter2@flags.example.com:port", "", "", "Remote.URL"},
		{"https://flags.example.com?key=hunter2", "", "", "Remote.URL"},
		{"https://flags.example.com", "phc a", "", "Remote.ProjectKey"},
	} {
		got := ""
		client := &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			got = r.URL.String()
			return answer(http.StatusOK, document("a"), nil), nil
		})}
		_, _, err := source.Remote{URL: tt.url, ProjectKey: tt.project, SecretKey: secret, Client: client}.Load(t.Context(), "")
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("URL %q: asks %q, %v; want %q, an error with %q", tt.url, got, err, tt.want, tt.err)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("URL %q: the error has the password: %v", tt.url, err)
		}
	}
	for _, key := range []string{"", "phs_a\n", "phs a", "phs_é"} {
		_, _, err := source.Remote{URL: "https://flags.example.com", SecretKey: key}.Load(t.Context(), "")
		if err == nil || !strings.Contains(err.Error(), "SecretKey") || key != "" && strings.Contains(err.Error(), key) {
			t.Errorf("SecretKey %q: %v", key, err)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := f(r)
	if res != nil {
		res.Request = r
	}
	return res, err
}

func answer(status int, body string, h http.Header) *http.Response {
	if h == nil {
		h = make(http.Header)
	}
	return &http.Response{
		StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body)), ContentLength: -1,
	}
}

// TestRemoteFailures covers the reactions of wire.md §5.3: after any answer,
// the definitions stay, and no error contains the key.
func TestRemoteFailures(t *testing.T) {
	const body = `{"type":"authentication_error","code":"authentication_failed","detail":"` + secret + `","attr":null}`
	date := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
	for _, tt := range []struct {
		name       string
		status     int
		retryAfter string
		err        error         // nil means any
		after      time.Duration // pause of the RetryError; zero means none
	}{
		{"no or wrong key", 401, "", source.ErrRefused, 0},
		{"key without the scope", 403, "", source.ErrRefused, 0},
		{"quota", 402, "", source.ErrQuotaLimited, 5 * time.Minute},
		{"quota until", 402, "90", source.ErrQuotaLimited, 90 * time.Second},
		{"throttled", 429, "", nil, 0},
		{"throttled for seconds", 429, "120", nil, 2 * time.Minute},
		{"throttled for too long", 429, "86400", nil, 10 * time.Minute},
		{"throttled for ever", 429, "99999999999999999999999", nil, 10 * time.Minute},
		{"throttled until a date", 429, date(3 * time.Minute), nil, 3 * time.Minute},
		{"throttled until a late date", 429, date(24 * time.Hour), nil, 10 * time.Minute},
		{"throttled until a date that is past", 429, date(-time.Hour), nil, 0},
		{"throttled for nothing", 429, "0", nil, 0},
		{"throttled until nobody knows", 429, "soon", nil, 0},
		{"throttled for less than nothing", 429, "-5", nil, 0},
		{"not ready", 503, "7", nil, 7 * time.Second},
		{"broken", 500, "", nil, 0},
		{"no such route", 404, "", nil, 0},
		{"a status for success that is none", 204, "", nil, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status := http.StatusOK
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if status == http.StatusOK {
					io.WriteString(w, document("a"))
					return
				}
				if tt.retryAfter != "" {
					w.Header().Set("Retry-After", tt.retryAfter)
				}
				w.WriteHeader(status)
				if status != http.StatusNoContent {
					io.WriteString(w, body)
				}
			}))
			defer server.Close()
			var e flags.Evaluator
			l := source.NewLoader(&e, source.Remote{URL: server.URL, SecretKey: secret}, source.LoaderConfig{})
			if err := l.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			status = tt.status
			err := l.Refresh(t.Context())
			if err == nil || tt.err != nil && !errors.Is(err, tt.err) || !strings.Contains(err.Error(), strconv.Itoa(tt.status)) {
				t.Errorf("Refresh = %v, want %v and the status", err, tt.err)
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("the error has the key: %v", err)
			}
			after := time.Duration(0)
			if retry, ok := errors.AsType[*source.RetryError](err); ok {
				after = retry.After
			}
			if d := tt.after - after; d < 0 || d > 5*time.Second { // a date comes closer until it is read
				t.Errorf("pause of %v, want %v", after, tt.after)
			}
			if !flagOn(&e, "a") || l.Status().Origin != "remote" {
				t.Errorf("the flag is on: %v; %+v", flagOn(&e, "a"), l.Status())
			}
		})
	}
}

// TestRemoteBadBodies covers answers of 200 that are not definitions.
func TestRemoteBadBodies(t *testing.T) {
	for _, body := range []string{"", "null", "[]", "{}", `{"flags":null}`, "<html>sign in</html>", document("a")[:40]} {
		server := serveDefinitions(t, document("a"))
		var e flags.Evaluator
		l := source.NewLoader(&e, server.remote(), source.LoaderConfig{})
		if err := l.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		server.document = []byte(body)
		for range 2 { // the second time, the entity tag is still the one of the good document
			if err := l.Refresh(t.Context()); err == nil || !flagOn(&e, "a") {
				t.Errorf("body %q: Refresh = %v, flag on: %v", body, err, flagOn(&e, "a"))
			}
		}
	}
}

func TestRemoteNetworkErrors(t *testing.T) {
	t.Run("nobody listens", func(t *testing.T) {
		server := httptest.NewServer(nil)
		server.Close()
		_, _, err := source.Remote{URL: server.URL, ProjectKey: "phc_project", SecretKey: secret}.Load(t.Context(), "")
		if err == nil || strings.Contains(err.Error(), "phc_project") {
			t.Errorf("Load = %v", err)
		}
	})
	t.Run("the key comes back", func(t *testing.T) {
		client := &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			return nil, errors.New("malformed header: " + r.Header.Get("Authorization"))
		})}
		_, _, err := source.Remote{URL: "http://127.0.0.1", SecretKey: secret, Client: client}.Load(t.Context(), "")
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("Load = %v", err)
		}
	})
	t.Run("not modified without a condition", func(t *testing.T) {
		client := &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			return answer(http.StatusNotModified, "", nil), nil
		})}
		_, _, err := source.Remote{URL: "http://127.0.0.1", SecretKey: secret, Client: client}.Load(t.Context(), "")
		if err == nil || errors.Is(err, source.ErrNotModified) {
			t.Errorf("Load = %v, want an error that is not ErrNotModified", err)
		}
	})
	t.Run("the context ends", func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			stop()
			<-r.Context().Done()
		}))
		defer server.Close()
		if _, _, err := (source.Remote{URL: server.URL, SecretKey: secret}).Load(ctx, ""); !errors.Is(err, context.Canceled) {
			t.Errorf("Load = %v, want Canceled", err)
		}
	})
	t.Run("the answer stops in the middle", func(t *testing.T) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, document("a"))
		}))
		defer server.Close()
		if _, _, err := (source.Remote{URL: server.URL, SecretKey: secret}).Load(t.Context(), ""); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("Load = %v, want ErrUnexpectedEOF", err)
		}
	})
}

func TestRemoteLimit(t *testing.T) {
	large := `{"flags":[],"padding":"` + strings.Repeat("x", 1000) + `"}`
	for _, tt := range []struct {
		limit int64
		ok    bool
	}{
		{0, true},
		{-1, true},
		{1 << 62, true},
		{int64(len(large)), true},
		{int64(len(large)) - 1, false},
		{1, false},
	} {
		for _, compressed := range []bool{false, true} {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !compressed {
					io.WriteString(w, large)
					return
				}
				w.Header().Set("Content-Encoding", "gzip")
				z := gzip.NewWriter(w)
				io.WriteString(z, large)
				z.Close()
			}))
			_, _, err := source.Remote{URL: server.URL, SecretKey: secret, MaxBytes: tt.limit}.Load(t.Context(), "")
			server.Close()
			if (err == nil) != tt.ok || err != nil && !errors.Is(err, flags.ErrTooLarge) {
				t.Errorf("MaxBytes %d for %d bytes, compressed %v: %v", tt.limit, len(large), compressed, err)
			}
		}
	}
}

// TestRemoteRedirects follows redirects, and checks that the key is not sent
// elsewhere.
func TestRemoteRedirects(t *testing.T) {
	var got *http.Request
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		io.WriteString(w, document("a"))
	}))
	defer target.Close()
	elsewhere := strings.Replace(target.URL, "127.0.0.1", "localhost", 1)
	redirect := func(to *string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, *to, http.StatusTemporaryRedirect) }
	}
	var to string
	plain := httptest.NewServer(redirect(&to))
	defer plain.Close()
	encrypted := httptest.NewTLSServer(redirect(&to))
	defer encrypted.Close()

	for _, tt := range []struct {
		name, from, to string
		err            string
		key            bool
	}{
		{"to another path", plain.URL, target.URL + "/other", "", true},
		{"to another host", plain.URL, elsewhere + "/flags/definitions", "", false},
		{"from https to http", encrypted.URL, target.URL, "https to http", false},
		{"for ever", plain.URL, plain.URL, "more than 10", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			to, got = tt.to, nil
			client := encrypted.Client()
			_, _, err := source.Remote{URL: tt.from, SecretKey: secret, Client: client}.Load(t.Context(), "")
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) || got != nil {
					t.Errorf("Load = %v, the other server was asked: %v; want an error with %q", err, got != nil, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if key := got.Header.Get("Authorization") != ""; key != tt.key {
				t.Errorf("the key was sent: %v, want %v", key, tt.key)
			}
		})
	}

	// A rule of the caller's client applies as well, and the client is not
	// changed.
	refused := errors.New("stay here")
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return refused }}
	to = target.URL
	for range 2 {
		if _, _, err := (source.Remote{URL: plain.URL, SecretKey: secret, Client: client}).Load(t.Context(), ""); !errors.Is(err, refused) {
			t.Errorf("Load = %v, want the client's error", err)
		}
	}
}

// FuzzRemote gives arbitrary answers to a Remote. It must not panic, errors
// must not contain the key, pauses must be bounded, and loaded definitions must
// have a version that the server recognizes.
func FuzzRemote(f *testing.F) {
	f.Add(200, `W/"a"`, "", document("a"), "")
	f.Add(304, `"a"`, "", "", `12 W/"a"`)
	f.Add(429, "", "120", "{}", "")
	f.Add(503, "", "Wed, 21 Oct 2065 07:28:00 GMT", secret, " ")
	f.Add(301, "", "", secret, "x y z")
	f.Fuzz(func(t *testing.T, status int, etag, retryAfter, body, have string) {
		client := &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			return answer(status, body, http.Header{"Etag": {etag}, "Retry-After": {retryAfter}}), nil
		})}
		remote := source.Remote{URL: "http://127.0.0.1", SecretKey: secret, Client: client}
		d, version, err := remote.Load(t.Context(), have)
		if retry, ok := errors.AsType[*source.RetryError](err); ok && (retry.After <= 0 || retry.After > 10*time.Minute) {
			t.Errorf("a pause of %v", retry.After)
		}
		if err != nil {
			if d != nil || strings.Contains(err.Error(), secret) {
				t.Errorf("Load = %v, %v", d, err)
			}
			return
		}
		if _, again, err := remote.Load(t.Context(), version); again != version || !errors.Is(err, source.ErrNotModified) {
			t.Errorf("Load(%q) of the same = %q, %v", version, again, err)
		}
	})
}

var kinds = map[string]runtime.Kind{
	"": runtime.All, "unknown": runtime.Unknown, "client": runtime.Client, "server": runtime.Server,
}

// evaluate answers a request of the generator with one line per flag, sorted by
// key. Payloads are compared as text, because they are sent as text.
func evaluate(t *testing.T, d *flags.Definitions, r *reference.Request) string {
	t.Helper()
	s, err := flags.Compile(d, flags.CompileOptions{TimeZone: r.Zone})
	if err != nil {
		t.Fatal(err)
	}
	var in flags.Input
	in.Reset(s, r.DistinctID, runtime.Filter{Kind: kinds[r.Kind], Tags: r.Tags}, r.Now)
	in.AnonymousID, in.DeviceID = r.AnonymousID, r.DeviceID
	var errs []error
	if r.Person != nil {
		errs = append(errs, in.PersonJSON(r.Person))
	}
	for name, key := range r.Groups {
		errs = append(errs, in.Group(name, key))
	}
	for name, p := range r.GroupProperties {
		if string(p) != "null" {
			errs = append(errs, in.GroupJSON(name, p))
		}
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for key, result := range in.Evaluate().All() {
		lines = append(lines, fmt.Sprintf("%s %#v %v %v %+v\n", key, result.Value(), result.Failed, result.Reason, result.Metadata))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// TestRemoteEvaluatesAsTheServer checks that the answer of the definitions
// endpoint for random definitions (evaluation.md §14) evaluates like the
// definitions themselves, unless they need data that is never sent.
func TestRemoteEvaluatesAsTheServer(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("FLAGSTAFF_RANDOM_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatalf("FLAGSTAFF_RANDOM_SEED=%q: want a number", s)
		}
	}
	t.Logf("seed %d", seed)
	server := serveDefinitions(t, "")
	remote := server.remote()
	for n := 0; n < 300 && !t.Failed(); seed++ {
		g := reference.NewGenerator(seed)
		original := g.Document()
		d, err := flags.Decode(bytes.NewReader(original))
		if err != nil {
			t.Fatalf("Decode(%s): %v", original, err)
		}
		if needsMore(d) {
			continue
		}
		if server.document, err = wire.AppendDefinitions(nil, d, wire.DefinitionsOptions{Project: 1}); err != nil {
			t.Fatal(err)
		}
		got, _, err := remote.Load(t.Context(), "")
		if err != nil {
			t.Fatalf("Load of %s: %v", server.document, err)
		}
		for range 4 {
			r := g.Request()
			if diff := cmp.Diff(evaluate(t, d, r), evaluate(t, got, r)); diff != "" {
				request, _ := json.Marshal(r)
				t.Fatalf("results (-original +remote):\n%s\ndefinitions: %s\nsent: %s\nrequest: %s", diff, original, server.document, request)
			}
			n++
		}
	}
}

// needsMore reports whether definitions have stored cohorts or encrypted
// payloads, which stay on the server.
func needsMore(d *flags.Definitions) bool {
	for _, c := range d.Cohorts {
		if c.Stored {
			return true
		}
	}
	for i := range d.Flags {
		if d.Flags[i].HasEncryptedPayloads {
			return true
		}
	}
	return false
}

// TestRetryAfter checks that a Loader follows the pause of an error, neither
// shorter nor much longer, and then polls as before.
func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := definitions(t, "a")
		s := &scripted{load: func(string) (*flags.Definitions, string, error) { return d, "1", nil }}
		var e flags.Evaluator
		l := source.NewLoader(&e, s, source.LoaderConfig{Interval: time.Second})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- l.Run(ctx) }()
		time.Sleep(10 * time.Second)
		synctest.Wait()

		var asked atomic.Int64
		s.set(func(string) (*flags.Definitions, string, error) {
			asked.Store(time.Now().UnixNano())
			return nil, "", fmt.Errorf("wrapped: %w", &source.RetryError{After: 40 * time.Second, Err: errors.New("throttled")})
		})
		time.Sleep(time.Second)
		synctest.Wait()
		first := asked.Load()
		if first == 0 {
			t.Fatal("not asked within an interval")
		}
		time.Sleep(42 * time.Second)
		synctest.Wait()
		if pause := time.Duration(asked.Load() - first); pause < 40*time.Second || pause > 41*time.Second {
			t.Errorf("asked again after %v, want 40 s and at most an interval more", pause)
		}
		if err := l.Status().Err; err == nil || err.Error() != "wrapped: throttled" || !flagOn(&e, "a") {
			t.Errorf("Err = %v, flag on: %v", err, flagOn(&e, "a"))
		}
		// A Refresh does not wait for the new pause.
		s.set(func(string) (*flags.Definitions, string, error) { return nil, "", source.ErrNotModified })
		s.count()
		if err := l.Refresh(ctx); err != nil || s.count() != 1 {
			t.Errorf("Refresh = %v", err)
		}
		time.Sleep(41 * time.Second)
		s.count()
		time.Sleep(10 * time.Second)
		if n := s.count(); n < 9 || n > 12 {
			t.Errorf("%d loads in ten seconds after the pause, want about 10", n)
		}
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
	})
}
