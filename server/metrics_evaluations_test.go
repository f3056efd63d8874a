package server_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/server"
)

var evaluationPattern = regexp.MustCompile(`(?m)^flagstaff_flag_evaluations_total\{flag="(.*)",project="(.*)",value="(.*)"\} (\S+)$`)

// evaluationsOf returns the evaluations that a server shows, as "project flag value".
func evaluationsOf(t *testing.T, s *server.Server) map[string]int {
	t.Helper()
	counts := make(map[string]int)
	for _, m := range evaluationPattern.FindAllStringSubmatch(scrape(t, s), -1) {
		n, err := strconv.ParseFloat(m[4], 64)
		if err != nil {
			t.Fatal(err)
		}
		counts[m[2]+" "+m[1]+" "+m[3]] = int(n)
	}
	return counts
}

const evaluatedFlags = `{"flags":[
	{"id":1,"key":"on","active":true,"filters":{"groups":[{}]}},
	{"id":2,"key":"colour","active":true,"filters":{"groups":[{}],"multivariate":{"variants":[{"key":"red","rollout_percentage":100}]}}},
	{"id":3,"key":"pro","active":true,"filters":{"groups":[{"properties":[{"key":"plan","type":"person","operator":"exact","value":"pro"}]}]}},
	{"id":4,"key":"broken","active":true,"filters":{"groups":[{"properties":[{"key":"a","type":"person","operator":"nonsense","value":1}]}]}},
	{"id":5,"key":"off","active":false,"filters":{"groups":[{}]}}]}`

func TestEvaluations(t *testing.T) {
	e := new(flags.Evaluator)
	e.Swap(compileText(t, evaluatedFlags))
	s := newServer(t, func(c *server.Config) {
		c.OFREP = true
		r := new(server.Registry)
		r.Set(apiKey, &server.Project{ID: 7, Flags: e})
		r.Set("empty", &server.Project{ID: 8})
		c.Projects = r
	})
	const person = `"distinct_id":"u","person_properties":{"plan":"pro"}}`
	for _, target := range []string{"/flags?v=2", "/flags?v=1", "/decide?v=2", "/flags?v=2&detailed_analysis=true"} {
		call{target: target, body: `{"api_key":"phc_demo",` + person}.ok(t, s)
	}
	call{body: `{"api_key":"phc_demo","distinct_id":"u","flag_keys":["pro"]}`}.ok(t, s)
	call{body: `{"api_key":"empty",` + person}.ok(t, s)
	for _, path := range []string{"", "on", "broken", "off", "unknown"} {
		ofrep(path, `{"context":{"targetingKey":"u"}}`).do(s)
	}
	want := map[string]int{
		"7 on true": 6, "7 colour red": 5, "7 pro true": 4, "7 pro false": 2, "7 broken (failed)": 6,
	}
	if diff := cmp.Diff(want, evaluationsOf(t, s)); diff != "" {
		t.Errorf("evaluations (-want +got)\n%s", diff)
	}
}

// TestUnknownFlags: a flag that a client names and that does not exist is counted, whatever
// route it is asked for by, and the Evaluator remembers its key.
func TestUnknownFlags(t *testing.T) {
	e := new(flags.Evaluator)
	e.Swap(compileText(t, evaluatedFlags))
	s := newServer(t, func(c *server.Config) {
		c.OFREP = true
		r := new(server.Registry)
		r.Set(apiKey, &server.Project{ID: 7, Flags: e})
		r.Set("empty", &server.Project{ID: 8})
		c.Projects = r
	})
	for _, body := range []string{
		`{"api_key":"phc_demo","distinct_id":"u"}`,
		`{"api_key":"phc_demo","distinct_id":"u","flag_keys":["on","off","broken"]}`,
		`{"api_key":"empty","distinct_id":"u","flag_keys":["onn"]}`, // nothing is known yet
	} {
		call{body: body}.ok(t, s)
	}
	if got := scrape(t, s); strings.Contains(got, "flagstaff_flags_unknown_total{") {
		t.Errorf("flags that exist are counted: %s", got)
	}
	for _, target := range []string{"/flags?v=2", "/flags?v=2&detailed_analysis=true", "/decide?v=3"} {
		call{target: target, body: `{"api_key":"phc_demo","distinct_id":"u","flag_keys":["onn","on","pr0"]}`}.ok(t, s)
	}
	ofrep("onn", `{"context":{"targetingKey":"u"}}`).do(s)
	ofrep("", `{"context":{"targetingKey":"u"}}`).do(s)
	if got, want := scrape(t, s), "\nflagstaff_flags_unknown_total{project=\"7\"} 7\n"; !strings.Contains(got, want) {
		t.Errorf("no %q in %s", want, got)
	}
	if diff := cmp.Diff(map[string]uint64{"onn": 4, "pr0": 3}, e.Unknown().Keys); diff != "" {
		t.Errorf("keys (-want +got)\n%s", diff)
	}
}

