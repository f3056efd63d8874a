package foreign

import (
	"encoding/json"
	"errors"
	"net/url"

	"github.com/flagstaff-go/flagstaff/flags"
)

// The proxy of GrowthBook, and what its edge workers are made of, evaluates all features for
// attributes. The value of a feature is its default value, unless a rule forces another one, as
// the rules of experiments do.

func growthBookRequest(c *Client, r *flags.Request) (*call, error) {
	list := c.attributes(r)
	c.identify(list, "id", r)
	return &call{path: "/api/eval/" + url.PathEscape(c.Key), body: map[string]any{"attributes": list}}, nil
}

func growthBookValues(_ *Client, answer []byte) (map[string]json.RawMessage, error) {
	var body struct {
		Features map[string]struct {
			DefaultValue json.RawMessage              `json:"defaultValue"`
			Rules        []map[string]json.RawMessage `json:"rules"`
		} `json:"features"`
	}
	if err := json.Unmarshal(answer, &body); err != nil {
		return nil, err
	}
	if body.Features == nil {
		return nil, errors.New(`it has no "features"`)
	}
	values := make(map[string]json.RawMessage)
	for key, f := range body.Features {
		values[key] = orNull(f.DefaultValue)
		for _, rule := range f.Rules {
			if forced, ok := rule["force"]; ok {
				values[key] = orNull(forced)
				break
			}
		}
	}
	return values, nil
}
