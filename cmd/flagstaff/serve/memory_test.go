package serve

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/internal/fulltest"
)

// TestRuling69Memory attacks a server that has what a container of 256 MB gives it
// with many large and compressed bodies at once (OPERATIONS.md, Memory). It survives
// within its memory, says 503 or 413 to what does not fit, and works afterwards.
func TestRuling69Memory(t *testing.T) {
	fulltest.Only(t) // it uses all processors for seconds
	const container = 256 << 20
	t.Setenv("GOMEMLIMIT", strconv.Itoa(container/4*3)) // as limitMemory does
	v := startVictim(t, filepath.Join(t.TempDir(), "flagstaff.db"))
	peakOf := watchMemory(t, v.cmd.Process.Pid)

	events := func(n int, properties string) string {
		one := `{"event":"e","distinct_id":"u","properties":` + properties + `},`
		return `{"api_key":"phc_durable","batch":[` + strings.TrimSuffix(strings.Repeat(one, n), ",") + `]}`
	}
	many := strings.Repeat(`"a":1,`, 1<<20)
	attacks := []attack{
		{"/i/v0/e/", "", events(20, `{"x":"`+strings.Repeat("x", 950_000)+`"}`)},
		{"/i/v0/e/", "gzip", zip(events(45, `{"x":"`+strings.Repeat("x", 1_000_000)+`"}`))},
		{"/i/v0/e/", "gzip", zip(events(20_000, `{}`))},
		{"/i/v0/e/", "gzip", zip(events(1, `{`+many+`"b":2}`))},
		{"/i/v0/e/", "gzip", zip(strings.Repeat("[", 50<<20))},
		{"/i/v0/e/", "", events(900, `{"x":"`+strings.Repeat("x", 800)+`"}`)}, // less than a megabyte
		{"/i/v0/e/", "", strings.Repeat("x", 21<<20)},
		{"/flags?v=2", "", `{"api_key":"phc_durable","distinct_id":"u","person_properties":{` + many + `"b":2}}`},
		{"/flags?v=2", "gzip", zip(`{"api_key":"phc_durable","distinct_id":"u","person_properties":{` + many + many + many + `"b":2}}`)},
		{"/flags?v=2", "", `{"api_key":"phc_durable","distinct_id":"u","flag_keys":[` + strings.Repeat(`"a",`, 65_000) + `"b"]}`},
		{"/flags?v=2", "", `{"api_key":"phc_durable","distinct_id":"u","x":"` + strings.Repeat("x", 900_000) + `"}`},
		{"/api/users/verify_email/", "", `{"uuid":"` + strings.Repeat("x", 1<<20-100) + `"}`},
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 200}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	// send makes a number of clients send some of the attacks for a while.
	send := func(list []attack, d time.Duration) {
		ctx, cancel := context.WithTimeout(t.Context(), d)
		defer cancel()
		var (
			wg       sync.WaitGroup
			mu       sync.Mutex
			statuses = make(map[int]int)
		)
		for i := range 200 {
			wg.Go(func() {
				for n := i; ctx.Err() == nil; n++ {
					status, err := list[n%len(list)].send(ctx, client, v.url)
					switch {
					case ctx.Err() != nil:
						return
					case err != nil:
						t.Error(err)
						return
					}
					mu.Lock()
					statuses[status]++
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		t.Logf("%d attacks, %s with %.60q…: answers %v", len(list), list[0].path, list[0].body, statuses)
	}
	for i := range attacks {
		send(attacks[i:i+1], time.Second)
		t.Logf("%d MiB", peakOf()>>20)
	}
	// Connections that send a part of a body and wait.
	var idle []net.Conn
	for range 500 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(v.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		idle = append(idle, conn)
		fmt.Fprintf(conn, "POST /i/v0/e/ HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n%s", strings.Repeat("x", 12_000))
	}
	send(attacks, 8*time.Second)
	for _, conn := range idle {
		conn.Close()
	}
	peak := peakOf()
	t.Logf("peak %d MiB of %d", peak>>20, container>>20)
	if peak > container {
		t.Errorf("the process had %d MiB, want at most %d", peak>>20, container>>20)
	}
	for _, request := range []string{"/flags?v=2", "/i/v0/e/"} {
		body := `{"api_key":"phc_durable","event":"e","distinct_id":"u"}`
		resp, err := http.Post(v.url+request, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != 200 {
			t.Errorf("%s afterwards: %d", request, resp.StatusCode)
		}
	}
}

// An attack is a request that takes much memory.
type attack struct{ path, encoding, body string }

// send returns the status of the answer, which must be one that a server gives on
// purpose.
func (a *attack) send(ctx context.Context, client *http.Client, url string) (int, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+a.path, strings.NewReader(a.body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	if a.encoding != "" {
		r.Header.Set("Content-Encoding", a.encoding)
	}
	resp, err := client.Do(r)
	if err != nil {
		return 0, fmt.Errorf("%s with %.60q: %w", a.path, a.body, err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body) // the status is enough
	switch resp.StatusCode {
	case 200, 400, 413, 429:
		return resp.StatusCode, nil
	case 503:
		if resp.Header.Get("Retry-After") != "" {
			return resp.StatusCode, nil
		}
	}
	return resp.StatusCode, fmt.Errorf("%s with %.60q: %d with %v", a.path, a.body, resp.StatusCode, resp.Header)
}

// watchMemory returns a function that returns how many bytes of memory a process has
// had at most since then, without pages of files, which the system can take back.
func watchMemory(t *testing.T, pid int) (peak func() int64) {
	t.Helper()
	anonymous := regexp.MustCompile(`RssAnon:\s+(\d+) kB`)
	now := func() int64 {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if m := anonymous.FindSubmatch(status); err == nil && m != nil {
			if kB, err := strconv.ParseInt(string(m[1]), 10, 64); err == nil {
				return kB << 10
			}
		}
		return 0
	}
	if now() == 0 {
		t.Skip("the system does not tell how much memory a process has")
	}
	var most atomic.Int64
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			most.Store(max(most.Load(), now()))
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	}()
	t.Cleanup(func() {
		close(done)
		<-ended
	})
	return most.Load
}
