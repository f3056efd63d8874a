package sdk

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// An object is a JSON object.
type object = map[string]any

// An api is the public HTTP API of a server. Drivers use it to create what they
// need and to check what SDKs have done.
type api struct {
	url, projectKey, personalKey, secretKey string
}

var client = http.Client{Timeout: 10 * time.Second}

// ask sends a body, unless it is nil, to a path below the project, and decodes
// the answer into v, unless that is nil.
func (a api) ask(t testing.TB, method, path string, body, v any) {
	t.Helper()
	if status, text := a.try(t, method, "/api/projects/@current"+path, body); status/100 != 2 {
		t.Fatalf("%s %s answered %d: %s", method, path, status, text)
	} else if v != nil {
		if err := json.Unmarshal(text, v); err != nil {
			t.Fatalf("%s %s: %v", method, path, err)
		}
	}
}

func (a api) try(t testing.TB, method, path string, body any) (status int, text []byte) {
	t.Helper()
	var document io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		document = bytes.NewReader(b)
	}
	request, err := http.NewRequest(method, a.url+path, document)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+a.personalKey)
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err = io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, text
}

type person struct {
	DistinctIDs []string `json:"distinct_ids"`
	Properties  object   `json:"properties"`
	Identified  bool     `json:"is_identified"`
}

// person returns the person with a distinct ID, or the zero person.
func (a api) person(t testing.TB, distinctID string) person {
	t.Helper()
	var page struct{ Results []person }
	a.ask(t, "GET", "/persons/?distinct_id="+url.QueryEscape(distinctID), nil, &page)
	if len(page.Results) == 0 {
		return person{}
	}
	return page.Results[0]
}

// group returns the properties of a group, or nil if the server does not know
// it.
func (a api) group(t testing.TB, index int, key string) object {
	t.Helper()
	status, text := a.try(t, "GET", fmt.Sprintf("/api/projects/@current/groups/find/?group_type_index=%d&group_key=%s", index, url.QueryEscape(key)), nil)
	if status == http.StatusNotFound {
		return nil
	}
	var found struct {
		Properties object `json:"group_properties"`
	}
	if err := json.Unmarshal(text, &found); err != nil {
		t.Fatalf("group %s: %d %s", key, status, text)
	}
	return found.Properties
}

// A fixture has everything that a driver needs in a project, under names of its
// own, so that it runs on any project and leaves it as it was.
type fixture struct {
	api
	t       testing.TB
	prefix  string
	ids     map[string]int64 // of the flags, by short name
	company int              // the index of the group type company
}

