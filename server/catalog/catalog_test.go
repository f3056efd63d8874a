package catalog_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/source"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite/sqlitetest"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/server"
	"github.com/flagstaff-go/flagstaff/server/catalog"
	"github.com/flagstaff-go/flagstaff/surveys"
)

// A store can be made to fail.
type store struct {
	sqlstore.Storage
	broken     atomic.Bool
	unwatched  atomic.Bool
	watched    chan struct{} // closed when Watch has begun
	watchedOne sync.Once
}

var errBroken = errors.New("broken")

func (s *store) Versions(ctx context.Context) (map[int64]int64, error) {
	if s.broken.Load() {
		return nil, errBroken
	}
	return s.Storage.Versions(ctx)
}

func (s *store) Watch(ctx context.Context, changed func()) error {
	if s.unwatched.Load() {
		return errBroken
	}
	return s.Storage.Watch(ctx, func() {
		changed()
		s.watchedOne.Do(func() { close(s.watched) })
	})
}

type world struct {
	*catalog.Catalog
	t        *testing.T
	store    *store
	asked    *surveys.Data
	registry server.Registry
	project  *storage.Project
}

// stores are empty stores that keep surveys.
var stores = sqlitetest.NewTemplate(func(testing.TB, sqlstore.Storage) {}, surveys.Extension())

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, store: &store{Storage: stores.Open(t), watched: make(chan struct{})}}
	asked, err := surveys.DataIn(w.store.Storage)
	w.ok(err)
	w.asked = asked
	o := storage.NewOrganization("Acme")
	w.ok(w.store.Organizations().Create(t.Context(), o))
	w.project = storage.NewProject(o, "Web")
	w.ok(w.store.Projects().Create(t.Context(), w.project))
	w.Catalog, err = catalog.New(catalog.Config{
		Store: w.store, Registry: &w.registry, Publishers: []catalog.Publisher{asked.Publish}, Interval: 10 * time.Millisecond,
	})
	w.ok(err)
	w.ok(w.Refresh(t.Context()))
	return w
}

func (w *world) ok(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// put creates a flag, or changes it if f is not nil.
func (w *world) put(f *storage.Flag, key, filters string) *storage.Flag {
	w.t.Helper()
	if f == nil {
		f = &storage.Flag{Project: w.project.ID, Active: true, Version: 1}
	}
	f.Key = key
	f.Filters, _ = flags.DecodeFilters([]byte(filters), key) // what cannot be understood is stored as it is
	if f.ID == 0 {
		w.ok(w.store.Flags().Create(w.t.Context(), f))
	} else {
		w.ok(w.store.Flags().Update(w.t.Context(), f))
	}
	return f
}

const (
	everyone = `{"groups":[{"properties":[],"rollout_percentage":100}]}`
	nobody   = `{"groups":[{"properties":[],"rollout_percentage":0}]}`
)

// served returns the project with an API key, or nil.
func (w *world) served(key string) *server.Project {
	p, err := w.registry.Project(w.t.Context(), key)
	if err != nil {
		return nil
	}
	return p
}

// values returns the flags that clients with an API key get, and whether they
// are on.
func (w *world) values(key string) map[string]bool {
	p := w.served(key)
	if p == nil {
		return nil
	}
	values := make(map[string]bool)
	for key, r := range p.Flags.Snapshot().Evaluate(&flags.Request{DistinctID: "u"}).All() {
		values[key] = r.Enabled
	}
	return values
}

func (w *world) want(key string, want map[string]bool) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.values(key)); diff != "" {
		w.t.Errorf("flags of %s (-want +got)\n%s", key, diff)
	}
}

// eventually waits for a change that another goroutine makes.
func (w *world) eventually(what string, f func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("%s does not happen", what)
		}
	}
}

func TestChangesAreServed(t *testing.T) {
	w := newWorld(t)
	w.want(w.project.APIKey, map[string]bool{})
	evaluator := w.served(w.project.APIKey).Flags

	f := w.put(nil, "a", everyone)
	w.want(w.project.APIKey, map[string]bool{})
	w.Changed(t.Context(), w.project.ID)
	w.want(w.project.APIKey, map[string]bool{"a": true})

	w.put(f, "a", nobody)
	w.put(nil, "b", everyone)
	w.Changed(t.Context(), w.project.ID)
	w.want(w.project.APIKey, map[string]bool{"a": false, "b": true})

	f.Deleted = true
	w.put(f, "a", nobody)
	w.Changed(t.Context(), w.project.ID)
	w.want(w.project.APIKey, map[string]bool{"b": true})
	if w.served(w.project.APIKey).Flags != evaluator {
		t.Error("the project has another Evaluator, want the same for as long as it exists")
	}
}

