package capture_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
)

// arrival is when the requests of these tests arrive: "now" in wire.md §2.6.
var arrival = time.Date(2026, 11, 21, 12, 5, 10, 0, time.UTC)

// A stored is an Event in a form that is short to write down.
type stored struct{ Name, ID, Properties string }

func storedOf(events []capture.Event) []stored {
	var list []stored
	for _, e := range events {
		list = append(list, stored{e.Name, e.DistinctID, string(e.Properties)})
	}
	return list
}

func parse(t testing.TB, body string, r capture.Request) *capture.Batch {
	t.Helper()
	if r.Now.IsZero() {
		r.Now = arrival
	}
	b := new(capture.Batch)
	if err := b.Parse([]byte(body), r); err != nil {
		t.Fatalf("Parse(%.300s): %v", body, err)
	}
	for i := range b.Events {
		checkEvent(t, &b.Events[i])
	}
	return b
}

// checkEvent checks what event.go promises of each Event.
func checkEvent(t testing.TB, e *capture.Event) {
	t.Helper()
	for _, s := range []string{e.Name, e.DistinctID} {
		if strings.TrimSpace(s) == "" && s != e.Name || s == "" || strings.ToValidUTF8(s, "") != s || strings.Contains(s, "\x00") || len([]rune(s)) > 200 {
			t.Errorf("name or distinct ID %q", s)
		}
	}
	for _, at := range []time.Time{e.Time, e.Received} {
		if at.Location() != time.UTC || at.Nanosecond()%1000 != 0 || at.Year() < 0 || at.Year() > 9999 {
			t.Errorf("time %v", at)
		}
	}
	if e.Time.Sub(e.Received) > 23*time.Hour {
		t.Errorf("time %v, received %v", e.Time, e.Received)
	}
	p := e.Properties
	if !json.Valid(p) || p[0] != '{' || p[len(p)-1] != '}' {
		t.Errorf("properties %.300q are not a JSON object", p)
	}
}

