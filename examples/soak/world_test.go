package soak

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff"
	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/reference"
)

const (
	projectKey = "phc_soak"

	senders, askers, followers = 4, 4, 2 // how many at the same time

	betweenRequests = 20 * time.Millisecond // of one sender, and of one asker
	betweenChanges  = 250 * time.Millisecond
	betweenLists    = time.Second

	spread    = 5 * time.Second  // after which every node has a change, on a busy machine
	afterward = 8 * time.Second  // in which a node has caught up after a fault
	calm      = 15 * time.Second // without a fault: event streams are connected
	tooLate   = 10 * time.Second // for a change to reach a program that evaluates by itself
)

// A world is what is under load: servers, what was sent to them, and what they said.
type world struct {
	t        *testing.T
	nodes    []*node
	secret   string // of the project
	personal string // key for management
	done     context.CancelFunc
	working  sync.WaitGroup

	counts counts

	mu       sync.Mutex
	acked    map[uuid.UUID]bool
	versions []version
	faults   []span
	wrong    []string
	arrivals []time.Duration // from a change to a program that evaluates by itself
	pending  []observation   // that wait for the end of a change
}

// An observation is the answer to one request for flags.
type observation struct {
	start, end time.Time
	node       string
	id         string
	properties []byte
	flags      map[string]answer
}

// counts are figures of the load.
type counts struct {
	sent, refused, unreachable atomic.Int64 // requests with events
	asked, partial, compared   atomic.Int64 // requests for flags
	changed, unclear, listed   atomic.Int64 // requests of management
	unanswered, unlisted       atomic.Int64
}

// A span is the time of a fault, up to the recovery of all nodes. Its end is zero before.
type span struct{ start, end time.Time }

// A version is a state of the definitions. It can be in force from a time on; one that
// follows is in force everywhere at its settled.
type version struct {
	text     []byte
	document *reference.Document
	from     time.Time
	acked    time.Time
}

// fail notes what must not be.
func (w *world) fail(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note(format, args...)
}

// note is fail for a caller that holds the lock.
func (w *world) note(format string, args ...any) {
	const most = 20
	if len(w.wrong) < most {
		w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
	}
}

// disturbed reports whether there was a fault at a time, or is one, or a node may still
// catch up.
func (w *world) disturbed(at time.Time, before time.Duration) bool {
	for _, f := range w.faults {
		if at.After(f.start) && (f.end.IsZero() || at.Before(f.end.Add(before))) {
			return true
		}
	}
	return false
}

// sinceFault says how long a fault is over.
func (w *world) sinceFault(at time.Time) string {
	if len(w.faults) == 0 {
		return "before all faults"
	}
	f := w.faults[len(w.faults)-1]
	if f.end.IsZero() {
		return fmt.Sprint("during a fault, of ", at.Sub(f.start).Round(time.Millisecond))
	}
	return fmt.Sprint(at.Sub(f.end).Round(time.Millisecond), " after a fault")
}

// settled returns when a version is in force everywhere.
func (w *world) settled(v *version) time.Time {
	at := v.acked.Add(spread)
	for _, f := range w.faults {
		switch {
		case f.start.After(at) || !f.end.IsZero() && f.end.Add(afterward).Before(v.acked):
		case f.end.IsZero():
			return time.Now().Add(time.Hour)
		case f.end.Add(afterward).After(at):
			at = f.end.Add(afterward)
		}
	}
	return at
}

// any returns one of the nodes.
func (w *world) any() *node { return w.nodes[rand.IntN(len(w.nodes))] }

// begin starts the load.
func (w *world) begin(ctx context.Context) {
	ctx, w.done = context.WithCancel(ctx)
	for i := range senders {
		w.working.Go(func() { w.sendEvents(ctx, fmt.Sprint("sender-", i)) })
	}
	for range askers {
		w.working.Go(func() { w.repeat(ctx, betweenRequests, w.askFlags) })
	}
	w.working.Go(func() { w.repeat(ctx, betweenChanges, w.change) })
	w.working.Go(func() { w.repeat(ctx, betweenLists, w.list) })
	for i := range followers {
		w.working.Go(func() { w.follow(ctx, w.nodes[i%len(w.nodes)]) })
	}
}

