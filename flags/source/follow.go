package source

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"mime"
	"net/http"
	"net/url"
	"sync"
	"time"
)

const (
	// streamHeader is where a server says, with definitions, at which address it tells of
	// changes (wire.md §7.4).
	streamHeader = "Flagstaff-Event-Stream"

	// streamSilence is after how long without a byte a stream counts as broken: after three
	// heartbeats of the server.
	streamSilence = 75 * time.Second

	// streamSpread is the time over which programs connect again that have lost their
	// streams at the same moment. It doubles with each stream that does not last for
	// streamHealthy, up to maxStreamPause.
	streamSpread   = 5 * time.Second
	streamHealthy  = 30 * time.Second
	maxStreamPause = 2 * time.Minute

	maxStreamLine = 4 << 10 // bytes
)

// A follower follows the event stream of a server for a Loader, so that the Loader need
// not wait for its next poll. All that it does is to say that there is news: the Loader
// polls as it would without a stream.
type follower struct {
	news chan struct{} // holds one token if there is news

	mu      sync.Mutex
	remote  Remote
	address *url.URL // nil: the server offers no stream
	etag    string   // of the news, until definitions have come
	open    bool
}

func newFollower() *follower { return &follower{news: make(chan struct{}, 1)} }

// followerKey is the key of a context's follower. A Remote can be anywhere within the
// Source of a Loader, and has no place for what changes.
type followerKey struct{}

func (f *follower) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, followerKey{}, f)
}

// followerOf returns the follower of the Loader that loads, or nil. The methods that
// Remote calls accept nil.
func followerOf(ctx context.Context) *follower {
	f, _ := ctx.Value(followerKey{}).(*follower)
	return f
}

// wanted returns the entity tag of the news, for the server: it may be another one than
// the one that has the news.
func (f *follower) wanted() string {
	if f == nil {
		return ""
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.etag
}

// loaded notes an answer with definitions, and where its server tells of changes. Only an
// address of the same server counts.
func (f *follower) loaded(r Remote, response *http.Response, wanted string) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.etag == wanted {
		f.etag = ""
	}
	f.remote, f.address = r, nil
	reference := response.Header.Get(streamHeader)
	if reference == "" || r.Poll {
		return
	}
	from := response.Request.URL
	if u, err := from.Parse(reference); err == nil && u.Scheme == from.Scheme && u.Host == from.Host && u.User == nil {
		f.address = u
	}
}

func (f *follower) where() (Remote, *url.URL) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.remote, f.address
}

// offered reports whether there is a stream to follow.
func (f *follower) offered() bool {
	_, address := f.where()
	return address != nil
}

func (f *follower) isOpen() bool {
	if f == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open
}

func (f *follower) setOpen(open bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open = open
}

// tell says that there is news.
func (f *follower) tell(etag string) {
	f.mu.Lock()
	f.etag = etag
	f.mu.Unlock()
	select {
	case f.news <- struct{}{}:
	default:
	}
}

// run follows the stream until ctx ends. It never gives up, because the server may come
// back; a poll can find another address, or that there is none any more.
func (f *follower) run(ctx context.Context) {
	failures := 0
	for ctx.Err() == nil {
		begin := time.Now()
		err := f.follow(ctx)
		if time.Since(begin) >= streamHealthy {
			failures = 0
		}
		pause := streamPause(failures)
		failures++
		if retry, ok := errors.AsType[*RetryError](err); ok {
			pause += retry.After
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// streamPause returns the pause before a program connects again, after some failures in a
// row.
func streamPause(failures int) time.Duration {
	return rand.N(min(streamSpread<<min(failures, 10), maxStreamPause))
}

// follow follows the stream until it ends, and returns why.
func (f *follower) follow(ctx context.Context) (err error) {
	defer func() {
		if r := recover(); r != nil { // of the Client's Transport
			err = fmt.Errorf("source: following the server panicked: %v", r)
		}
	}()
	remote, address := f.where()
	if address == nil {
		return nil
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	silence := time.AfterFunc(streamSilence, stop)
	defer silence.Stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return err
	}
	request.Header.Set("User-Agent", userAgent)
	request.Header.Set("Accept", eventStream)
	client := remote.client()
	client.Timeout = 0 // a stream has no end
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	mediaType, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if response.StatusCode != http.StatusOK || mediaType != eventStream {
		err := fmt.Errorf("source: no event stream, but status %d", response.StatusCode)
		if after := retryAfter(response.Header, time.Now()); after > 0 {
			return &RetryError{after, err}
		}
		return err
	}
	f.setOpen(true)
	defer f.setOpen(false)
	lines := bufio.NewReaderSize(response.Body, maxStreamLine)
	var data []byte
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return err
		}
		silence.Reset(streamSilence)
		line = bytes.TrimRight(line, "\r\n")
		field, value, _ := bytes.Cut(line, []byte(":"))
		switch {
		case len(line) == 0:
			f.hear(data)
			data = data[:0]
		case string(field) == "data" && len(data)+len(value) <= maxStreamLine:
			data = append(append(data, bytes.TrimPrefix(value, []byte(" "))...), '\n')
		}
	}
}

const eventStream = "text/event-stream"

// hear reads the data of an event. Events of other types are for others.
func (f *follower) hear(data []byte) {
	var event struct {
		Type string `json:"type"`
		ETag string `json:"etag"`
	}
	if len(data) > 0 && json.Unmarshal(data, &event) == nil && event.Type == "refetchEvaluation" {
		f.tell(event.ETag)
	}
}
