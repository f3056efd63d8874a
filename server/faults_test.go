package server_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/faulttest"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/surveys"
)

// TestFaults: each field of a flag and of a survey can be wrong, and the API says which one is,
// by its path, in what makes a thing and in what changes one.
func TestFaults(t *testing.T) {
	for _, tt := range []struct {
		kind, path string
		sound      string
		faults     []faulttest.Fault
		fields     reflect.Type
		free       []string // fields that may have any value
	}{
		{"flag", "/api/projects/1/feature_flags/", faulttest.Flag, faulttest.Flags, reflect.TypeFor[management.FlagPatch](), []string{
			"original_flag", // what is not a flag has no conflict
			"filters/groups/0/properties/0/cohort_name", // is only shown
		}},
		{"survey", "/api/projects/1/surveys/", faulttest.Survey, faulttest.Surveys, reflect.TypeFor[surveys.Patch](), []string{
			"form_content", // belongs to editors
			"targeting_flag_filters/groups/0/properties/0/cohort_name",
		}},
	} {
		t.Run(tt.kind, func(t *testing.T) {
			for _, field := range faulttest.Missing(tt.faults, faulttest.Fields(tt.fields), tt.free) {
				t.Errorf("there is no fault of the field %s", field)
			}
			a := newAPI(t, apiSetup{})
			send := func(method, path, body string, status int, into any) {
				t.Helper()
				r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
				r.Header.Set("Authorization", "Bearer "+adaKey)
				r.Header.Set("Content-Type", "application/json")
				w := httptest.NewRecorder()
				if a.ServeHTTP(w, r); w.Code != status || json.Unmarshal(w.Body.Bytes(), into) != nil {
					t.Errorf("%s %s: status %d, want %d: %s", method, body, w.Code, status, w.Body)
				}
			}
			var made struct{ ID json.RawMessage }
			send("POST", tt.path, tt.sound, http.StatusCreated, &made)
			one := tt.path + strings.Trim(string(made.ID), `"`) + "/"
			for _, f := range tt.faults {
				whole := f.In(strings.ReplaceAll(strings.ReplaceAll(tt.sound, `"whole"`, `"new"`), `"Whole"`, `"New"`))
				var members map[string]json.RawMessage
				if err := json.Unmarshal([]byte(whole), &members); err != nil {
					t.Fatal(err)
				}
				field, _, _ := strings.Cut(f.Path, "/")
				for _, request := range []struct{ method, path, body string }{
					{"POST", tt.path, whole},
					{"PATCH", one, `{"` + field + `":` + string(members[field]) + `}`},
				} {
					var problem struct{ Attr, Detail string }
					send(request.method, request.path, request.body, http.StatusBadRequest, &problem)
					place := ""
					if f.Inner() != "" {
						place = f.Inner() + ": "
					}
					if problem.Attr != f.Attr() || !strings.HasPrefix(problem.Detail, place+f.Text) {
						t.Errorf("%s %s = %s: attr %q, detail %q; want %q, %q", request.method, f.Path, f.Value, problem.Attr, problem.Detail, f.Attr(), place+f.Text)
					}
				}
			}
		})
	}
}