func TestParse(t *testing.T) {
	long := strings.Repeat("é", 201)
	one := func(id, properties string) []stored { return []stored{{"e", id, properties}} }
	for _, tt := range []struct {
		name, body string
		key        string
		want       []stored
	}{
		{
			"C11 batch", `{"api_key":"k","batch":[{"event":"a","distinct_id":"1"},{"event":"b","distinct_id":"2","properties":{"x":1}}],"sent_at":"2026-11-21T12:05:10Z"}`,
			"k",
			[]stored{{"a", "1", `{}`}, {"b", "2", `{"x":1}`}},
		},
		{"C11 batch with token", `{"token":"k","batch":[{"event":"e","distinct_id":"1"}]}`, "k", one("1", `{}`)},
		{"batch with both, api_key wins", `{"token":"t","api_key":"k","batch":[{"event":"e","distinct_id":"1"}]}`, "k", one("1", `{}`)},
		{"batch with both, one empty", `{"token":"t","api_key":"","batch":[{"event":"e","distinct_id":"1"}]}`, "t", one("1", `{}`)},
		{"batch whose token wins over those of events", `{"api_key":"k","batch":[{"event":"e","distinct_id":"1","token":"other"}]}`, "k", one("1", `{}`)},
		{"batch without token whose events have one", `{"batch":[{"event":"e","distinct_id":"1","token":"k"}]}`, "k", one("1", `{}`)},
		{"unknown envelope keys", `{"api_key":"k","x":{},"batch":[{"event":"e","distinct_id":"1"}],"event":"no"}`, "k", one("1", `{}`)},
		{"batch is not an array, so it is a single event", `{"api_key":"k","batch":{},"event":"e","distinct_id":"1"}`, "k", one("1", `{}`)},
		{"C12 array", `[{"event":"a","distinct_id":"1","token":"k"},{"event":"b","distinct_id":"2","properties":{"token":"k"}}]`, "k", []stored{{"a", "1", `{}`}, {"b", "2", `{"token":"k"}`}}},
		{"C12 tokens agree but for blanks", `[{"event":"e","distinct_id":"1","token":" k"},{"event":"e","distinct_id":"1","api_key":"k\n"}]`, "k", append(one("1", `{}`), one("1", `{}`)...)},
		{"white space around", " \n{\"api_key\":\"k\",\"event\":\"e\",\"distinct_id\":\"1\"}\t\r\n", "k", one("1", `{}`)},

		{"C13 api_key", `{"api_key":"k","event":"e","distinct_id":"1"}`, "k", one("1", `{}`)},
		{"C13 token", `{"token":"k","event":"e","distinct_id":"1"}`, "k", one("1", `{}`)},
		{"C13 $token", `{"$token":"k","event":"e","distinct_id":"1"}`, "k", one("1", `{}`)},
		{"C13 properties.token", `{"event":"e","distinct_id":"1","properties":{"token":"k"}}`, "k", one("1", `{"token":"k"}`)},
		{"C13 precedence", `{"event":"e","distinct_id":"1","properties":{"token":"4"},"api_key":"3","$token":"2","token":"1"}`, "1", one("1", `{"token":"4"}`)},
		{"C13 null and empty are absent", `{"event":"e","distinct_id":"1","properties":{"token":"4"},"api_key":"3","$token":"","token":null}`, "3", one("1", `{"token":"4"}`)},
		{"C13 a property token of another type is only a property", `{"event":"e","distinct_id":"1","properties":{"token":17},"token":"k"}`, "k", one("1", `{"token":17}`)},
		{"C13 blanks around and escapes", `{"event":"e","distinct_id":"1","\u0074oken":" \u006b\t"}`, "k", one("1", `{}`)},
		{"64 bytes of token", `{"event":"e","distinct_id":"1","token":"` + strings.Repeat("k", 64) + `"}`, strings.Repeat("k", 64), one("1", `{}`)},

		{"C14 distinct_id", `{"token":"k","event":"e","distinct_id":"1","$distinct_id":"2","properties":{"distinct_id":"3"}}`, "k", one("1", `{"distinct_id":"3"}`)},
		{"C14 $distinct_id", `{"token":"k","event":"e","distinct_id":null,"properties":{"distinct_id":"3"},"$distinct_id":"2"}`, "k", one("2", `{"distinct_id":"3"}`)},
		{"C14 properties.distinct_id", `{"token":"k","event":"e","distinct_id":null,"properties":{"distinct_id":"3"}}`, "k", one("3", `{"distinct_id":"3"}`)},
		{"T18 number", `{"token":"k","event":"e","distinct_id":17}`, "k", one("17", `{}`)},
		{"T18 fraction", `{"token":"k","event":"e","distinct_id":17.5}`, "k", one("17.5", `{}`)},
		{"T19 blanks around", `{"token":"k","event":"e","distinct_id":"  a "}`, "k", one("  a ", `{}`)},
		{"C45 T20 cut by characters", `{"token":"k","event":"e","distinct_id":"` + long + `"}`, "k", one(long[:400], `{}`)},
		{"200 characters are kept", `{"token":"k","event":"e","distinct_id":"` + long[:400] + `"}`, "k", one(long[:400], `{}`)},
		{"C46 T21 NUL", `{"token":"k","event":"e","distinct_id":"a\u0000b","properties":{"x":"\u0000"}}`, "k", one("a\uFFFDb", `{"x":"\u0000"}`)},
		{"§2.2 lone surrogates", `{"token":"k","event":"e","distinct_id":"a\ud83d","properties":{"x":"\ud83d"}}`, "k", one("a\uFFFD", `{"x":"\ud83d"}`)},
		{"§2.9 IDs of nobody are stored", `{"token":"k","event":"e","distinct_id":"undefined"}`, "k", one("undefined", `{}`)},

		{"§2.3 name is cut by characters", `{"token":"k","event":"` + long + `","distinct_id":"1"}`, "k", []stored{{long[:400], "1", `{}`}}},
		{"§2.3 NUL in name", `{"token":"k","event":"a\u0000","distinct_id":"1"}`, "k", []stored{{"a\uFFFD", "1", `{}`}}},
		{"C51 properties null", `{"token":"k","event":"e","distinct_id":"1","properties":null}`, "k", one("1", `{}`)},
		{"properties keep order, duplicates and white space inside", `{"token":"k","event":"e","distinct_id":"1","properties": { "b":1 ,"a" : [ 1 ], "b":2 } }`, "k", one("1", `{"b":1 ,"a" : [ 1 ], "b":2}`)},
		{
			"§2.3 ignored extras", `{"token":"k","event":"e","distinct_id":"1","type":1,"library":[],"library_version":{},"message_id":2,"send_feature_flags":"x","sent_at":5}`,
			"k", one("1", `{}`),
		},
		{"the last of duplicate fields counts", `{"token":"k","event":5,"event":"e","distinct_id":"0","distinct_id":"1"}`, "", nil},

		{"§2.3 $set on top", `{"token":"k","event":"e","distinct_id":"1","$set":{"a":1},"$set_once":{"b":2}}`, "k", one("1", `{"$set":{"a":1},"$set_once":{"b":2}}`)},
		{"§2.3 $set in properties", `{"token":"k","event":"e","distinct_id":"1","properties":{"$set":{"a":1},"$unset":["c"]}}`, "k", one("1", `{"$set":{"a":1},"$unset":["c"]}`)},
		{"T22 both places, top level as a whole", `{"token":"k","event":"e","distinct_id":"1","$set":{"a":1},"properties":{"x":1,"$set":{"b":2},"y":2}}`, "k", one("1", `{"x":1,"y":2,"$set":{"a":1}}`)},
		{"T22 both places, empty on top", `{"token":"k","event":"e","distinct_id":"1","$set":{},"properties":{"$set":{"b":2}}}`, "k", one("1", `{"$set":{}}`)},
		{"T22 both places, null on top", `{"token":"k","event":"e","distinct_id":"1","$set":null,"properties":{"$set":{"b":2}}}`, "k", one("1", `{"$set":{"b":2}}`)},
		{"T22 places are looked up one by one", `{"token":"k","event":"e","distinct_id":"1","$set":{"a":1},"properties":{"$set_once":{"b":2},"\u0024set":3}}`, "k", one("1", `{"$set_once":{"b":2},"$set":{"a":1}}`)},
		{"T22 $set_once", `{"token":"k","event":"e","distinct_id":"1","$set_once":{"a":1},"properties":{"$set_once":{"b":2},"$set":{}}}`, "k", one("1", `{"$set":{},"$set_once":{"a":1}}`)},

		{"§2.8 recordings are dropped", `{"api_key":"k","batch":[{"event":"$snapshot","distinct_id":"1"},{"event":"e","distinct_id":"1"},{"event":"$snapshot_items","distinct_id":"1"}]}`, "k", one("1", `{}`)},
		{"C54 only recordings", `[{"event":"$snapshot","distinct_id":"1","token":"k"}]`, "k", nil},
		{"§2.4 performance events are dropped beside others", `{"api_key":"k","batch":[{"event":"$performance_event","distinct_id":"1"},{"event":"e","distinct_id":"1"}]}`, "k", one("1", `{}`)},
		{"§2.4 $cookieless_mode of the right type", `{"token":"k","event":"e","distinct_id":"1","properties":{"$cookieless_mode":true}}`, "k", one("1", `{"$cookieless_mode":true}`)},
		{"§2.4 $cookieless_mode null", `{"token":"k","event":"e","distinct_id":"1","properties":{"$cookieless_mode":null}}`, "k", one("1", `{"$cookieless_mode":null}`)},
		{"V16 AI batch", `{"api_key":"k","batch":[{"event":"$ai_generation","distinct_id":"1"}]}`, "k", []stored{{"$ai_generation", "1", `{}`}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.key == "" {
				// Fields are checked as they come, also fields that do not count.
				if err := new(capture.Batch).Parse([]byte(tt.body), capture.Request{Now: arrival}); !errors.Is(err, capture.ErrMalformed) {
					t.Errorf("error %v, want ErrMalformed", err)
				}
				return
			}
			b := parse(t, tt.body, capture.Request{})
			if b.APIKey != tt.key {
				t.Errorf("APIKey = %q, want %q", b.APIKey, tt.key)
			}
			if diff := cmp.Diff(tt.want, storedOf(b.Events)); diff != "" {
				t.Errorf("Events (-want +got):\n%s", diff)
			}
			if b.Historical {
				t.Error("Historical, and nobody said so")
			}
		})
	}
}