// end stops the load.
func (w *world) end() {
	w.done()
	w.working.Wait()
	if _, err := w.look(w.t.Context(), w.nodes[0], time.Now()); err != nil {
		w.fail("at the end: %v", err)
	}
	w.judge()
	client.CloseIdleConnections()
}

func (w *world) repeat(ctx context.Context, every time.Duration, do func(context.Context)) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			do(ctx)
		}
	}
}

// sendEvents sends events as SDKs do: what is not answered with 200 is sent again with
// the same UUIDs.
func (w *world) sendEvents(ctx context.Context, id string) {
	n := 0
	w.repeat(ctx, betweenRequests, func(ctx context.Context) {
		var ids []uuid.UUID
		var batch []map[string]any
		for range 1 + rand.IntN(5) {
			n++
			u := capture.NewUUID(time.Now())
			ids = append(ids, u)
			batch = append(batch, map[string]any{
				"event": "tick", "uuid": u.String(), "distinct_id": id, "timestamp": time.Now().UTC().Format(time.RFC3339Nano),
				"properties": map[string]any{"n": n, "$set": map[string]any{"n": n}},
			})
		}
		body, err := json.Marshal(map[string]any{"api_key": projectKey, "batch": batch})
		if err != nil {
			w.fail("%v", err)
			return
		}
		again := time.NewTicker(betweenRequests)
		defer again.Stop()
		for {
			status, answer, err := send(ctx, http.MethodPost, w.any().url+"/batch/", "", body)
			switch {
			case status == http.StatusOK:
				w.counts.sent.Add(1)
				w.mu.Lock()
				for _, u := range ids {
					w.acked[u] = true
				}
				w.mu.Unlock()
				return
			case err != nil:
				w.counts.unreachable.Add(1)
			case status == http.StatusServiceUnavailable:
				w.counts.refused.Add(1)
			default:
				w.fail("events were answered %d: %s", status, answer)
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-again.C:
			}
		}
	})
}

// An answer is what matters of the answer for one flag.
type answer struct {
	Enabled bool
	Variant string
	Payload string
}

