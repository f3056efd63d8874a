package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The bodies in this file are those that the public system's provider for Terraform sends
// (its releases of 2026). Terraform compares what comes back with what was sent: if it
// differs, each plan shows a change.

// subset reports whether an answer has all that was sent, in whatever order, and says
// what differs.
func subset(sent, shown any) string {
	s, ok := sent.(map[string]any)
	if !ok {
		if reflect.DeepEqual(sent, shown) {
			return ""
		}
		return cmp.Diff(sent, shown)
	}
	o, ok := shown.(map[string]any)
	if !ok {
		return cmp.Diff(sent, shown)
	}
	var all strings.Builder
	for name, value := range s {
		if diff := subset(value, o[name]); diff != "" {
			fmt.Fprintf(&all, "%s: %s", name, diff)
		}
	}
	return all.String()
}

func decodeJSON(t *testing.T, text string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

// A plannedThing is something that Terraform makes, reads, changes and deletes.
type plannedThing struct {
	name, path string
	id         string // member of the answer
	create     string
	update     string
	updateBy   string   // method
	writeOnly  []string // members that do not come back
	remove     string   // body of the PATCH that deletes; "": DELETE
	goneOrDead int      // status of a GET after that
}

func TestTerraform(t *testing.T) {
	for _, tt := range []plannedThing{
		{
			name: "flag", path: projectPath + "/feature_flags/", id: "id", updateBy: "PATCH",
			create: `{"key":"new-checkout","name":"Checkout","active":true,"filters":{"aggregation_group_type_index":null,"groups":[{"properties":[{"key":"email","operator":"icontains","type":"person","value":"@acme.example"}],"rollout_percentage":50,"variant":null,"description":null,"users_affected":null,"sort_key":"a1"}],"holdout":null,"multivariate":null,"payloads":{}},"tags":["a","b"],"deleted":false}`,
			update: `{"key":"new-checkout","name":"Checkout","active":false,"filters":{"groups":[{"rollout_percentage":25}],"multivariate":{"variants":[{"key":"control","name":"","rollout_percentage":50},{"key":"test","name":null,"rollout_percentage":50}]},"payloads":{"test":{"color":"blue"}}},"tags":[],"deleted":false}`,
			remove: `{"key":"new-checkout","deleted":true}`, goneOrDead: 200,
		},
		{
			name: "flag without filters", path: projectPath + "/feature_flags/", id: "id", updateBy: "PATCH",
			create: `{"key":"plain","filters":{"groups":[{}]},"deleted":false}`,
			update: `{"key":"plain","filters":{"groups":[{"rollout_percentage":10}]},"deleted":false}`,
			remove: `{"key":"plain","deleted":true}`, goneOrDead: 200,
		},
		{
			name: "cohort", path: projectPath + "/cohorts/", id: "id", updateBy: "PATCH",
			create: `{"name":"Pro","description":"d","filters":{"properties":{"type":"OR","values":[{"type":"AND","values":[{"bytecode":null,"key":"plan","negation":false,"operator":"exact","type":"person","value":["pro"]}]}]}},"is_static":false}`,
			update: `{"name":"Pro","filters":{"properties":{"type":"OR","values":[{"type":"AND","values":[{"key":"plan","negation":true,"operator":null,"type":"person","value":"pro"}]}]}},"is_static":false}`,
			remove: `{"deleted":true}`, goneOrDead: 200,
		},
		{
			name: "survey", path: projectPath + "/surveys/", id: "id", updateBy: "PUT",
			create:    `{"name":"NPS","description":"d","type":"popover","schedule":"once","linked_flag_id":null,"linked_insight_id":null,"questions":[{"id":"q1","type":"rating","question":"How likely?","description":"","scale":10,"display":"number","lowerBoundLabel":"no","upperBoundLabel":"yes"}],"conditions":{"url":"/pricing","urlMatchType":"icontains"},"appearance":{"position":"right"},"archived":false,"responses_limit":null,"iteration_count":null,"iteration_frequency_days":null,"response_sampling_interval":null,"response_sampling_limit":null,"enable_partial_responses":true,"_create_in_folder":"Surveys"}`,
			update:    `{"name":"NPS","type":"popover","linked_flag_id":null,"linked_insight_id":null,"questions":[{"id":"q1","type":"open","question":"Why?"}],"responses_limit":100,"iteration_count":null,"iteration_frequency_days":null,"response_sampling_interval":null,"response_sampling_limit":null,"response_sampling_daily_limits":null}`,
			writeOnly: []string{"_create_in_folder"}, goneOrDead: 404,
		},
		{
			name: "survey with targeting", path: projectPath + "/surveys/", id: "id", updateBy: "PUT",
			create:    `{"name":"Pro","type":"api","linked_flag_id":null,"linked_insight_id":7,"targeting_flag_filters":{"aggregation_group_type_index":null,"groups":[{"properties":[{"key":"plan","operator":"exact","type":"person","value":["pro"]}],"rollout_percentage":null,"variant":null}],"multivariate":null,"payloads":{}},"questions":[{"id":"q1","type":"open","question":"Why?"}],"responses_limit":null,"iteration_count":null,"iteration_frequency_days":null,"response_sampling_interval":null,"response_sampling_limit":null}`,
			update:    `{"name":"Pro","type":"api","linked_flag_id":null,"linked_insight_id":null,"remove_targeting_flag":true,"questions":[{"id":"q1","type":"open","question":"Why?"}],"responses_limit":null,"iteration_count":null,"iteration_frequency_days":null,"response_sampling_interval":null,"response_sampling_limit":null}`,
			writeOnly: []string{"targeting_flag_filters", "remove_targeting_flag"}, goneOrDead: 404,
		},
		{
			name: "early access feature", path: projectPath + "/early_access_feature/", id: "id", updateBy: "PATCH",
			create: `{"name":"Dark mode","stage":"beta","description":"d","documentation_url":"https://example.com/","payload":{"a":[1,null]}}`,
			update: `{"name":"Dark mode","stage":"general-availability","description":"","payload":{}}`, goneOrDead: 404,
		},
		{
			name: "project", path: "/api/organizations/" + acme + "/projects/", id: "id", updateBy: "PATCH",
			create: `{"name":"Shop","timezone":"Europe/Zurich"}`, update: `{"name":"Shop 2","timezone":"UTC"}`, goneOrDead: 404,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := newAPI(t, apiSetup{})
			check := func(what, sent string, shown map[string]any) {
				t.Helper()
				want := decodeJSON(t, sent)
				for _, name := range tt.writeOnly {
					delete(want, name)
				}
				if diff := subset(want, shown); diff != "" {
					t.Errorf("%s: the plan is not empty (-sent +shown)\n%s", what, diff)
				}
			}
			made := a.ok(api("POST", tt.path, tt.create))
			check("create", tt.create, made)
			path := fmt.Sprintf("%s%v/", tt.path, made[tt.id])
			check("read", tt.create, a.ok(api("GET", path, "")))
			check("update", tt.update, a.ok(api(tt.updateBy, path, tt.update)))
			check("read again", tt.update, a.ok(api("GET", path, "")))
			version := a.ok(api("GET", path, ""))["version"]
			check("apply again", tt.update, a.ok(api(tt.updateBy, path, tt.update)))
			if got := a.ok(api("GET", path, ""))["version"]; got != version {
				t.Errorf("to apply again what is there gives version %v, want %v", got, version)
			}
			if tt.remove != "" {
				a.ok(api("PATCH", path, tt.remove))
			} else {
				a.ok(api("DELETE", path, ""))
			}
			resp := api("GET", path, "").do(a)
			body := bodyText(t, resp)
			if resp.StatusCode != tt.goneOrDead || tt.goneOrDead == http.StatusOK && decodeJSON(t, body)["deleted"] != true {
				t.Errorf("after it was deleted: %d %s, want %d", resp.StatusCode, body, tt.goneOrDead)
			}
		})
	}
}

