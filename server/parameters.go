package server

import (
	"iter"
	"net/http"
	"net/url"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/text"
	"github.com/flagstaff-go/flagstaff/management"
)

// A parameterError says that a parameter of a query has a value that it cannot have.
type parameterError struct {
	name, value, want string
}

func (e *parameterError) Error() string { return "server: " + e.detail() }

func (e *parameterError) detail() string {
	return e.name + " must be " + e.want + `, not "` + jsonscan.Clip([]byte(strings.ToValidUTF8(e.value, "\uFFFD"))) + `".`
}

// failure is the answer on public routes.
func (e *parameterError) failure() failure {
	return newFailure(http.StatusBadRequest, typeValidation, codeInvalid, e.detail(), e.name)
}

// refusal is the answer of the management API.
func (e *parameterError) refusal() error {
	return &management.Error{Kind: management.ErrInvalid, Code: codeInvalid, Attr: e.name, Detail: e.detail()}
}

// parseTruth reads the value of a parameter that is true or false (evaluation.md
// §8.2).
func parseTruth(name, value string) (bool, error) {
	truth, ok := text.ParseBool(value)
	if !ok {
		return false, &parameterError{name, value, text.Bools}
	}
	return truth, nil
}

// Truth reads a parameter that is true or false. It returns nil if the query does
// not have it, or has it without a value (management.md §15.1 A20).
func (a *Request) Truth(name string) (*bool, error) {
	value := a.Param(name)
	if value == "" {
		return nil, nil
	}
	truth, ok := text.ParseBool(value)
	if !ok {
		return nil, (&parameterError{name, value, text.Bools}).refusal()
	}
	return &truth, nil
}

// Asked is Truth for a parameter that is false unless it is there.
func (a *Request) Asked(name string) (bool, error) {
	truth, err := a.Truth(name)
	return truth != nil && *truth, err
}

// Param returns the last value of a parameter of the query, which is the one that
// counts in PostHog.
func (a *Request) Param(name string) string {
	return storable(lastOf(a.x.r.URL.RawQuery, name))
}

// ParamList reads a parameter that is a list: with commas, repeated, or with brackets
// behind its name. Empty elements do not count.
func (a *Request) ParamList(name string) []string {
	var list []string
	for _, spelling := range [...]string{name, name + "[]"} {
		for value := range valuesOf(a.x.r.URL.RawQuery, spelling) {
			for element := range strings.SplitSeq(value, ",") {
				if element = strings.TrimSpace(storable(element)); element != "" {
					list = append(list, element)
				}
			}
		}
	}
	return list
}

// lastOf returns the last value of a parameter of a query.
func lastOf(query, name string) string {
	last := ""
	for value := range valuesOf(query, name) {
		last = value
	}
	return last
}

// valuesOf iterates over the values of a parameter of a query. They are the same as
// with [url.ParseQuery], which makes a map of all parameters.
func valuesOf(query, name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for pair := range strings.SplitSeq(query, "&") {
			if strings.Contains(pair, ";") {
				continue
			}
			key, value, _ := strings.Cut(pair, "=")
			key, err := url.QueryUnescape(key)
			if err != nil || key != name || pair == "" {
				continue
			}
			if value, err = url.QueryUnescape(value); err == nil && !yield(value) {
				return
			}
		}
	}
}
