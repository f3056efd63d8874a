package server_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/server"
	"github.com/flagstaff-go/flagstaff/server/internal/openapi"
)

// A describedParameter is a parameter in the OpenAPI document.
type describedParameter struct {
	Ref         string `json:"$ref"`
	Name, In    string
	Description string
	Schema      parameterSchema
}

type parameterSchema struct {
	Type  string
	Enum  []any
	Items *parameterSchema
}

// closedValues returns the values that a parameter can have, and whether they are all.
// Booleans have spellings besides.
func (s *parameterSchema) closedValues() (values []string, closed bool) {
	switch {
	case s.Items != nil:
		return s.Items.closedValues()
	case len(s.Enum) > 0:
		for _, v := range s.Enum {
			values = append(values, fmt.Sprint(v))
		}
		return values, true
	}
	return []string{"true", "false"}, s.Type == "boolean"
}

// passedOver are parameters with a closed set of values that pass over others, and what
// their description in the OpenAPI document says of that.
var passedOver = map[string]string{
	"stage": "A stage that does not exist selects no features",
}

// TestClosedParameters: each parameter of a query that has a closed set of values refuses
// any other one, and says which it takes. The OpenAPI document tells which parameters there
// are, so that a new one is tested by itself.
func TestClosedParameters(t *testing.T) {
	var document struct {
		Paths      map[string]map[string]struct{ Parameters []describedParameter }
		Components struct{ Parameters map[string]describedParameter }
	}
	if err := json.Unmarshal([]byte(openapi.JSON()), &document); err != nil {
		t.Fatal(err)
	}
	a := newAPI(t, apiSetup{
		management: func(c *management.Config) { c.Data = c.Store.(sqlstore.Storage) },
		server: func(c *server.Config) {
			c.Capture.Collector, c.OFREP = noCollector{}, true
			c.Management.Limit = server.ManagementLimit{PerMinute: -1, PerHour: -1, Strangers: -1, Definitions: -1}
			r := new(server.Registry)
			r.Set("phc_acme", &server.Project{ID: 1, Organization: "acme", Published: definitionsOf(t, published)})
			c.Projects = r
		},
	})
	a.ok(api("POST", projectPath+"/feature_flags/", `{"key":"k"}`))
	survey := fmt.Sprint(a.ok(api("POST", projectPath+"/surveys/", `{"name":"s","type":"popover"}`))["id"])
	feature := fmt.Sprint(a.ok(api("POST", projectPath+"/early_access_feature/", `{"name":"e","stage":"beta"}`))["id"])
	ask := func(method, path string, query url.Values) (int, string) {
		t.Helper()
		switch {
		case strings.Contains(path, "/surveys/"):
			path = strings.Replace(path, "{id}", survey, 1)
		case strings.Contains(path, "/early_access_feature/"):
			path = strings.Replace(path, "{id}", feature, 1)
		}
		body := ""
		if method != http.MethodGet && method != http.MethodDelete {
			body = `{"api_key":"phc_acme","distinct_id":"u"}`
		}
		resp := api(method, segments.Replace(path)+"?"+query.Encode(), body).do(a)
		return resp.StatusCode, bodyText(t, resp)
	}
	tested := make(map[string]bool)
	for _, path := range slices.Sorted(maps.Keys(document.Paths)) {
		for method, o := range document.Paths[path] {
			method = strings.ToUpper(method)
			for _, p := range o.Parameters {
				if name, ok := strings.CutPrefix(p.Ref, "#/components/parameters/"); ok {
					p = document.Components.Parameters[name]
				}
				values, closed := p.Schema.closedValues()
				if p.In != "query" || !closed {
					continue
				}
				tested[p.Name] = true
				query := url.Values{}
				if method == http.MethodGet {
					query.Set("token", "phc_acme")
				}
				query.Set(p.Name, "neon")
				status, body := ask(method, path, query)
				if why := passedOver[p.Name]; why != "" {
					if status == http.StatusBadRequest || !strings.Contains(p.Description, why) {
						t.Errorf("%s %s?%s=neon = %d; want it passed over, and the document to say %q", method, path, p.Name, status, why)
					}
					continue
				}
				var e struct {
					Attr, Detail string
					Error        struct { // of OpenFeature's manifest
						Details []struct{ Field, Message string }
					}
				}
				err := json.Unmarshal([]byte(body), &e)
				for _, one := range e.Error.Details {
					e.Attr, e.Detail = one.Field, one.Message
				}
				if err != nil || status != http.StatusBadRequest || e.Attr != p.Name || !strings.Contains(e.Detail, p.Name) || !strings.Contains(e.Detail, `"neon"`) {
					t.Errorf("%s %s?%s=neon = %d %s; want 400 that names the parameter and the value", method, path, p.Name, status, body)
				}
				for _, v := range values {
					if !strings.Contains(e.Detail, v) {
						t.Errorf("%s %s?%s=neon: %q does not name %s", method, path, p.Name, e.Detail, v)
					}
					query.Set(p.Name, v)
					if status, body := ask(method, path, query); status == http.StatusBadRequest && strings.Contains(body, `"attr":"`+p.Name+`"`) {
						t.Errorf("%s %s?%s=%s = %d %s", method, path, p.Name, v, status, body)
					}
				}
				query.Set(p.Name, "")
				if status, body := ask(method, path, query); status == http.StatusBadRequest && strings.Contains(body, `"attr":"`+p.Name+`"`) {
					t.Errorf("%s %s?%s= is %d %s; want it to count as missing", method, path, p.Name, status, body)
				}
			}
		}
	}
	for _, name := range []string{"active", "archived", "type", "evaluation_runtime", "order", "format", "stage", "config", "beacon", "compression"} {
		if !tested[name] {
			t.Errorf("%s was not tested", name)
		}
	}
}
