package server

import (
	"errors"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/management"
)

// How many things a list has on a page (management.md §3.1), and how far it goes:
// sums of the two must fit into 32 bits.
const (
	usualPage  = 100
	mostPage   = 1000
	mostOffset = math.MaxInt32 - mostPage
)

// window returns the part of a list that a query asks for. What cannot be
// understood counts as missing.
func (a *apiRequest) window() (limit, offset int) {
	limit, offset = number(a.param("limit")), number(a.param("offset"))
	if limit <= 0 {
		limit = usualPage
	}
	return min(limit, mostPage), max(0, min(offset, mostOffset))
}

// number reads a number of a query, 0 if it is none.
func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil && !errors.Is(err, strconv.ErrRange) { // of what is out of range, n is the nearest
		return 0
	}
	return n
}

// A listAnswer is a page of a list with the way to the others.
type listAnswer[T any] struct {
	Count    int     `json:"count"`
	Next     *string `json:"next"`
	Previous *string `json:"previous"`
	Results  []T     `json:"results"`
}

// answerPage answers with the page of a list that window asked for.
func answerPage[T any](a *apiRequest, page *management.Page[T], err error) error {
	if err != nil {
		return err
	}
	limit, offset := a.window()
	list := listAnswer[T]{Count: page.Total, Results: append([]T{}, page.Items...)}
	if next := offset + limit; next < page.Total {
		list.Next = new(a.pageURL(limit, next))
	}
	if offset > 0 {
		list.Previous = new(a.pageURL(limit, offset-limit))
	}
	return a.answer(http.StatusOK, list, nil)
}

// pageURL returns the URL of another page. The first has no offset. A key in the
// query does not come back (management.md §15.2): who sent it has it.
func (a *apiRequest) pageURL(limit, offset int) string {
	query := a.x.r.URL.Query()
	query.Del("personal_api_key")
	query.Set("limit", strconv.Itoa(limit))
	if offset > 0 {
		query.Set("offset", strconv.Itoa(offset))
	} else {
		query.Del("offset")
	}
	return a.s.address(a.x.r) + "?" + query.Encode() // sorted by name
}

// address returns the URL of a request as its client sees it, without the query.
// Proxies must be listed to be believed (management.md §15.2).
func (s *Server) address(r *http.Request) string {
	if s.config.Management.AppURL != "" {
		return s.config.Management.AppURL + r.URL.EscapedPath()
	}
	scheme, host := "http", r.Host
	if r.TLS != nil {
		scheme = "https"
	}
	if s.config.TrustedProxies != nil && s.trusts(parseIP(r.RemoteAddr)) {
		if proto := forwarded(r.Header, "X-Forwarded-Proto"); proto == "http" || proto == "https" {
			scheme = proto
		}
		if name := forwarded(r.Header, "X-Forwarded-Host"); name != "" {
			host = name
		}
	}
	// The URL has lost the prefix below which the server may be mounted.
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if !strings.HasPrefix(path, "/") {
		path = r.URL.EscapedPath()
	}
	if host == "" { // HTTP/1.0 has no need of it
		return path
	}
	return scheme + "://" + host + path
}

// forwarded returns what the proxy next to the client says.
func forwarded(h http.Header, name string) string {
	first, _, _ := strings.Cut(h.Get(name), ",")
	return strings.ToLower(strings.TrimSpace(first))
}

// checkAppURL returns an error unless the address is one that pages can be below.
func checkAppURL(s string) error {
	if s == "" {
		return nil
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("server: Config.Management.AppURL is no http or https URL without query and fragment")
	}
	return nil
}