// secret is an API key that no error may show.
const secret = "phc_secret"

func TestParseRefuses(t *testing.T) {
	const (
		noName = "failed to hydrate events from request: non-engage request missing event name attribute"
		noID   = "event submitted without a distinct_id"
		noKey  = "event submitted without an api_key"
		prefix = "failed to parse request: "
	)
	malformed, unauthorized := capture.ErrMalformed, capture.ErrUnauthorized
	for _, tt := range []struct {
		name, body string
		kind       error
		text       string
	}{
		{"C30 empty body", ``, malformed, prefix + "invalid JSON: offset 0: unexpected end of input where a value should begin"},
		{"C31 malformed JSON", `{"api_key":"phc_secret",}`, malformed, prefix + "invalid JSON: offset 24: unexpected character '}' where a member name should begin"},
		{"C31 two values", `[] []`, malformed, prefix + "invalid JSON: offset 3: unexpected character '[' after the value"},
		{"C31 too deep", strings.Repeat("[", 1001), malformed, prefix + "invalid JSON: offset 1000: nested deeper than 1000 levels"},
		{"§2.2 not UTF-8", "{\"event\":\"\xff\"}", malformed, "failed to decode request: body is not UTF-8"},
		{"§2.2 byte order mark", "\uFEFF{}", malformed, prefix + "invalid JSON: offset 0: unexpected character '\\ufeff' where a value should begin"},
		{"C32 a string", `"phc_secret"`, malformed, prefix + "the body must be an object or an array, not a string"},
		{"C32 a number", `17`, malformed, prefix + "the body must be an object or an array, not 17"},
		{"C32 null", `null`, malformed, prefix + "the body must be an object or an array, not null"},
		{"C33 empty batch", `{"api_key":"phc_secret","batch":[]}`, malformed, "request holds no event"},
		{"C34 empty array", `[]`, malformed, "request holds no event"},
		{"C35 no token", `{"event":"e","distinct_id":"1"}`, unauthorized, noKey},
		{"C35 no token in one of two", `[{"event":"e","distinct_id":"1","token":"phc_secret"},{"event":"e","distinct_id":"1"}]`, unauthorized, noKey},
		{"C36 empty token", `{"event":"e","distinct_id":"1","token":""}`, unauthorized, noKey},
		{"C36 blank token", `{"event":"e","distinct_id":"1","token":" \t"}`, unauthorized, noKey},
		{"C36 empty token of a batch", `{"api_key":"","batch":[{"event":"e","distinct_id":"1"}]}`, unauthorized, noKey},
		{"§2.4 batch without token anywhere", `{"batch":[{"event":"e","distinct_id":"1"}]}`, malformed, noName},
		{"§2.4 batch with token null", `{"api_key":null,"batch":[{"event":"e","distinct_id":"1"}]}`, malformed, noName},
		{"§2.4 batch without token, in one event", `{"batch":[{"event":"e","distinct_id":"1","token":"phc_secret"},{"event":"e","distinct_id":"1"}]}`, malformed, noName},
		{"C37 personal key", `{"api_key":"phx_secret","event":"e","distinct_id":"1"}`, unauthorized, "API key is not valid: personal_api_key: this is a personal API key (phx_…); this route wants a project API key (phc_…)"},
		{"C38 long token", `{"api_key":"` + strings.Repeat("k", 65) + `","event":"e","distinct_id":"1"}`, unauthorized, "API key is not valid: too_long"},
		{"C38 not ASCII", `{"api_key":"phc_secreté","event":"e","distinct_id":"1"}`, unauthorized, "API key is not valid: not_ascii"},
		{"C38 NUL", `{"api_key":"phc_secret\u0000","event":"e","distinct_id":"1"}`, unauthorized, "API key is not valid: null_byte"},
		{"token of a wrong type", `{"token":["phc_secret"],"event":"e","distinct_id":"1"}`, malformed, prefix + `field "token" must be a string, not an array`},
		{"token of a batch of a wrong type", `{"batch":[],"api_key":{"a":"phc_secret"}}`, malformed, prefix + `field "api_key" must be a string, not an object`},
		{"C40 two tokens in an array", `[{"event":"e","distinct_id":"1","token":"phc_secret"},{"event":"e","distinct_id":"1","token":"b"}]`, unauthorized, "batch submitted with inconsistent api_key values"},
		{"C40 two tokens in a batch without one", `{"batch":[{"event":"e","distinct_id":"1","token":"phc_secret"},{"event":"e","distinct_id":"1","properties":{"token":"b"}}]}`, unauthorized, "batch submitted with inconsistent api_key values"},
		{"C41 no name", `{"token":"phc_secret","distinct_id":"1"}`, malformed, noName},
		{"C41 name null", `{"token":"phc_secret","event":null,"distinct_id":"1"}`, malformed, noName},
		{"C41 no name in one of two", `{"api_key":"phc_secret","batch":[{"event":"e","distinct_id":"1"},{"distinct_id":"1"}]}`, malformed, noName},
		{"C41 empty object", `{}`, malformed, noName},
		{"C41 shape comes before token", `[{"distinct_id":"1"}]`, malformed, noName},
		{"§2.3 batch an object", `{"api_key":"phc_secret","batch":{}}`, malformed, prefix + `field "batch" must be an array of events, not an object`},
		{"§2.3 batch a string", `{"api_key":"phc_secret","batch":"[]"}`, malformed, prefix + `field "batch" must be an array of events, not a string`},
		{"§2.3 batch null", `{"api_key":"phc_secret","batch":null}`, malformed, noName},
		{"name of a wrong type", `{"token":"phc_secret","event":17,"distinct_id":"1"}`, malformed, prefix + `field "event" must be a string, not 17`},
		{"C42 empty name", `{"token":"phc_secret","event":"","distinct_id":"1"}`, malformed, "event submitted with an empty event name"},
		{"C43 no distinct ID", `{"token":"phc_secret","event":"e"}`, malformed, noID},
		{"C44 blank distinct ID", `{"token":"phc_secret","event":"e","distinct_id":" \t\n"}`, malformed, noID},
		{"C44 null distinct ID", `{"token":"phc_secret","event":"e","distinct_id":null}`, malformed, noID},
		{"C44 empty distinct ID, another in properties", `{"token":"phc_secret","event":"e","distinct_id":"","properties":{"distinct_id":"1"}}`, malformed, noID},
		{"T18 boolean", `{"token":"phc_secret","event":"e","distinct_id":true}`, malformed, prefix + `field "distinct_id" must be a string or a number, not true`},
		{"T18 object", `{"token":"phc_secret","event":"e","distinct_id":{"a":"phc_secret"}}`, malformed, prefix + `field "distinct_id" must be a string or a number, not an object`},
		{"T18 array", `{"token":"phc_secret","event":"e","properties":{"distinct_id":["phc_secret"]}}`, malformed, prefix + `field "distinct_id" must be a string or a number, not an array`},
		{"C44 blank once it is cut", `{"token":"phc_secret","event":"e","distinct_id":"` + strings.Repeat(" ", 200) + `x"}`, malformed, noID},
		{"C47 one bad event", `{"api_key":"phc_secret","batch":[{"event":"e","distinct_id":"1","$set":{"a":1}},{"event":"e"}]}`, malformed, noID},
		{"C48 bad uuid", `{"token":"phc_secret","event":"e","distinct_id":"1","uuid":"nope"}`, malformed, prefix + `field "uuid" must be a UUID or empty, not "nope"`},
		{"C48 uuid in braces", `{"token":"phc_secret","event":"e","distinct_id":"1","uuid":"{01a1fb72-4826-7af7-a165-3e5ec48ee45e}"}`, malformed, prefix + `field "uuid" must be a UUID or empty, not "{01a1fb72-4826-7af7-a165-3e5ec48ee45e}"`},
		{"C48 long uuid", `{"token":"phc_secret","event":"e","distinct_id":"1","uuid":"` + strings.Repeat("é", 100) + `"}`, malformed, prefix + `field "uuid" must be a UUID or empty, not "` + strings.Repeat("é", 29) + `…`},
		{"C48 uuid of a wrong type", `{"token":"phc_secret","event":"e","distinct_id":"1","uuid":1}`, malformed, prefix + `field "uuid" must be a string, not 1`},
		{"§2.3 properties an array", `{"token":"phc_secret","event":"e","distinct_id":"1","properties":["phc_secret"]}`, malformed, prefix + `field "properties" must be an object, not an array`},
		{"§2.3 properties encoded twice", `{"event":"e","distinct_id":"1","properties":"{\"token\":\"phc_secret\"}"}`, malformed, prefix + `field "properties" must be an object, not a string`},
		{"§2.3 $set a number", `{"token":"phc_secret","event":"e","distinct_id":"1","$set":1}`, malformed, prefix + `field "$set" must be an object, not 1`},
		{"§2.3 $set_once a boolean", `{"token":"phc_secret","event":"e","distinct_id":"1","$set_once":true}`, malformed, prefix + `field "$set_once" must be an object, not true`},
		{"§2.3 timestamp a number", `{"token":"phc_secret","event":"e","distinct_id":"1","timestamp":1795220110990}`, malformed, prefix + `field "timestamp" must be a string, not 1795220110990`},
		{"§2.3 offset a string", `{"token":"phc_secret","event":"e","distinct_id":"1","offset":"5"}`, malformed, prefix + `field "offset" must be a whole number of milliseconds, not a string`},
		{"§2.3 offset a fraction", `{"token":"phc_secret","event":"e","distinct_id":"1","offset":0.5}`, malformed, prefix + `field "offset" must be a whole number of milliseconds, not 0.5`},
		{"§2.3 offset too large for any number", `{"token":"phc_secret","event":"e","distinct_id":"1","offset":1e999}`, malformed, prefix + `field "offset" must be a whole number of milliseconds, not 1e999`},
		{"an event that is a string", `["phc_secret"]`, malformed, prefix + `an event must be an object, not a string`},
		{"an array too many", `[[{"event":"e","token":"phc_secret"}]]`, malformed, prefix + `an event must be an object, not an array`},
		{"an event that is null", `{"api_key":"phc_secret","batch":[null]}`, malformed, prefix + `an event must be an object, not null`},
		{"§2.4 only performance events", `[{"event":"$performance_event","distinct_id":"1","token":"phc_secret"}]`, malformed, "payload empty after filtering invalid event types"},
		{"§2.4 $cookieless_mode", `{"token":"phc_secret","event":"e","distinct_id":"1","properties":{"$cookieless_mode":"yes"}}`, malformed, "event submitted with invalid cookieless mode"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b capture.Batch
			err := b.Parse([]byte(tt.body), capture.Request{Now: arrival})
			e, ok := errors.AsType[*capture.RequestError](err)
			if !ok || !errors.Is(err, tt.kind) || e.Kind != tt.kind || e.Text != tt.text || err.Error() != tt.text {
				t.Errorf("Parse(%.200s)\n= %v (%T)\nwant %s, kind %v", tt.body, err, err, tt.text, tt.kind)
			}
			if err != nil && (strings.Contains(err.Error(), secret) || strings.ContainsAny(err.Error(), "\r\n")) {
				t.Errorf("%q shows the API key, or is more than a line", err)
			}
			if len(b.Events) != 0 {
				t.Errorf("%d events beside an error", len(b.Events))
			}
		})
	}
}

