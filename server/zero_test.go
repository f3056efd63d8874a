package server_test

import (
	"errors"
	"net/http/httptest"
	"testing"

	"github.com/flagstaff-go/flagstaff/server"
)

// A panicking value panics while it is encoded.
type panicking struct{}

func (panicking) MarshalJSON() ([]byte, error) { panic("hunter2") }

// TestRuling76ZeroValues: zero and nil values answer as if nothing was loaded, and a
// panic of a caller's MarshalJSON is an error.
func TestRuling76ZeroValues(t *testing.T) {
	for name, s := range map[string]*server.Server{"nil": nil, "zero": new(server.Server)} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("POST", "/flags", nil))
		if w.Code != 503 {
			t.Errorf("%s Server: %d", name, w.Code)
		}
	}
	for name, r := range map[string]*server.Registry{"nil": nil, "zero": new(server.Registry)} {
		if _, err := r.Project(t.Context(), "phc_demo"); !errors.Is(err, server.ErrUnknownProject) {
			t.Errorf("%s Registry: %v", name, err)
		}
		for p := range r.All() {
			t.Errorf("%s Registry has %v", name, p)
		}
	}
	s := newServer(t, func(c *server.Config) {
		projects := new(server.Registry)
		projects.Set("phc_zero", new(server.Project))
		projects.Set("phc_published", &server.Project{Published: new(server.Published)})
		c.Projects = projects
	})
	for _, key := range []string{"phc_zero", "phc_published"} {
		for target, body := range map[string]string{
			"/flags?v=2&config=true": `{"api_key":"` + key + `","distinct_id":"u"}`, "/decide": `{"api_key":"` + key + `","distinct_id":"u"}`,
			"/api/surveys?token=" + key: "", "/api/early_access_features?token=" + key: "",
		} {
			if resp := (call{target: target, body: body}).do(s); resp.StatusCode != 200 {
				t.Errorf("%s: %d %s", target, resp.StatusCode, bodyText(t, resp))
			}
		}
		for _, target := range []string{"/array/" + key + "/config", "/array/" + key + "/config.js"} {
			if resp := (call{method: "GET", target: target}).do(s); resp.StatusCode != 200 {
				t.Errorf("%s: %d %s", target, resp.StatusCode, bodyText(t, resp))
			}
		}
	}
	if _, err := server.New(server.Config{}); err == nil {
		t.Error("a Server without projects")
	}
	if _, err := server.NewClientConfig(map[string]any{"x": panicking{}}); err == nil {
		t.Error("a client configuration that panics")
	}
	if _, err := server.Publish(server.Publication{Project: 1, APIKey: "phc_demo", Members: map[string]any{"x": panicking{}}}); err == nil {
		t.Error("a publication that panics")
	}
}
