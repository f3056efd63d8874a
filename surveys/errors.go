package surveys

import (
	"errors"
	"fmt"

	"github.com/flagstaff-go/flagstaff/internal/judge"
	"github.com/flagstaff-go/flagstaff/management"
)

var errNotFound = &management.Error{Kind: management.ErrNotFound, Code: "not_found", Detail: "Not found."}

// refuse returns an error about a field.
func refuse(attr, code, format string, args ...any) error {
	return &management.Error{Kind: management.ErrInvalid, Code: code, Attr: attr, Detail: fmt.Sprintf(format, args...)}
}

// invalid is refuse with the code of values that have no code of their own.
func invalid(attr, format string, args ...any) error {
	return refuse(attr, "invalid_input", format, args...)
}

// invalidAt returns an error about the survey as a whole, for which the attr of the API is
// null. The path leads to the member at fault.
func invalidAt(path []string, format string, args ...any) error {
	return &management.Error{Kind: management.ErrInvalid, Code: "invalid_input", Path: path, Detail: fmt.Sprintf(format, args...)}
}

// refusal turns an error of the packages that judge values into one of a Service.
func refusal(err error) error {
	if e, ok := errors.AsType[*judge.Error](err); ok {
		return &management.Error{Kind: management.ErrInvalid, Code: e.Code, Attr: e.Attr, Path: e.Path, Detail: e.Detail}
	}
	return err
}

// storeError turns ErrNotFound of a Store into the error of a Service.
func storeError(err error) error {
	if errors.Is(err, management.ErrNotFound) {
		return errNotFound
	}
	return err
}

// nameError is storeError for the name of a survey, which must be unique.
func nameError(err error) error {
	if errors.Is(err, management.ErrConflict) {
		return &management.Error{Kind: management.ErrInvalid, Code: "unique", Path: []string{"name"}, Detail: "There is already a survey with this name."}
	}
	return storeError(err)
}