// TestEvaluationsAtOnce: no evaluation is lost while definitions change and others scrape.
func TestEvaluationsAtOnce(t *testing.T) {
	const goroutines, requests = 8, 50
	snapshots := []*flags.Snapshot{compileText(t, evaluatedFlags), compileText(t, strings.ReplaceAll(evaluatedFlags, `"red"`, `"blue"`))}
	e := new(flags.Evaluator)
	e.Swap(snapshots[0])
	s := newServer(t, func(c *server.Config) {
		r := new(server.Registry)
		r.Set(apiKey, &server.Project{ID: 7, Flags: e})
		c.Projects = r
	})
	var wg sync.WaitGroup
	for i := range goroutines {
		wg.Go(func() {
			for n := range requests {
				call{body: `{"api_key":"phc_demo","distinct_id":"u"}`}.do(s)
				switch n % 10 {
				case i:
					e.Swap(snapshots[n%2])
				case 9:
					call{method: "GET", target: "/metrics"}.do(s)
				}
			}
		})
	}
	wg.Wait()
	const all = goroutines * requests
	got := evaluationsOf(t, s)
	if n := got["7 on true"]; n != all {
		t.Errorf("flag on has %d evaluations, want %d", n, all)
	}
	if n := got["7 colour red"] + got["7 colour blue"]; n != all || got["7 colour blue"] == 0 {
		t.Errorf("flag colour has %d evaluations, %d of them blue, want %d and some", n, got["7 colour blue"], all)
	}
}

// TestEvaluationsAreBounded: neither flags nor projects without number make series without
// number, and what has no series is counted.
func TestEvaluationsAreBounded(t *testing.T) {
	const manyFlags, manyProjects = 300, 900
	var many strings.Builder
	for i := range manyFlags {
		fmt.Fprintf(&many, `,{"id":%d,"key":"flag-%d","active":true,"filters":{"groups":[{}]}}`, i+1, i)
	}
	large, small := new(flags.Evaluator), new(flags.Evaluator)
	large.Swap(compileText(t, `{"flags":[`+many.String()[1:]+`]}`))
	small.Swap(compileText(t, `{"flags":[{"id":1,"key":"on","active":true,"filters":{"groups":[{}]}}]}`))
	s := newServer(t, func(c *server.Config) {
		r := new(server.Registry)
		projects := map[string]*server.Project{"large": {ID: 1, Flags: large}}
		for i := range manyProjects {
			projects[fmt.Sprint("small-", i)] = &server.Project{ID: int64(i + 2), Flags: small}
		}
		r.Replace(projects)
		c.Projects = r
	})
	call{body: `{"api_key":"large","distinct_id":"u"}`}.ok(t, s)
	evaluationsOf(t, s) // who scrapes early must see the same series grow later
	for range 2 {
		for i := range manyProjects {
			call{body: fmt.Sprintf(`{"api_key":"small-%d","distinct_id":"u"}`, i)}.ok(t, s)
		}
	}
	call{body: `{"api_key":"large","distinct_id":"u"}`}.ok(t, s)
	got := evaluationsOf(t, s)
	of := func(project string) (series, sum int) {
		for key, n := range got {
			if strings.HasPrefix(key, project+" ") {
				series++
				sum += n
			}
		}
		return series, sum
	}
	if series, sum := of("1"); series != 201 || sum != 2*manyFlags || got["1 (other) (other)"] != 200 {
		t.Errorf("a project with %d flags has %d series with %d evaluations, %d of them without a series of their own", manyFlags, series, sum, got["1 (other) (other)"])
	}
	if len(got) > 1001 || got["(other) (other) (other)"] == 0 {
		t.Errorf("there are %d series, and %d evaluations of projects without one", len(got), got["(other) (other) (other)"])
	}
	sum := 0
	for _, n := range got {
		sum += n
	}
	if want := 2*manyFlags + 2*manyProjects; sum != want {
		t.Errorf("the series count %d evaluations, want %d", sum, want)
	}
}
