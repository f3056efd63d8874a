package management

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/capture/persons"
	"github.com/flagstaff-go/flagstaff/internal/judge"
	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/field"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// The kinds of an [Error]. Test for them with errors.Is.
var (
	// ErrNotFound says that a thing does not exist.
	ErrNotFound = storage.ErrNotFound

	// ErrConflict says that a value that must be unique is taken.
	ErrConflict = storage.ErrConflict

	// ErrInvalid says that a value is not allowed.
	ErrInvalid = errors.New("management: invalid value")

	// ErrUnauthenticated says that the caller is unknown.
	ErrUnauthenticated = errors.New("management: not authenticated")

	// ErrForbidden says that the caller may not do it.
	ErrForbidden = errors.New("management: not allowed")

	// ErrPrecondition says that something is not in the state that a change was
	// made for.
	ErrPrecondition = errors.New("management: precondition failed")

	// ErrThrottled says that there were too many attempts.
	ErrThrottled = errors.New("management: too many attempts")
)

// An Error is what a [Service] answers to requests that it cannot or does not
// want to fulfil. All other errors are failures of the storage or of mail. An
// Error holds no secrets and can be shown to the caller.
type Error struct {
	Kind error // one of those above

	// Code is for programs, as management.md §2.2 lists them; Attr names the
	// field at fault, "" for none; Path is where the value is within the field, or
	// within the whole thing if Attr is "", step by step; Detail is for people, see Text.
	Code   string
	Attr   string
	Path   []string
	Detail string

	// Problems are all the reasons why a document cannot be applied, of which Detail tells
	// the first few. Nil: the error is about something else.
	Problems []DefinitionProblem

	// RetryAfter is when another attempt makes sense. Zero: nobody knows.
	RetryAfter time.Duration
}

func (e *Error) Error() string {
	if e.Attr != "" {
		return "management: " + e.Attr + ": " + e.Text()
	}
	return "management: " + e.Text()
}

// Text returns Detail with the place of the value within the field before it.
func (e *Error) Text() string {
	if len(e.Path) == 0 {
		return e.Detail
	}
	return strings.Join(e.Path, "/") + ": " + e.Detail
}

// Unwrap returns the kind.
func (e *Error) Unwrap() error { return e.Kind }

// invalid returns an Error about a field.
func invalid(attr, code, format string, args ...any) *Error {
	return &Error{Kind: ErrInvalid, Code: code, Attr: attr, Detail: fmt.Sprintf(format, args...)}
}

// forbidden returns an Error about what somebody may not do.
func forbidden(format string, args ...any) *Error {
	return &Error{Kind: ErrForbidden, Code: "permission_denied", Detail: fmt.Sprintf(format, args...)}
}

func conflict(format string, args ...any) *Error {
	return &Error{Kind: ErrConflict, Code: "conflict", Detail: fmt.Sprintf(format, args...)}
}

// notFound returns an Error about a thing that does not exist, or that the caller
// must not know to exist.
func notFound(detail string) *Error {
	return &Error{Kind: ErrNotFound, Code: "not_found", Detail: detail}
}

var (
	plainNotFound  = notFound("Not found.")
	plainForbidden = forbidden("You do not have permission to perform this action.")
)

// throttledError returns an Error about a limit that was reached. It says so to people;
// clients of the API get the words of §2.3 for the same (management.md).
func throttledError(wait time.Duration) *Error {
	seconds := max(1, int64((wait+time.Second-1)/time.Second))
	return &Error{
		Kind: ErrThrottled, Code: "throttled", Detail: "There were too many attempts. Try again in " + waitWords(seconds) + ".",
		RetryAfter: time.Duration(seconds) * time.Second,
	}
}

// waitWords says how long to wait, rounded up.
func waitWords(seconds int64) string {
	n, unit := seconds, "second"
	switch {
	case seconds > 3600:
		n, unit = (seconds+3599)/3600, "hour"
	case seconds > 60:
		n, unit = (seconds+59)/60, "minute"
	}
	if n != 1 {
		unit += "s"
	}
	return strconv.FormatInt(n, 10) + " " + unit
}

// storeError turns ErrNotFound of a Store into what a Service answers.
func storeError(err error) error {
	if errors.Is(err, ErrNotFound) {
		return plainNotFound
	}
	return err
}

// dataError turns errors of a storage.Data into what a Service answers.
func dataError(err error) error {
	if errors.Is(err, storage.ErrTooLarge) {
		return errProperties
	}
	return storeError(err)
}

// judgeError turns an error of the packages that judge values into a Service's.
func judgeError(err error) error {
	if e, ok := errors.AsType[*judge.Error](err); ok {
		return &Error{Kind: ErrInvalid, Code: e.Code, Attr: e.Attr, Path: e.Path, Detail: e.Detail}
	}
	return err
}

func flagStoreError(err error) error {
	if errors.Is(err, ErrConflict) {
		return invalid("key", "unique", "There is already a feature flag with this key.")
	}
	return storeError(err)
}

// applyTable checks what a patch has for a thing, and applies it.
func applyTable(table field.Table) error {
	if err := judgeError(table.Check()); err != nil {
		return err
	}
	table.Apply()
	return nil
}

// renamed returns an error about one field as one about another.
func renamed(err error, from, to string) error {
	if e, ok := errors.AsType[*Error](err); ok && e.Attr == from {
		own := *e
		own.Attr = to
		return &own
	}
	return err
}

func isRefusal(err error) bool {
	_, ok := errors.AsType[*Error](err)
	return ok
}

// missingObject is the same for what does not exist and what belongs to others.
func missingObject(attr, id string) error {
	return invalid(attr, "does_not_exist", "Object with id=%s does not exist.", check.Excerpt(id))
}

// errNoData is the answer of a Service without Config.Data.
var errNoData = &Error{Kind: ErrNotFound, Code: "not_available", Detail: "Persons and groups are not available: nothing is captured here."}

var errProperties = invalid("value", "max_length", "The properties would have more than %d bytes together.", persons.MaxProperties)

var errWrongPassword = invalid("current_password", "incorrect_password", "Your current password is incorrect.")
