package catalog_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/foreign"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/server"
	"github.com/flagstaff-go/flagstaff/server/catalog"
)

// manyFlags is how many flags the project of the benchmarks has.
const manyFlags = 10_000

// manyDefinitions is a document of flags of a common size, of which each hundredth
// depends on the one before it.
func manyDefinitions() []byte {
	var b strings.Builder
	b.WriteString(`{"flags":[`)
	for i := range manyFlags {
		if i > 0 {
			b.WriteByte(',')
		}
		depends := ""
		if i%100 == 99 {
			depends = fmt.Sprintf(`,{"key":"flag-%d","value":true,"operator":"flag_evaluates_to","type":"flag","dependency_chain":["flag-%[1]d"]}`, i-1)
		}
		fmt.Fprintf(&b, `{"id":%d,"key":"flag-%[1]d","name":"Flag %[1]d","active":true,"filters":{"groups":[{"properties":[{"key":"email","value":"@acme.example","operator":"icontains","type":"person"},`+
			`{"key":"plan","value":["pro","team"],"operator":"exact","type":"person"}%[2]s],"rollout_percentage":50},{"properties":[{"key":"country","value":["AT","DE","CH"],"operator":"exact","type":"person"}],"rollout_percentage":100}],`+
			`"multivariate":{"variants":[{"key":"control","rollout_percentage":50},{"key":"test","rollout_percentage":50}]},"payloads":{"test":"{\"color\":\"blue\",\"limit\":10}"}}}`, i, depends)
	}
	b.WriteString(`],"cohorts":{},"group_type_mapping":{}}`)
	return []byte(b.String())
}

// A served project is one whose flags a Catalog serves while a Service changes them.
type served struct {
	service *management.Service
	project *storage.Project
	owner   *management.Principal
	other   *management.Service // of another process, of which the Catalog hears nothing
	refresh func(context.Context) error
}

func newServed(b *testing.B) *served {
	b.Helper()
	ok := func(err error) {
		if err != nil {
			b.Helper()
			b.Fatal(err)
		}
	}
	ctx := b.Context()
	path := b.TempDir() + "/flags.db"
	store, err := sqlite.Open(ctx, path, sqlstore.Options{})
	ok(err)
	another, err := sqlite.Open(ctx, path, sqlstore.Options{})
	ok(err)
	b.Cleanup(func() { _ = another.Close() })
	b.Cleanup(func() { _ = store.Close() })
	o := storage.NewOrganization("Acme")
	ok(store.Organizations().Create(ctx, o))
	p := storage.NewProject(o, "Web")
	ok(store.Projects().Create(ctx, p))
	u := &storage.User{UUID: uuid.New(), DistinctID: "ada", Email: "ada@example.com", Active: true}
	ok(store.Users().Create(ctx, u))
	ok(store.Memberships().Create(ctx, &storage.Membership{ID: uuid.New(), Organization: o.ID, User: u.ID, Level: storage.LevelOwner}))
	var registry server.Registry
	c, err := catalog.New(catalog.Config{Store: store, Registry: &registry})
	ok(err)
	ok(c.Refresh(ctx))
	s, err := management.New(management.Config{Store: store, Data: store, Catalog: c})
	ok(err)
	owner, err := s.PrincipalOf(ctx, u.UUID)
	ok(err)
	other, err := management.New(management.Config{Store: another, Data: another})
	ok(err)
	return &served{s, p, owner, other, c.Refresh}
}

