package persons

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

// Update sets and removes properties, a JSON object, by hand rather than by an
// event, but by the same rules. A property that is both set and removed is
// removed. An empty value is null. Update reports false if the properties would
// become larger than MaxProperties and larger than they are.
func Update(properties json.RawMessage, set map[string]json.RawMessage, unset []string) (json.RawMessage, bool) {
	u := updates{unset: unset}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		value := jsonscan.Value(set[name])
		if len(value) == 0 {
			value = jsonscan.Value("null")
		}
		u.set = append(u.set, member{name, inQuotes(name), value})
	}
	b := newBag(properties)
	if !b.update(&u) {
		return nil, false
	}
	if !b.changed {
		return properties, true
	}
	return b.append(make([]byte, 0, b.size)), true
}

// inQuotes returns a text as it stands between the quotes in JSON.
func inQuotes(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // writing a string into memory cannot fail
	quoted := bytes.TrimSpace(b.Bytes())
	return string(quoted[1 : len(quoted)-1])
}
