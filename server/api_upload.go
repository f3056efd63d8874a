package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"strings"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/server/internal/idlist"
)

// uploadedIDs returns the distinct IDs of a body, which is CSV, or JSON: a list, or
// an object with the list distinct_ids. The body is read during the iteration, one
// element at a time, so that it may be much larger than other bodies. An error is
// the last thing that it yields.
func (a *Request) uploadedIDs() (iter.Seq2[string, error], error) {
	r := a.x.r
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return nil, errCompression
	}
	mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	var decode func(io.Reader) iter.Seq2[string, error]
	switch {
	case err == nil && mediaType == "text/csv":
		decode = idlist.CSV
	case err == nil && mediaType == "application/json":
		decode = idlist.JSON
	default:
		return nil, &management.Error{Kind: errContentType, Code: "unsupported_media_type", Detail: "Unsupported media type, want text/csv or application/json."}
	}
	if r.ContentLength > a.s.config.Management.MaxUpload {
		return nil, uploadTooLarge(a.s.config.Management.MaxUpload)
	}
	ids := decode(http.MaxBytesReader(a.x.w, &a.x.body.in, a.s.config.Management.MaxUpload))
	return func(yield func(string, error) bool) {
		for id, err := range ids {
			if !yield(id, bodyError(err)) {
				return
			}
		}
	}, nil
}

// bodyError returns what is wrong with a body that could not be read.
func bodyError(err error) error {
	if e, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return uploadTooLarge(e.Limit)
	}
	if _, ok := errors.AsType[*management.Error](err); ok || err == nil {
		return err
	}
	return fmt.Errorf("%w: %w", errInterrupted, err)
}

func uploadTooLarge(limit int64) error {
	return &management.Error{Kind: errTooLarge, Code: "request_too_large", Detail: fmt.Sprintf("The body has more than %d bytes.", limit)}
}

// uploaded returns a body that an upload may have as a whole. It is JSON, which is for
// the operation to see.
func (a *Request) uploaded() ([]byte, error) {
	x := a.x
	x.body.maxBody = a.s.config.Management.MaxUpload
	switch err := x.body.read(); {
	case errors.Is(err, errTooLarge):
		return nil, uploadTooLarge(x.body.maxBody)
	case err != nil:
		return nil, err
	}
	const decoded = 6 // times the size of a document
	if err := x.body.charge(int64(decoded * len(x.body.raw))); err != nil {
		return nil, err
	}
	return bytes.Clone(x.body.raw), checkMediaType(x.r.Header) // the next request reuses its memory
}
