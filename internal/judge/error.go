package judge

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/members"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// Codes of errors that have one of their own (management.md §13.5).
const (
	codeInvalid    = "invalid_input"
	codeVersion    = "reserved_config_version"
	codeNoCohort   = "cohort_does_not_exist"
	codeBehavioral = "behavioral_cohort_found"
	codeUnknown    = "unknown_member"
	codeOperator   = "invalid_operator"
	codeValue      = "invalid_value"
	codeDate       = "invalid_date"
)

// An Error tells the sender of a value what is wrong with it. Attr names the field
// at fault, "" for none. Code is for programs (management.md §2.2), Detail for
// people.
type Error struct {
	Attr   string
	Path   []string // where the value is within the field, step by step
	Code   string
	Detail string
}

func (e *Error) Error() string {
	text := e.Detail
	if e.Path != nil {
		text = strings.Join(e.Path, "/") + ": " + text
	}
	if e.Attr == "" {
		return text
	}
	return e.Attr + ": " + text
}

// New returns an Error.
func New(attr, code, format string, args ...any) *Error {
	return &Error{Attr: attr, Code: code, Detail: fmt.Sprintf(format, args...)}
}

// Invalid returns an Error with the code for everything that has no code of its
// own.
func Invalid(attr, format string, args ...any) *Error {
	return New(attr, codeInvalid, format, args...)
}

// refuse and refuseAs return an Error whose field and place the callers of the
// function that returns it add, see about and within.
func refuse(format string, args ...any) error { return refuseAs(codeInvalid, format, args...) }

func refuseAs(code, format string, args ...any) error { return New("", code, format, args...) }

// unfit refuses a value that is not what it must be.
func unfit(v []byte, want string) error { return unfitAs(codeInvalid, v, want) }

func unfitAs(code string, v []byte, want string) error {
	if !present(v) {
		return refuseAs(code, "is required and must be %s", want)
	}
	return refuseAs(code, "must be %s, not %s", want, shorten(v))
}

// unfitText is unfitAs for a text.
func unfitText(code, s, want string) error {
	if s == "" {
		return refuseAs(code, "is required and must be %s", want)
	}
	return refuseAs(code, "must be %s, not %s", want, Quote(s))
}

// present reports whether a value is there: null says as much as nothing.
func present(v jsonscan.Value) bool {
	return v.Kind() != jsonscan.Invalid && v.Kind() != jsonscan.Null
}

// within adds a step to the place that an Error tells: the name of a member or the
// number of an element. Errors collect steps on their way up, so that no path has
// to be carried down.
func within[S string | int](step S, err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		e.Path = slices.Insert(e.Path, 0, fmt.Sprint(step))
	}
	return err
}

// about names the field that an Error is about.
func about(attr string, err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		e.Attr = attr
	}
	return err
}

// FromEngine returns the Error for what package flags cannot understand, or would pass over.
// Its place is what stands behind a step of the path.
func FromEngine(e *flags.DefinitionError, behind string) *Error {
	out := &Error{Code: codeInvalid, Detail: e.Err.Error()}
	if e.Value != "" {
		out.Detail += ": " + e.Value
	}
	if e.Hint != "" {
		out.Detail += "; " + e.Hint
	}
	if _, at, _ := strings.Cut(e.Path, "/"+behind); at != "" {
		for step := range strings.SplitSeq(strings.TrimPrefix(at, "/"), "/") {
			out.Path = append(out.Path, shorten(unescape.Replace(step)))
		}
	}
	fault, ruled := errors.AsType[*flags.RuleFault](e.Err)
	switch {
	case ruled:
		out.Code = fault.Code
	case errors.Is(e.Err, members.ErrUnknown):
		out.Code = codeUnknown
	case out.Path != nil && out.Path[len(out.Path)-1] == "operator":
		out.Code = codeOperator
	}
	return out
}

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// shorten returns a value in a length fit for a message.
func shorten[T ~string | ~[]byte](v T) string { return text.Shorten(v, 80) }

// Quote shows a text in a message.
func Quote(s string) string { return shorten(strconv.Quote(s)) }
