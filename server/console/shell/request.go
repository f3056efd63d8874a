package shell

import (
	"strconv"

	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

// Origin returns where programs reach the server.
func (q *Request) Origin() string {
	if q.c.URL != "" {
		return q.c.URL
	}
	if q.TLS != nil {
		return "https://" + q.Host
	}
	return "http://" + q.Host
}

// MaxOffered is how many cohorts and flags a field suggests.
const MaxOffered = 500

// GroupTypes returns the group types of the project, none if nothing is captured or the
// user may not see them.
func (q *Request) GroupTypes() ([]forms.Option, error) {
	types, err := Known(q.c.Service.GroupTypes(q.Context(), q.By, q.Ref))
	var out []forms.Option
	for _, t := range types {
		out = append(out, forms.Option{Value: strconv.Itoa(t.GroupTypeIndex), Label: t.GroupType})
	}
	return out, err
}

// A Tab selects things in a state, and says how many there are.
type Tab struct {
	Name, URL, Count string
	Current          bool
}

// OrganizationsListed is how many organizations a page lists.
const OrganizationsListed = 100