func TestProjectsComeAndGo(t *testing.T) {
	w := newWorld(t)
	w.put(nil, "a", everyone)
	other := *w.project
	other.ID, other.UUID, other.APIKey, other.SecretHash = 0, storage.NewProject(&storage.Organization{}, "").UUID, "phc_other", ""
	w.ok(w.store.Projects().Create(t.Context(), &other))
	w.ok(w.Refresh(t.Context()))
	w.want("phc_other", map[string]bool{})
	w.want(w.project.APIKey, map[string]bool{"a": true})

	old := w.project.APIKey
	evaluator := w.served(old).Flags
	w.project.APIKey = "phc_new"
	w.ok(w.store.Projects().Update(t.Context(), w.project))
	w.ok(w.store.Projects().Delete(t.Context(), storage.ProjectID.Is(other.ID)))
	w.ok(w.Refresh(t.Context()))
	w.want(old, nil)
	w.want("phc_other", nil)
	w.want("phc_new", map[string]bool{"a": true})
	if w.served("phc_new").Flags != evaluator {
		t.Error("the project has another Evaluator after its key was changed")
	}
	if served, gone := w.Snapshot(w.project.ID), w.Snapshot(other.ID); served != evaluator.Snapshot() || gone != nil {
		t.Errorf("Snapshot = %p and %p for a project that is gone, want %p and nil", served, gone, evaluator.Snapshot())
	}
}

// TestFailures checks that a failure leaves what is served, and is made up for
// later.
func TestFailures(t *testing.T) {
	w := newWorld(t)
	f := w.put(nil, "a", everyone)
	w.ok(w.Refresh(t.Context()))
	checked := w.served(w.project.APIKey).Status().Checked

	w.store.broken.Store(true)
	w.put(f, "a", nobody)
	if err := w.Refresh(t.Context()); !errors.Is(err, errBroken) {
		t.Errorf("Refresh = %v, want %v", err, errBroken)
	}
	w.Changed(t.Context(), w.project.ID)
	w.want(w.project.APIKey, map[string]bool{"a": true})
	if again := w.served(w.project.APIKey).Status().Checked; !again.Equal(checked) {
		t.Errorf("Checked = %v after a failure, want %v", again, checked)
	}
	w.store.broken.Store(false)
	w.ok(w.Refresh(t.Context()))
	w.want(w.project.APIKey, map[string]bool{"a": false})

	// A flag that cannot be decoded does not hold up the others of its project.
	broken := w.put(nil, "b", `{"groups`)
	w.ok(w.Refresh(t.Context()))
	w.want(w.project.APIKey, map[string]bool{"a": false, "b": false})

	other := *w.project
	other.ID, other.UUID, other.APIKey, other.SecretHash = 0, storage.NewProject(&storage.Organization{}, "").UUID, "phc_other", ""
	w.ok(w.store.Projects().Create(t.Context(), &other))

	// A project with documents that cannot be encoded does not hold up the others.
	feature := &storage.EarlyAccessFeature{ID: other.UUID, Project: w.project.ID, Flag: f.ID, Stage: "beta", Payload: json.RawMessage("{")}
	w.ok(w.store.EarlyAccess().Create(t.Context(), feature))
	own := w.project
	w.project = &other
	w.put(nil, "c", everyone)
	if err := w.Refresh(t.Context()); err == nil || !strings.Contains(err.Error(), "project 1") {
		t.Errorf("Refresh = %v, want an error about project 1", err)
	}
	w.want("phc_other", map[string]bool{"c": true})
	w.want(own.APIKey, map[string]bool{"a": false, "b": false})
	w.project = own
	w.ok(w.store.EarlyAccess().Delete(t.Context(), storage.FeatureProject.Is(own.ID), storage.FeatureID.Is(feature.ID)))
	w.put(broken, "b", everyone)
	w.ok(w.Refresh(t.Context()))
	w.want(own.APIKey, map[string]bool{"a": false, "b": true})
}