func TestParseMaxEvents(t *testing.T) {
	body := func(n int) []byte {
		event := `{"event":"e","distinct_id":"1"},`
		return []byte(`{"api_key":"k","batch":[` + strings.TrimSuffix(strings.Repeat(event, n), ",") + `]}`)
	}
	var b capture.Batch
	if err := b.Parse(body(capture.MaxEvents), capture.Request{Now: arrival}); err != nil || len(b.Events) != capture.MaxEvents {
		t.Errorf("%d events of MaxEvents, %v", len(b.Events), err)
	}
	err := b.Parse(body(capture.MaxEvents+1), capture.Request{Now: arrival})
	const want = "maximum event size exceeded: more than 20000 events in one request"
	if !errors.Is(err, capture.ErrTooLarge) || err.Error() != want || len(b.Events) != 0 {
		t.Errorf("one more: error %v, %d events", err, len(b.Events))
	}
}

func TestParseKeepsOrder(t *testing.T) {
	b := parse(t, string(serverBatch(500)), capture.Request{})
	if len(b.Events) != 500 {
		t.Fatalf("%d events, want 500", len(b.Events))
	}
	for i, e := range b.Events {
		var p struct{ Amount float64 }
		if err := json.Unmarshal(e.Properties, &p); err != nil || p.Amount != float64(i)+0.5 {
			t.Fatalf("event %d has amount %v, %v", i, p.Amount, err)
		}
	}
}