// BenchmarkImport imports 10,000 flags into an empty project, until they are served.
func BenchmarkImport(b *testing.B) {
	document := manyDefinitions()
	for b.Loop() {
		b.StopTimer()
		s := newServed(b)
		b.StartTimer()
		if _, err := s.service.Import(b.Context(), s.project.ID, document, management.ImportOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkImportForeign imports 10,000 flags of LaunchDarkly into an empty project, until they are
// served: 200 copies of the 50 flags of a team.
func BenchmarkImportForeign(b *testing.B) {
	file, err := os.ReadFile("../../internal/convert/launchdarkly/testdata/flags.json")
	if err != nil {
		b.Fatal(err)
	}
	var d struct {
		Flags    map[string]json.RawMessage `json:"flags"`
		Segments json.RawMessage            `json:"segments"`
	}
	if err := json.Unmarshal(file, &d); err != nil {
		b.Fatal(err)
	}
	keys := slices.Collect(maps.Keys(d.Flags))
	for n := 1; len(d.Flags) < manyFlags; n++ {
		var pairs []string
		for _, key := range keys {
			pairs = append(pairs, strconv.Quote(key), strconv.Quote(fmt.Sprint(key, "-", n)))
		}
		named := strings.NewReplacer(pairs...)
		for _, key := range keys {
			d.Flags[fmt.Sprint(key, "-", n)] = json.RawMessage(named.Replace(string(d.Flags[key])))
		}
	}
	document, err := json.Marshal(d)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		b.StopTimer()
		s := newServed(b)
		b.StartTimer()
		o := management.ApplyOptions{From: &foreign.Options{From: "launchdarkly"}}
		r, err := s.service.ApplyDefinitions(b.Context(), s.owner, "1", document, o)
		if err != nil {
			b.Fatal(err)
		}
		if len(r.LeftOut) > 0 || len(r.Changes) < manyFlags {
			b.Fatalf("%d changes, and %d flags are left out", len(r.Changes), len(r.LeftOut))
		}
	}
}

// BenchmarkChange changes one of 10,000 flags, until it is served: through the process that
// serves it, and through another one, after which that process reads the row versions of all.
func BenchmarkChange(b *testing.B) {
	s := newServed(b)
	if _, err := s.service.Import(b.Context(), s.project.ID, manyDefinitions(), management.ImportOptions{}); err != nil {
		b.Fatal(err)
	}
	i := 0
	change := func(b *testing.B, service *management.Service) {
		i++
		patch := management.FlagPatch{Filters: optional.Of(flags.Filters{Groups: []flags.Condition{{RolloutPercentage: new(float64(i % 100))}}})}
		if _, err := service.UpdateFlag(b.Context(), s.owner, "1", "5000", patch); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("by the server", func(b *testing.B) {
		for b.Loop() {
			change(b, s.service)
		}
	})
	b.Run("by another one", func(b *testing.B) {
		for b.Loop() {
			change(b, s.other)
			if err := s.refresh(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkApply applies a document of 10,000 flags, until they are served: to an empty
// project, to one that has all of them, and to one where one or all differ.
func BenchmarkApply(b *testing.B) {
	document := manyDefinitions()
	changed := func(n int, round string) []byte {
		return bytes.Replace(document, []byte(`"rollout_percentage":50},{"properties"`), []byte(`"rollout_percentage":`+round+`},{"properties"`), n)
	}
	apply := func(b *testing.B, s *served, document []byte, want int) {
		r, err := s.service.ApplyDefinitions(b.Context(), s.owner, "1", document, management.ApplyOptions{})
		if err != nil {
			b.Fatal(err)
		}
		if len(r.Changes) != want {
			b.Fatalf("%d changes, want %d", len(r.Changes), want)
		}
	}
	b.Run("all new", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			s := newServed(b)
			b.StartTimer()
			apply(b, s, document, manyFlags)
		}
	})
	for _, bb := range []struct {
		name string
		n    int // flags that differ
	}{{"none differs", 0}, {"one differs", 1}, {"all differ", manyFlags}} {
		b.Run(bb.name, func(b *testing.B) {
			s := newServed(b)
			apply(b, s, document, manyFlags)
			odd, even := changed(bb.n, "41"), changed(bb.n, "42")
			for i := 0; b.Loop(); i++ {
				apply(b, s, [][]byte{odd, even}[i%2], bb.n)
			}
		})
	}
}
