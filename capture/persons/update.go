package persons

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

// Update returns what becomes of properties, a JSON object, when some are set and
// others removed by hand rather than by an event, by the same rules: what is both
// set and removed is gone. It reports false if they would become larger than
// MaxProperties, and than they are. A value that is empty is null.
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

// inQuotes returns text as JSON has it between the quotes.
func inQuotes(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // of a string into memory, which cannot fail
	quoted := bytes.TrimSpace(b.Bytes())
	return string(quoted[1 : len(quoted)-1])
}