// The filters of a targeting flag are shown with it.
func TestTerraformTargeting(t *testing.T) {
	a := newAPI(t, apiSetup{})
	const filters = `{"aggregation_group_type_index":null,"groups":[{"properties":[{"key":"plan","operator":"exact","type":"person","value":["pro"]}],"rollout_percentage":null,"variant":null}],"multivariate":null,"payloads":{}}`
	v := a.ok(api("POST", projectPath+"/surveys/", `{"name":"s","type":"api","questions":null,"targeting_flag_filters":`+filters+`}`))
	if diff := cmp.Diff(decodeJSON(t, filters), v["targeting_flag"].(map[string]any)["filters"]); diff != "" {
		t.Errorf("the plan is not empty (-sent +shown)\n%s", diff)
	}
}

// A project and its environment have the same settings.
func TestTerraformProjectSettings(t *testing.T) {
	a := newAPI(t, apiSetup{})
	const settings = `{"heatmaps_opt_in":true,"autocapture_exceptions_opt_in":true,"session_recording_opt_in":false,"surveys_opt_in":true,"cookieless_server_hash_mode":2,"autocapture_web_vitals_opt_in":true,"capture_performance_opt_in":false,"session_recording_network_payload_capture_config":{"recordHeaders":true,"recordBody":false},"app_urls":["https://acme.example"],"recording_domains":[]}`
	path := "/api/environments/1/"
	for _, v := range []map[string]any{a.ok(api("PATCH", path, settings)), a.ok(api("GET", path, "")), a.ok(api("PATCH", path, settings))} {
		if diff := subset(decodeJSON(t, settings), v); diff != "" {
			t.Errorf("the plan is not empty (-sent +shown)\n%s", diff)
		}
	}
}

// A member is found in the list by the UUID of the user, and has a level.
func TestTerraformMembers(t *testing.T) {
	a := newAPI(t, apiSetup{})
	list := "/api/organizations/" + acme + "/members/"
	level := func() any {
		for _, v := range a.ok(api("GET", list, ""))["results"].([]any) {
			if m := v.(map[string]any); m["user"].(map[string]any)["uuid"] == bob {
				return m["level"]
			}
		}
		return nil
	}
	for _, want := range []float64{8, 1, 1} {
		v := a.ok(api("PATCH", list+bob+"/", fmt.Sprintf(`{"level":%v}`, want)))
		if v["level"] != want || level() != want {
			t.Errorf("level %v, and %v in the list; want %v", v["level"], level(), want)
		}
	}
	a.ok(api("DELETE", list+bob+"/", ""))
	if level() != nil {
		t.Error("the member is in the list after it was deleted")
	}
}
