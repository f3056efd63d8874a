package serve

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
)

// storeRows are the table "Store level". The program uses the real clock; a test
// learns from it when an event was received.
var storeRows = []row{
	{"T01", "the clock of the client is corrected", func(t *testing.T, c *client) {
		now := time.Now()
		stamp, sent := now.Add(-5*time.Minute-10*time.Second), now.Add(-5*time.Minute)
		e := c.sent(t, sent, stamp, "")
		checkTime(t, e, stamp.Add(e.Received.Sub(sent)))
	}},
	{"T02", "$ignore_sent_at", func(t *testing.T, c *client) {
		now := time.Now()
		stamp, sent := now.Add(-5*time.Minute-10*time.Second), now.Add(-5*time.Minute)
		checkTime(t, c.sent(t, sent, stamp, `"properties":{"$ignore_sent_at":true}`), stamp)
	}},
	{"T03", "no timestamp", func(t *testing.T, c *client) {
		before := time.Now().Truncate(time.Microsecond)
		e := c.sent(t, time.Now().Add(-3*time.Hour), time.Time{}, "")
		checkTime(t, e, e.Received)
		if e.Received.Before(before) || e.Received.After(time.Now()) {
			t.Errorf("received at %v, sent at %v", e.Received, before)
		}
	}},
	{"T04", "an offset", func(t *testing.T, c *client) {
		e := c.sent(t, time.Now().Add(-3*time.Hour), time.Now().Add(-time.Hour), `"offset":5000`)
		checkTime(t, e, e.Received.Add(-5*time.Second))
	}},
	{"T05", "the time of sending in the query", func(t *testing.T, c *client) {
		sent := time.Now().Add(-2 * time.Minute).Truncate(time.Millisecond)
		stamp := sent.Add(-time.Minute)
		e := c.query(t, sent.UnixMilli(), stamp)
		checkTime(t, e, stamp.Add(e.Received.Sub(sent)))
	}},
	{"T06", "a time of sending that cannot be right", func(t *testing.T, c *client) {
		stamp := time.Now().Add(-time.Minute)
		checkTime(t, c.query(t, 1000, stamp), stamp)
	}},
	{"T07", "a timestamp in the future", func(t *testing.T, c *client) {
		c.event(t, "e", "a", stamped(time.Now().Add(48*time.Hour)))
		e := c.one(t)
		checkTime(t, e, e.Received)
	}},
	{"T08", "a timestamp without a zone", timestamp("2026-01-02T03:04:05.678901", "2026-01-02T03:04:05.678901Z")},
	{"T09", "a timestamp with a short zone", timestamp("2026-01-02T03:04:05+03", "2026-01-02T00:04:05Z")},
	{"T10", "a year with five digits", timestamp("12000-01-02T03:04:05Z", "1970-01-01T00:00:00Z")},
	{"T11", "UUIDs of events without", func(t *testing.T, c *client) {
		for i, stamp := range []time.Time{time.Now().Add(-time.Hour), time.Date(2021, 2, 3, 4, 5, 6, 7e6, time.UTC)} {
			id := fmt.Sprint(i)
			c.event(t, "e", id, stamped(stamp))
			e := c.of(t, id)[0]
			var ms int64
			for _, b := range e.UUID[:6] {
				ms = ms<<8 | int64(b)
			}
			if e.UUID.Version() != 7 || e.UUID.Variant() != uuid.RFC4122 || ms != stamp.UnixMilli() {
				t.Errorf("UUID %v, version %d, time %d; want version 7 and %d", e.UUID, e.UUID.Version(), ms, stamp.UnixMilli())
			}
		}
	}},
	{"T12", "a batch twice", func(t *testing.T, c *client) {
		const batch = `{"api_key":"KEY","batch":[{"event":"e","distinct_id":"@a","uuid":"<1>","timestamp":"2026-01-02T03:04:05Z",` + setPro + `},` +
			`{"event":"e","distinct_id":"@a","uuid":"<2>","timestamp":"2026-01-02T03:04:06Z"}]}`
		c.capture(t, batch)
		c.capture(t, batch)
		c.event(t, "e", "a", setFree)
		c.capture(t, batch) // and does not undo later changes
		if n := len(c.stored(t, 1)); n != 3 {
			t.Errorf("%d events are stored, want 3", n)
		}
		c.want(t, "flag-person", false, "a")
		// Twice in one batch is once.
		const twice = `{"event":"e","distinct_id":"@b","uuid":"<3>","timestamp":"2026-01-02T03:04:05Z"}`
		c.capture(t, `{"api_key":"KEY","batch":[`+twice+`,`+twice+`]}`)
		if n := len(c.of(t, "b")); n != 1 {
			t.Errorf("%d events are stored, want 1", n)
		}
	}},
	{"T13", "a UUID of two persons' events", func(t *testing.T, c *client) {
		c.event(t, "e", "a", `"uuid":"<1>"`)
		c.event(t, "e", "b", `"uuid":"<1>"`)
		if n, m := len(c.of(t, "a")), len(c.of(t, "b")); n != 1 || m != 1 {
			t.Errorf("%d and %d events are stored, want one each", n, m)
		}
	}},
	{"T14", "a form in which plus signs became blanks", func(t *testing.T, c *client) {
		const odd = `{"api_key":"KEY","event":"e","distinct_id":"@a","properties":{"p":"~~~>>>???"}}`
		encoded := base64Of(c.text(odd))
		if !strings.Contains(encoded, "+") {
			t.Fatalf("%s proves nothing", encoded)
		}
		for _, plus := range []string{" ", "+"} {
			body := "data=" + strings.NewReplacer("+", plus, "/", "%2F", "=", "%3D").Replace(encoded)
			r := c.do(t, request{path: "/e/", stream: strings.NewReader(body), length: int64(len(body)), header: []string{"Content-Type", form}})
			r.checkAccepted(t)
		}
		for _, e := range c.of(t, "a") {
			if got := properties(t, e)["p"]; got != "~~~>>>???" {
				t.Errorf("property %q", got)
			}
		}
	}},
	{"T15", "lz64 that is base64, too", func(t *testing.T, c *client) {
		accepts(1, request{path: "/e/?compression=lz64", body: single, encode: lz64Base64, header: []string{"Content-Type", "text/plain"}})(t, c)
		accepts(2, request{path: "/e/", body: single, encode: func(s string) string {
			return "compression=lz64&data=" + url.QueryEscape(lz64Base64(s))
		}, header: []string{"Content-Type", form}})(t, c)
	}},
	{"T16", "a bomb of lz64", func(t *testing.T, c *client) {
		bomb := lz64Bomb()
		if len(bomb) > 15_000 {
			t.Errorf("%d bytes are not a bomb", len(bomb))
		}
		refuses(http.StatusRequestEntityTooLarge, request{path: "/e/?compression=lz64", stream: strings.NewReader(bomb), length: int64(len(bomb))})(t, c)
	}},
	{"T17", "gzip with more than one member", func(t *testing.T, c *client) {
		accepts(1, request{body: single, encode: func(s string) string { return zip(s[:20]) + zip(s[20:]) }})(t, c)
		for _, tail := range []string{"garbage", "\x00\x00\x00", zip("x")[:5]} {
			r := c.do(t, request{body: `{"api_key":"KEY","event":"e","distinct_id":"@b"}`, encode: func(s string) string { return zip(s) + tail }})
			r.checkRefused(t, http.StatusBadRequest)
		}
		if n := len(c.of(t, "b")); n != 0 {
			t.Errorf("%d events are stored, want none", n)
		}
	}},
	{"T18", "distinct IDs that are not strings", func(t *testing.T, c *client) {
		for id, want := range map[string]string{`17`: "17", `17.5`: "17.5"} {
			name := "T18 " + id
			c.capture(t, fmt.Sprintf(`{"api_key":"KEY","event":%q,"distinct_id":%s}`, name, id))
			var got []string
			for _, e := range c.all(t, 1) {
				if e.Name == name {
					got = append(got, e.DistinctID)
				}
			}
			if diff := gocmp.Diff([]string{want}, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", id, diff)
			}
		}
		for _, id := range []string{`true`, `{"a":1}`, `["@a"]`} {
			r := c.do(t, request{body: `{"api_key":"KEY","event":"e","distinct_id":` + id + `}`})
			r.checkRefused(t, http.StatusBadRequest)
		}
	}},
	{"T19", "blanks around a distinct ID", func(t *testing.T, c *client) {
		c.capture(t, `{"api_key":"KEY","event":"e","distinct_id":"  @a  ",`+setPro+`}`)
		if got, want := c.one(t).DistinctID, "  "+c.id("a")+"  "; got != want {
			t.Errorf("distinct ID %q, want %q", got, want)
		}
		c.want(t, "flag-person", false, "a")
	}},
	{"T20", "a distinct ID of long characters", func(t *testing.T, c *client) {
		c.capture(t, `{"api_key":"KEY","event":"e","distinct_id":"@`+strings.Repeat("𝄞", 201-len(c.id("")))+`"}`)
		if got := c.one(t).DistinctID; utf8.RuneCountInString(got) != 200 || !strings.HasSuffix(got, "𝄞") {
			t.Errorf("distinct ID %q of %d characters, want 200", got, utf8.RuneCountInString(got))
		}
	}},
	{"T21", "NUL in a distinct ID", func(t *testing.T, c *client) {
		c.capture(t, `{"api_key":"KEY","event":"e","distinct_id":"@a\u0000"}`)
		if got, want := c.one(t).DistinctID, c.id("a\uFFFD"); got != want {
			t.Errorf("distinct ID %q, want %q", got, want)
		}
	}},
	{"T22", "$set in both places", func(t *testing.T, c *client) {
		c.event(t, "e", "a", setPro+`,"$set_once":{"o":1},"properties":{"$set":{"plan":"free","y":1},"$set_once":{"p":1}}`)
		p := c.person(t, c.id("a"))
		_, y := p["y"]
		_, once := p["p"]
		if p["plan"] != "pro" || p["o"] != 1.0 || y || once {
			t.Errorf("person %v, want only what is at the top level", p)
		}
		event := properties(t, c.one(t))
		if diff := gocmp.Diff([]any{map[string]any{"plan": "pro"}, map[string]any{"o": 1.0}}, []any{event["$set"], event["$set_once"]}); diff != "" {
			t.Errorf("properties of the event (-want +got):\n%s", diff)
		}
	}},
	{"T23", "$set and $unset of one property", func(t *testing.T, c *client) {
		c.event(t, "e", "a", `"properties":{"$set":{"plan":"pro","x":1},"$unset":["plan"]}`)
		p := c.person(t, c.id("a"))
		if _, ok := p["plan"]; ok || p["x"] != 1.0 {
			t.Errorf("person %v", p)
		}
	}},
	{"T24", "an event without $set", func(t *testing.T, c *client) {
		c.identify(t, "u", "a", setPro)
		before := c.person(t, c.id("u"))
		created, err := c.store.PersonCreated(t.Context(), 1, c.id("u"))
		if before["plan"] != "pro" || err != nil {
			t.Fatalf("person %v, %v", before, err)
		}
		c.event(t, "e", "u", `"properties":{"n":1}`)
		if diff := gocmp.Diff(before, c.person(t, c.id("u"))); diff != "" {
			t.Errorf("person (-before +after):\n%s", diff)
		}
		if again, err := c.store.PersonCreated(t.Context(), 1, c.id("u")); err != nil || !again.Equal(created) {
			t.Errorf("created %v, %v; before %v", again, err, created)
		}
	}},
	{"T25", "two users claim one anonymous ID", manyIdentify},
	{"T26", "a sixth group type", func(t *testing.T, c *client) {
		for i, name := range []string{"company", "second", "third", "fourth", "fifth", "sixth"} {
			c.event(t, "$groupidentify", "a", fmt.Sprintf(`"properties":{"$group_type":%q,"$group_key":"@acme","$group_set":{"tier":"enterprise"}}`, name))
			want := map[string]any{"tier": "enterprise"}
			if i == 5 {
				want = nil
			}
			if diff := gocmp.Diff(want, c.group(t, name, c.id("acme"))); diff != "" {
				t.Errorf("properties of a %s (-want +got):\n%s", name, diff)
			}
		}
		if n := len(c.stored(t, 1)); n != 6 {
			t.Errorf("%d events are stored, want 6", n)
		}
		c.want(t, "flag-group", true, "a", company)
	}},
	{"T27", "a group whose key is a number", func(t *testing.T, c *client) {
		c.event(t, "e", "a", `"properties":{"$groups":{"company":27270}}`)
		c.groupIdentify(t, "27270", `{"tier":"enterprise"}`)
		c.want(t, "flag-group", true, "a", `"groups":{"company":"27270"}`)
		c.want(t, "flag-group", true, "a", `"groups":{"company":27270}`)
		if c.group(t, "company", "27270") == nil {
			t.Error("there is no group \"27270\"")
		}
	}},
	{"T28", "the address of the client", func(t *testing.T, c *client) {
		forwarded := []string{"X-Forwarded-For", "192.0.2.1, 10.0.0.1"}
		c.event(t, "e", "trusted", "", forwarded...)
		c.event(t, "e", "own", `"properties":{"$ip":"198.51.100.9"}`, forwarded...)
		c.event(t, "e", "direct", "")
		careful := *c.system
		careful.url, _, _ = c.launch(t, "-trusted-proxies", "none")
		(&client{&careful, c.row}).event(t, "e", "not trusted", "", forwarded...)
		for id, want := range map[string]string{"trusted": "192.0.2.1", "own": "198.51.100.9", "direct": "127.0.0.1", "not trusted": "127.0.0.1"} {
			p := properties(t, c.of(t, id)[0])
			if _, place := p["$geoip_country_code"]; p["$ip"] != want || place != (id == "trusted" || id == "own") {
				t.Errorf("%s: properties %v, want $ip %s", id, p, want)
			}
		}
	}},
	{"T29", "$geoip_disable", func(t *testing.T, c *client) {
		c.event(t, "e", "a", `"properties":{"$geoip_disable":true}`, london...)
		e := c.one(t)
		if strings.Count(string(e.Properties), "$geoip_") != 1 {
			t.Errorf("properties %s", e.Properties)
		}
		if strings.Contains(fmt.Sprint(c.person(t, c.id("a"))), "geoip") {
			t.Errorf("person %v", c.person(t, c.id("a")))
		}
	}},
	{"T30", "the store fails", failingStore},
}

