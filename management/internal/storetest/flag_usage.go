package storetest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// callsOf counts the calls of a flag among the events of a project.
func callsOf(events []capture.Event, key string, since time.Time) []storage.FlagCount {
	type of struct {
		day        time.Time
		value, sdk string
	}
	counts := make(map[of]int64)
	for _, call := range storage.FlagCalls(events) {
		if day := call.At.Truncate(24 * time.Hour); call.Key == key && !day.Before(since) {
			counts[of{day, call.Value, call.SDK}]++
		}
	}
	list := []storage.FlagCount{}
	for o, n := range counts {
		list = append(list, storage.FlagCount{Key: key, Day: o.day, Value: json.RawMessage(o.value), SDK: o.sdk, Count: n})
	}
	slices.SortFunc(list, func(a, b storage.FlagCount) int {
		return cmp.Or(a.Day.Compare(b.Day), strings.Compare(string(a.Value), string(b.Value)), strings.Compare(a.SDK, b.SDK))
	})
	return list
}

// testFlagUsage compares counts with the events that are stored, after several
// processes have written them, with events that come again (management.md §13.22).
func testFlagUsage(t *testing.T, s *suite) {
	ctx := t.Context()
	o := s.organization(t, "acme")
	p, q := s.project(t, o), s.project(t, o)
	keys := []string{"beta", `o"ther`, "gone"}
	for _, key := range keys {
		s.flag(t, p, key)
	}
	s.flag(t, q, "beta")
	stores := []sqlstore.Storage{s.Storage, s.another(t)}
	all := time.Time{}
	today := s.now.Truncate(24 * time.Hour)

	const writers, batches = 3, 50
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(7, uint64(w)))
			var sent []capture.Event
			for range batches {
				var list []capture.Event
				for range 1 + random.IntN(4) {
					if len(sent) > 0 && random.IntN(4) == 0 {
						list = append(list, sent[random.IntN(len(sent))])
						continue
					}
					properties := fmt.Sprintf(`{"$feature_flag":%q,"$feature_flag_response":%s%s}`, keys[random.IntN(len(keys))],
						[]string{"true", "false", "null", `"a"`, `"b"`, "7"}[random.IntN(6)], []string{"", `,"$lib":"web"`, `,"$lib":"posthog-go"`}[random.IntN(3)])
					e := s.event("$feature_flag_called", fmt.Sprint("u", random.IntN(9)), properties)
					e.Project = []int64{p.ID, p.ID, q.ID}[random.IntN(3)]
					e.Time = e.Time.Add(-time.Duration(random.IntN(45*24)) * time.Hour)
					list = append(list, e)
				}
				sent = append(sent, list...)
				if err := stores[random.IntN(2)].Write(ctx, list); err != nil {
					t.Errorf("Write: %v", err)
				}
			}
		})
	}
	wg.Wait()
	check := func(when string, events map[int64][]capture.Event) {
		t.Helper()
		for _, store := range stores {
			for _, key := range keys {
				for _, since := range []time.Time{all, today.Add(-20 * 24 * time.Hour), today} {
					want(t, fmt.Sprintf("FlagUsage of %s since %v, %s", key, since, when), callsOf(events[p.ID], key, since))(store.FlagUsage(ctx, p.ID, []string{key}, since))
				}
			}
			since := today.Add(-20 * 24 * time.Hour)
			var several []storage.FlagCount
			byDay := make(map[time.Time]int64)
			for _, key := range keys {
				for _, c := range callsOf(events[p.ID], key, since) {
					if key != "gone" {
						several = append(several, c)
					}
					byDay[c.Day] += c.Count
				}
			}
			slices.SortStableFunc(several, func(a, b storage.FlagCount) int {
				return cmp.Or(a.Day.Compare(b.Day), strings.Compare(a.Key, b.Key))
			})
			want(t, "FlagUsage of several flags, "+when, several)(store.FlagUsage(ctx, p.ID, []string{keys[1], keys[0], "unknown"}, since))
			days := []storage.FlagCount{}
			for _, day := range slices.SortedFunc(maps.Keys(byDay), time.Time.Compare) {
				days = append(days, storage.FlagCount{Day: day, Count: byDay[day]})
			}
			want(t, "FlagUsage by day, "+when, days)(store.FlagUsage(ctx, p.ID, nil, since))
			want(t, "FlagUsage of no flags", []storage.FlagCount{})(store.FlagUsage(ctx, p.ID, []string{}, since))
			want(t, "FlagUsage in another project", callsOf(events[q.ID], "beta", all))(store.FlagUsage(ctx, q.ID, []string{"beta"}, all))
		}
	}
	events := map[int64][]capture.Event{p.ID: s.stored(t, p.ID), q.ID: s.stored(t, q.ID)}
	check("as it was written", events)
	call := s.event("$feature_flag_called", "u0", `{"$feature_flag":"gone","$feature_flag_response":false}`)
	call.Project, call.Time = p.ID, s.now.Add(48*time.Hour) // a clock that is fast
	s.write(t, call)
	events[p.ID] = append(events[p.ID], call)
	check("with an event of the future", events)

	// A flag that is deleted is counted on.
	gone, err := s.Flags().Get(ctx, storage.FlagProject.Is(p.ID), storage.FlagKey.Is("gone"), storage.FlagDeleted.Is(false))
	must(t, err)
	gone.Deleted = true
	must(t, s.Flags().Update(ctx, gone))
	call.UUID = capture.NewUUID(call.Time)
	fresh := s.another(t)
	must(t, fresh.Write(ctx, []capture.Event{call}))
	events[p.ID] = append(events[p.ID], call)
	check("through another process", events)

	// What was received stays counted when its events are deleted.
	must(t, s.Projects().Delete(ctx, storage.ProjectID.Is(q.ID)))
	for more := true; more; {
		more, err = s.PurgeProjects(ctx, time.Now().Add(time.Hour))
		must(t, err)
	}
	events[q.ID] = nil
	check("after the other project was deleted", events)
}

