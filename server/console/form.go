package console

import (
	"cmp"
	"fmt"
	"net/http"

	"github.com/flagstaff-go/flagstaff/management"
)

// A checked is what is wrong with a form. All forms of things embed it.
type checked struct {
	// Errors are messages by the name of the field, "" for the whole form.
	Errors map[string]string
}

// fail notes what is wrong with a field; the first message stays.
func (c *checked) fail(field, format string, args ...any) {
	if c.Errors == nil {
		c.Errors = make(map[string]string)
	}
	if c.Errors[field] == "" {
		c.Errors[field] = fmt.Sprintf(format, args...)
	}
}

// place notes what the Service says against a form at the field that stands for a field of the
// API, by its name there.
func (c *checked) place(e *management.Error, fields map[string]string) {
	c.fail(fields[e.Attr], "%s", e.Text())
}

// Error returns the message about a field, "" if there is none. Templates ask for it.
func (c *checked) Error(field string) string { return c.Errors[field] }

// noticeOr returns the notice of a page with the form: the given one, or what is wrong.
func (c *checked) noticeOr(given string) string {
	if given != "" || len(c.Errors) == 0 {
		return given
	}
	return cmp.Or(c.Errors[""], "Something has to be put right before this can be saved. What you have typed is still here.")
}

const storeDown = "The store does not answer, so nothing was saved. What you have typed is still here: try again in a while."

// keep shows a form again that could not be saved because the store does not work. For other
// errors there is a page of their own.
func (q *request) keep(err error, show func(status int, notice string) error) error {
	if pageOf(err).status != http.StatusServiceUnavailable {
		return err
	}
	q.logFailure("a form of the console was not saved", err)
	return show(http.StatusServiceUnavailable, storeDown)
}