// stamped is a timestamp as a member.
func stamped(at time.Time) string { return `"timestamp":"` + at.UTC().Format(time.RFC3339Nano) + `"` }

func checkTime(t *testing.T, e capture.Event, want time.Time) {
	t.Helper()
	if want = want.UTC(); e.Time.Sub(want).Abs() > time.Microsecond { // which is what is kept
		t.Errorf("time %v, want %v", e.Time, want)
	}
	if e.Time.Location() != time.UTC {
		t.Errorf("location %v, want UTC", e.Time.Location())
	}
}

// sent sends an event in a batch with sent_at, and returns the stored event. If
// stamp is zero, the event has no timestamp.
func (c *client) sent(t *testing.T, sent, stamp time.Time, members string) capture.Event {
	t.Helper()
	if !stamp.IsZero() {
		members += "," + stamped(stamp)
	}
	if members = strings.Trim(members, ","); members != "" {
		members = "," + members
	}
	c.capture(t, `{"api_key":"KEY","sent_at":"`+sent.UTC().Format(time.RFC3339Nano)+`","batch":[{"event":"e","distinct_id":"@a"`+members+`}]}`)
	return c.one(t)
}

// query does the same with the parameter of the query.
func (c *client) query(t *testing.T, sent int64, stamp time.Time) capture.Event {
	t.Helper()
	r := c.do(t, request{path: fmt.Sprintf("/e/?_=%d", sent), body: `{"api_key":"KEY","event":"e","distinct_id":"@a",` + stamped(stamp) + `}`})
	r.checkAccepted(t)
	return c.one(t)
}

