package console

import (
	"net/http"

	"github.com/flagstaff-go/flagstaff/flags"
)

const (
	// maxUpload is how large the body of a form with files may be: a document, and what is
	// around it.
	maxUpload = flags.MaxDocument + 1<<20 // bytes

	// maxUploads is how many forms with documents are read, or at work, at once: they are in memory.
	maxUploads = 4
)

var errUploads = failed(http.StatusServiceUnavailable, "The server has enough to do with other documents",
	"Nothing was changed. Go back and send the document again in a moment.")

// slots are room for some things at once.
type slots chan struct{}

// take takes room for a thing. It reports false if there is none.
func (s slots) take() bool {
	select {
	case s <- struct{}{}:
		return true
	default:
		return false
	}
}

func (s slots) free() { <-s }

// takeUpload takes room for a form with a document, which is to be freed.
func (q *request) takeUpload() (free func(), err error) {
	if !q.c.uploads.take() {
		return nil, errUploads
	}
	return q.c.uploads.free, nil
}
