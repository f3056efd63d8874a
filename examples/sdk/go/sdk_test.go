package sdk

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posthog/posthog-go"
)

// userAgent is the beginning of the User-Agent. The version after it comes from
// the modules in the binary, which a test binary does not list.
const userAgent = "posthog-go/"

// TestSDK drives the SDK with each of its two ways to send events. It checks
// the table "SDK drivers" of wire.md §9.
func TestSDK(t *testing.T) {
	t.Parallel()
	server := target(t)
	for _, tt := range []struct {
		name string
		mode posthog.CaptureMode
		path string // where events are sent
	}{
		{"go", posthog.CaptureModeLegacy, "/batch/"},
		{"gov1", posthog.CaptureModeAnalyticsV1, "/i/v1/analytics/events"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := &driver{
				checks: checks{t, tt.name}, fixture: newFixture(t, server), recorder: newRecorder(t, server.url),
				log: new(record), mode: tt.mode, path: tt.path,
			}
			d.events()
			d.persons()
			d.flags()
			d.targeting()
			d.exposures()
			d.snapshots()
			d.local()
			d.remoteConfiguration()
			d.options()
			refused := d.since(0, func(e exchange) bool { return e.status != 200 && e.status != 304 })
			d.equal("Z01", "every request was answered 200 or 304", len(refused), 0)
			d.wrongKeys()
			d.equal("Z02", "nothing was logged as an error", d.log.lines(), []string(nil))
		})
	}
}

type driver struct {
	checks
	*fixture
	*recorder
	log  *record
	mode posthog.CaptureMode
	path string
}

// testing returns the test: checks, fixture and recorder each have it.
func (d *driver) testing() *testing.T { return d.checks.t }

// A record is a Logger that keeps warnings and errors.
type record struct {
	mu   sync.Mutex
	kept []string
}

func (*record) Debugf(string, ...any) {}
func (*record) Logf(string, ...any)   {}

func (r *record) Warnf(format string, args ...any)  { r.keep("warning", format, args) }
func (r *record) Errorf(format string, args ...any) { r.keep("error", format, args) }

func (r *record) keep(level, format string, args []any) {
	line := fmt.Sprintf(format, args...)
	if strings.Contains(line, "deprecated") {
		return // concerns the calling code, not the server
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = append(r.kept, level+": "+line)
}

func (r *record) lines() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.kept)
}

// client makes a client that sends its events when it is closed, or at the end
// of the test.
func (d *driver) client(change func(*posthog.Config)) posthog.Client {
	d.testing().Helper()
	c := posthog.Config{
		Endpoint: d.recorder.url, Logger: d.log, Interval: time.Hour, CaptureMode: d.mode,
		RetryAfter: func(int) time.Duration { return time.Millisecond },
	}
	if change != nil {
		change(&c)
	}
	made, err := posthog.NewWithConfig(d.projectKey, c)
	if err != nil {
		d.testing().Fatal(err)
	}
	d.testing().Cleanup(func() { _ = made.Close() }) // has no effect on a client that is closed
	return made
}