func timestamp(sent, want string) func(*testing.T, *client) {
	return func(t *testing.T, c *client) {
		c.event(t, "e", "a", fmt.Sprintf(`"timestamp":%q`, sent))
		at, err := time.Parse(time.RFC3339Nano, want)
		if err != nil {
			t.Fatal(err)
		}
		checkTime(t, c.one(t), at)
	}
}

// manyIdentify lets pairs of users claim an anonymous ID at the same moment. The
// even pairs have been seen before, the odd ones have not.
func manyIdentify(t *testing.T, c *client) {
	const pairs = 10
	var wg sync.WaitGroup
	gate := make(chan struct{})
	for i := range pairs {
		c.event(t, "e", fmt.Sprint("anon", i), fmt.Sprintf(`"$set":{"n":%d}`, i))
		for _, user := range []string{"u", "v"} {
			if i%2 == 0 {
				c.event(t, "e", fmt.Sprint(user, i), "")
			}
			wg.Go(func() {
				<-gate
				c.identify(t, fmt.Sprint(user, i), fmt.Sprint("anon", i), "")
			})
		}
	}
	close(gate)
	wg.Wait()
	for i := range pairs {
		got := make(map[string]any)
		for _, name := range []string{"anon", "u", "v"} {
			p := c.person(t, c.id(fmt.Sprint(name, i)))
			if p == nil {
				t.Errorf("%s%d is nobody", name, i)
			}
			got[name] = p["n"]
		}
		// Only one of two persons gets what the anonymous person had, because that
		// person is identified then. IDs without a person are attached to it.
		u, v := got["u"] == float64(i), got["v"] == float64(i)
		if got["anon"] != float64(i) || i%2 == 0 && u == v || i%2 == 1 && !(u && v) {
			t.Errorf("anonymous ID %d: n is %v; want it with anon and with one of u and v if they were persons, else with both", i, got)
		}
		// The IDs are the same person from then on.
		c.event(t, "e", fmt.Sprint("anon", i), setPro)
		c.want(t, "flag-person", u, fmt.Sprint("u", i))
		c.want(t, "flag-person", v, fmt.Sprint("v", i))
	}
	if n, want := len(c.stored(t, 1)), 4*pairs+pairs; n != want {
		t.Errorf("%d events are stored, want %d", n, want)
	}
}