// TestParseSharesNothing changes the body afterwards, and appends to properties,
// which lie side by side.
func TestParseSharesNothing(t *testing.T) {
	body := serverBatch(50)
	var b capture.Batch
	if err := b.Parse(body, capture.Request{Now: arrival}); err != nil {
		t.Fatal(err)
	}
	want := make([]string, len(b.Events))
	for i, e := range b.Events {
		want[i] = e.Name + e.DistinctID + string(e.Properties)
	}
	clear(body)
	for i, e := range b.Events {
		if got := e.Name + e.DistinctID + string(e.Properties); got != want[i] {
			t.Fatalf("event %d is now %.300q", i, got)
		}
		_ = append(e.Properties, "garbage"...)
	}
}

func TestParseAgain(t *testing.T) {
	b := parse(t, `{"api_key":"k","historical_migration":true,"batch":[{"event":"a","distinct_id":"1"},{"event":"b","distinct_id":"1"}]}`, capture.Request{})
	if !b.Historical || len(b.Events) != 2 {
		t.Errorf("C29: Historical = %v with %d events", b.Historical, len(b.Events))
	}
	if err := b.Parse([]byte(`{"token":"l","event":"c","distinct_id":"2","historical_migration":true}`), capture.Request{Now: arrival}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]stored{{"c", "2", "{}"}}, storedOf(b.Events)); diff != "" || b.APIKey != "l" || b.Historical {
		t.Errorf("second time: key %q, historical %v, events (-want +got):\n%s", b.APIKey, b.Historical, diff)
	}
}

