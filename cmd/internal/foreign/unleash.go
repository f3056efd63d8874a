package foreign

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
)

// The frontend API of Unleash and its Edge evaluates all flags for the context in the query, and
// answers with those that are on.

// unleashFields are the fields of a context that are not properties.
var unleashFields = []string{"userId", "sessionId", "remoteAddress", "appName", "environment"}

func unleashRequest(c *Client, r *flags.Request) (*call, error) {
	list := c.attributes(r)
	c.identify(list, "userId", r)
	query := make(url.Values)
	for name, text := range texts(list) {
		if !slices.Contains(unleashFields, name) {
			name = "properties[" + name + "]"
		}
		query.Set(name, text)
	}
	return &call{"/api/frontend?" + query.Encode(), map[string]string{"Authorization": c.Key}, nil}, nil
}

// unleashRefuses: the frontend API has a clock of its own, and brackets in the query.
func unleashRefuses(name string, k kind, v any) string {
	switch {
	case name == "currentTime":
		return "the frontend API takes no currentTime"
	case strings.ContainsAny(name, "[]"):
		return fmt.Sprintf("the frontend API takes no property with brackets in its name, such as %q", name)
	}
	return noText(name, k, v)
}

// unleashComplete adds a session and an address, which the server makes up for requests that lack
// them: a random session would be drawn in another way by each side.
func unleashComplete(c *Client, r *flags.Request) {
	for attribute, value := range map[string]string{"sessionId": "session of " + r.DistinctID, "remoteAddress": "192.0.2.1"} {
		name := cmp.Or(c.Attributes[attribute], attribute)
		if v, ok := property(r, name); !ok || v == nil || v == "" {
			r.PersonProperties[name] = value
		}
	}
}

func unleashValues(c *Client, answer []byte) (map[string]json.RawMessage, error) {
	var body struct {
		Toggles *[]struct {
			Name    string `json:"name"`
			Enabled bool   `json:"enabled"`
			Variant struct {
				Name    string           `json:"name"`
				Payload *json.RawMessage `json:"payload,omitempty"`
			} `json:"variant"`
		} `json:"toggles"`
	}
	if err := json.Unmarshal(answer, &body); err != nil {
		return nil, err
	}
	if body.Toggles == nil {
		return nil, errors.New(`it has no "toggles"`)
	}
	values := make(map[string]json.RawMessage)
	for key, want := range c.Types { // also those that are off
		values[key] = null
		if want == "boolean" {
			values[key] = json.RawMessage("false")
		}
	}
	for i := range *body.Toggles {
		f := &(*body.Toggles)[i]
		if !f.Enabled {
			continue
		}
		switch c.Types[f.Name] {
		case "string":
			values[f.Name], _ = json.Marshal(f.Variant.Name)
		case "object":
			values[f.Name], _ = json.Marshal(f.Variant)
		default:
			values[f.Name] = json.RawMessage("true")
		}
	}
	return values, nil
}