// send enqueues messages, and closes the client to send them.
func (d *driver) send(c posthog.Client, messages ...posthog.Message) {
	d.testing().Helper()
	for _, m := range messages {
		if err := c.Enqueue(m); err != nil {
			d.testing().Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		d.testing().Fatal(err)
	}
}

func (d *driver) flag(name, who string) posthog.FeatureFlagPayload {
	return posthog.FeatureFlagPayload{Key: d.key(name), DistinctId: d.id(who), SendFeatureFlagEvents: new(false)}
}

// value returns the value of a flag for a person, or the error.
func (d *driver) value(c posthog.Client, p posthog.FeatureFlagPayload) any {
	result, err := c.GetFeatureFlagResult(p)
	switch {
	case errors.Is(err, posthog.ErrFlagNotFound):
		return nil
	case err != nil:
		return err.Error()
	case result.Variant != nil:
		return *result.Variant
	}
	return result.Enabled
}

func (d *driver) events() {
	mark := d.mark()
	d.send(
		d.client(func(c *posthog.Config) { c.Compression = posthog.CompressionGzip }),
		posthog.Capture{DistinctId: d.id("g1"), Event: "page visited", Properties: posthog.NewProperties().Set("n", 1), Groups: posthog.NewGroups().Set("company", d.id("acme"))},
		posthog.Identify{DistinctId: d.id("g1"), Properties: posthog.NewProperties().Set("plan", "pro").Set("extra", "x")},
		posthog.Alias{DistinctId: d.id("g1"), Alias: d.id("g1-alias")},
		posthog.GroupIdentify{Type: "company", Key: d.id("acme"), Properties: posthog.NewProperties().Set("tier", "enterprise")},
		posthog.Capture{DistinctId: d.id("g1"), Event: "$set", Properties: posthog.Properties{"$set": object{"city": "Oslo"}, "$set_once": object{"first": "yes", "plan": "no"}}},
		posthog.Capture{DistinctId: d.id("g1"), Event: "$unset", Properties: posthog.Properties{"$unset": []string{"extra"}}},
		posthog.Capture{DistinctId: d.id("g1"), Event: "$identify", Properties: posthog.Properties{"$anon_distinct_id": d.id("g1-anon")}},
		posthog.NewDefaultException(time.Now(), d.id("g1"), "boom", "for a test"),
	)
	sent := d.since(mark, func(exchange) bool { return true })
	d.equal("C01", "all events are in one request", len(sent), 1)
	if len(sent) == 0 {
		return
	}
	e := sent[0]
	d.equal("C02", "events go to "+d.path, e.path, d.path)
	d.ok("C03", "the SDK names itself in the User-Agent", strings.HasPrefix(e.header.Get("User-Agent"), userAgent), e.header)
	d.equal("C04", "the body is compressed and says so", []any{e.gzip, e.header.Get("Content-Encoding")}, []any{true, "gzip"})
	d.equal("C05", "the answer is 200 and JSON", []any{e.status, e.answerHeader.Get("Content-Type")}, []any{200, "application/json"})
	var names []string
	for _, event := range e.events() {
		names = append(names, fmt.Sprint(event["event"]))
	}
	d.equal("C06", "eight kinds of events are on the wire", names, []string{"page visited", "$identify", "$create_alias", "$groupidentify", "$set", "$unset", "$identify", "$exception"})
	if d.mode == posthog.CaptureModeAnalyticsV1 {
		d.analyticsEnvelope(e)
		return
	}
	d.equal("C07", "compression is in the query as well", e.query.Get("compression"), "gzip")
	d.equal("C08", "the envelope has the project key", e.body["api_key"], any(d.projectKey))
	d.equal("C09", "the answer says what SDKs look for", e.answer, object{"status": 1.0})
	alias := e.events()[2]
	_, atTop := alias["distinct_id"]
	d.equal("C10", "an alias has its distinct ID in the properties alone", []any{atTop, properties(alias)["distinct_id"]}, []any{false, d.id("g1")})
}

func (d *driver) analyticsEnvelope(e exchange) {
	d.equal("V01", "the project key is a bearer token", e.header.Get("Authorization"), "Bearer "+d.projectKey)
	d.ok("V02", "the SDK tells what it is, and the attempt", strings.HasPrefix(e.header.Get("PostHog-Sdk-Info"), userAgent) && e.header.Get("PostHog-Attempt") == "1", e.header)
	_, err := time.Parse(time.RFC3339Nano, e.header.Get("PostHog-Request-Timestamp"))
	d.ok("V03", "the request has a time", err == nil, err)
	id := e.header.Get("PostHog-Request-Id")
	d.ok("V04", "the request has an ID, and the answer repeats it", id != "" && e.answerHeader.Get("PostHog-Request-Id") == id, e.answerHeader)
	want := object{}
	for _, event := range e.events() {
		want[fmt.Sprint(event["uuid"])] = object{"result": "ok"}
	}
	d.equal("V05", "the answer has a result for each event", e.answer, object{"results": want})
	d.equal("V06", "nothing has to be sent again", e.answerHeader.Get("Retry-After"), "")
}

func (d *driver) persons() {
	t := d.testing()
	p := poll(func() person { return d.person(t, d.id("g1")) }, func(p person) bool { return len(p.DistinctIDs) == 3 })
	slices.Sort(p.DistinctIDs)
	d.equal("P01", "$set and $set_once are kept, $unset is gone", []any{p.Properties["plan"], p.Properties["city"], p.Properties["first"], p.Properties["extra"]}, []any{"pro", "Oslo", "yes", nil})
	d.equal("P02", "alias and anonymous ID are the same person", p.DistinctIDs, []string{d.id("g1"), d.id("g1-alias"), d.id("g1-anon")})
	d.equal("P03", "the person is identified", p.Identified, true)
	g := poll(func() object { return d.group(t, d.company, d.id("acme")) }, func(g object) bool { return g != nil })
	d.equal("P04", "the group has its properties", g["tier"], any("enterprise"))
}

func (d *driver) flags() {
	t, mark := d.testing(), d.mark()
	c := d.client(nil)
	result, err := c.GetFeatureFlagResult(d.flag("variant", "g2"))
	if err != nil {
		t.Fatal(err)
	}
	d.equal("F01", "a multivariate flag has its variant and payload", []any{result.Enabled, *result.Variant, *result.RawPayload}, []any{true, "test", `{"n":1}`})
	e := d.until("flags request", mark, atPath("/flags/"))
	d.equal("F02", "the request is POST /flags/?v=2", []string{e.method, e.path, e.query.Get("v")}, []string{"POST", "/flags/", "2"})
	d.ok("F03", "the SDK names itself in the User-Agent", strings.HasPrefix(e.header.Get("User-Agent"), userAgent), e.header)
	d.equal("F04", "the answer is 200 and JSON", []any{e.status, e.answerHeader.Get("Content-Type")}, []any{200, "application/json"})
	evaluated, _ := e.answer["evaluatedAt"].(float64)
	d.ok("F05", "the answer has its time", time.Since(time.UnixMilli(int64(evaluated))).Abs() < time.Minute, evaluated)
	id, _ := e.answer["requestId"].(string)
	d.ok("F06", "the answer has an ID", len(id) == 36, id)
	_, limited := e.answer["quotaLimited"]
	d.equal("F07", "nothing went wrong", []any{e.answer["errorsWhileComputingFlags"], limited}, []any{false, false})
	var detail struct {
		Flags map[string]struct {
			Metadata struct {
				ID, Version int
				Payload     string
			}
			Reason struct{ Code, Description string }
		}
	}
	if err := json.Unmarshal([]byte(e.text), &detail); err != nil {
		t.Fatal(err)
	}
	of := detail.Flags[d.key("variant")]
	d.equal("F08", "the detail has integers, a reason, and the payload as text", []any{int64(of.Metadata.ID), of.Metadata.Version, of.Metadata.Payload, of.Reason.Code, of.Reason.Description}, []any{d.ids["variant"], 1, `{"n":1}`, "condition_match", "Matched condition set 1"})

	d.equal("F09", "a boolean flag, one that is off, one for servers, one that depends on another", []any{d.value(c, d.flag("bool", "g2")), d.value(c, d.flag("off", "g2")), d.value(c, d.flag("server", "g2")), d.value(c, d.flag("dependent", "g2"))}, []any{true, false, true, true})
	d.equal("F10", "a flag for clients and one that does not exist are not there", []any{d.value(c, d.flag("client", "g2")), d.value(c, d.flag("missing", "g2"))}, []any{nil, nil})
	payload, err := c.GetFeatureFlagPayload(d.flag("bool", "g2"))
	d.equal("F11", "the payload's text", []any{payload, err}, []any{`{"color":"blue"}`, nil})
	all, err := c.GetAllFlags(posthog.FeatureFlagPayloadNoKey{DistinctId: d.id("g2")})
	var keys []string
	for key := range all {
		if !strings.HasPrefix(key, "survey-targeting-") {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	d.equal("F12", "all flags are those for servers, and no others", []any{keys, err}, []any{d.serverKeys(), nil})
}

func (d *driver) targeting() {
	c := d.client(nil)
	on := func(name, who string, change func(*posthog.FeatureFlagPayload)) any {
		p := d.flag(name, who)
		if change != nil {
			change(&p)
		}
		return d.value(c, p)
	}
	plan := func(plan string) func(*posthog.FeatureFlagPayload) {
		return func(p *posthog.FeatureFlagPayload) { p.PersonProperties = posthog.NewProperties().Set("plan", plan) }
	}
	company := func(key string, properties posthog.Properties) func(*posthog.FeatureFlagPayload) {
		return func(p *posthog.FeatureFlagPayload) {
			p.Groups = posthog.NewGroups().Set("company", key)
			if properties != nil {
				p.GroupProperties = map[string]posthog.Properties{"company": properties}
			}
		}
	}
	d.equal("F20", "stored properties of the user, by all IDs", []any{on("person", "g1", nil), on("person", "g1-alias", nil), on("person", "g1-anon", nil)}, []any{true, true, true})
	d.equal("F21", "nobody knows this person", on("person", "nobody", nil), any(false))
	d.equal("F22", "properties in the request", []any{on("person", "nobody", plan("pro")), on("person", "g1", plan("free"))}, []any{true, false})
	d.equal("F23", "a cohort by a stored property", on("cohort", "g1", nil), any(true))
	d.equal("F24", "stored properties of a group", on("group", "g2", company(d.id("acme"), nil)), any(true))
	d.equal("F25", "no group", on("group", "g2", nil), any(false))
	d.equal("F26", "properties of a group in the request", on("group", "g2", company(d.id("other"), posthog.NewProperties().Set("tier", "enterprise"))), any(true))
}

func (d *driver) exposures() {
	t, mark := d.testing(), d.mark()
	c := d.client(nil)
	asked := d.flag("variant", "g3")
	asked.SendFeatureFlagEvents = nil
	if _, err := c.GetFeatureFlagResult(asked); err != nil {
		t.Fatal(err)
	}
	d.send(c)
	of := d.until("flags request", mark, atPath("/flags/")).answer
	event, e := d.untilEvent("exposure", mark, named("$feature_flag_called"))
	p := properties(event)
	d.equal("F30", "the exposure is accepted", e.status, 200)
	d.equal("F31", "flag and value", []any{p["$feature_flag"], p["$feature_flag_response"]}, []any{d.key("variant"), "test"})
	d.equal("F32", "id, version and reason are those of the answer", []any{p["$feature_flag_id"], p["$feature_flag_version"], p["$feature_flag_reason"]}, []any{float64(d.ids["variant"]), 1.0, "Matched condition set 1"})
	d.equal("F33", "request and time are those of the answer", []any{p["$feature_flag_request_id"], p["$feature_flag_evaluated_at"]}, []any{of["requestId"], of["evaluatedAt"]})
	d.equal("F34", "not evaluated locally, without errors", []any{p["locally_evaluated"], p["$feature_flag_error"]}, []any{false, nil})
}

func (d *driver) snapshots() {
	t, mark := d.testing(), d.mark()
	c := d.client(nil)
	keys := []string{d.key("variant"), d.key("bool"), d.key("off"), d.key("person")}
	snapshot, err := c.EvaluateFlags(posthog.EvaluateFlagsPayload{DistinctId: d.id("g1"), FlagKeys: keys})
	if err != nil {
		t.Fatal(err)
	}
	d.equal("F40", "a snapshot has all values", []any{snapshot.GetFlag(keys[0]), snapshot.IsEnabled(keys[3]), snapshot.GetFlagPayload(keys[1])}, []any{"test", true, `{"color":"blue"}`})
	d.send(c, posthog.Capture{DistinctId: d.id("g1"), Event: "with a snapshot", Flags: snapshot})
	requests := d.since(mark, atPath("/flags/"))
	d.equal("F41", "one request, for these flags, did for all of it", []any{len(requests), requests[0].body["flag_keys_to_evaluate"]}, []any{1, []any{keys[0], keys[1], keys[2], keys[3]}})
	answered, _ := requests[0].answer["flags"].(object)
	d.equal("F42", "the answer has these flags and no others", len(answered), len(keys))
	event, _ := d.untilEvent("event", mark, named("with a snapshot"))
	p := properties(event)
	d.equal("F43", "an event carries the values of a snapshot", []any{p["$feature/"+keys[0]], p["$feature/"+keys[1]], p["$feature/"+keys[2]]}, []any{"test", true, false})
	active, _ := p["$active_feature_flags"].([]any)
	d.ok("F44", "an event lists the active flags", slices.Contains(active, any(keys[1])) && !slices.Contains(active, any(keys[2])), active)
}

func (d *driver) local() {
	t, mark := d.testing(), d.mark()
	c := d.client(func(c *posthog.Config) {
		c.SecretKey = d.secretKey
		c.NextFeatureFlagsPollingTick = func() time.Duration { return 50 * time.Millisecond }
	})
	first := d.until("definitions", mark, atPath("/flags/definitions"))
	d.equal("D01", "definitions are asked for with token and cohorts", []any{first.method, first.query.Get("token"), first.query.Get("send_cohorts")}, []any{"GET", d.projectKey, "true"})
	d.equal("D02", "the secret key is a bearer token", first.header.Get("Authorization"), "Bearer "+d.secretKey)
	etag := first.answerHeader.Get("ETag")
	d.ok("D03", "the answer has a weak ETag", strings.HasPrefix(etag, `W/"`), etag)
	_, flags := first.answer["flags"].([]any)
	_, mapping := first.answer["group_type_mapping"].(object)
	_, cohorts := first.answer["cohorts"].(object)
	d.equal("D04", "the answer has its three parts", []bool{flags, mapping, cohorts}, []bool{true, true, true})
	second := d.until("second poll", mark, func(e exchange) bool { return e.header.Get("If-None-Match") != "" })
	d.equal("D05", "a poll that finds nothing new is 304, empty, with the same ETag", []any{second.header.Get("If-None-Match"), second.status, second.text, second.answerHeader.Get("ETag")}, []any{etag, 304, "", etag})

	value := func(name, who string, change func(*posthog.FeatureFlagPayload)) any {
		p := d.flag(name, who)
		p.OnlyEvaluateLocally = true
		if change != nil {
			change(&p)
		}
		return d.value(c, p)
	}
	pro := func(p *posthog.FeatureFlagPayload) { p.PersonProperties = posthog.NewProperties().Set("plan", "pro") }
	d.equal("D06", "boolean, variant and off", []any{value("bool", "g4", nil), value("variant", "g4", nil), value("off", "g4", nil)}, []any{true, "test", false})
	d.equal("D07", "properties, cohort, dependency", []any{value("person", "g4", pro), value("cohort", "g4", pro), value("dependent", "g4", nil)}, []any{true, true, true})
	d.equal("D08", "group", value("group", "g4", func(p *posthog.FeatureFlagPayload) {
		p.Groups = posthog.NewGroups().Set("company", d.id("acme"))
		p.GroupProperties = map[string]posthog.Properties{"company": posthog.NewProperties().Set("tier", "enterprise")}
	}), any(true))
	asked := d.flag("variant", "g4")
	asked.OnlyEvaluateLocally = true
	payload, err := c.GetFeatureFlagPayload(asked)
	d.equal("D09", "payload", []any{payload, err}, []any{`{"n":1}`, nil})

	remote := d.client(nil)
	var here, there []any
	for n := range 40 {
		who := fmt.Sprint("split-", n)
		here = append(here, value("split", who, nil))
		there = append(there, d.value(remote, d.flag("split", who)))
	}
	d.equal("D10", "people fall where the server puts them", here, there)
	locally := d.since(mark, func(e exchange) bool { return e.path == "/flags/" })
	d.equal("D11", "only the other client asked for flags", len(locally), 40)

	d.change("off", object{"filters": object{"groups": []object{{"properties": []object{}, "rollout_percentage": 100}}}})
	d.equal("D12", "a change arrives with the next poll", poll(func() any { return value("off", "g4", nil) }, func(v any) bool { return v == true }), any(true))
	d.change("off", object{"filters": object{"groups": []object{{"properties": []object{}, "rollout_percentage": 0}}}})

	called := d.flag("bool", "g4")
	called.SendFeatureFlagEvents = nil
	if _, err := c.GetFeatureFlagResult(called); err != nil {
		t.Fatal(err)
	}
	d.send(c)
	event, _ := d.untilEvent("exposure", mark, named("$feature_flag_called"))
	p := properties(event)
	loaded, _ := p["$feature_flag_definitions_loaded_at"].(float64)
	d.equal("D13", "the exposure says that it was local", []any{p["locally_evaluated"], p["$feature_flag_request_id"]}, []any{true, nil})
	d.ok("D14", "and when the definitions were loaded, if at all", p["$feature_flag_definitions_loaded_at"] == nil || loaded > 0, loaded)
}

func (d *driver) remoteConfiguration() {
	for id, key := range map[string]string{"D20": d.secretKey, "D21": d.personalKey} {
		mark := d.mark()
		c := d.client(func(c *posthog.Config) { c.SecretKey = key })
		payload, err := c.GetRemoteConfigPayload(d.key("remote"))
		d.equal(id, "the payload, by the secret key (D20) and a personal one (D21)", []any{payload, err}, []any{`{"k":"v"}`, nil})
		e := d.until("payload", mark, func(e exchange) bool { return strings.HasSuffix(e.path, "/remote_config") })
		d.equal(id, "is JSON in a JSON string", strings.TrimSpace(e.text), `"{\"k\":\"v\"}"`)
		d.send(c)
	}
}

func (d *driver) options() {
	t := d.testing()
	compressions := map[string]posthog.CompressionMode{"": posthog.CompressionNone, "gzip": posthog.CompressionGzip}
	if d.mode == posthog.CaptureModeAnalyticsV1 {
		compressions["zstd"] = posthog.CompressionZstd
		compressions["deflate"] = posthog.CompressionDeflate
		compressions["br"] = posthog.CompressionBrotli
	}
	for encoding, compression := range compressions {
		mark := d.mark()
		who := d.id("compressed-" + encoding)
		d.send(d.client(func(c *posthog.Config) { c.Compression = compression }), posthog.Identify{DistinctId: who, Properties: posthog.NewProperties().Set("by", encoding)})
		e := d.until("events", mark, atPath(d.path))
		d.equal("C20", "compression "+encoding, []any{e.header.Get("Content-Encoding"), e.status}, []any{encoding, 200})
		p := poll(func() person { return d.person(t, who) }, func(p person) bool { return p.Properties != nil })
		d.equal("C21", "is understood: "+encoding, p.Properties["by"], any(encoding))
	}

	mark := d.mark()
	d.send(
		d.client(func(c *posthog.Config) { c.HistoricalMigration = true }),
		posthog.Capture{DistinctId: d.id("g5"), Event: "long ago", Timestamp: time.Date(2020, 2, 3, 4, 5, 6, 7, time.UTC), Properties: posthog.Properties{"$set": object{"joined": "2020"}}},
	)
	e := d.until("events", mark, atPath(d.path))
	d.equal("C22", "a migration of old events", []any{e.body["historical_migration"], e.status}, []any{true, 200})
	d.equal("C23", "applies what they set", poll(func() person { return d.person(t, d.id("g5")) }, func(p person) bool { return p.Properties != nil }).Properties["joined"], any("2020"))

	c := d.client(func(c *posthog.Config) { c.BatchSize = 20 })
	mark = d.mark()
	many := make([]posthog.Message, 60)
	for n := range many {
		many[n] = posthog.Capture{DistinctId: d.id("many"), Event: "one of many", Properties: posthog.Properties{"n": n}}
	}
	d.send(c, many...)
	sent := 0
	for _, e := range d.since(mark, atPath(d.path)) {
		sent += len(e.events())
	}
	d.equal("C24", "many events, in several requests", sent, 60)
}

func (d *driver) wrongKeys() {
	t := d.testing()
	quiet := new(record)
	nobody := func(change func(*posthog.Config)) posthog.Client {
		c := posthog.Config{Endpoint: d.recorder.url, Logger: quiet, Interval: time.Hour, CaptureMode: d.mode}
		if change != nil {
			change(&c)
		}
		made, err := posthog.NewWithConfig("phc_nobody_has_this", c)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	mark := d.mark()
	c := nobody(nil)
	_, err := c.GetFeatureFlagResult(d.flag("bool", "g6"))
	d.ok("E01", "flags of an unknown project are an error", err != nil, err)
	e := d.until("refused flags", mark, atPath("/flags/"))
	d.equal("E02", "the answer is 401 and JSON", []any{e.status, e.answer != nil}, []any{401, true})
	d.send(c, posthog.Capture{DistinctId: d.id("g6"), Event: "for nobody"})
	refused := d.since(mark, atPath(d.path))
	d.ok("E03", "events of an unknown project are refused, once", len(refused) == 1 && refused[0].status == 401, len(refused))

	mark = d.mark()
	c = d.client(func(c *posthog.Config) { c.SecretKey, c.Logger = "phs_nobody_has_this", quiet })
	e = d.until("refused definitions", mark, atPath("/flags/definitions"))
	d.equal("E04", "definitions need a key that exists", []any{e.status, e.answer["type"]}, []any{401, "authentication_error"})
	d.equal("E05", "flags still work, by asking the server", d.value(c, d.flag("variant", "g6")), any("test"))
	_, err = c.GetRemoteConfigPayload(d.key("remote"))
	d.ok("E06", "and so does a payload", err != nil, err)
	d.send(c)

	mark = d.mark()
	c = d.client(func(c *posthog.Config) { c.SecretKey, c.Logger = d.secretKey, quiet })
	_, err = c.GetRemoteConfigPayload(d.key("missing"))
	e = d.until("no payload", mark, func(e exchange) bool { return strings.HasSuffix(e.path, "/remote_config") })
	d.ok("E07", "a flag that does not exist has no payload", err != nil && e.status == 404, err, e.status)
	d.send(c)
	d.ok("E08", "the SDK tells its user", len(quiet.lines()) > 0)
}