func newFixture(t testing.TB, a api) *fixture {
	f := &fixture{api: a, t: t, prefix: "sdk-" + strings.ToLower(rand.Text()[:8]), ids: make(map[string]int64)}
	f.company = f.groupType("company")
	everybody := []object{{"properties": []object{}, "rollout_percentage": 100}}
	pro := object{"key": "plan", "type": "person", "operator": "exact", "value": []string{"pro"}}
	when := func(property object) []object {
		return []object{{"properties": []object{property}, "rollout_percentage": 100}}
	}

	f.flag("bool", object{"groups": everybody, "payloads": object{"true": `{"color":"blue"}`}}, nil)
	f.flag("variant", object{
		"groups":       []object{{"properties": []object{}, "rollout_percentage": 100, "variant": "test"}},
		"multivariate": object{"variants": []object{{"key": "control", "rollout_percentage": 50}, {"key": "test", "rollout_percentage": 50}}},
		"payloads":     object{"test": `{"n":1}`},
	}, nil)
	f.flag("split", object{
		"groups":       []object{{"properties": []object{}, "rollout_percentage": 80}},
		"multivariate": object{"variants": []object{{"key": "a", "rollout_percentage": 30}, {"key": "b", "rollout_percentage": 70}}},
	}, nil)
	f.flag("off", object{"groups": []object{{"properties": []object{}, "rollout_percentage": 0}}}, nil)
	f.flag("person", object{"groups": when(pro)}, nil)
	f.flag("group", object{
		"aggregation_group_type_index": f.company,
		"groups":                       when(object{"key": "tier", "type": "group", "group_type_index": f.company, "operator": "exact", "value": "enterprise"}),
	}, nil)
	f.flag("server", object{"groups": everybody}, object{"evaluation_runtime": "server"})
	f.flag("client", object{"groups": everybody}, object{"evaluation_runtime": "client"})
	f.flag("remote", object{"groups": everybody, "payloads": object{"true": `{"k":"v"}`}}, object{"is_remote_configuration": true})
	var cohort struct{ ID int64 }
	f.ask(t, "POST", "/cohorts/", object{
		"name":    "Cohort " + f.prefix,
		"filters": object{"properties": object{"type": "OR", "values": []object{{"type": "AND", "values": []object{pro}}}}},
	}, &cohort)
	t.Cleanup(func() {
		f.ask(t, "PATCH", fmt.Sprintf("/cohorts/%d/", cohort.ID), object{"deleted": true}, nil)
	})
	f.flag("cohort", object{"groups": when(object{"key": "id", "type": "cohort", "operator": "in", "value": cohort.ID})}, nil)
	f.flag("dependent", object{"groups": when(object{"key": fmt.Sprint(f.ids["bool"]), "type": "flag", "operator": "flag_evaluates_to", "value": true})}, nil)
	return f
}

// flag creates a flag, and deletes it at the end of the test.
func (f *fixture) flag(name string, filters, more object) {
	f.t.Helper()
	body := object{"key": f.key(name), "name": "Flag " + name + " of a driver", "filters": filters}
	maps.Copy(body, more)
	var made struct{ ID int64 }
	f.ask(f.t, "POST", "/feature_flags/", body, &made)
	f.ids[name] = made.ID
	f.t.Cleanup(func() { f.change(name, object{"deleted": true}) })
}

func (f *fixture) change(name string, patch object) {
	f.ask(f.t, "PATCH", fmt.Sprintf("/feature_flags/%d/", f.ids[name]), patch, nil)
}

// groupType returns the index of a group type. The first group of a type makes
// the type known to the project.
func (f *fixture) groupType(name string) int {
	for range 2 {
		var known []struct {
			Name  string `json:"group_type"`
			Index int    `json:"group_type_index"`
		}
		f.ask(f.t, "GET", "/groups_types/", nil, &known)
		for _, k := range known {
			if k.Name == name {
				return k.Index
			}
		}
		f.try(f.t, "POST", "/batch/", object{"api_key": f.projectKey, "batch": []object{{
			"event": "$groupidentify", "distinct_id": f.id("first"), "properties": object{"$group_type": name, "$group_key": f.id("first"), "$group_set": object{}},
		}}})
	}
	f.t.Fatalf("the project has no group type %s after $groupidentify", name)
	return 0
}

// key returns the key of the flag with a short name, and id returns an ID for a
// person or group that no other driver uses.
func (f *fixture) key(name string) string { return f.prefix + "-" + name }
func (f *fixture) id(name string) string  { return f.prefix + "." + name }

// serverKeys lists the flags of the whole project that servers may see, except the
// flags that belong to surveys.
func (f *fixture) serverKeys() []string {
	_, text := f.try(f.t, "GET", "/flags/definitions?rule_sets&token="+f.projectKey, nil)
	var document struct {
		Flags []struct {
			Key     string
			Active  bool
			Runtime string `json:"evaluation_runtime"`
		}
	}
	if err := json.Unmarshal(text, &document); err != nil {
		f.t.Fatal(err)
	}
	var keys []string
	for _, flag := range document.Flags {
		if flag.Active && flag.Runtime != "client" {
			keys = append(keys, flag.Key)
		}
	}
	slices.Sort(keys)
	return keys
}
