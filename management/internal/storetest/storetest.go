package storetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// A part is a part of the contract.
type part struct {
	name string
	run  func(*testing.T, *suite)
}

// alone has what a store promises to one caller.
var alone = []part{
	{"readiness", testReady},
	{"users", testUsers},
	{"lists of users", testUserList},
	{"deleted users", testDeleteUser},
	{"totals of users and members", testTotals},
	{"scenes", testScenes},
	{"personal keys", testKeys},
	{"authenticators", testTOTP},
	{"pending authenticators", testPendingTOTP},
	{"backup codes", testBackupCodes},
	{"keys of secrets", testSealed},
	{"e-mail tokens", testEmailTokens},
	{"sessions", testSessions},
	{"links of users", testLinks},
	{"organizations", testOrganizations},
	{"deleted organizations", testDeleteOrganization},
	{"memberships", testMemberships},
	{"invitations", testInvitations},
	{"project records", testProjectRecords},
	{"deleted projects", testDeleteProject},
	{"projects know of their events", testIngestedEvent},
	{"what deleted projects leave behind", testPurgeProjects},
	{"flags", testFlags},
	{"IDs that are given", testGivenIDs},
	{"lists of flags", testFlagLists},
	{"versions of flags", testFlagVersions},
	{"what decides flags", testFlagDefinitions},
	{"when flags were called", testLastCalled},
	{"cohort records", testCohortRecords},
	{"early access features", testEarlyAccess},
	{"activity", testActivity},
	{"persons", testPersons},
	{"merges take everything along", testMerges},
	{"groups", testGroups},
	{"projects are apart", testProjects},
	{"cohorts (evaluation.md §5.4)", testCohorts},
	{"person records", testPersonRecords},
	{"pages of persons", testPersonPages},
	{"deleted persons", testDeletePerson},
	{"events of deleted persons", testDeleteEvents},
	{"deleted newest events", testDeleteNewest},
	{"recent distinct IDs", testRecentDistinctIDs},
	{"persons before others", testPersonsBefore},
	{"searches for events", testFindEvents},
	{"large events in pages", testLargeEvents},
	{"group records", testGroupRecords},
	{"pages of groups", testGroupPages},
	{"persons of cohorts", testCohortPersons},
	{"all persons", testAllPersons},
	{"counts of cohorts", testCohortCounts},
}

// shared has what a store promises to several callers, processes and transactions,
// and what its database takes part in most.
var shared = []part{
	{"bootstrap happens once", testBootstrap},
	{"versions", testVersions},
	{"watching", testWatch},
	{"definitions of events and properties (management.md §16.6)", testDefinitions},
	{"leading", testLead},
	{"throttling", testThrottle},
	{"transactions", testAtomic},
	{"transactions that fail", testAtomicFails},
	{"failures within transactions", testAtomicGoesOn},
	{"concurrent transactions", testConcurrentAtomic},
	{"races have one winner", testRaces},
	{"events are stored once", testEvents},
	{"events survive", testReopen},
	{"large and odd values", testOddValues},
	{"concurrent identification (T25)", testConcurrentIdentify},
	{"cache reads", testCacheReads},
	{"concurrent merges", testConcurrentMerges},
	{"overrides (evaluation.md §12)", testOverrides},
	{"persons change by hand and by events", testPersonUpdates},
	{"persons are deleted while events arrive", testConcurrentDeletion},
	{"groups change by hand and by events", testGroupUpdates},
	{"usage of flags", testFlagUsage},
	{"bounds of the usage of flags", testFlagUsageBounds},
	{"usage", testUsage},
	{"cancellation", testCancellation},
}

// An Open returns an empty store; the function that it returns with it opens the same
// store once more, as another process would, or is nil if that cannot be.
type Open func(t *testing.T) (s sqlstore.Storage, again func(t *testing.T) sqlstore.Storage)

// RunAlone runs what stores promise to one caller, which is most of the contract.
func RunAlone(t *testing.T, open Open) { runParts(t, alone, open) }

