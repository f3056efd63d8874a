package server

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags/wire"
)

// A document is a body with the headers that depend on nothing else. Its entity tag
// is the same in every process.
type document struct {
	body         []byte
	etag, length []string // values of headers, shared by all answers
}

func newDocument(body []byte) document {
	return document{body, []string{wire.DefinitionsETag(body)}, []string{strconv.Itoa(len(body))}}
}

// respondDocument answers with a document, or with 304 if the client has it.
// Headers other than the document's are set before. If-None-Match counts only for
// methods that fetch: not for POST.
func (x *exchange) respondDocument(contentType []string, d document) error {
	h := x.w.Header()
	h["Etag"] = d.etag
	if x.r.Method != http.MethodPost && hasETag(x.r.Header["If-None-Match"], d.etag[0]) {
		x.status = http.StatusNotModified
		x.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h["Content-Type"], h["Content-Length"] = contentType, d.length
	x.status = http.StatusOK
	x.prolong()
	x.w.WriteHeader(http.StatusOK)
	x.write(d.body)
	return nil
}

// hasETag reports whether a header If-None-Match names an entity tag, which is a
// weak one. Clients are known to send tags without W/ and without quotes (wire.md
// §5.1, evaluation.md §14).
func hasETag(header []string, etag string) bool {
	for _, list := range header {
		for tag := range strings.SplitSeq(list, ",") {
			tag = strings.TrimSpace(tag)
			if tag == "*" || opaque(tag) == opaque(etag) {
				return true
			}
		}
	}
	return false
}

// opaque returns an entity tag without W/ and quotes.
func opaque(tag string) string { return strings.Trim(strings.TrimPrefix(tag, "W/"), `"`) }
