package storetest

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

func testActivity(t *testing.T, s *suite) {
	ctx := t.Context()
	o := s.organization(t, "acme")
	p := s.project(t, o)
	ann := s.user(t, "ann")
	wantPage(t, "Activities before there are any", []storage.Activity(nil), 0)(s.Activities(ctx, storage.ActivityFilter{}, 10, 0))
	full := storage.Activity{
		ID: uuid.New(), Project: &p.ID, Organization: &o.ID, User: &ann.ID, System: true, Impersonated: true, Activity: strings.Repeat("é", 79),
		Scope: "FeatureFlag", ItemID: "7", Detail: json.RawMessage(`{"name":"\u0000","changes":[{"after":1.50}]}`), Created: s.now,
	}
	wantAllSet(t, full)
	at := func(n int) time.Time { return s.now.Add(time.Duration(n) * time.Microsecond) }
	bare := storage.Activity{ID: uuid.New(), Created: at(-2)} // of no project and no organization
	system := storage.Activity{ID: uuid.New(), Organization: &o.ID, System: true, Activity: "created", Scope: "User", ItemID: "7", Created: at(1)}
	staff := storage.Activity{
		ID: uuid.New(), Project: &p.ID, User: &ann.ID, Impersonated: true, Activity: "updated", Scope: "User", ItemID: "8",
		Detail: json.RawMessage(`{"name":"Ann_1","changes":[{"field":"title","before":"a \"b\" \u003c%","after":null}]}`), Created: at(-1),
	}
	// The log outlives what it is about.
	lost := storage.Activity{ID: uuid.New(), Organization: new(uuid.New()), Project: new(int64(99)), Activity: "deleted", Scope: "Project", ItemID: "99", Created: at(2)}
	all := []storage.Activity{lost, system, full, staff, bare} // newest first
	for _, i := range []int{2, 0, 4, 1, 3} {
		must(t, s.AddActivity(ctx, &all[i]))
	}
	wantError(t, "AddActivity again", storage.ErrConflict, s.AddActivity(ctx, &full))
	wantError(t, "AddActivity of a user who does not exist", storage.ErrNotFound,
		s.AddActivity(ctx, &storage.Activity{ID: uuid.New(), User: new(int64(99)), Created: s.now}))
	type filter = storage.ActivityFilter
	for _, tt := range []struct {
		name          string
		filter        filter
		limit, offset int
		want          string // l for lost and so on
		total         int
	}{
		{"all", filter{}, 1000, 0, "lyfsb", 5},
		{"the first page", filter{}, 2, 0, "ly", 5},
		{"the second page", filter{}, 2, 2, "fs", 5},
		{"the last page", filter{}, 2, 4, "b", 5},
		{"just behind the end", filter{}, 2, 5, "", 5},
		{"far behind the end", filter{}, 2, 1000, "", 5},
		{"a project", filter{Project: &p.ID}, 10, 0, "fs", 2},
		{"the second of a project", filter{Project: &p.ID}, 1, 1, "s", 2},
		{"an unknown project", filter{Project: new(int64(98))}, 10, 0, "", 0},
		{"an organization", filter{Organization: &o.ID}, 10, 0, "yf", 2},
		{"an unknown organization", filter{Organization: new(uuid.New())}, 10, 0, "", 0},
		{"a scope", filter{Scope: "User"}, 10, 0, "ys", 2},
		{"part of a scope", filter{Scope: "Use"}, 10, 0, "", 0},
		{"a thing", filter{ItemID: "7"}, 10, 0, "yf", 2},
		{"a thing of a scope", filter{Scope: "User", ItemID: "7"}, 10, 0, "y", 1},
		{"all filters", filter{Project: &p.ID, Organization: &o.ID, Scope: "FeatureFlag", ItemID: "7"}, 10, 0, "f", 1},
		{"a user", filter{User: &ann.ID}, 10, 0, "fs", 2},
		{"another user", filter{User: new(int64(99))}, 10, 0, "", 0},
		{"the system", filter{System: true}, 10, 0, "yf", 2},
		{"the system in a project", filter{Project: &p.ID, System: true}, 10, 0, "f", 1},
		{"after an entry", filter{Before: system.ID}, 2, 0, "fs", 5},
		{"after an entry of a project", filter{Project: &p.ID, Before: full.ID}, 2, 0, "s", 2},
		{"after an entry that is not selected", filter{Project: &p.ID, Before: system.ID}, 2, 0, "fs", 2},
		{"after the last one", filter{Before: bare.ID}, 2, 0, "", 5},
		{"after an unknown entry", filter{Before: uuid.New()}, 2, 0, "", 5},
		{"from a time", filter{From: new(at(1))}, 10, 0, "ly", 2},
		{"to a time", filter{To: new(at(-1))}, 10, 0, "sb", 2},
		{"from a time to another", filter{From: new(at(-1)), To: new(at(1))}, 10, 0, "yfs", 3},
		{"a part of a name", filter{Name: "NN_"}, 10, 0, "s", 1},
		{"what is in no name", filter{Name: "title"}, 10, 0, "", 0},
		{"a name that is a pattern", filter{Name: "A%"}, 10, 0, "", 0},
		{"a name that cannot be stored", filter{Name: "\x00"}, 10, 0, "", 0},
		{"a text", filter{Text: `A "B" <%`}, 10, 0, "s", 1},
		{"a text in a name", filter{Text: "ann"}, 10, 0, "s", 1},
		{"the name of a member", filter{Text: "after"}, 10, 0, "", 0},
		{"a text that is a pattern", filter{Text: "a%b"}, 10, 0, "", 0},
		{"a text that cannot be stored", filter{Text: "\x00"}, 10, 0, "", 0},
		{"filters that exclude each other", filter{Project: &p.ID, Organization: &o.ID, Scope: "User"}, 10, 0, "", 0},
	} {
		var list []storage.Activity
		for _, name := range tt.want {
			list = append(list, all[strings.IndexRune("lyfsb", name)])
		}
		for _, store := range []sqlstore.Storage{s.Storage, s.another(t)} {
			wantPage(t, "Activities: "+tt.name, list, tt.total)(store.Activities(ctx, tt.filter, tt.limit, tt.offset))
		}
	}
}
