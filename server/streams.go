package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/flagstaff-go/flagstaff/internal/filelimit"
	"github.com/flagstaff-go/flagstaff/internal/memlimit"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// streamPath is below which the event streams of projects are (wire.md §7.4).
const streamPath = "/ofrep/v1/streams/"

var streamRoute = route{
	path: streamPath + "{stream}", method: http.MethodGet, allow: allowConfig, public: true,
	handle: (*Server).openStream, failure: ofrepFailure,
}

var (
	errNoStream = errors.New("server: no such event stream")
	errStreams  = errors.New("server: too many event streams")
)

const (
	// maxStreams is how many event streams a server has, and maxProjectStreams how many
	// of these a project has unless Config.MaxStreams says otherwise. An address has
	// maxAddressStreams of a project, so that one client cannot take them all.
	maxStreams        = 65_536
	maxProjectStreams = 10_000
	maxAddressStreams = 1_000

	// memoryPerStream is a part of the memory limit for each stream. A stream takes about a
	// tenth of it (BenchmarkIdleStreams). The rest is for requests, which need connections,
	// too.
	memoryPerStream = 256 << 10

	// heartbeat is how often a stream says that it is there. Proxies close connections
	// on which nothing moves for a minute.
	heartbeat = 25 * time.Second

	// maxSpread is the time over which the clients of a change are told, perStream for
	// each stream, so that their requests do not come all at once.
	maxSpread = 500 * time.Millisecond
	perStream = 50 * time.Microsecond

	// Clients connect again after a time between these.
	minRetry = time.Second
	maxRetry = 5 * time.Second

	// maxLag is how long a request waits for definitions of which another server has told
	// its client.
	maxLag = time.Second
)

// streams are the event streams that are open.
type streams struct {
	most, mostOfProject int
	closing             chan struct{} // closed when all are to end

	mu       sync.Mutex
	closed   bool
	open     int
	projects map[int64]int
	clients  map[streamClient]int
}

// A streamClient is an address with streams of a project.
type streamClient struct {
	project int64
	addr    netip.Addr
}

func newStreams(mostOfProject int) *streams {
	return &streams{
		most: int(min(maxStreams, memlimit.Process()/memoryPerStream, filelimit.Process()/2)), mostOfProject: mostOfProject,
		closing:  make(chan struct{}),
		projects: make(map[int64]int), clients: make(map[streamClient]int),
	}
}

// enter counts a stream, or returns an error if there are too many.
func (s *streams) enter(c streamClient) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.open >= s.most:
		return errBusy
	case s.projects[c.project] >= s.mostOfProject, c.addr.IsValid() && s.clients[c] >= maxAddressStreams:
		return fmt.Errorf("%w: %w", errStreams, &rateLimitError{retryAfter: ofrepQuotaPause})
	}
	s.open++
	s.projects[c.project]++
	s.clients[c]++
	return nil
}

func (s *streams) leave(c streamClient) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	if s.projects[c.project]--; s.projects[c.project] == 0 {
		delete(s.projects, c.project)
	}
	if s.clients[c]--; s.clients[c] == 0 {
		delete(s.clients, c)
	}
}

func (s *streams) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}

// CloseStreams ends the event streams, which [http.Server.Shutdown] would otherwise wait
// for; a program gives it to [http.Server.RegisterOnShutdown], or calls it before. Clients
// connect again after one to five seconds, to another server if there is one. Streams that
// are opened later end at once.
func (s *Server) CloseStreams() {
	if s == nil || s.streams == nil {
		return
	}
	s.streams.mu.Lock()
	defer s.streams.mu.Unlock()
	if !s.streams.closed {
		s.streams.closed = true
		close(s.streams.closing)
	}
}

// addressed are Projects that know the addresses of event streams. A [Registry] does.
type addressed interface {
	keyOfStream(address string) (apiKey string, ok bool)
}