func TestRunFollows(t *testing.T) {
	for _, watching := range []bool{true, false} {
		w := newWorld(t)
		w.store.unwatched.Store(!watching)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.Run(ctx) }()
		if watching {
			<-w.store.watched
		}
		w.put(nil, "a", everyone)
		w.eventually("the change", func() bool { return w.values(w.project.APIKey)["a"] })
		stop()
		if err := <-done; err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
	}
}

// TestFollow: what is told of a project whose flags come from a file is the state of what
// reads the file.
func TestFollow(t *testing.T) {
	w := newWorld(t)
	if origin := w.served(w.project.APIKey).Status().Origin; origin != "store" {
		t.Errorf("Origin = %q, want store", origin)
	}
	read := new(flags.Evaluator)
	path := filepath.Join(t.TempDir(), "flags.json")
	w.ok(os.WriteFile(path, []byte(`{"flags":[{"key":"a","active":true,"rollout":50,"filters":{"groups":[{}]}}]}`), 0o600))
	loader := source.NewLoader(read, source.File{Path: path}, source.LoaderConfig{})
	w.ok(loader.Refresh(t.Context()))
	w.Follow(99, loader, read)
	w.Follow(w.project.ID, loader, read)
	got, status := w.served(w.project.APIKey).Status(), loader.Status()
	if got.Origin != "file" || !got.Loaded.Equal(status.Loaded) || !got.Checked.Equal(status.Checked) || status.Checked.IsZero() {
		t.Errorf("%v; want the state of the loader, %v", got, status)
	}
	if len(got.Problems) != 1 || !strings.Contains(got.Problems[0].Error(), "rollout") {
		t.Errorf("problems %v, want the unknown member of the document", got.Problems)
	}
	w.project.FlagsFile = &storage.FlagsFile{Name: "flags.json", GroupTypes: map[int]string{2: "team"}}
	w.ok(w.store.Projects().Update(t.Context(), w.project))
	w.put(nil, "a", `{"aggregation_group_type_index":2,"groups":[{}]}`)
	w.ok(w.Refresh(t.Context()))
	if problems := w.served(w.project.APIKey).Flags.Snapshot().Problems(); len(problems) != 0 {
		t.Errorf("%v; want the group type of the file", problems)
	}
}

// get answers a request with a server on the registry.
func (w *world) get(path string) string {
	w.t.Helper()
	s, err := server.New(server.Config{Projects: &w.registry})
	w.ok(err)
	recorder := httptest.NewRecorder()
	s.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, path, nil))
	if recorder.Code != http.StatusOK {
		w.t.Fatalf("GET %s = %d %s", path, recorder.Code, recorder.Body)
	}
	return recorder.Body.String()
}

// TestPublished checks that the public documents follow the store, without
// hidden flags.
func TestPublished(t *testing.T) {
	w := newWorld(t)
	linked := w.put(nil, "linked", everyone)
	survey := &surveys.Survey{
		ID: w.project.UUID, Project: w.project.ID, Name: "NPS", Description: "internal note", Type: "popover",
		Created: time.Now(), LinkedFlag: &linked.ID,
	}
	w.ok(w.asked.CreateSurvey(t.Context(), survey))
	feature := &storage.EarlyAccessFeature{ID: w.project.UUID, Project: w.project.ID, Flag: linked.ID, Name: "Beta", Stage: "beta"}
	w.ok(w.store.EarlyAccess().Create(t.Context(), feature))
	w.ok(w.Refresh(t.Context()))
	for path, wants := range map[string][]string{
		"/api/surveys/?token=":               {`"name":"NPS"`, `"linked_flag_key":"linked"`},
		"/api/early_access_features/?token=": {`"flagKey":"linked"`, `"stage":"beta"`},
	} {
		got := w.get(path + w.project.APIKey)
		for _, want := range wants {
			if !strings.Contains(got, want) {
				t.Errorf("%s = %s, want %s in it", path, got, want)
			}
		}
		if strings.Contains(got, "internal note") {
			t.Errorf("%s tells the description", path)
		}
	}
	survey.Archived = true
	w.ok(w.asked.UpdateSurvey(t.Context(), survey))
	w.ok(w.Refresh(t.Context()))
	if got := w.get("/api/surveys/?token=" + w.project.APIKey); got != `{"surveys":[],"survey_config":null}` {
		t.Errorf("surveys = %s, want none: the only one is archived", got)
	}
}

