package tool

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/cmd/internal/api"
)

// withAdvice returns an error for people: after a server has refused a request, with what to do.
func withAdvice(err error) string {
	if what := advice(err); what != "" {
		return strings.TrimSuffix(err.Error(), ".") + "; " + what
	}
	return err.Error()
}

// advice says what to do after a server has refused a request, "" if that is plain.
func advice(err error) string {
	e, ok := errors.AsType[*api.Error](err)
	if !ok {
		return ""
	}
	switch e.Status {
	case http.StatusUnauthorized:
		return fmt.Sprintf("%s serve -create-key makes a key on the machine of the server", ProgramName)
	case http.StatusForbidden:
		if e.Code == "permission_denied" {
			return "use a key that may do it"
		}
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		switch {
		case e.Code == "" && e.BasePath != "":
			return fmt.Sprintf("is the server really below /%s? Its URL is mostly the address alone", e.BasePath)
		case e.Code == "":
			return "is this the address of a Flagstaff server?"
		}
	case http.StatusTooManyRequests:
		if e.RetryAfter > 0 {
			return fmt.Sprintf("try again in %v", e.RetryAfter.Round(time.Second))
		}
		return "try again later"
	}
	if e.Status >= http.StatusInternalServerError {
		return "the log of the server says more"
	}
	return ""
}
