package server

import (
	"net/http"
	"strings"
)

// respondDocument answers with a document, or with 304 if the client has it. Any
// headers but those of the document itself are set before.
func (x *exchange) respondDocument(contentType []string, d document) error {
	x.w.Header()["Etag"] = []string{d.etag}
	if hasETag(x.r.Header["If-None-Match"], d.etag) {
		x.status = http.StatusNotModified
		x.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return x.respond(http.StatusOK, contentType, d.body)
}

// hasETag reports whether a header If-None-Match names an entity tag, which is a
// weak one. Tags without W/, and without quotes, are those that clients are known
// to make of it (wire.md §5.1, evaluation.md §14).
func hasETag(header []string, etag string) bool {
	bare := strings.Trim(strings.TrimPrefix(etag, "W/"), `"`)
	for _, list := range header {
		for one := range strings.SplitSeq(list, ",") {
			one = strings.TrimSpace(one)
			if one == "*" || strings.Trim(strings.TrimPrefix(one, "W/"), `"`) == bare {
				return true
			}
		}
	}
	return false
}