// RunShared runs the rest of the contract, in which databases differ most.
func RunShared(t *testing.T, open Open) { runParts(t, shared, open) }

func runParts(t *testing.T, parts []part, open Open) {
	for _, p := range parts {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			s, again := open(t)
			p.run(t, &suite{Storage: s, again: again, now: time.Date(2026, 3, 4, 5, 6, 7, 890_000, time.UTC)})
		})
	}
}

type suite struct {
	sqlstore.Storage
	again func(t *testing.T) sqlstore.Storage
	now   time.Time
}

// another is the store as another process sees it, or itself.
func (s *suite) another(t *testing.T) sqlstore.Storage {
	if s.again == nil {
		return s.Storage
	}
	return s.again(t)
}

// event returns an event of project 1.
func (s *suite) event(name, distinctID, properties string) capture.Event {
	return capture.Event{
		Project: 1, UUID: capture.NewUUID(s.now), Name: name, DistinctID: distinctID,
		Time: s.now, Received: s.now, Properties: json.RawMessage(properties),
	}
}

func (s *suite) write(t *testing.T, events ...capture.Event) {
	t.Helper()
	if err := s.Write(t.Context(), events); err != nil {
		t.Fatalf("Write: %v", err)
	}
}

func (s *suite) stored(t *testing.T, project int64) []capture.Event {
	t.Helper()
	return stored(t, s.Storage, project)
}

// stored returns the events of a project in the order of their times.
func stored(t *testing.T, s sqlstore.Storage, project int64) []capture.Event {
	t.Helper()
	var list []capture.Event
	for e, err := range s.AllEvents(t.Context(), project, storage.EventFilter{}) {
		if err != nil {
			t.Fatalf("AllEvents: %v", err)
		}
		list = append(list, e)
	}
	slices.SortStableFunc(list, func(a, b capture.Event) int { return a.Time.Compare(b.Time) })
	return list
}

// person checks the properties of persons of project 1; "" is nobody.
func person(t *testing.T, s sqlstore.Storage, want map[string]string) {
	t.Helper()
	for id, properties := range want {
		got, err := s.AppendPerson(t.Context(), []byte("before"), 1, id)
		if err != nil {
			t.Fatalf("AppendPerson(%q): %v", id, err)
		}
		got, ok := bytes.CutPrefix(got, []byte("before"))
		if !ok || !equalJSON(got, properties) {
			t.Errorf("person of %q is %s, want %s", id, got, properties)
		}
	}
}

func equalJSON(got []byte, want string) bool {
	if want == "" || len(got) == 0 {
		return string(got) == want
	}
	var a, b any
	return json.Unmarshal(got, &a) == nil && json.Unmarshal([]byte(want), &b) == nil && cmp.Equal(a, b)
}

func testReady(t *testing.T, s *suite) {
	if err := s.Ready(t.Context()); err != nil {
		t.Fatalf("Ready: %v", err)
	}
	for range 2 {
		must(t, s.CanWrite(t.Context()))
	}
	for e, err := range s.AllEvents(t.Context(), 0, storage.EventFilter{}) {
		t.Errorf("CanWrite leaves %v, %v", e, err)
	}
}

