package management_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// TestRuling94Definitions follows management.md §16.6.
func TestRuling94Definitions(t *testing.T) {
	w := newWorld(t, withData)
	w.storeEvent(1, "page", "u", `{"n":1,"list":[],"$set":{"plan":"pro"}}`)
	w.storeEvent(2, "page", "u", `{"n":2}`)
	w.storeEvent(3, "click", "v", `{}`)
	for more := true; more; {
		more = must(w.store.DefineEvents(t.Context()))(t)
	}
	id := func(v management.EventDefinitionView) management.EventDefinitionView {
		if v.ID.Version() != 5 {
			t.Errorf("%s has ID %s", v.Name, v.ID)
		}
		v.ID = [16]byte{}
		return v
	}
	at := func(minutes int) time.Time { return begin.Add(time.Duration(minutes) * time.Minute) }
	events := must(w.EventDefinitions(t.Context(), w.as(w.ada), "1", management.DefinitionQuery{Search: "PA"}, 10, 0))(t)
	want := management.EventDefinitionView{Name: "page", CreatedAt: at(1), LastSeenAt: at(2)}
	if diff := cmp.Diff(want, id(*events.Items[0])); diff != "" || events.Total != 1 || len(events.Items) != 1 {
		t.Errorf("EventDefinitions of %d (-want +got)\n%s", events.Total, diff)
	}
	again := must(w.EventDefinitions(t.Context(), w.as(w.ada), "1", management.DefinitionQuery{}, 1, 1))(t)
	if again.Total != 2 || again.Items[0].ID != events.Items[0].ID {
		t.Errorf("EventDefinitions = %+v of %d, want page with the same ID", again.Items[0], again.Total)
	}

	properties := must(w.PropertyDefinitions(t.Context(), w.as(w.ada), "1", management.DefinitionQuery{}, 10, 0))(t)
	var got []management.PropertyDefinitionView
	for _, v := range properties.Items {
		v.EventDefinitionView = id(v.EventDefinitionView)
		got = append(got, *v)
	}
	if diff := cmp.Diff([]management.PropertyDefinitionView{
		{EventDefinitionView: management.EventDefinitionView{Name: "list", CreatedAt: at(1), LastSeenAt: at(1)}},
		{management.EventDefinitionView{Name: "n", CreatedAt: at(1), LastSeenAt: at(2)}, new(storage.PropertyNumber), true},
	}, got); diff != "" {
		t.Errorf("PropertyDefinitions (-want +got)\n%s", diff)
	}
	person := must(w.PropertyDefinitions(t.Context(), w.as(w.ada), "1", management.DefinitionQuery{Type: "person"}, 10, 0))(t)
	if person.Total != 1 || person.Items[0].Name != "plan" || *person.Items[0].PropertyType != storage.PropertyString {
		t.Errorf("properties of persons are %+v", person.Items)
	}
	none := must(w.PropertyDefinitions(t.Context(), w.as(w.ada), "1", management.DefinitionQuery{Type: "group", GroupTypeIndex: "4"}, 10, 0))(t)
	if none.Total != 0 || none.Items == nil {
		t.Errorf("properties of groups are %+v", none)
	}
	for _, tt := range []struct {
		q   management.DefinitionQuery
		err string
	}{
		{management.DefinitionQuery{Type: "events"}, "invalid invalid_choice type"},
		{management.DefinitionQuery{Type: "group"}, "invalid required group_type_index"},
		{management.DefinitionQuery{Type: "group", GroupTypeIndex: "-1"}, "invalid invalid_input group_type_index"},
		{management.DefinitionQuery{GroupTypeIndex: "0"}, "invalid invalid_input group_type_index"},
		{management.DefinitionQuery{Search: strings.Repeat("é", 201)}, "invalid max_length search"},
	} {
		_, err := w.PropertyDefinitions(t.Context(), w.as(w.ada), "1", tt.q, 1, 0)
		checkFault(t, tt.q.Type, err, tt.err)
	}
}

func TestPropertyTypeOf(t *testing.T) {
	for value, want := range map[string]storage.PropertyType{
		`null`: "", `[1]`: "", `{}`: "", `true`: "Boolean", `1e3`: "Numeric", `"1"`: "String", `""`: "String",
		`"2026-03-04"`: "DateTime", `"2026-03-04T05:06:07.5+02:00"`: "DateTime", `"2026-13-04"`: "String", `"2026-03-04x"`: "String", "": "",
	} {
		if got := storage.PropertyTypeOf([]byte(value)); got != want {
			t.Errorf("PropertyTypeOf(%s) = %q, want %q", value, got, want)
		}
	}
}
