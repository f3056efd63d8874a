package serve

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/source"
)

// listen opens the event stream of a project. told gets the data of events, ended why the
// stream ends.
func listen(t *testing.T, url, key string) (told <-chan string, ended <-chan error) {
	t.Helper()
	answer := post(t, url+"/ofrep/v1/evaluate/flags", `{"context":{"targetingKey":"u"}}`, "X-API-Key", key)
	streams, _ := answer["eventStreams"].([]any)
	if len(streams) != 1 {
		t.Fatalf("event streams %v, want one", answer["eventStreams"])
	}
	path := streams[0].(map[string]any)["endpoint"].(map[string]any)["requestUri"].(string)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if w.StatusCode != http.StatusOK {
		t.Fatalf("GET %s = %d", path, w.StatusCode)
	}
	data, end := make(chan string, 100), make(chan error, 1)
	go func() {
		defer w.Body.Close()
		lines := bufio.NewReader(w.Body)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				end <- err
				return
			}
			if text, ok := strings.CutPrefix(line, "data: "); ok {
				data <- text
			}
		}
	}()
	return data, end
}

// changeStream: clients of a server are told of changes through another one. Whichever they
// then ask has the change.
func (w *watcher) changeStream(t *testing.T) {
	t.Helper()
	token := w.account.project.APIToken
	told, _ := listen(t, w.reader.url, token)
	key := newName()
	w.call(t, "POST /feature_flags/", members("key", key, "filters", where()))
	changed := time.Now()
	var event struct{ ETag string }
	select {
	case data := <-told:
		w.took = append(w.took, time.Since(changed))
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			t.Fatal(err)
		}
	case <-time.After(patience):
		t.Fatalf("nothing is told within %v", patience)
	}
	for _, s := range []*site{w.writer, w.reader} {
		answer := post(t, s.url+"/ofrep/v1/evaluate/flags?flagConfigEtag="+event.ETag, `{"context":{"targetingKey":"u"}}`, "X-API-Key", token)
		if !strings.Contains(fmt.Sprint(answer["flags"]), key) {
			t.Errorf("%s does not have the flag of which clients were told", s.url)
		}
	}
}

// TestEventStreams: a change through the API reaches a client of the event stream, and a
// Loader that would otherwise look an hour later; and streams do not hold up the end of the
// server (wire.md §7.4).
func TestEventStreams(t *testing.T) {
	url, _, stop := start(t, nil, "-addr", "127.0.0.1:0", "-demo", "-drain", "0s", "-shutdown-timeout", "1m")
	told, ended := listen(t, url, "phc_demo")

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
	if !e.Bool("dashboard-tour", &flags.Request{DistinctID: "u", PersonProperties: map[string]any{"plan": "pro"}}, false) {
		t.Fatal("the flag is off before the change")
	}

	_, _, changed := e.Watch()
	begin := time.Now()
	post(t, url+"/api/projects/@current/feature_flags/dashboard-tour/disable/", `{}`, "Authorization", "Bearer phx_demo")
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
	if e.Bool("dashboard-tour", &flags.Request{DistinctID: "u", PersonProperties: map[string]any{"plan": "pro"}}, true) {
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