// addressed returns the Projects if the server has event streams, otherwise nil.
func (c Config) addressed() addressed {
	if p, ok := c.Projects.(addressed); ok && c.OFREP && c.MaxStreams >= 0 {
		return p
	}
	return nil
}

// appendStreamAddress appends the last segment of the path of a project's event stream. It
// is the same on all servers and ends with the API key, and the key cannot be computed
// from it.
func appendStreamAddress(dst []byte, apiKey string) []byte {
	var space [128]byte
	sum := sha256.Sum256(append(append(space[:0], "event stream\x00"...), apiKey...))
	return base64.RawURLEncoding.AppendEncode(dst, sum[:24])
}

// appendStream appends the address of the event stream of a project, relative to the root
// of the server. etag identifies the definitions that the client gets now: it is told of what
// has changed since then, even before it opens the stream.
func appendStream(dst []byte, apiKey, etag string) []byte {
	dst = appendStreamAddress(append(dst, streamPath[1:]...), apiKey)
	if etag != "" {
		dst = append(append(dst, "?from="...), etag...)
	}
	return dst
}

// relativeStream returns that address relative to the path of a request, so that it does not
// matter below which prefix the client sees the server.
func relativeStream(r *http.Request, apiKey, etag string) string {
	up := strings.Repeat("../", max(0, strings.Count(r.URL.Path, "/")-1))
	return string(appendStream([]byte(up), apiKey, etag))
}

// appendEventStreams appends the member of that name of answers. The protocol demands a path
// from the root of the origin.
func (s *Server) appendEventStreams(dst []byte, r *http.Request, apiKey, etag string) []byte {
	dst = append(dst, `[{"type":"sse","endpoint":{"requestUri":`...)
	dst = text.AppendQuoted(dst, s.prefix(r))
	dst = appendStream(append(dst[:len(dst)-1], '/'), apiKey, etag)
	return append(dst, `"}}]`...)
}

// prefix returns the path below which clients find the routes of the protocol.
func (s *Server) prefix(r *http.Request) string {
	if s.config.Management.AppURL != "" {
		return s.appPath
	}
	// r.URL lacks the prefix below which the server may be mounted.
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if i := strings.LastIndex(path, "/ofrep/v1/"); i >= 0 && strings.HasPrefix(path, "/") {
		return path[:i]
	}
	return ""
}

// A stream is an event stream of a client.
type stream struct {
	s       *Server
	address string
	client  streamClient
	have    string // the entity tag of the definitions that the client knows
}

var (
	typeEventStream = []string{"text/event-stream"}
	noBuffering     = []string{"no"} // for nginx
)

// openStream prepares an event stream. It is written when the exchange is over, whose
// memory it does not need (see serve).
func (s *Server) openStream(x *exchange) error {
	if err := s.takeIP(x); err != nil {
		return err
	}
	st := &stream{s: s, address: x.r.PathValue("stream")}
	p, err := st.project(x.r.Context())
	switch {
	case errors.Is(err, ErrUnknownProject):
		return errNoStream
	case err != nil:
		return fmt.Errorf("%w: find project: %w", errBackend, err)
	}
	h := x.w.Header()
	if x.r.Method == http.MethodHead {
		return x.respond(http.StatusOK, typeEventStream, nil)
	}
	st.have = opaque(x.r.Header.Get("Last-Event-Id"))
	st.have = cmp.Or(st.have, lastOf(x.r.URL.RawQuery, "from"))
	if st.have == "" { // the client wants to hear of later changes
		st.have = p.snapshot().ETag()
	}
	st.client = streamClient{p.ID, network(s.ClientIP(x.r))}
	if err := s.streams.enter(st.client); err != nil {
		return err
	}
	h["Content-Type"] = typeEventStream
	h["Cache-Control"] = noStore
	h["X-Accel-Buffering"] = noBuffering
	x.status, x.opened = http.StatusOK, st
	return nil
}

