package definition

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/management/internal/fault"
)

// Codes of errors that have one of their own (management.md §13.5).
const (
	codeInvalid    = "invalid_input"
	codeVersion    = "reserved_config_version"
	codeNoCohort   = "cohort_does_not_exist"
	codeBehavioral = "behavioral_cohort_found"
)

// A refusal says what is wrong with a value. On its way up it collects where
// that value is, so that no path has to be carried down.
type refusal struct {
	code string
	path []string // the innermost first
	text string
}

func (r *refusal) Error() string {
	path := slices.Clone(r.path)
	slices.Reverse(path)
	if len(path) == 0 {
		return r.text
	}
	return strings.Join(path, "/") + ": " + r.text
}

func refuse(format string, args ...any) error { return refuseAs(codeInvalid, format, args...) }

func refuseAs(code, format string, args ...any) error {
	return &refusal{code: code, text: fmt.Sprintf(format, args...)}
}

// unfit refuses a value for not being what it must be.
func unfit(v jsonscan.Value, want string) error {
	if !present(v) {
		return refuse("is required and must be %s", want)
	}
	return refuse("must be %s, not %s", want, shorten(v))
}

// within adds to an error in what it happened: the name of a member or the number
// of an element.
func within[S string | int](place S, err error) error {
	if r, ok := errors.AsType[*refusal](err); ok {
		switch place := any(place).(type) {
		case int:
			r.path = append(r.path, strconv.Itoa(place))
		case string:
			r.path = append(r.path, place)
		}
	}
	return err
}

// shown returns an error as callers of this package get it.
func shown(attr string, err error) error {
	r, ok := errors.AsType[*refusal](err)
	if !ok {
		return err
	}
	return fault.New(attr, r.code, "%s", r.Error())
}

// shorten returns a value in a length fit for a message.
func shorten[T ~string | ~[]byte](v T) string {
	const most = 80
	s := strings.ToValidUTF8(string(v[:min(len(v), most+utf8.UTFMax)]), "\uFFFD")
	if len(s) <= most {
		return s
	}
	cut := most
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

// quote shows a text in a message.
func quote(s string) string { return shorten(strconv.Quote(s)) }
