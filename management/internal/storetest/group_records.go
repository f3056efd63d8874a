package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/capture/persons"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// group is an event that sets properties of a group.
func (s *suite) group(groupType, key, properties string) capture.Event {
	quoted, _ := json.Marshal(key)
	return s.event("$groupidentify", "u", fmt.Sprintf(`{"$group_type":%q,"$group_key":%s,"$group_set":%s}`, groupType, quoted, properties))
}

func testGroupRecords(t *testing.T, s *suite) {
	ctx := t.Context()
	want(t, "GroupTypes of nothing", map[int]string{})(s.GroupTypes(ctx, 1))
	later := s.group("company", "acme", `{"n":1}`)
	later.Received = s.now.Add(time.Hour)
	s.write(t, s.group("company", "acme", `{"tier":"free"}`), s.event("page", "u", `{"$groups":{"team":"red"}}`))
	s.write(t, elsewhere(s.group("team", "acme", `{"other":true}`), 2))
	s.write(t, later)
	g := storage.Group{TypeIndex: 0, Key: "acme", Properties: json.RawMessage(`{"tier":"free","n":1}`), Created: s.now}
	wantAllSet(t, g, "TypeIndex")
	check := func() {
		t.Helper()
		for _, store := range []sqlstore.Storage{s.Storage, s.another(t)} {
			want(t, "GroupTypes", map[int]string{0: "company", 1: "team"})(store.GroupTypes(ctx, 1))
			want(t, "Group", &g)(store.Group(ctx, 1, 0, "acme"))
			wantPage(t, "Groups", []storage.Group{g}, 1)(store.Groups(ctx, 1, 0, "", 10, 0))
		}
		if got, err := s.AppendGroup(ctx, nil, 1, "company", "acme"); err != nil || !equalJSON(got, string(g.Properties)) {
			t.Errorf("the group is %s, %v; want %s", got, err, g.Properties)
		}
		err := s.Atomic(ctx, func(store storage.Store) error {
			want(t, "GroupTypes in a transaction", map[int]string{0: "company", 1: "team"})(store.GroupTypes(ctx, 1))
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		undo := errors.New("undone")
		err = s.AtOnce(ctx, func(tx storage.Store) error {
			must(t, tx.AddGroupTypes(ctx, 2, []string{"team", "site"}))
			want(t, "GroupTypes within the transaction", map[int]string{0: "team", 1: "site"})(tx.GroupTypes(ctx, 2))
			return undo
		})
		wantError(t, "AddGroupTypes that is undone", undo, err)
		want(t, "GroupTypes of another project", map[int]string{0: "team"})(s.GroupTypes(ctx, 2))
		want(t, "Group of another project", &storage.Group{Key: "acme", Properties: json.RawMessage(`{"other":true}`), Created: s.now})(s.Group(ctx, 2, 0, "acme"))
	}
	check()

	large := value("x", `"`+strings.Repeat("x", persons.MaxProperties)+`"`)
	for _, tt := range []struct {
		name    string
		project int64
		index   int
		key     string
	}{
		{"an unknown key", 1, 0, "umbra"},
		{"another type", 1, 1, "acme"},
		{"an unknown type", 1, 2, "acme"},
		{"no type", 1, -1, "acme"},
		{"a large type", 1, 1 << 40, "acme"},
		{"another project", 3, 0, "acme"},
		{"an impossible key", 1, 0, "acme\x00"},
		{"no text", 1, 0, "\xff"},
	} {
		wantErr(t, "Group with "+tt.name, storage.ErrNotFound)(s.Group(ctx, tt.project, tt.index, tt.key))
		wantErr(t, "UpdateGroup with "+tt.name, storage.ErrNotFound)(s.UpdateGroup(ctx, tt.project, tt.index, tt.key, value("x", "1"), nil))
		wantErr(t, "UpdateGroup with much and "+tt.name, storage.ErrNotFound)(s.UpdateGroup(ctx, tt.project, tt.index, tt.key, large, nil))
		wantError(t, "DeleteGroup with "+tt.name, storage.ErrNotFound, s.DeleteGroup(ctx, tt.project, tt.index, tt.key))
		wantPage(t, "Groups with "+tt.name, []storage.Group(nil), 0)(s.Groups(ctx, tt.project, tt.index, tt.key, 10, 0))
	}
	check()

	g.Properties = json.RawMessage(`{"n":2,"new":[null]}`)
	set := value("n", "2")
	set["new"] = json.RawMessage("[null]")
	want(t, "UpdateGroup", &g)(s.UpdateGroup(ctx, 1, 0, "acme", set, []string{"tier"}))
	check()
	wantErr(t, "UpdateGroup with much", storage.ErrTooLarge)(s.UpdateGroup(ctx, 1, 0, "acme", large, []string{"n"}))
	check()
	must(t, s.DeleteGroup(ctx, 1, 0, "acme"))
	if got, err := s.AppendGroup(ctx, nil, 1, "company", "acme"); err != nil || len(got) > 0 {
		t.Errorf("the group is %s, %v after it was deleted", got, err)
	}
	wantErr(t, "Group", storage.ErrNotFound)(s.another(t).Group(ctx, 1, 0, "acme"))
	wantError(t, "DeleteGroup again", storage.ErrNotFound, s.DeleteGroup(ctx, 1, 0, "acme"))
	g.Properties, g.Created = json.RawMessage(`{"n":1}`), later.Received // it comes back as another
	again := s.group("company", "acme", `{"n":1}`)
	again.Received = later.Received
	s.write(t, again)
	check()
}

func testGroupPages(t *testing.T, s *suite) {
	ctx := t.Context()
	keys := []string{"a", "A", "acme", "acme 2", "ACME", "é", "z", "100%", "1000", "\U0010FFFF", "it's \"quoted\" \\ ; --"}
	for _, key := range keys {
		s.write(t, s.group("company", key, `{}`), s.group("team", key+"!", `{}`), elsewhere(s.group("company", key+"?", `{}`), 2))
	}
	slices.Sort(keys)
	for _, search := range []string{"", "a", "acme", "acme 2", "A", "é", "100%", "\U0010FFFF", "b", "it's \"", "a!"} {
		var matching []string
		for _, key := range keys {
			if strings.HasPrefix(key, search) {
				matching = append(matching, key)
			}
		}
		for _, limit := range []int{1, 3, 100} {
			var got []string
			for offset := 0; offset <= len(matching); offset += limit {
				page, total, err := s.Groups(ctx, 1, 0, search, limit, offset)
				if err != nil || total != len(matching) || len(page) > limit {
					t.Fatalf("Groups(%q, %d, %d): %d of %d, %v; want a total of %d", search, limit, offset, len(page), total, err, len(matching))
				}
				for _, g := range page {
					got = append(got, g.Key)
				}
			}
			want(t, fmt.Sprintf("groups that begin with %q", search), matching)(got, nil)
		}
	}
}

// testGroupUpdates changes a group by hand while events do.
func testGroupUpdates(t *testing.T, s *suite) {
	ctx := t.Context()
	s.write(t, s.group("company", "acme", `{}`))
	stores := []sqlstore.Storage{s.Storage, s.another(t)}
	const writers, times = 4, 15
	all := make(map[string]any)
	var wg sync.WaitGroup
	for w := range writers {
		store := stores[w%2]
		for i := range times {
			all[fmt.Sprintf("hand-%d-%d", w, i)], all[fmt.Sprintf("event-%d-%d", w, i)] = true, true
		}
		wg.Go(func() {
			for i := range times {
				if _, err := store.UpdateGroup(ctx, 1, 0, "acme", value(fmt.Sprintf("hand-%d-%d", w, i), "true"), nil); err != nil {
					t.Errorf("UpdateGroup: %v", err)
				}
			}
		})
		wg.Go(func() {
			for i := range times {
				if err := store.Write(ctx, []capture.Event{s.group("company", "acme", fmt.Sprintf(`{"event-%d-%d":true}`, w, i))}); err != nil {
					t.Errorf("Write: %v", err)
				}
			}
		})
	}
	wg.Wait()
	g, err := s.another(t).Group(ctx, 1, 0, "acme")
	must(t, err)
	var got map[string]any
	must(t, json.Unmarshal(g.Properties, &got))
	want(t, "properties", all)(got, nil)
}
