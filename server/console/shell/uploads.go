package shell

import (
	"net/http"
)

var errUploads = Failed(http.StatusServiceUnavailable, "The server has enough to do with other documents",
	"Nothing was changed. Go back and send the document again in a moment.")

// Slots are room for some things at once.
type Slots chan struct{}

// Take takes room for a thing. It reports false if there is none.
func (s Slots) Take() bool {
	select {
	case s <- struct{}{}:
		return true
	default:
		return false
	}
}

// Free gives back what Take has taken.
func (s Slots) Free() { <-s }

// TakeUpload takes room for a form with a document, which is to be freed.
func (q *Request) TakeUpload() (free func(), err error) {
	if !q.c.uploads.Take() {
		return nil, errUploads
	}
	return q.c.uploads.Free, nil
}