func testBootstrap(t *testing.T, s *suite) {
	stores := []sqlstore.Storage{s.Storage, s.another(t)}
	var mu sync.Mutex
	var all []*management.Created
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			c, err := management.Bootstrap(t.Context(), stores[i%len(stores)], management.First{})
			if err != nil {
				t.Errorf("Bootstrap: %v", err)
			}
			if c != nil {
				mu.Lock()
				all = append(all, c)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(all) != 1 {
		t.Fatalf("%d of 6 have created something, want 1", len(all))
	}
	c := all[0]
	projects, err := s.Projects().List(t.Context())
	if diff := cmp.Diff([]storage.Project{c.Project}, projects); err != nil || diff != "" {
		t.Errorf("Projects: %v (-want +got)\n%s", err, diff)
	}
	if c.Project.ID != 1 || c.Project.SecretHash != storage.HashKey(c.SecretKey) {
		t.Errorf("created %+v with secret key %q", c.Project, c.SecretKey)
	}
}

func testEvents(t *testing.T, s *suite) {
	a := s.event("page", "u1", `{"n":1,"$set":{"a":1}}`)
	b := s.event("page", "u2", `{}`)
	b.Time = b.Time.Add(-time.Hour)
	s.write(t, a, b)
	sameUUID := a
	sameUUID.DistinctID = "u3" // T13
	otherName := a
	otherName.Name = "click"
	otherDay := a
	otherDay.Time = a.Time.Add(24 * time.Hour)
	laterThatDay := a
	laterThatDay.Time = a.Time.Add(time.Hour)
	laterThatDay.Properties = json.RawMessage(`{"$set":{"a":2}}`)
	c := s.event("new", "u4", `{"$set":{"a":4}}`)
	// T12: again, within the batch as well, among new ones.
	s.write(t, a, sameUUID, otherName, sameUUID, otherDay, laterThatDay, c, c)
	s.write(t, a, b)

	got := make(map[string]int)
	for _, e := range s.stored(t, 1) {
		got[fmt.Sprintf("%s %s %s %s", e.Name, e.DistinctID, e.Time.Format(time.DateTime), e.Properties)]++
		if !e.Received.Equal(s.now) || e.Project != 1 {
			t.Errorf("stored %+v", e)
		}
	}
	want := map[string]int{
		`page u1 2026-03-04 05:06:07 {"n":1,"$set":{"a":1}}`:  1,
		`page u2 2026-03-04 04:06:07 {}`:                      1,
		`page u3 2026-03-04 05:06:07 {"n":1,"$set":{"a":1}}`:  1,
		`click u1 2026-03-04 05:06:07 {"n":1,"$set":{"a":1}}`: 1,
		`page u1 2026-03-05 05:06:07 {"n":1,"$set":{"a":1}}`:  1,
		`new u4 2026-03-04 05:06:07 {"$set":{"a":4}}`:         1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stored (-want +got)\n%s", diff)
	}
	person(t, s, map[string]string{"u1": `{"a":1}`, "u4": `{"a":4}`}) // the seen one had no effect
}

func testReopen(t *testing.T, s *suite) {
	if s.again == nil {
		t.Skip("the store does not outlive its process")
	}
	c, err := management.Bootstrap(t.Context(), s, management.First{APIKey: "phc_first"})
	if err != nil {
		t.Fatal(err)
	}
	e := s.event("page", "u", `{"$set":{"plan":"pro"}}`)
	s.write(t, e)
	if err := s.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	again := s.again(t)
	if diff := cmp.Diff([]capture.Event{e}, stored(t, again, 1)); diff != "" {
		t.Errorf("events after reopening (-want +got)\n%s", diff)
	}
	person(t, again, map[string]string{"u": `{"plan":"pro"}`})
	p, err := again.Projects().Get(t.Context(), storage.ProjectKey.Is("phc_first"))
	if err != nil || p.UUID != c.Project.UUID || !p.IngestedEvent {
		t.Errorf("project after reopening: %+v, %v", p, err)
	}
}

func testPersons(t *testing.T, s *suite) {
	person(t, s, map[string]string{"u": "", "a": ""}) // and not remembered as nobody
	s.write(t, s.event("page", "u", `{}`))
	person(t, s, map[string]string{"u": "{}"})
	s.write(t, s.event("page", "u", `{"$set":{"plan":"free","x":null},"$set_once":{"plan":"old","y":1}}`))
	person(t, s, map[string]string{"u": `{"plan":"free","x":null,"y":1}`})
	s.write(t, s.event("$set", "u", `{"$set":{"plan":"pro"},"$unset":["x"]}`))
	person(t, s, map[string]string{"u": `{"plan":"pro","y":1}`})
	s.write(t, s.event("$identify", "u", `{"$anon_distinct_id":"a"}`))
	person(t, s, map[string]string{"a": `{"plan":"pro","y":1}`})
	// A change through one ID is seen through the other.
	s.write(t, s.event("page", "a", `{"$set":{"y":2}}`))
	person(t, s, map[string]string{"u": `{"plan":"pro","y":2}`, "a": `{"plan":"pro","y":2}`})
	nobody := s.event("page", "n", `{"$set":{"y":2}}`)
	nobody.NoPerson = true
	s.write(t, nobody, s.event("page", "m", `{"$process_person_profile":false,"$set":{"y":2}}`))
	person(t, s, map[string]string{"n": "", "m": ""})

	early := s.event("page", "early", `{}`)
	early.Time = s.now.Add(-time.Hour)
	s.write(t, early, s.event("$identify", "u2", `{"$anon_distinct_id":"early"}`))
	for id, want := range map[string]time.Time{"u": s.now, "u2": early.Time, "n": {}} {
		if got, err := s.PersonCreated(t.Context(), 1, id); !got.Equal(want) || err != nil {
			t.Errorf("PersonCreated(%q) = %v, %v; want %v", id, got, err, want)
		}
	}
}

// testMerges runs the worked example of wire.md §3.6.
func testMerges(t *testing.T, s *suite) {
	ctx := t.Context()
	step := func(event capture.Event, want map[string]string) {
		t.Helper()
		s.write(t, event)
		person(t, s, want)
	}
	step(s.event("page", "a", `{"$set":{"plan":"pro"}}`), map[string]string{"a": `{"plan":"pro"}`})
	step(s.event("page", "u", `{"$set":{"plan":"free","x":1}}`), map[string]string{"u": `{"plan":"free","x":1}`})
	for _, cohort := range []int64{7, 8} {
		if _, _, err := s.AddCohortMembers(ctx, 1, cohort, uuid.Nil, []string{"a"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := s.AddCohortMembers(ctx, 1, 8, uuid.Nil, []string{"u"}); err != nil {
		t.Fatal(err)
	}
	both := `{"plan":"free","x":1}`
	step(s.event("$identify", "u", `{"$anon_distinct_id":"a"}`), map[string]string{"a": both, "u": both})
	cohorts, err := s.AppendCohorts(ctx, nil, 1, "u")
	if diff := cmp.Diff([]int64{7, 8}, cohorts); err != nil || diff != "" {
		t.Errorf("cohorts after the merge: %v (-want +got)\n%s", err, diff)
	}
	step(s.event("$create_alias", "u", `{"alias":"crm-7"}`), map[string]string{"crm-7": both})
	step(s.event("$identify", "v", `{"$anon_distinct_id":"b","$set":{"v":1}}`), map[string]string{"v": `{"v":1}`, "b": `{"v":1}`})
	step(s.event("$identify", "u", `{"$anon_distinct_id":"v"}`), map[string]string{"u": both, "v": `{"v":1}`})
	all := `{"plan":"free","x":1,"v":1}`
	step(s.event("$merge_dangerously", "u", `{"alias":"v"}`), map[string]string{"u": all, "a": all, "crm-7": all, "v": all, "b": all})

	// Chains within one batch, through persons that were never stored.
	s.write(t, s.event("page", "c1", `{"$set":{"c1":1}}`))
	s.write(t,
		s.event("page", "c2", `{"$set":{"c2":1}}`),
		s.event("$identify", "c2", `{"$anon_distinct_id":"c1"}`),
		s.event("page", "c3", `{"$set":{"c3":1}}`),
		s.event("$merge_dangerously", "c3", `{"alias":"c2"}`),
		s.event("page", "c1", `{"$set":{"last":1}}`),
	)
	chain := `{"c1":1,"c2":1,"c3":1,"last":1}`
	person(t, s, map[string]string{"c1": chain, "c2": chain, "c3": chain})
	person(t, s.another(t), map[string]string{"c1": chain, "u": all})
}

func testGroups(t *testing.T, s *suite) {
	group := func(groupType, key, want string) {
		t.Helper()
		got, err := s.AppendGroup(t.Context(), nil, 1, groupType, key)
		if err != nil || !equalJSON(got, want) {
			t.Errorf("group %s %s is %s, %v; want %s", groupType, key, got, err, want)
		}
	}
	group("company", "acme", "")
	s.write(t, s.event("$groupidentify", "u", `{"$group_type":"company","$group_key":"acme","$group_set":{"tier":"free","n":1}}`))
	group("company", "acme", `{"tier":"free","n":1}`)
	s.write(t, s.event("$groupidentify", "u", `{"$group_type":"company","$group_key":"acme","$group_set":{"tier":"enterprise"}}`))
	group("company", "acme", `{"tier":"enterprise","n":1}`)
	s.write(t, s.event("page", "u", `{"$groups":{"t2":"k","t3":7,"t4":"k","t5":"k"}}`))
	s.write(t,
		s.event("$groupidentify", "u", `{"$group_type":"t6","$group_key":"k","$group_set":{"n":1}}`), // T26
		s.event("$groupidentify", "u", `{"$group_type":"t5","$group_key":7,"$group_set":{"n":5}}`),   // T27
	)
	group("t6", "k", "")
	group("t5", "7", `{"n":5}`)
	group("company", "acme", `{"tier":"enterprise","n":1}`)
}

func testProjects(t *testing.T, s *suite) {
	one := s.event("page", "u", `{"$set":{"p":1}}`)
	two := one
	two.Project, two.Properties = 2, json.RawMessage(`{"$set":{"p":2}}`)
	group := s.event("$groupidentify", "u", `{"$group_type":"company","$group_key":"acme","$group_set":{"p":1}}`)
	s.write(t, two, group, one)
	person(t, s, map[string]string{"u": `{"p":1}`})
	if got, err := s.AppendPerson(t.Context(), nil, 2, "u"); err != nil || string(got) != `{"p":2}` {
		t.Errorf("person of project 2 is %s, %v", got, err)
	}
	if got, err := s.AppendGroup(t.Context(), nil, 2, "company", "acme"); err != nil || len(got) != 0 {
		t.Errorf("group of project 2 is %s, %v", got, err)
	}
	if n1, n2, n3 := len(s.stored(t, 1)), len(s.stored(t, 2)), len(s.stored(t, 3)); n1 != 2 || n2 != 1 || n3 != 0 {
		t.Errorf("%d, %d, %d events in projects 1 to 3, want 2, 1, 0", n1, n2, n3)
	}
}

func testOddValues(t *testing.T, s *suite) {
	ids := []string{"\uFFFD", "Zoë 💥", "it's \"quoted\" \\ ; --", "A", "a", string(bytes.Repeat([]byte("é"), 200)), " padded "}
	long := `"` + string(bytes.Repeat([]byte("x"), 300_000)) + `"`
	for _, properties := range []string{`{"\u0000":"\u0000"}`, `{"a":"\ud800","b":1e999,"c":{"d":[1,2,{}]},"é":"💥"}`, `{"long":` + long + `}`} {
		var events []capture.Event
		for _, id := range ids {
			events = append(events, s.event("odd "+id, id, `{"$set":`+properties+`}`))
		}
		early, late := s.event("early", "t", `{}`), s.event("late", "t", `{}`)
		early.Time = time.Unix(0, 0).UTC()
		late.Time = time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)
		events = append(events, early, late)
		s.write(t, events...)
		want := make(map[string]capture.Event)
		for _, e := range events {
			want[e.Name] = e
		}
		for _, e := range s.stored(t, 1) {
			if w, ok := want[e.Name]; ok && w.UUID == e.UUID {
				if diff := cmp.Diff(w, e, cmp.Comparer(sameJSON)); diff != "" {
					t.Errorf("%q (-want +got)\n%s", e.Name, diff)
				}
				delete(want, e.Name)
			}
		}
		for name := range want {
			t.Errorf("%q is not stored", name)
		}
	}
	for _, id := range ids {
		got, err := s.AppendPerson(t.Context(), nil, 1, id)
		if err != nil || !bytes.Contains(got, []byte(`"\u0000":"\u0000"`)) || !bytes.Contains(got, []byte(`1e999`)) || !bytes.Contains(got, []byte(long)) {
			t.Errorf("person of %q has %d bytes, %v", id, len(got), err)
		}
	}
}

// sameJSON compares texts that are too long to be compared byte by byte.
func sameJSON(a, b json.RawMessage) bool { return bytes.Equal(a, b) }

func testConcurrentIdentify(t *testing.T, s *suite) {
	stores := []sqlstore.Storage{s.Storage, s.another(t)}
	for round := range 10 {
		anonymous := fmt.Sprintf("anon-%d", round)
		s.write(t, s.event("page", anonymous, `{"$set":{"from":"anon"}}`))
		var wg sync.WaitGroup
		for i := range 4 {
			events := []capture.Event{s.event("$identify", fmt.Sprintf("user-%d-%d", round, i), fmt.Sprintf(`{"$anon_distinct_id":%q,"$set":{"user":%d}}`, anonymous, i))}
			wg.Go(func() {
				if err := stores[i%2].Write(t.Context(), events); err != nil {
					t.Errorf("Write: %v", err)
				}
			})
		}
		wg.Wait()
		fresh := s.another(t)
		shared := 0
		for i := range 4 {
			got, err := fresh.AppendPerson(t.Context(), nil, 1, fmt.Sprintf("user-%d-%d", round, i))
			if err != nil || len(got) == 0 {
				t.Fatalf("user %d is lost: %s, %v", i, got, err)
			}
			if bytes.Contains(got, []byte(`"from":"anon"`)) {
				shared++
			}
		}
		// The first one got it; it is identified from then on, so that those
		// who come with an ID that is new join it.
		if shared < 1 {
			t.Errorf("round %d: nobody has the anonymous person", round)
		}
	}
}

// testCacheReads counts the reads of a Storage that has cached nothing yet.
func testCacheReads(t *testing.T, s *suite) {
	s.write(t, s.event("page", "user-1", `{"$set":{"plan":"pro"}}`))
	fresh := s.another(t)
	for _, read := range []struct {
		what string
		read func() error
	}{
		{"a person", func() error { _, err := fresh.AppendPerson(t.Context(), nil, 1, "user-1"); return err }},
		{"nobody", func() error { _, err := fresh.AppendPerson(t.Context(), nil, 1, "user-2"); return err }},
		{"a group", func() error { _, err := fresh.AppendGroup(t.Context(), nil, 1, "company", "acme"); return err }},
		{"the cohorts of a person that is known by now", func() error { _, err := fresh.AppendCohorts(t.Context(), nil, 1, "user-1"); return err }},
	} {
		hits, misses := fresh.CacheReads()
		for range 2 {
			if err := read.read(); err != nil {
				t.Fatal(err)
			}
		}
		after, missed := fresh.CacheReads()
		if missed != misses+1 || after <= hits {
			t.Errorf("%s, read twice: %d hits and %d misses more, want one miss and a hit", read.what, after-hits, missed-misses)
		}
	}
}

// testConcurrentMerges lets writers merge many persons into one another.
func testConcurrentMerges(t *testing.T, s *suite) {
	stores := []sqlstore.Storage{s.Storage, s.another(t)}
	const n = 24
	id := func(i int) string { return fmt.Sprintf("m%d", i) }
	var batch []capture.Event
	for i := range n {
		batch = append(batch, s.event("page", id(i), fmt.Sprintf(`{"$set":{"own-%d":true}}`, i)))
	}
	s.write(t, batch...)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range n {
				from, into := (i+w*7)%n, (i+w*7+1)%n
				e := s.event("$merge_dangerously", id(into), fmt.Sprintf(`{"alias":%q,"$set":{"writer-%d":true}}`, id(from), w))
				if err := stores[w%2].Write(t.Context(), []capture.Event{e}); err != nil {
					t.Errorf("Write: %v", err)
				}
			}
		})
	}
	wg.Wait()
	want := make(map[string]any)
	for i := range n {
		want[fmt.Sprintf("own-%d", i)] = true
	}
	for w := range 4 {
		want[fmt.Sprintf("writer-%d", w)] = true
	}
	fresh := s.another(t)
	for i := range n {
		got, err := fresh.AppendPerson(t.Context(), nil, 1, id(i))
		var properties map[string]any
		if e := json.Unmarshal(got, &properties); err != nil || e != nil {
			t.Fatalf("person of %s: %s, %v, %v", id(i), got, err, e)
		}
		if diff := cmp.Diff(want, properties); diff != "" {
			t.Fatalf("person of %s (-want +got)\n%s", id(i), diff)
		}
	}
}

