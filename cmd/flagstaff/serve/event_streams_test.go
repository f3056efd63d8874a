package serve

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/source"
)

// TestEventStreams: a change through the API reaches a client of the event stream, and a
// Loader that would otherwise look an hour later; and streams do not hold up the end of the
// server (wire.md §7.4).
func TestEventStreams(t *testing.T) {
	url, _, stop := start(t, nil, "-addr", "127.0.0.1:0", "-demo", "-drain", "0s", "-shutdown-timeout", "1m")
	answer := post(t, url+"/ofrep/v1/evaluate/flags", `{"context":{"targetingKey":"u"}}`, "X-API-Key", "phc_demo")
	streams, _ := answer["eventStreams"].([]any)
	if len(streams) != 1 {
		t.Fatalf("event streams %v, want one", answer["eventStreams"])
	}
	path := streams[0].(map[string]any)["endpoint"].(map[string]any)["requestUri"].(string)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	told := make(chan string, 10)
	ended := make(chan error, 1)
	go func() {
		lines := bufio.NewReader(stream.Body)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				ended <- err
				return
			}
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				told <- data
			}
		}
	}()

	var e flags.Evaluator
	l := source.NewLoader(&e, source.Remote{URL: url, SecretKey: "phs_demo"}, source.LoaderConfig{Interval: time.Hour})
	await := func(what string, c <-chan struct{}) {
		t.Helper()
		select {
		case <-c:
		case <-time.After(patience):
			t.Fatalf("%s does not come within %v", what, patience)
		}
	}
	_, _, loaded := e.Watch()
	go func() { _ = l.Run(t.Context()) }() // nil
	await("the first load", loaded)
	if !e.Bool("new-dashboard", &flags.Request{DistinctID: "u", PersonProperties: map[string]any{"plan": "pro"}}, false) {
		t.Fatal("the flag is off before the change")
	}

	_, _, changed := e.Watch()
	begin := time.Now()
	post(t, url+"/api/projects/@current/feature_flags/new-dashboard/disable/", `{}`, "Authorization", "Bearer phx_demo")
	select {
	case data := <-told:
		t.Logf("told after %v", time.Since(begin))
		if !strings.HasPrefix(data, `{"type":"refetchEvaluation","etag":"`) {
			t.Errorf("told %s", data)
		}
	case <-time.After(patience):
		t.Fatalf("nothing is told within %v", patience)
	}
	await("the change", changed)
	t.Logf("loaded after %v", time.Since(begin))
	if e.Bool("new-dashboard", &flags.Request{DistinctID: "u", PersonProperties: map[string]any{"plan": "pro"}}, true) {
		t.Error("the flag is on after it was disabled")
	}

	begin = time.Now()
	if code := stop(); code != 0 {
		t.Errorf("the server ends with %d", code)
	}
	if err := <-ended; err != io.EOF {
		t.Errorf("the stream ends with %v", err)
	}
	if took := time.Since(begin); took > patience {
		t.Errorf("the server ends after %v", took)
	}
	_ = l.Close() // nil
}
