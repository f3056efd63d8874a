package reference_test

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/flagstaff-go/flagstaff/capture/internal/reference"
)

func TestGenerateIsRepeatable(t *testing.T) {
	a := reference.Generate(rand.New(rand.NewPCG(1, 2)), 200)
	b := reference.Generate(rand.New(rand.NewPCG(1, 2)), 200)
	if len(a) != 200 || !reflect.DeepEqual(a, b) {
		t.Errorf("Generate with the same seed gives %d and %d events that differ", len(a), len(b))
	}
}

func TestGeneratedEventsAreValid(t *testing.T) {
	for _, e := range reference.Generate(rand.New(rand.NewPCG(3, 4)), 5000) {
		id := e.DistinctID
		if strings.TrimSpace(id) == "" || strings.ContainsRune(id, 0) || utf8.RuneCountInString(id) > 200 {
			t.Errorf("distinct id %q is none of an event", id)
		}
		var properties map[string]any
		if err := json.Unmarshal([]byte(e.Properties), &properties); err != nil || properties == nil {
			t.Errorf("properties %s are not a JSON object: %v", e.Properties, err)
		}
	}
}

// TestGeneratedHistories counts what happens in histories, so that none of it
// stops happening unnoticed, and checks what holds after any event.
func TestGeneratedHistories(t *testing.T) {
	const histories, length = 20, 120
	counts := map[string]int{}
	for seed := range uint64(histories) {
		var w reference.World
		for _, e := range reference.Generate(rand.New(rand.NewPCG(seed, 0)), length) {
			before, typesBefore, groupsBefore := w.Persons(), w.GroupTypes(), w.Groups()
			w.Apply(e)
			now, types := w.Persons(), w.GroupTypes()

			// At most one person comes; at most one goes, and only by a merge.
			switch difference := len(now) - len(before); {
			case difference == 1:
				counts["created"]++
			case difference == -1:
				counts["merged by "+e.Name]++
			case difference != 0:
				t.Fatalf("%+v changes the number of persons by %d", e, difference)
			}
			switch difference := ids(now) - ids(before); {
			case difference < 0:
				t.Fatalf("%+v loses %d ids", e, -difference)
			case difference == 2:
				counts["created with two ids"]++
			case difference == 1 && len(now) == len(before):
				counts["attached"]++
			}
			if len(types) > 5 || !reflect.DeepEqual(types[:len(typesBefore)], typesBefore) {
				t.Fatalf("%+v turns group types %q into %q", e, typesBefore, types)
			}

			unchanged := reflect.DeepEqual(now, before)
			if n := len(w.Groups()); n > len(groupsBefore) {
				counts["group created"]++
			} else if !reflect.DeepEqual(w.Groups(), groupsBefore) {
				counts["group updated"]++
			}
			if e.NoPerson {
				if !unchanged || !reflect.DeepEqual(types, typesBefore) || !reflect.DeepEqual(w.Groups(), groupsBefore) {
					t.Fatalf("%+v has an effect", e)
				}
				continue
			}
			switch e.Name {
			case "$exception", "$$heatmap":
				if !unchanged && len(now) == len(before) {
					t.Fatalf("%+v updates a person", e)
				}
			case "$identify", "$create_alias", "$merge_dangerously":
				if unchanged {
					counts[e.Name+" without effect"]++
				}
			}
			if len(now) == len(before) && ids(now) == ids(before) && !unchanged {
				counts["updated"]++
			}
		}
		if len(w.GroupTypes()) == 5 {
			counts["five group types"]++
		}
		for _, p := range w.Persons() {
			if p.Identified {
				counts["identified"]++
			} else {
				counts["not identified"]++
			}
			if len(p.IDs) > 3 {
				counts["many ids"]++
			}
		}
	}

	t.Logf("%d histories of %d events: %v", histories, length, counts)
	for what, atLeast := range map[string]int{
		"created": 250, "created with two ids": 25, "attached": 50, "updated": 250,
		"merged by $identify": 20, "merged by $create_alias": 10, "merged by $merge_dangerously": 10,
		"$identify without effect": 25, "$create_alias without effect": 10, "$merge_dangerously without effect": 5,
		"five group types": 10, "group created": 50, "group updated": 25,
		"identified": 50, "not identified": 50, "many ids": 20,
	} {
		if counts[what] < atLeast {
			t.Errorf("%s: %d times, want at least %d", what, counts[what], atLeast)
		}
	}
}

func ids(persons []reference.Person) int {
	n := 0
	for _, p := range persons {
		n += len(p.IDs)
	}
	return n
}