// A project can opt out of surveys: its clients get none (management.md §8.6).
func TestRuling59SurveysOptIn(t *testing.T) {
	w := newWorld(t)
	w.ok(w.asked.CreateSurvey(t.Context(), &surveys.Survey{ID: w.project.UUID, Project: w.project.ID, Name: "NPS", Type: "popover", Created: time.Now()}))
	for _, tt := range []struct {
		opt  *bool
		want bool
	}{{nil, true}, {new(false), false}, {new(true), true}} {
		w.project.SurveysOptIn = tt.opt
		w.ok(w.store.Projects().Update(t.Context(), w.project))
		w.ok(w.Refresh(t.Context()))
		if got := strings.Contains(w.get("/api/surveys/?token="+w.project.APIKey), "NPS"); got != tt.want {
			t.Errorf("surveys_opt_in %v: a survey is delivered: %t", tt.opt, got)
		}
		config := w.get("/array/" + w.project.APIKey + "/config")
		if got := !strings.Contains(config, `"surveys":false`); got != tt.want {
			t.Errorf("surveys_opt_in %v: %s", tt.opt, config)
		}
	}
}

func TestConcurrentChanges(t *testing.T) {
	w := newWorld(t)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = w.Run(ctx) })
	var writers sync.WaitGroup
	const each = 20
	for i := range 4 {
		writers.Go(func() {
			for n := range each {
				f := &storage.Flag{Project: w.project.ID, Active: true, Key: string(rune('a'+i)) + string(rune('a'+n)), Filters: flags.Filters{Groups: []flags.Condition{{}}}}
				if err := w.store.Flags().Create(ctx, f); err != nil {
					t.Error(err)
				}
				w.Changed(ctx, w.project.ID)
				if !w.values(w.project.APIKey)[f.Key] {
					t.Errorf("flag %s is not served after Changed", f.Key)
				}
			}
		})
	}
	writers.Wait()
	stop()
	wg.Wait()
	if n := len(w.values(w.project.APIKey)); n != 4*each {
		t.Errorf("%d flags, want %d", n, 4*each)
	}
}

func TestConfig(t *testing.T) {
	var registry server.Registry
	for name, c := range map[string]catalog.Config{
		"Store":    {Registry: &registry},
		"Registry": {Store: sqlitetest.Open(t)},
		"Interval": {Store: sqlitetest.Open(t), Registry: &registry, Interval: -1},
	} {
		if _, err := catalog.New(c); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("New without %s = %v, want an error that names it", name, err)
		}
	}
}

// TestPublishedFirst: when somebody who watches the flags of a project learns of a change,
// its documents have it.
func TestPublishedFirst(t *testing.T) {
	w := newWorld(t)
	evaluator := w.served(w.project.APIKey).Flags
	published := w.served(w.project.APIKey).Published
	seen := make(chan *server.Published)
	_, _, changed := evaluator.Watch()
	go func() {
		<-changed
		seen <- w.served(w.project.APIKey).Published
	}()
	w.put(nil, "a", everyone)
	w.Changed(t.Context(), w.project.ID)
	if now := <-seen; now == published || now != w.served(w.project.APIKey).Published {
		t.Errorf("the documents are %p, were %p, and will be %p", now, published, w.served(w.project.APIKey).Published)
	}
}

// TestUnknownFlags: a key that clients ask for and that no flag has is logged once, with what
// may have been meant.
func TestUnknownFlags(t *testing.T) {
	w := newWorld(t)
	var log strings.Builder
	c, err := catalog.New(catalog.Config{Store: w.store, Registry: &w.registry, Log: slog.New(slog.NewTextHandler(&log, nil))})
	w.ok(err)
	w.put(nil, "new-checkout", everyone)
	w.ok(c.Refresh(t.Context()))
	for range 2 {
		w.served(w.project.APIKey).Flags.NoteUnknown("new-chekout")
	}
	want := fmt.Sprintf("level=WARN msg=\"clients ask for a flag that does not exist; do they mean new-checkout?\" project=%d key=new-chekout\n", w.project.ID)
	if got := log.String(); !strings.HasSuffix(got, want) || strings.Count(got, "level=WARN") != 1 {
		t.Errorf("log is %q, want one warning, %q", got, want)
	}
}
