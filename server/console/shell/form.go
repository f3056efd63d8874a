package shell

import (
	"net/http"
)

// StoreDown is the notice of a form that was not saved.
const StoreDown = "The store does not answer, so nothing was saved. What you have typed is still here: try again in a while."

// Keep shows a form again that could not be saved because the store does not work. For other
// errors there is a page of their own.
func (q *Request) Keep(err error, show func(status int, notice string) error) error {
	if FailureOf(err).Status != http.StatusServiceUnavailable {
		return err
	}
	q.LogFailure("a form of the console was not saved", err)
	return show(http.StatusServiceUnavailable, StoreDown)
}