// project returns the project of the stream as it is now.
func (st *stream) project(ctx context.Context) (*Project, error) {
	apiKey, ok := st.s.addressed.keyOfStream(st.address)
	if !ok {
		return nil, ErrUnknownProject
	}
	return st.s.config.Projects.Project(ctx, apiKey)
}

// write writes the stream until its client leaves, its address ends, or the server closes
// its streams. It runs on the goroutine of the request, and starts none.
func (st *stream) write(w http.ResponseWriter, r *http.Request) {
	s, ctx := st.s, r.Context()
	defer s.streams.leave(st.client)
	c := http.NewResponseController(w)
	// The deadlines of the http.Server are for requests that end. Where there are none, none
	// need be changed.
	_ = c.SetReadDeadline(time.Time{})
	defer func() { _ = c.SetWriteDeadline(time.Now().Add(progressTime)) }() // for the end of the answer
	timer := time.NewTimer(heartbeat)
	defer timer.Stop()
	// wait reports whether the stream goes on.
	wait := func(changed <-chan struct{}) (told, more bool) {
		select {
		case <-changed:
			return true, true
		case <-timer.C:
			return false, true
		case <-ctx.Done():
		case <-s.streams.closing:
		}
		return false, false
	}
	var space [256]byte
	for b := st.appendHead(space[:0]); ; {
		p, err := st.project(ctx)
		if err != nil {
			return // the client is told why when it connects again
		}
		snapshot, since, changed := p.Flags.Watch()
		b = st.appendEvent(b, snapshot.ETag(), since)
		if len(b) > 0 {
			_ = c.SetWriteDeadline(time.Now().Add(progressTime))
			if _, err := w.Write(b); err != nil || c.Flush() != nil {
				return
			}
		}
		b = space[:0]
		timer.Reset(heartbeat)
		told, more := wait(changed)
		if told {
			timer.Reset(rand.N(min(perStream*time.Duration(s.streams.count()), maxSpread)))
			_, more = wait(nil)
		} else {
			b = append(b, ":\n\n"...)
		}
		if !more {
			return
		}
	}
}

// appendHead appends what a stream begins with: after which time its client shall connect
// again, and the id that it shall then name.
func (st *stream) appendHead(b []byte) []byte {
	retry := minRetry + rand.N(maxRetry-minRetry)
	b = append(strconv.AppendInt(append(b, "retry: "...), retry.Milliseconds(), 10), '\n')
	if st.have != "" && strings.Trim(st.have, "0123456789abcdef") == "" { // clients choose what they name
		b = append(append(append(b, "id: "...), st.have...), '\n')
	}
	return append(b, '\n')
}

// appendEvent appends an event if the client does not know of the definitions with an
// entity tag.
func (st *stream) appendEvent(b []byte, etag string, since time.Time) []byte {
	if etag == "" || etag == st.have {
		return b
	}
	st.have = etag
	b = append(append(append(b, "id: "...), etag...), "\nevent: message\n"...)
	b = append(append(append(b, `data: {"type":"refetchEvaluation","etag":"`...), etag...), `","lastModified":`...)
	return append(strconv.AppendInt(b, since.Unix(), 10), "}\n\n"...)
}

// catchUp returns when a project has the definitions of which a stream has told the client,
// as the client says, or after maxLag. The stream may be another server's, which has read a
// change earlier, and the client will not ask again.
func (s *Server) catchUp(x *exchange, p *Project) {
	if s.addressed == nil || x.r.URL.RawQuery == "" {
		return
	}
	want := opaque(lastOf(x.r.URL.RawQuery, "flagConfigEtag"))
	if want == "" {
		return
	}
	snapshot, _, changed := p.Flags.Watch()
	if snapshot.ETag() == want {
		return
	}
	late := time.After(maxLag)
	for snapshot.ETag() != want {
		select {
		case <-changed:
			snapshot, _, changed = p.Flags.Watch()
		case <-late:
			return
		case <-x.r.Context().Done():
			return
		}
	}
}

// pathOf returns the path of an address that checkAppURL accepts.
func pathOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.EscapedPath()
}
