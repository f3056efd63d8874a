package console

import (
	"net/url"
	"strconv"
)

const pageSize = 50 // rows of a list

// A pager leads through the pages of a list. Views of lists embed it.
type pager struct {
	Range        string // which rows are shown, and of how many
	Older, Newer string // the next and the previous page; "" if there is none
	Clear        string // the list without filters; "" if there are none
}

// A listing is the address of a list: its path, and what of its query is set.
type listing struct {
	path  string
	query map[string]string
}

// at returns the address of a page, with what else is set of the query.
func (l listing) at(page int, pairs ...string) string {
	values := url.Values{}
	set := func(name, value string) {
		values.Del(name)
		if value != "" {
			values.Set(name, value)
		}
	}
	for name, value := range l.query {
		set(name, value)
	}
	for i := 0; i < len(pairs); i += 2 {
		set(pairs[i], pairs[i+1])
	}
	if page > 1 {
		set("page", strconv.Itoa(page))
	}
	if len(values) == 0 {
		return l.path
	}
	return l.path + "?" + values.Encode()
}

// page returns the pager for a page of a list, on which some of all rows are.
func (l listing) page(page, size, rows, total int, one, many string) (p pager) {
	first := (page-1)*size + 1
	switch {
	case rows == 0:
		p.Range = "No " + many
	case rows == total:
		p.Range = count(total, one, many)
	default:
		p.Range = number(first) + " to " + number(first+rows-1) + " of " + count(total, one, many)
	}
	if page*size < total && rows > 0 {
		p.Older = l.at(page + 1)
	}
	if page > 1 {
		p.Newer = l.at(page - 1)
	}
	return p
}

// pageNumber returns which page of a list is asked for. What is not a number is the first one.
func pageNumber(v url.Values) int {
	return min(max(atoi(v.Get("page")), 1), 1<<20)
}
