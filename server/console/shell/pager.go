package shell

import (
	"net/url"
	"strconv"

	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

// PageSize is how many rows a page of a list has.
const PageSize = 50

// A Pager leads through the pages of a list. Views of lists embed it.
type Pager struct {
	Range        string // which rows are shown, and of how many
	Older, Newer string // the next and the previous page; "" if there is none
	Clear        string // the list without filters; "" if there are none
}

// A Listing is the address of a list: its path, and what of its query is set.
type Listing struct {
	Path  string
	Query map[string]string
}

// At returns the address of a page, with what else is set of the query.
func (l Listing) At(page int, pairs ...string) string {
	values := url.Values{}
	set := func(name, value string) {
		values.Del(name)
		if value != "" {
			values.Set(name, value)
		}
	}
	for name, value := range l.Query {
		set(name, value)
	}
	for i := 0; i < len(pairs); i += 2 {
		set(pairs[i], pairs[i+1])
	}
	if page > 1 {
		set("page", strconv.Itoa(page))
	}
	if len(values) == 0 {
		return l.Path
	}
	return l.Path + "?" + values.Encode()
}

// Page returns the pager for a page of a list, on which some of all rows are.
func (l Listing) Page(page, size, rows, total int, one, many string) (p Pager) {
	first := (page-1)*size + 1
	switch {
	case rows == 0:
		p.Range = "No " + many
	case rows == total:
		p.Range = forms.Count(total, one, many)
	default:
		p.Range = forms.Number(first) + " to " + forms.Number(first+rows-1) + " of " + forms.Count(total, one, many)
	}
	if page*size < total && rows > 0 {
		p.Older = l.At(page + 1)
	}
	if page > 1 {
		p.Newer = l.At(page - 1)
	}
	return p
}

// PageNumber returns which page of a list is asked for. What is not a number is the first one.
func PageNumber(v url.Values) int {
	return min(max(forms.Atoi(v.Get("page")), 1), 1<<20)
}