// TestParseEngage covers the shape of wire.md §2.3 that only one route has.
func TestParseEngage(t *testing.T) {
	engage := capture.Request{Now: arrival, Engage: true}
	for _, tt := range []struct {
		name, body string
		want       []stored // nil: refused
	}{
		{"$distinct_id", `{"$token":"k","$distinct_id":"1","$set":{"a":1}}`, []stored{{"$identify", "1", `{"$set":{"a":1}}`}}},
		{"distinct_id", `{"token":"k","distinct_id":"1"}`, []stored{{"$identify", "1", `{}`}}},
		{"a name that is null", `{"token":"k","distinct_id":"1","event":null}`, []stored{{"$identify", "1", `{}`}}},
		{"a name", `{"token":"k","distinct_id":"1","event":"e"}`, []stored{{"e", "1", `{}`}}},
		{"array", `[{"token":"k","distinct_id":"1"},{"token":"k","distinct_id":"2","event":"e"}]`, []stored{{"$identify", "1", `{}`}, {"e", "2", `{}`}}},
		{"an empty name", `{"token":"k","distinct_id":"1","event":""}`, nil},
		{"distinct ID only in properties", `{"token":"k","properties":{"distinct_id":"1"}}`, nil},
		{"no distinct ID", `{"token":"k","distinct_id":null}`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want == nil {
				if err := new(capture.Batch).Parse([]byte(tt.body), engage); !errors.Is(err, capture.ErrMalformed) {
					t.Errorf("Parse = %v, want ErrMalformed", err)
				}
				return
			}
			b := parse(t, tt.body, engage)
			if diff := cmp.Diff(tt.want, storedOf(b.Events)); diff != "" {
				t.Errorf("Events (-want +got):\n%s", diff)
			}
		})
	}
}

