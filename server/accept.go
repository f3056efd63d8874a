package server

import (
	"mime"
	"slices"
	"strconv"
	"strings"
)

// prefers reports whether a client would rather have one of some media types than one of
// others. A range that covers both, and none at all, is for the others.
func prefers(accept, wanted, others []string) bool {
	var one, other float64
	for _, list := range accept {
		for part := range strings.SplitSeq(list, ",") {
			mediaType, parameters, err := mime.ParseMediaType(part)
			if err != nil {
				continue
			}
			quality := 1.0
			if q, ok := parameters["q"]; ok {
				if quality, err = strconv.ParseFloat(q, 64); err != nil {
					continue
				}
			}
			switch {
			case slices.Contains(wanted, mediaType):
				one = max(one, quality)
			case slices.Contains(others, mediaType):
				other = max(other, quality)
			}
		}
	}
	return one > other
}

// The media types of explanations (management.md §13.16).
var (
	explainText = []string{"text/plain", "text/*"}
	explainJSON = []string{"application/json", "application/*"}
)
