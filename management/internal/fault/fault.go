package fault

import "fmt"

// An Error says what is wrong with a value, for who has sent it. Attr names the
// field, "" for none of its own, Code is for programs (management.md §2.2), and
// Detail for people.
type Error struct {
	Attr   string
	Code   string
	Detail string
}

func (e *Error) Error() string {
	if e.Attr == "" {
		return e.Detail
	}
	return e.Attr + ": " + e.Detail
}

// New returns an Error.
func New(attr, code, format string, args ...any) *Error {
	return &Error{Attr: attr, Code: code, Detail: fmt.Sprintf(format, args...)}
}

// Invalid returns an Error with the code that is for everything that has none of
// its own.
func Invalid(attr, format string, args ...any) *Error {
	return New(attr, "invalid_input", format, args...)
}
