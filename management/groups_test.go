package management_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/management"
)

func TestGroupTypes(t *testing.T) {
	w := newWorld(t, withData)
	check := func(ref, want string) {
		t.Helper()
		if got := encode(t, must(w.GroupTypes(t.Context(), w.as(w.cyd), ref))(t)); got != want {
			t.Errorf("GroupTypes = %s, want %s", got, want)
		}
	}
	check("1", "[]")
	w.capture(w.web, "page", "u", `{"$groups":{"company":"acme"}}`)
	w.capture(w.web, "page", "u", `{"$groups":{"team":"red"}}`)
	w.capture(w.app, "page", "u", `{"$groups":{"team":"red"}}`)
	check("@current", `[{"group_type":"company","group_type_index":0},{"group_type":"team","group_type_index":1}]`)
	check("2", `[{"group_type":"team","group_type_index":0}]`)
}

func TestListGroups(t *testing.T) {
	w := newWorld(t, withData)
	for _, key := range []string{"b", "acme 2", "acme", "A"} {
		w.capture(w.web, "$groupidentify", "u", `{"$group_type":"company","$group_key":"`+key+`"}`)
		w.capture(w.web, "$groupidentify", "u", `{"$group_type":"team","$group_key":"team `+key+`"}`)
		w.capture(w.shop, "$groupidentify", "u", `{"$group_type":"company","$group_key":"`+key+` of others"}`)
	}
	for _, tt := range []struct {
		name          string
		index         int
		search        string
		limit, offset int
		want          string
	}{
		{"all", 0, "", 10, 0, "A, acme, acme 2, b of 4"},
		{"a page", 0, "", 2, 1, "acme, acme 2 of 4"},
		{"behind the end", 0, "", 2, 4, " of 4"},
		{"nonsense", 0, "", -1, -1, " of 4"},
		{"a beginning", 0, "acme", 10, 0, "acme, acme 2 of 2"},
		{"nothing in the middle", 0, "cme", 10, 0, " of 0"},
		{"another type", 1, "team a", 10, 0, "team acme, team acme 2 of 2"},
		{"no type", 2, "", 10, 0, " of 0"},
		{"no number of a type", -1, "", 10, 0, " of 0"},
	} {
		page := must(w.ListGroups(t.Context(), w.as(w.cyd), "1", tt.index, tt.search, tt.limit, tt.offset))(t)
		var keys []string
		for _, g := range page.Items {
			keys = append(keys, g.GroupKey)
			if g.GroupTypeIndex != tt.index {
				t.Errorf("%s: %+v", tt.name, g)
			}
		}
		if got := fmt.Sprintf("%s of %d", strings.Join(keys, ", "), page.Total); got != tt.want || page.Items == nil {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestFindGroup(t *testing.T) {
	w := newWorld(t, withData)
	w.seize()
	const want = `{"group_type_index":0,"group_key":"acme","group_properties":{"plan":"secret-free"},"created_at":"2026-03-04T05:06:07.002Z"}`
	if got := encode(t, must(w.FindGroup(t.Context(), w.as(w.cyd), "1", 0, "acme"))(t)); got != want {
		t.Errorf("FindGroup = %s, want %s", got, want)
	}
	for _, tt := range []struct {
		index int
		key   string
	}{{0, "umbra"}, {0, ""}, {0, "ACME"}, {1, "acme"}, {-1, "acme"}, {1 << 40, "acme"}} {
		_, err := w.FindGroup(t.Context(), w.as(w.cyd), "1", tt.index, tt.key)
		checkFault(t, fmt.Sprintf("FindGroup(%d, %q)", tt.index, tt.key), err, "not found not_found")
	}
}

func TestGroupProperties(t *testing.T) {
	for _, tt := range properties {
		w := newWorld(t, withData)
		w.capture(w.web, "$groupidentify", "u", `{"$group_type":"company","$group_key":"acme","$group_set":{"a":1}}`)
		before := w.state()
		view, err := w.UpdateGroupProperty(t.Context(), w.as(w.cyd), "1", 0, "acme", decode[management.PropertyPatch](t, tt.body))
		if err != nil {
			view = new(management.GroupView)
		}
		w.checkEdit("UpdateGroupProperty "+tt.body, before, view.GroupProperties, err, tt.want)
		if err == nil {
			w.checkEdit("the group after "+tt.body, before, w.groups(w.web)[0].Properties, nil, tt.want)
		}
	}
	for _, tt := range removals {
		w := newWorld(t, withData)
		w.capture(w.web, "$groupidentify", "u", `{"$group_type":"company","$group_key":"acme","$group_set":{"a":1,"b":2}}`)
		before := w.state()
		view, err := w.DeleteGroupProperty(t.Context(), w.as(w.cyd), "1", 0, "acme", decode[management.PropertyRemoval](t, tt.body))
		if err != nil {
			view = new(management.GroupView)
		}
		w.checkEdit("DeleteGroupProperty "+tt.body, before, view.GroupProperties, err, tt.want)
	}
}

// A group that is deleted leaves its type.
func TestDeleteGroup(t *testing.T) {
	w := newWorld(t, withData)
	w.seize()
	w.ok(w.DeleteGroup(t.Context(), w.as(w.cyd), "1", 0, "acme"))
	if list := w.groups(w.web); len(list) != 0 {
		t.Errorf("groups %v", list)
	}
	if list := w.groups(w.shop); len(list) != 1 {
		t.Errorf("groups of others %v", list)
	}
	if types := must(w.GroupTypes(t.Context(), w.as(w.cyd), "1"))(t); len(types) != 1 {
		t.Errorf("GroupTypes = %v, want the one that there was", types)
	}
}