func testOverrides(t *testing.T, s *suite) {
	overrides := func(distinctID, anonymousID string, want map[string]string, flagKeys ...string) {
		t.Helper()
		got := make(map[string]string)
		err := s.Overrides(t.Context(), 1, distinctID, anonymousID, flagKeys, func(flag, key string) { got[flag] = key })
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("Overrides(%q, %q): %v (-want +got)\n%s", distinctID, anonymousID, err, diff)
		}
	}
	none := map[string]string{}
	overrides("u", "anon", none, "beta") // nobody exists: nothing is written
	s.write(t, s.event("page", "u", `{}`))
	overrides("u", "", none, "beta") // without A nothing is written
	overrides("u", "anon", map[string]string{"beta": "anon"}, "beta")
	overrides("u", "", map[string]string{"beta": "anon"}, "beta")
	overrides("u", "anon-2", map[string]string{"beta": "anon", "new": "anon-2"}, "beta", "new") // the first write wins

	// The rows of a merged person move; existing rows win.
	s.write(t, s.event("page", "v", `{}`), s.event("page", "w", `{}`))
	overrides("v", "a", map[string]string{"beta": "a"}, "beta")
	overrides("w", "b", map[string]string{"beta": "b", "only-w": "b"}, "beta", "only-w")
	overrides("v", "w", map[string]string{"beta": "a", "only-w": "b"}, "beta") // both persons: D's wins
	s.write(t, s.event("$identify", "v", `{"$anon_distinct_id":"w"}`))
	moved := map[string]string{"beta": "a", "only-w": "b"}
	overrides("v", "", moved)
	overrides("w", "", moved)
	fresh := make(map[string]string)
	if err := s.another(t).Overrides(t.Context(), 1, "w", "", nil, func(flag, key string) { fresh[flag] = key }); err != nil || !maps.Equal(fresh, moved) {
		t.Errorf("another process sees %v, %v; want %v", fresh, err, moved)
	}
}