// TestParseAdds covers the properties that come from the request (wire.md §2.7).
func TestParseAdds(t *testing.T) {
	list := func(asked *int, list ...capture.Property) func() []capture.Property {
		return func() []capture.Property {
			*asked++
			return list
		}
	}
	for _, tt := range []struct {
		name, properties string
		ip               string
		want             string
		agent, geo       int // how often they are asked
	}{
		{"all", `{"x":1}`, "198.51.100.7", `{"x":1,"$ip":"198.51.100.7","$browser":"Chrome","$os":"Linux","$geoip_city_name":"Vienna"}`, 1, 1},
		{"nothing else there", `{ }`, "198.51.100.7", `{"$ip":"198.51.100.7","$browser":"Chrome","$os":"Linux","$geoip_city_name":"Vienna"}`, 1, 1},
		{"no address", `{}`, "", `{"$browser":"Chrome","$os":"Linux","$geoip_city_name":"Vienna"}`, 1, 1},
		{"IPv6 with a zone, which may be any text", `{}`, `fe80::1%","$set":{"admin":true},"x":"`, `{"$ip":"fe80::1","$browser":"Chrome","$os":"Linux","$geoip_city_name":"Vienna"}`, 1, 1},
		{"$ip is there", `{"$ip":"192.0.2.1"}`, "198.51.100.7", `{"$ip":"192.0.2.1","$browser":"Chrome","$os":"Linux","$geoip_city_name":"Vienna"}`, 1, 1},
		{"$ip is there, null", `{"$ip":null,"$browser":"b"}`, "198.51.100.7", `{"$ip":null,"$browser":"b","$geoip_city_name":"Vienna"}`, 0, 1},
		{"one property of the agent is there", `{"$ip":null,"$os_version":"26"}`, "198.51.100.7", `{"$ip":null,"$os_version":"26","$geoip_city_name":"Vienna"}`, 0, 1},
		{"one property of the place is there", `{"$ip":null,"$os":"","\u0024geoip_country_code":"DE"}`, "198.51.100.7", `{"$ip":null,"$os":"","\u0024geoip_country_code":"DE"}`, 0, 0},
		{"T29 $geoip_disable", `{"$ip":null,"$geoip_disable":true,"$device_type":"x"}`, "198.51.100.7", `{"$ip":null,"$geoip_disable":true,"$device_type":"x"}`, 0, 0},
		{"$geoip_disable false", `{"$ip":null,"$geoip_disable":false,"$device_type":"x"}`, "", `{"$ip":null,"$geoip_disable":false,"$device_type":"x","$geoip_city_name":"Vienna"}`, 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			agent, geo := 0, 0
			r := capture.Request{
				Agent: list(&agent, capture.Property{Name: "$browser", Value: `"Chrome"`}, capture.Property{Name: "$os", Value: `"Linux"`}),
				Geo:   list(&geo, capture.Property{Name: "$geoip_city_name", Value: `"Vienna"`}),
			}
			if tt.ip != "" {
				r.IP = netip.MustParseAddr(tt.ip)
			}
			event := `{"event":"e","distinct_id":"1","properties":` + tt.properties + `}`
			body := `{"api_key":"k","batch":[` + event + `,{"event":"$snapshot","distinct_id":"1"},` + event + `,` + event + `]}`
			b := parse(t, body, r)
			want := []stored{{"e", "1", tt.want}, {"e", "1", tt.want}, {"e", "1", tt.want}}
			if diff := cmp.Diff(want, storedOf(b.Events)); diff != "" {
				t.Errorf("Events (-want +got):\n%s", diff)
			}
			if agent != tt.agent || geo != tt.geo {
				t.Errorf("Agent was called %d times, want %d; Geo %d, want %d", agent, tt.agent, geo, tt.geo)
			}
			b.Anonymize()
			b.Anonymize()
			r.IP = netip.Addr{}
			if diff := cmp.Diff(storedOf(parse(t, body, r).Events), storedOf(b.Events)); diff != "" {
				t.Errorf("Anonymize (-parsed without an address +got):\n%s", diff)
			}
		})
	}

	t.Run("asked once even if there is nothing", func(t *testing.T) {
		asked := 0
		r := capture.Request{Agent: list(&asked), Geo: list(&asked)}
		if parse(t, string(serverBatch(3)), r); asked != 1 { // $geoip_disable
			t.Errorf("asked %d times, want once", asked)
		}
	})
	t.Run("a large event does not disturb its neighbours", func(t *testing.T) {
		large := strings.Repeat("x", 100_000)
		event := func(x string) string { return `{"event":"e","distinct_id":"1","properties":{"x":"` + x + `"}}` }
		b := parse(t, `{"api_key":"k","batch":[`+event("a")+`,`+event(large)+`,`+event("b")+`]}`, capture.Request{IP: netip.MustParseAddr("::1")})
		want := []stored{{"e", "1", `{"x":"a","$ip":"::1"}`}, {"e", "1", `{"x":"` + large + `","$ip":"::1"}`}, {"e", "1", `{"x":"b","$ip":"::1"}`}}
		if diff := cmp.Diff(want, storedOf(b.Events)); diff != "" {
			t.Errorf("Events (-want +got):\n%.1000s", diff)
		}
	})
}

