package server

import (
	"errors"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/management"
)

// The sizes of pages of lists, in entries (management.md §3.1), and the last
// offset: the sum of size and offset must fit into 32 bits.
const (
	usualPage = 100
	maxPage   = 1000
	maxOffset = math.MaxInt32 - maxPage
)

// Window returns the part of a list that a query asks for. A parameter that is no
// number counts as missing.
func (a *Request) Window() (limit, offset int) {
	limit, offset = numberOf(a.Param("limit")), numberOf(a.Param("offset"))
	if limit <= 0 {
		limit = usualPage
	}
	return min(limit, maxPage), max(0, min(offset, maxOffset))
}

// numberOf reads a number of a query, 0 if it is none.
func numberOf(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil && !errors.Is(err, strconv.ErrRange) { // out of range, n is the nearest number
		return 0
	}
	return n
}

// A listAnswer is a page of a list with links to the next and the previous one.
type listAnswer[T any] struct {
	Count    int     `json:"count"`
	Next     *string `json:"next"`
	Previous *string `json:"previous"`
	Results  []T     `json:"results"`
}

// AnswerPage answers with the page of a list that [Request.Window] asked for.
func AnswerPage[T any](a *Request, page *management.Page[T], err error) error {
	if err != nil {
		return err
	}
	limit, offset := a.Window()
	list := listAnswer[T]{Count: page.Total, Results: append([]T{}, page.Items...)}
	link := func(offset int) *string {
		return new(a.urlWith("limit", strconv.Itoa(limit), "offset", strconv.Itoa(offset)))
	}
	if next := offset + limit; next < page.Total {
		list.Next = link(next)
	}
	if offset > 0 {
		list.Previous = link(max(0, offset-limit))
	}
	return a.Answer(http.StatusOK, list, nil)
}

// urlWith returns the URL of the request with other parameters, as names and values. A key in
// the query is left out (management.md §15.2), because the client has it.
func (a *Request) urlWith(parameters ...string) string {
	query := a.x.r.URL.Query()
	query.Del("personal_api_key")
	for pair := range slices.Chunk(parameters, 2) {
		query.Set(pair[0], pair[1])
	}
	return a.s.address(a.x.r) + "?" + query.Encode() // sorted by name
}

// address returns the URL of a request as its client sees it, without the query. A
// proxy must be listed to be believed (management.md §15.2).
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
	// r.URL lacks the prefix below which the server may be mounted.
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if !strings.HasPrefix(path, "/") {
		path = r.URL.EscapedPath()
	}
	if host == "" { // HTTP/1.0 has no need of it
		return path
	}
	return scheme + "://" + host + path
}

// forwarded returns what the proxy next to the client says in a header.
func forwarded(h http.Header, name string) string {
	first, _, _ := strings.Cut(h.Get(name), ",")
	return strings.ToLower(strings.TrimSpace(first))
}

// checkAppURL returns an error unless pages can be below an address.
func checkAppURL(s string) error {
	if s == "" {
		return nil
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("server: Config.Management.AppURL is not an http or https URL without query and fragment")
	}
	return nil
}
