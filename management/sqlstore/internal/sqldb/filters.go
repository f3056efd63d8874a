package sqldb

import (
	"database/sql"
	"database/sql/driver"

	"github.com/flagstaff-go/flagstaff/flags"
)

// Filters of flags and cohorts are stored with all that they have, and read whatever
// their form is. What cannot be understood is written back as it was read.

// A filters column has the filters of the flag with a key, which is scanned before.
type filters struct {
	at  *flags.Filters
	key *string
}

func (f filters) Scan(v any) error {
	var n sql.NullString
	if err := n.Scan(v); err != nil || !n.Valid {
		*f.at = flags.Filters{}
		return err
	}
	*f.at, _ = flags.DecodeFilters([]byte(n.String), *f.key) // it keeps its error
	return nil
}

func (f filters) Value() (driver.Value, error) {
	b, err := f.at.Encode()
	return string(b), err
}

// A criteria column has the tree of the cohort with an ID, which is scanned before.
// It is NULL if there is none.
type criteria struct {
	at **flags.CohortNode
	id *int64
}

func (c criteria) Scan(v any) error {
	var n sql.NullString
	if err := n.Scan(v); err != nil || !n.Valid {
		*c.at = nil
		return err
	}
	*c.at, _ = flags.DecodeCohort([]byte(n.String), *c.id) // it keeps its error
	return nil
}

func (c criteria) Value() (driver.Value, error) {
	if *c.at == nil {
		return nil, nil
	}
	b, err := (*c.at).Encode()
	return string(b), err
}