func TestParseUUIDs(t *testing.T) {
	parseOne := func(uuid string) capture.Event {
		t.Helper()
		return parse(t, `{"token":"k","event":"e","distinct_id":"1","timestamp":"2026-01-02T03:04:05.678Z"`+uuid+`}`, capture.Request{}).Events[0]
	}
	const text = "01A1FB72-4826-4af7-a165-3e5ec48ee45e" // the version does not matter
	if got, want := parseOne(`,"uuid":"`+text+`"`).UUID, uuid.MustParse(text); got != want {
		t.Errorf("UUID = %v, want %v", got, want)
	}
	seen := make(map[uuid.UUID]bool)
	for _, none := range []string{``, `,"uuid":""`, `,"uuid":null`} { // C48, T11
		e := parseOne(none)
		sec, nsec := e.UUID.Time().UnixTime()
		if got := time.Unix(sec, nsec).UTC(); e.UUID.Version() != 7 || e.UUID.Variant() != uuid.RFC4122 || !got.Equal(e.Time) || seen[e.UUID] {
			t.Errorf("without a uuid: %v, version %v, time %v; want version 7 of %v", e.UUID, e.UUID.Version(), got, e.Time)
		}
		seen[e.UUID] = true
	}
	before, at := capture.NewUUID(time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)), capture.NewUUID(time.UnixMilli(0))
	if !bytes.Equal(before[:6], at[:6]) || before.Version() != 7 {
		t.Errorf("NewUUID before 1970 = %v, want the time 0", before)
	}
}

// TestParseSameUUID says that telling events apart is up to the Sink (T12, T13).
func TestParseSameUUID(t *testing.T) {
	const u = `"uuid":"01a1fb72-4826-7af7-a165-3e5ec48ee45e"`
	b := parse(t, `[{"token":"k","event":"e","distinct_id":"1",`+u+`},{"token":"k","event":"e","distinct_id":"2",`+u+`},{"token":"k","event":"e","distinct_id":"2",`+u+`}]`, capture.Request{})
	if len(b.Events) != 3 || b.Events[0].UUID != b.Events[1].UUID {
		t.Errorf("events %+v, want three with one UUID", b.Events)
	}
}

// TestIllegalID covers wire.md §3.4.
func TestIllegalID(t *testing.T) {
	illegal := []string{
		"anonymous", "guest", "distinctid", "distinct_id", "id", "not_authenticated", "email", "undefined", "true", "false",
		"Anonymous", "GUEST", "DistinctId", "ID", "True", "[object Object]", "NaN", "None", "none", "null", "0",
		"", " ", "\t\n", "\u00a0", `""`, `''`, `" "`, `"undefined"`, `'null'`, `"Guest"`, `'[object Object]'`,
	}
	legal := []string{
		"nan", "NONE", "NULL", "[object object]", "00", "anonymous1", " guest", `"guest'`, `"`, `""guest""`, "user", "a", `"0`, "Ⅰd", "１",
	}
	for _, id := range illegal {
		if !capture.IllegalID(id) {
			t.Errorf("IllegalID(%q) = false, want true", id)
		}
	}
	for _, id := range legal {
		if capture.IllegalID(id) {
			t.Errorf("IllegalID(%q) = true, want false", id)
		}
	}
	if i := slices.IndexFunc(legal, func(id string) bool { return capture.IllegalID(strings.Repeat(id, 1000)) }); i >= 0 {
		t.Errorf("IllegalID of a long ID of %q", legal[i])
	}
}