func testCohorts(t *testing.T, s *suite) {
	ctx := t.Context()
	cohorts := func(id string, want ...int64) {
		t.Helper()
		got, err := s.AppendCohorts(ctx, []int64{-1}, 1, id)
		if diff := cmp.Diff(append([]int64{-1}, want...), got); err != nil || diff != "" {
			t.Errorf("AppendCohorts(%q): %v (-want +got)\n%s", id, err, diff)
		}
	}
	cohorts("u")
	s.write(t, s.event("$identify", "u", `{"$anon_distinct_id":"a","$set":{"x":1}}`))
	cohorts("u")
	if n, _, err := s.AddCohortMembers(ctx, 1, 9, uuid.Nil, []string{"u", "a", "stranger", " "}); n != 2 || err != nil {
		t.Errorf("AddCohortMembers = %d, %v; want 2", n, err)
	}
	if n, _, err := s.AddCohortMembers(ctx, 1, 3, uuid.Nil, []string{"a", "u"}); n != 1 || err != nil {
		t.Errorf("AddCohortMembers = %d, %v; want 1", n, err)
	}
	if n, _, err := s.AddCohortMembers(ctx, 2, 4, uuid.Nil, []string{"a"}); n != 1 || err != nil {
		t.Errorf("AddCohortMembers of another project = %d, %v; want 1", n, err)
	}
	cohorts("u", 3, 9)
	cohorts("a", 3, 9)
	cohorts("stranger", 9)
	person(t, s, map[string]string{"u": `{"x":1}`, "stranger": "{}"})
	ids, err := s.PersonIDs(ctx, 1, []string{"a", "nobody"})
	must(t, err)
	want(t, "RemoveCohortPersons", 1)(s.RemoveCohortPersons(ctx, 1, 9, slices.Collect(maps.Values(ids))))
	cohorts("u", 3)
	if n, _, err := s.AddCohortMembers(ctx, 1, 9, uuid.Nil, nil); n != 0 || err != nil {
		t.Errorf("AddCohortMembers of nobody = %d, %v", n, err)
	}
	var many []string
	for i := range 3000 {
		many = append(many, fmt.Sprintf("many-%d", i))
	}
	if n, _, err := s.AddCohortMembers(ctx, 1, 9, uuid.Nil, many); n != len(many) || err != nil {
		t.Errorf("AddCohortMembers = %d, %v; want %d", n, err, len(many))
	}
	cohorts("many-2999", 9)
}

