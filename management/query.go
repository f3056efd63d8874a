package management

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/management/check"
)

// nameList reads a parameter that is a JSON list of texts.
func nameList(attr, text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	var names []string
	if err := json.Unmarshal([]byte(text), &names); err != nil {
		return nil, invalid(attr, "invalid_input", "Expected a JSON list of strings.")
	}
	return names, nil
}

// idList reads a parameter that is an ID, a list of IDs with commas, or a JSON list of
// IDs.
func idList(attr, text string) ([]int64, error) {
	if text == "" {
		return nil, nil
	}
	var ids []int64
	for part := range strings.SplitSeq(strings.Trim(text, "[]"), ",") {
		if part = strings.Trim(strings.TrimSpace(part), `"`); part == "" {
			continue
		}
		id, err := strconv.ParseInt(part, 10, 64)
		if err != nil {
			return nil, invalid(attr, "invalid_input", "Expected IDs of users, not %q.", check.Excerpt(part))
		}
		ids = append(ids, id)
	}
	return ids, nil
}
