package forms

import (
	"cmp"
	"fmt"

	"github.com/flagstaff-go/flagstaff/management"
)

// A Checked is what is wrong with a form. All forms of things embed it.
type Checked struct {
	// Errors are messages by the name of the field, "" for the whole form.
	Errors map[string]string
}

// Fail notes what is wrong with a field; the first message stays.
func (c *Checked) Fail(field, format string, args ...any) {
	if c.Errors == nil {
		c.Errors = make(map[string]string)
	}
	if c.Errors[field] == "" {
		c.Errors[field] = fmt.Sprintf(format, args...)
	}
}

// Place notes what the Service says against a form at the field that stands for a field of the
// API, by its name there.
func (c *Checked) Place(e *management.Error, fields map[string]string) {
	c.Fail(fields[e.Attr], "%s", e.Text())
}

// Error returns the message about a field, "" if there is none. Templates ask for it.
func (c *Checked) Error(field string) string { return c.Errors[field] }

// NoticeOr returns the notice of a page with the form: the given one, or what is wrong.
func (c *Checked) NoticeOr(given string) string {
	if given != "" || len(c.Errors) == 0 {
		return given
	}
	return cmp.Or(c.Errors[""], "Something has to be put right before this can be saved. What you have typed is still here.")
}