func testUsage(t *testing.T, s *suite) {
	ctx := t.Context()
	var wg sync.WaitGroup
	stores := []sqlstore.Storage{s.Storage, s.another(t)}
	for i := range 10 {
		wg.Go(func() {
			for range 5 {
				if _, _, err := stores[i%2].AddUsage(ctx, "acme", "feature_flags", "2026-11", 2); err != nil {
					t.Errorf("AddUsage: %v", err)
				}
			}
		})
	}
	wg.Wait()
	check := func(organization, resource, period string, wantUsed, wantLimit int64) {
		t.Helper()
		used, limit, err := s.AddUsage(ctx, organization, resource, period, 0)
		if used != wantUsed || limit != wantLimit || err != nil {
			t.Errorf("AddUsage(%s, %s, %s) = %d, %d, %v; want %d, %d", organization, resource, period, used, limit, err, wantUsed, wantLimit)
		}
	}
	check("acme", "feature_flags", "2026-11", 100, -1)
	for _, limit := range []int64{5, 0, 7} {
		if err := s.SetQuota(ctx, "acme", "feature_flags", limit); err != nil {
			t.Fatal(err)
		}
		check("acme", "feature_flags", "2026-11", 100, limit)
	}
	check("acme", "feature_flags", "", 0, 7)
	check("acme", "events", "", 0, -1)
	check("other", "feature_flags", "2026-11", 0, -1)
	if err := s.SetQuota(ctx, "acme", "feature_flags", -1); err != nil {
		t.Fatal(err)
	}
	check("acme", "feature_flags", "", 0, -1)
}

func testCancellation(t *testing.T, s *suite) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ran := false
	u := s.newUser("ann")
	for call, err := range map[string]error{
		"Write":        s.Write(ctx, []capture.Event{s.event("page", "u", `{}`)}),
		"Users.Create": s.Users().Create(ctx, &u),
		"Atomic":       s.Atomic(ctx, func(storage.Store) error { ran = true; return nil }),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s with a cancelled context: %v, want context.Canceled", call, err)
		}
	}
	wantErr(t, "Organizations with a cancelled context", context.Canceled)(s.Organizations().List(ctx))
	wantErr(t, "User with a cancelled context", context.Canceled)(s.Users().Get(ctx, storage.UserID.Is(1)))
	if ran {
		t.Error("Atomic has run its function")
	}
	if list := s.stored(t, 1); len(list) != 0 {
		t.Errorf("it stored %v", list)
	}
	wantErr(t, "Users.Get", storage.ErrNotFound)(s.Users().Get(t.Context(), storage.UserEmail.Is(u.Email)))
	s.write(t) // nothing
}
