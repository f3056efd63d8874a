package surveys

import (
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/check"
)

// countParameter reads an integer of a query, from least to most.
func countParameter(attr, text string, least, most, otherwise int) (int, error) {
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, invalid(attr, "A valid integer is required.")
	}
	if n < least || n > most {
		return 0, invalid(attr, "Ensure this value is between %d and %d.", least, most)
	}
	return n, nil
}

// scoreParameter reads a number of a query, nil if it was not sent.
func scoreParameter(attr, text string) (*float64, error) {
	if text == "" {
		return nil, nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n != n {
		return nil, invalid(attr, "A valid number is required.")
	}
	return &n, nil
}

// timeWindow reads the two bounds of a window of time from the parameters with the given
// names (management.md §11.1).
func (w *work) timeWindow(fromName, from, toName, to string) (begin, end *time.Time, err error) {
	zone, err := time.LoadLocation(w.at.Project.Timezone)
	if err != nil {
		return nil, nil, err
	}
	begin, end, err = check.Window(zone, fromName, from, toName, to)
	return begin, end, refusal(err)
}

// parseIDs reads a list of IDs of a parameter.
func parseIDs(attr string, list []string) ([]uuid.UUID, error) {
	ids := make([]uuid.UUID, len(list))
	for i, text := range list {
		var err error
		if ids[i], err = check.ParseID(text); err != nil {
			return nil, invalid(attr, "%q is not a UUID.", check.Excerpt(text))
		}
	}
	return ids, nil
}
