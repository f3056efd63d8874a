package foreign

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"

	"github.com/flagstaff-go/flagstaff/flags"
)

// LaunchDarkly and its Relay Proxy evaluate for client-side SDKs: all flags that are available to
// those, for the context in the path.

func launchDarklyRequest(c *Client, r *flags.Request) (*call, error) {
	contexts := make(map[string]map[string]any)
	if r.DistinctID != "" { // which is nobody's
		contexts["user"] = contextOf(c.attributes(r), r.DistinctID)
	}
	for kind, key := range r.Groups {
		if key != "" && validKind.MatchString(kind) {
			contexts[kind] = contextOf(r.GroupProperties[kind], key)
		}
	}
	if len(contexts) == 0 {
		return nil, unaskable("launchdarkly wants a key of the person or of a group")
	}
	asked := make(map[string]any)
	if len(contexts) == 1 {
		for kind, one := range contexts {
			asked = one
			asked["kind"] = kind
		}
	} else {
		for kind, one := range contexts {
			asked[kind] = one
		}
		asked["kind"] = "multi"
	}
	text, err := json.Marshal(asked)
	if err != nil {
		return nil, err
	}
	return &call{path: "/sdk/evalx/" + url.PathEscape(cmp.Or(c.Environment, c.Key)) + "/contexts/" + base64.RawURLEncoding.EncodeToString(text)}, nil
}

var validKind = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// contextOf returns a context. Attributes with the names of what else a context has are not
// attributes.
func contextOf(attributes map[string]any, key string) map[string]any {
	one := maps.Clone(attributes)
	if one == nil {
		one = make(map[string]any)
	}
	withoutNull(one)
	delete(one, "kind")
	delete(one, "_meta")
	one["key"] = key
	return one
}

// launchDarklyRefuses: two attributes of a context have a type.
func launchDarklyRefuses(name string, k kind, _ any) string {
	if want := map[string]kind{"name": isText, "anonymous": isBool}[name]; want != "" && k != want {
		return fmt.Sprintf("the attribute %q is %s there, and here it is %s", name, want, k)
	}
	return ""
}

func launchDarklyValues(_ *Client, answer []byte) (map[string]json.RawMessage, error) {
	var body map[string]*struct {
		Value json.RawMessage `json:"value"`
	}
	if err := json.Unmarshal(answer, &body); err != nil {
		return nil, err
	}
	if slices.Contains(slices.Collect(maps.Values(body)), nil) {
		return nil, errors.New("a flag of it is null")
	}
	values := make(map[string]json.RawMessage)
	for key, f := range body {
		values[key] = orNull(f.Value)
	}
	return values, nil
}