// failingStore removes a table: one that a batch writes first, or last.
func failingStore(t *testing.T, c *client) {
	for i, table := range []string{"event", "person_distinct_id", "group_entry"} {
		c := &client{c.system, fmt.Sprintf("%s-%d", c.row, i)}
		const events = `{"event":"e","distinct_id":"@a","uuid":"<1>","timestamp":"2026-01-02T03:04:05Z","properties":{` + setPro + `}},` +
			`{"event":"$groupidentify","distinct_id":"@a","uuid":"<2>","timestamp":"2026-01-02T03:04:06Z",` +
			`"properties":{"$group_type":"company","$group_key":"@acme","$group_set":{"tier":"enterprise"}}},` +
			`{"event":"e","distinct_id":"@b","uuid":"<3>","timestamp":"2026-01-02T03:04:07Z"}`
		batch := request{path: "/batch/", body: `{"api_key":"KEY","batch":[` + events + `]}`}

		repair := c.spoil(t, table)
		refused := c.do(t, batch)
		newer := c.analytics(t, analyticsBatch(events))
		repair()
		refused.checkRefused(t, http.StatusServiceUnavailable)
		c.checkResults(t, newer, map[string]string{"<1>": "retry not_persisted", "<2>": "retry not_persisted", "<3>": "retry not_persisted"})
		if newer.header.Get("Retry-After") != "1" {
			t.Errorf("Retry-After %q, want 1", newer.header.Get("Retry-After"))
		}
		c.checkNothing(t)
		c.want(t, "flag-person", false, "a")
		c.want(t, "flag-group", false, "a", company)

		for range 2 { // the client tries again, and once more because the answer was lost
			answer := c.do(t, batch)
			answer.checkAccepted(t)
			if n := len(c.stored(t, 1)); n != 3 {
				t.Errorf("%d events are stored, want 3", n)
			}
			c.want(t, "flag-person", true, "a")
			c.want(t, "flag-person", false, "b")
			c.want(t, "flag-group", true, "a", company)
		}
	}
}