// testFlagUsageBounds checks what is not counted by itself, and not at all.
func testFlagUsageBounds(t *testing.T, s *suite) {
	ctx := t.Context()
	p := s.project(t, s.organization(t, "acme"))
	s.flag(t, p, "many")
	call := func(key, value, sdk string, ago time.Duration) capture.Event {
		e := s.event("$feature_flag_called", "u", fmt.Sprintf(`{"$feature_flag":%q,"$feature_flag_response":%q,"$lib":%q}`, key, value, sdk))
		e.Project, e.Time = p.ID, s.now.Add(-ago)
		return e
	}
	const days = 24 * time.Hour
	for range 2 {
		var list []capture.Event
		for i := range 130 {
			list = append(list, call("many", fmt.Sprint("v", i), "web", 0), call("many", "v", fmt.Sprint("sdk-", i), days), call("none", fmt.Sprint(i), "web", 0))
		}
		s.write(t, append(list, call("many", "old", "web", 400*days), call("many", "older", "web", 401*days))...)
	}
	got, err := s.FlagUsage(ctx, p.ID, []string{"many"}, time.Time{})
	must(t, err)
	var values, sdks int
	var total, others, otherSDKs, old int64
	for _, c := range got {
		total += c.Count
		switch {
		case string(c.Value) == `"$other"`:
			others += c.Count
		case c.SDK == "$other":
			otherSDKs += c.Count
		case c.SDK == "web" && string(c.Value) != `"old"`:
			values++
		case string(c.Value) == `"v"`:
			sdks++
		default:
			old += c.Count
		}
	}
	if values != 100 || sdks != 20 || others != 60 || otherSDKs != 220 || old != 2 || total != 522 {
		t.Errorf("%d values, %d SDKs, %d calls with others, %d of others, %d old, %d in all; want 100, 20, 60, 220, 2, 522", values, sdks, others, otherSDKs, old, total)
	}

	// What is old goes when the flag is called again.
	later := call("many", "new", "web", -500*days)
	later.Received = later.Time
	s.write(t, later)
	fresh := s.another(t)
	later.UUID = capture.NewUUID(later.Time)
	must(t, fresh.Write(ctx, []capture.Event{later}))
	if s.again != nil {
		count := storage.FlagCount{Key: "many", Day: later.Time.Truncate(days), Value: json.RawMessage(`"new"`), SDK: "web", Count: 2}
		want(t, "FlagUsage after 500 days", []storage.FlagCount{count})(s.FlagUsage(ctx, p.ID, []string{"many"}, time.Time{}))
	}
	want(t, "FlagUsage of a key that no flag has", []storage.FlagCount{})(s.another(t).FlagUsage(ctx, p.ID, []string{"unknown"}, time.Time{}))
}
