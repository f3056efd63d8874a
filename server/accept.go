package server

import (
	"mime"
	"strconv"
	"strings"
)

// prefersText reports whether a client would rather have text than JSON. A range that
// covers both, and none at all, is for JSON.
func prefersText(accept []string) bool {
	var text, other float64
	for _, list := range accept {
		for one := range strings.SplitSeq(list, ",") {
			mediaType, parameters, err := mime.ParseMediaType(one)
			if err != nil {
				continue
			}
			quality := 1.0
			if q, ok := parameters["q"]; ok {
				if quality, err = strconv.ParseFloat(q, 64); err != nil {
					continue
				}
			}
			switch mediaType {
			case "text/plain", "text/*":
				text = max(text, quality)
			case "application/json", "application/*":
				other = max(other, quality)
			}
		}
	}
	return text > other
}
