package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff"
	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/server"
)

// TestRuleSetsOfAClient: a program of ours that follows a server and asks it has the typed values of
// rule sets, whether it evaluates them or the server does, and its exposures arrive at the server.
// A flag in a language that only the server knows is asked for, and the others go on.
func TestRuleSetsOfAClient(t *testing.T) {
	stored := func(key, kind, value string) string {
		return fmt.Sprintf(`{"id":%d,"key":%q,"active":true,"filters":{"version":2,"return_type":%q,"default_value":null,"rules":[{"id":"00000000-0000-4000-8000-000000000001","rule_type":"targeted_release","targeting":{"properties":[{"key":"stored","type":"person","value":"yes"}]},"value":%s}]}}`, 40+len(key), key, kind, value)
	}
	document := strings.Replace(ruleDocument, `{"flags":[`, `{"flags":[`+strings.Join([]string{
		stored("stored-text", "string", `"blue"`), stored("stored-number", "number", `7`), stored("stored-object", "object", `{"a":[1]}`), stored("stored-on", "boolean", `true`), stored("stored-newer!", "number", `8`),
	}, ",")+`,`, 1)
	sink := &scriptedSink{}
	collector, err := capture.NewCollector(capture.CollectorConfig{Sink: sink})
	if err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() { _ = collector.Run(running) })
	store := &world{stored: map[string]map[string]any{"ada": {"stored": "yes"}}}
	a := newRules(t, document, func(c *server.Config) { c.Store, c.Capture.Collector = store, collector })
	// The definitions say that one flag is in a newer language, which the server knows.
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != definitionsPath {
			a.ServeHTTP(w, r)
			return
		}
		inner := httptest.NewRecorder()
		r.Header.Del("If-None-Match")
		a.ServeHTTP(inner, r)
		text := inner.Body.String()
		if i := strings.Index(text, `"key":"stored-newer!"`); i >= 0 {
			text = text[:i] + strings.Replace(text[i:], `"version":2`, `"version":7`, 1)
		}
		_, _ = io.WriteString(w, text)
	}))
	defer web.Close()
	for _, asks := range []bool{true, false} {
		sink.mu.Lock()
		sink.events = nil
		sink.mu.Unlock()
		client, err := flagstaff.Open(t.Context(), flagstaff.Config{
			URL: web.URL, ProjectKey: "phc_acme", SecretKey: "phs_phc_acme", RemoteEvaluation: asks, Log: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		p := client.ForRemote(t.Context(), &flags.Request{DistinctID: "ada", PersonProperties: map[string]any{"plan": "pro"}})
		none := json.RawMessage("none")
		got := map[string]any{
			"release": p.String("release", "x"), "rollout": p.Float("rollout", -1), "rollout as a text": p.String("rollout", "x"), "rollout as an integer": p.Int("rollout", -1), "own-split": string(p.JSON("own-split", none)), "split": string(p.JSON("split", none)),
			"miss": p.Int("miss", -1), "miss-of-own-split": p.Bool("miss-of-own-split", true), "none-null": string(p.JSON("none-null", none)), "error": p.Bool("error", true), "false": p.Bool("false", true), "group": p.Bool("group", true),
			"inactive": p.Bool("inactive", true), "older-variant": p.String("older-variant", ""),
			"stored-text": p.String("stored-text", "x"), "stored-number": p.Int("stored-number", -1), "stored-object": string(p.JSON("stored-object", none)), "stored-on": p.Bool("stored-on", false), "stored-newer!": p.Float("stored-newer!", -1),
		}
		want := map[string]any{
			"release": "lab", "rollout": 15.0, "rollout as a text": "x", "rollout as an integer": int64(15), "own-split": `{"n":[1]}`, "split": `{}`,
			"miss": int64(0), "miss-of-own-split": true, "none-null": "none", "error": true, "false": false, "group": true, "inactive": true, "older-variant": "a",
			"stored-text": "blue", "stored-number": int64(7), "stored-object": `{"a":[1]}`, "stored-on": true, "stored-newer!": 8.0,
		}
		if !asks {
			maps.Copy(want, map[string]any{"stored-text": "x", "stored-number": int64(-1), "stored-object": "none", "stored-on": false, "stored-newer!": -1.0})
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("asks %v (-want +got)\n%s", asks, diff)
		}
		newer, err := p.Result("stored-newer!")
		if err != nil || newer.Remote != asks || newer.Failed == asks {
			t.Errorf("asks %v: %+v, %v", asks, newer, err)
		}
		if err := client.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		sink.mu.Lock()
		var exposed []string
		for _, e := range sink.events {
			if e.Name == "$experiment_exposure" {
				exposed = append(exposed, e.Properties)
			}
			withoutSeeds(t, e.Name, decoded(t, e.Properties))
			p := decoded(t, e.Properties).(map[string]any)
			remote := asks && strings.HasPrefix(p["$feature_flag"].(string), "stored")
			if p["locally_evaluated"] == remote || remote && p["$feature_flag"] == "stored-number" && p["$feature_flag_response"] != 7.0 {
				t.Errorf("asks %v: %v", asks, p)
			}
		}
		calls := slices.DeleteFunc(slices.Clone(sink.events), func(e seen) bool { return e.Name != "$feature_flag_called" })
		sink.mu.Unlock()
		if len(exposed) != 1 || decoded(t, exposed[0]).(map[string]any)["$feature_flag"] != "split" || len(calls) < 14 {
			t.Errorf("asks %v: %d calls, exposures to experiments %v", asks, len(calls), exposed)
		}
	}
	stop()
	work.Wait()
}

// TestEvaluationsOfRuleSets: the metrics count values with their types.
func TestEvaluationsOfRuleSets(t *testing.T) {
	a := newRules(t, ruleDocument, nil)
	for _, target := range []string{"/flags?v=3", "/flags?v=2", "/decide?v=1"} {
		answerTo(t, a, target, rulePerson)
	}
	ofrep("rollout", `{"context":{"targetingKey":"ada"}}`, "Authorization", "Bearer phc_acme").do(a)
	got := evaluationsOf(t, a.Server)
	for name, want := range map[string]int{
		"1 release lab": 3, "1 rollout 1.5e1": 4, `1 own-split {\"n\":[1]}`: 3, "1 split {}": 3, "1 miss 0": 3, "1 miss-of-own-split null": 3, "1 miss-of-split true": 3, "1 false false": 3, "1 error (failed)": 3, "1 older-variant a": 3,
	} {
		if got[name] != want {
			t.Errorf("%s: %d, want %d; all: %v", name, got[name], want, got)
		}
	}
}