// askFlags asks for the flags of a person and compares the answer with the reference
// evaluator.
func (w *world) askFlags(ctx context.Context) {
	pick := func(list ...string) string { return list[rand.IntN(len(list))] }
	id := fmt.Sprintf("person-%d", rand.IntN(100_000))
	properties, err := json.Marshal(map[string]any{
		"plan": pick("free", "Pro", "PRO", "enterprise"), "country": pick("DE", "AT", "ch", "Österreich"), "age": rand.IntN(90),
		"version": fmt.Sprintf("%d.%d.0", rand.IntN(4), rand.IntN(12)), "email": id + pick("@acme.example", "@Example.com"),
	})
	if err != nil {
		w.fail("%v", err)
		return
	}
	body, err := json.Marshal(map[string]any{"api_key": projectKey, "distinct_id": id, "person_properties": json.RawMessage(properties)})
	if err != nil {
		w.fail("%v", err)
		return
	}
	n, start := w.any(), time.Now()
	status, text, err := send(ctx, http.MethodPost, n.url+"/flags/?v=2", "", body)
	end := time.Now()
	switch {
	case ctx.Err() != nil:
		return
	case err != nil || status == http.StatusServiceUnavailable:
		w.counts.unanswered.Add(1)
		return
	case status != http.StatusOK:
		w.fail("a request for flags was answered %d: %s", status, text)
		return
	}
	w.counts.asked.Add(1)
	var got struct {
		Flags map[string]struct {
			Enabled  bool
			Variant  string
			Metadata struct{ Payload string }
		}
		ErrorsWhileComputingFlags bool
	}
	if err := json.Unmarshal(text, &got); err != nil {
		w.fail("an answer with flags: %v", err)
		return
	}
	if got.ErrorsWhileComputingFlags {
		w.counts.partial.Add(1)
		return
	}
	answers := make(map[string]answer)
	for key, f := range got.Flags {
		if f.Enabled {
			answers[key] = answer{true, f.Variant, f.Metadata.Payload}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending = append(w.pending, observation{start, end, n.url, id, properties, answers})
}

// judge compares answers with what the reference evaluator says. No change may be under
// way: its version would not be known yet.
func (w *world) judge() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.pending {
		o := &w.pending[i]
		w.counts.compared.Add(1)
		difference, possible := "", 0
		for n := len(w.versions) - 1; n >= 0; n-- {
			v := &w.versions[n]
			if v.from.After(o.end) {
				continue
			}
			found := compare(v.document, o.id, o.properties, o.start, o.flags)
			if possible++; possible == 1 || found == "" {
				difference = found
			}
			if found == "" || w.settled(v).Before(o.start) {
				break
			}
		}
		if difference != "" || possible == 0 {
			w.note("%s, %v after the latest change and %s: person %s with %s, %d versions are possible, by the latest: %s",
				o.node, o.start.Sub(w.versions[len(w.versions)-1].acked).Round(time.Millisecond), w.sinceFault(o.start), o.id, o.properties, possible, difference)
		}
	}
	w.pending = nil
}

// compare returns in what answers differ from what the reference evaluator says of a
// version, "" for nothing.
func compare(d *reference.Document, id string, properties []byte, now time.Time, got map[string]answer) string {
	results, _ := d.Evaluate(&reference.Request{DistinctID: id, Person: properties, Now: now})
	enabled := 0
	for _, r := range results {
		want := answer{}
		if r.Enabled {
			enabled++
			want = answer{true, r.Variant, ""}
			if r.Payload != nil && json.Unmarshal(r.Payload, &want.Payload) != nil {
				return fmt.Sprintf("flag %s has the payload %s, which is not text", r.Key, r.Payload)
			}
		}
		if got[r.Key] != want {
			return fmt.Sprintf("flag %s is %+v, want %+v", r.Key, got[r.Key], want)
		}
	}
	if enabled != len(got) {
		return fmt.Sprintf("%d flags are on, want %d", len(got), enabled)
	}
	return ""
}

// filters returns random filters of a flag.
func filters() map[string]any {
	property := func(key, operator string, value any) map[string]any {
		return map[string]any{"key": key, "type": "person", "operator": operator, "value": value}
	}
	all := []map[string]any{
		property("plan", "exact", []string{"pro", "Enterprise"}), property("country", "icontains", "österr"), property("age", "gt", "40"),
		property("version", "semver_gte", "1.4.0"), property("email", "regex", "^person-[0-9]*7@"), property("country", "is_not", "DE"),
	}
	out := map[string]any{}
	var groups []map[string]any
	for range 1 + rand.IntN(3) {
		var properties []map[string]any
		for range rand.IntN(3) {
			properties = append(properties, all[rand.IntN(len(all))])
		}
		groups = append(groups, map[string]any{"properties": properties, "rollout_percentage": rand.IntN(101)})
	}
	out["groups"] = groups
	if rand.IntN(3) == 0 {
		out["multivariate"] = map[string]any{"variants": []map[string]any{
			{"key": "control", "rollout_percentage": 50}, {"key": "Blue", "rollout_percentage": 30}, {"key": "green", "rollout_percentage": 20},
		}}
		out["payloads"] = map[string]string{"Blue": fmt.Sprintf(`{"n": %d}`, rand.IntN(1000))}
	}
	return out
}

// makeFlags makes the flags that the load is about.
func (w *world) makeFlags(ctx context.Context) error {
	const n = 20
	for i := range n {
		body, err := json.Marshal(map[string]any{"key": flagKey(i), "name": "A flag", "active": true, "filters": filters()})
		if err != nil {
			return err
		}
		status, answer, err := send(ctx, http.MethodPost, w.nodes[0].url+"/api/projects/@current/feature_flags/", w.personal, body)
		if err != nil || status != http.StatusCreated {
			return fmt.Errorf("make a flag: status %d, %v: %s", status, err, answer)
		}
	}
	if _, err := w.look(ctx, w.nodes[0], time.Now()); err != nil {
		return err
	}
	// An answer by an older version would be called wrong.
	for _, other := range w.nodes[1:] {
		if err := await(ctx, other.url+" to have the flags", func() bool {
			_, text, err := get(ctx, other.url+"/flags/definitions?send_cohorts", w.secret)
			return err == nil && bytes.Equal(text, w.versions[0].text)
		}); err != nil {
			return err
		}
	}
	return nil
}

func flagKey(i int) string { return fmt.Sprintf("soak-%d", i) }

// look notes the definitions if they have changed, because of a change that began at a
// time, and reports whether they have.
func (w *world) look(ctx context.Context, from *node, began time.Time) (changed bool, err error) {
	status, text, err := get(ctx, from.url+"/flags/definitions?send_cohorts", w.secret)
	if err != nil || status != http.StatusOK {
		return false, fmt.Errorf("definitions: status %d, %v: %s", status, err, text)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.versions); n > 0 && bytes.Equal(w.versions[n-1].text, text) {
		return false, nil
	}
	d, err := reference.Parse(text)
	if err != nil {
		return false, err
	}
	w.versions = append(w.versions, version{text, d, began, time.Now()})
	return true, nil
}

// change changes a flag. If it is not known what became of a change, no other one begins
// before it is: a node shows it, or all of them had the time to.
func (w *world) change(ctx context.Context) {
	n, i := w.any(), rand.IntN(20)
	fields := map[string]any{"active": rand.IntN(8) > 0}
	if rand.IntN(4) > 0 {
		fields["filters"] = filters()
	}
	body, err := json.Marshal(fields)
	if err != nil {
		w.fail("%v", err)
		return
	}
	began := time.Now()
	status, text, err := send(ctx, http.MethodPatch, n.url+"/api/projects/@current/feature_flags/"+flagKey(i)+"/", w.personal, body)
	switch {
	case status == http.StatusOK:
		w.counts.changed.Add(1)
	case err != nil || status == http.StatusServiceUnavailable:
		w.counts.unclear.Add(1)
	default:
		w.fail("a change of a flag was answered %d: %s", status, text)
		return
	}
	known := status == http.StatusOK
	for first := true; first || ctx.Err() == nil; first = false {
		changed, err := w.look(ctx, n, began)
		if err == nil && (known || changed || w.calmSince(began)) {
			w.judge()
			return
		}
		known = known && err == nil
		pass(ctx, betweenChanges)
		n = w.any()
	}
}

// calmSince reports whether all nodes have had the time to show a change that began at a
// time.
func (w *world) calmSince(began time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Since(began) > afterward && !w.disturbed(time.Now(), afterward)
}

// list reads a page of flags and one of persons.
func (w *world) list(ctx context.Context) {
	for _, path := range []string{"feature_flags/?limit=10", "persons/?limit=10"} {
		status, text, err := get(ctx, w.any().url+"/api/projects/@current/"+path, w.personal)
		switch {
		case ctx.Err() != nil:
			return
		case status == http.StatusOK:
			w.counts.listed.Add(1)
		case err != nil || status == http.StatusServiceUnavailable:
			w.counts.unlisted.Add(1)
		default:
			w.fail("a list of %s was answered %d: %s", path, status, text)
		}
	}
}

// follow evaluates by itself, and measures how long changes take to arrive.
func (w *world) follow(ctx context.Context, n *node) {
	c, err := flagstaff.Open(ctx, flagstaff.Config{URL: n.url, SecretKey: w.secret, Log: slog.New(slog.DiscardHandler)})
	if err != nil && ctx.Err() == nil {
		w.fail("a client of %s: %v", n.url, err)
	}
	defer c.Close(context.WithoutCancel(ctx))
	known := 0
	var s *flags.Snapshot
	w.repeat(ctx, lookAgain, func(context.Context) {
		w.mu.Lock()
		defer w.mu.Unlock()
		latest := len(w.versions) - 1
		if latest < 0 {
			return
		}
		v := &w.versions[latest]
		late := time.Since(v.acked)
		calmly := !w.disturbed(v.acked, calm) && !w.disturbed(time.Now(), calm)
		if now := c.Snapshot(); now != s {
			s = now
			if latest > known && calmly {
				known = latest
				w.arrivals = append(w.arrivals, late)
			}
		}
		if latest > known && calmly && late > tooLate {
			known = latest
			w.note("a change has not reached a program within %v", tooLate)
		}
	})
}
