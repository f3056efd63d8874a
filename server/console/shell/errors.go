package shell

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management"
)

// A Failure is what a person sees in place of a page.
type Failure struct {
	Status      int
	Title, Text string
	leads       bool // the page leads to the form
}

// Failed returns a page with a title and a text.
func Failed(status int, title, text string) *Failure { return &Failure{status, title, text, false} }

func (e *Failure) Error() string { return "console: " + e.Title }

var (
	ErrNoPage = Failed(http.StatusNotFound, "Page not found",
		"The address leads to nothing. What it has led to may have been deleted, or belongs to a project that you may not see.")
	errOrigin = Failed(http.StatusForbidden, "The request came from another site",
		"Nothing was changed. Forms of the console work only on its own pages.")
	ErrForm      = Failed(http.StatusBadRequest, "The form could not be read", "Nothing was changed. Go back and send it again.")
	ErrLargeForm = Failed(http.StatusRequestEntityTooLarge, "The form is too large", "Nothing was changed. A form may have 4 MiB.")
	errInsecure  = Failed(http.StatusForbidden, "People cannot sign in over plain HTTP",
		"Passwords would cross the network readable for everybody. Open the console over HTTPS, or on the machine of the server.")
	errLink = &Failure{
		http.StatusGone, "The link is not valid any more",
		"It has expired, was withdrawn, or was used already: a link is good once, and not for long. Ask for another one.", true,
	}
	errNoProject = Failed(http.StatusNotFound, "You have no project yet",
		"Ask an administrator of your organization to invite you, or to make a project.")
)

// errorPages is the one table of pages for errors of the Service.
var errorPages = []struct {
	kind   error
	status int
	title  string
}{
	{management.ErrNotFound, http.StatusNotFound, "Not found"},
	{management.ErrForbidden, http.StatusForbidden, "Not allowed"},
	{management.ErrUnauthenticated, http.StatusUnauthorized, "You are signed out"},
	{management.ErrThrottled, http.StatusTooManyRequests, "Too many attempts"},
	{management.ErrConflict, http.StatusConflict, "Changed by somebody else meanwhile"},
	{management.ErrPrecondition, http.StatusConflict, "Changed by somebody else meanwhile"},
	{management.ErrInvalid, http.StatusUnprocessableEntity, "Invalid request"},
}

// FailureOf returns the page for an error. A failure of the store has nothing to say but that.
func FailureOf(err error) *Failure {
	if p, ok := errors.AsType[*Failure](err); ok {
		return p
	}
	if e, ok := errors.AsType[*management.Error](err); ok {
		for _, row := range errorPages {
			if errors.Is(e.Kind, row.kind) {
				return &Failure{row.status, row.title, e.Text(), row.status == http.StatusUnauthorized}
			}
		}
	}
	return Failed(http.StatusServiceUnavailable, "The store does not answer",
		"Nothing was changed. Reload this page to try again: if you have sent a form, your browser sends what you have typed once more.")
}

// requestID returns the id of a request for the log, "" if the program in front of the
// console has given it none: clients send anything.
func requestID(r *http.Request) string {
	const length = 36 // other forms exist
	if id := r.Header.Get("X-Request-Id"); len(id) == length && uuid.Validate(id) == nil {
		return id
	}
	return ""
}

// SayWhen tells the browser when to try again what was refused because of a limit.
func (q *Request) SayWhen(e *management.Error) {
	if e.RetryAfter > 0 {
		q.W.Header().Set("Retry-After", strconv.Itoa(int((e.RetryAfter+time.Second-1)/time.Second)))
	}
}

// LogFailure logs what no fault of the user has brought about.
func (q *Request) LogFailure(what string, err error) {
	q.c.Log.ErrorContext(q.Context(), what, "request_id", requestID(q.Request), "page", q.Pattern, "error", err)
}

// fail answers with a page for an error.
func (q *Request) fail(err error) {
	p := FailureOf(err)
	if p.Status == http.StatusServiceUnavailable {
		if errors.Is(err, context.Canceled) && q.Context().Err() != nil {
			return // nobody is there any more
		}
		q.LogFailure("a page of the console failed", err)
		q.W.Header().Set("Retry-After", "5")
	}
	if e, ok := errors.AsType[*management.Error](err); ok {
		q.SayWhen(e)
	}
	q.Layout.Title = p.Title
	v := errorView{Text: p.Text, Status: p.Status}
	if p.leads {
		v.SignIn = q.c.Prefix + "/signin"
	}
	_ = q.Render(p.Status, "error", &v)
}

type errorView struct {
	Layout
	Text   string
	Status int
	SignIn string
}

// Known returns what the Service has answered, and nothing if it has refused.
func Known[T any](answer T, err error) (T, error) {
	if IsRefusal(err) {
		return *new(T), nil
	}
	return answer, err
}

// IsRefusal reports whether an error is the word of the Service, and not a failure.
func IsRefusal(err error) bool {
	_, ok := errors.AsType[*management.Error](err)
	return ok
}

// isToken reports whether the token of a link is good for nothing, or for something else.
func isToken(err error) bool {
	e, ok := errors.AsType[*management.Error](err)
	return ok && e.Attr == "token"
}

// linkError is the page for a link that is not good for anything any more.
func linkError(err error) error {
	if isToken(err) {
		return errLink
	}
	return err
}
