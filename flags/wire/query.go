package wire

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// A Query is the query of POST /flags (evaluation.md §8.2). The first value of a
// repeated parameter counts; unknown parameters are ignored.
type Query struct {
	// Version is the response version that v, or else version, asks for: 1 for
	// what is not a number, 0 if neither is given.
	Version int

	// Config asks for the client configuration, if HasConfig is true. A parameter
	// without a value is none.
	Config    bool
	HasConfig bool

	// Compression is how the body is compressed; "" if the query does not say.
	Compression string

	// SurveysOnly restricts evaluation to the flags of surveys.
	SurveysOnly bool

	// RequestPersonOnly says that stored person properties do not count.
	RequestPersonOnly bool

	// Detailed asks for the outcome of every condition.
	Detailed bool
}

// A QueryError says that a parameter that is true or false has another value.
type QueryError struct{ Name, Value string }

func (e *QueryError) Error() string {
	return fmt.Sprintf("wire: parameter %s is %q, want %s", e.Name, jsonscan.Clip([]byte(e.Value)), text.Bools)
}

// Parse reads a query without its question mark. Parameters that cannot be decoded
// are ignored. The error is a [*QueryError]. Parse allocates only for it, and for
// what is percent-encoded.
func (q *Query) Parse(raw string) error {
	*q = Query{}
	var version, otherVersion, surveys, person, detailed param
	var config, compression param
	for len(raw) > 0 {
		var pair string
		pair, raw, _ = strings.Cut(raw, "&")
		name, value, _ := strings.Cut(pair, "=")
		name, ok := unescape(name)
		if !ok {
			continue
		}
		var p *param
		switch name {
		case "v":
			p = &version
		case "version":
			p = &otherVersion
		case "config":
			p = &config
		case "compression":
			p = &compression
		case "only_evaluate_survey_feature_flags":
			p = &surveys
		case "only_use_override_person_properties":
			p = &person
		case "detailed_analysis":
			p = &detailed
		default:
			continue
		}
		if value, ok = unescape(value); ok && !p.given {
			*p = param{value, true}
		}
	}
	if !version.given {
		version = otherVersion
	}
	if version.given {
		q.Version = versionOf(version.value)
	}
	q.HasConfig = config.value != ""
	q.Compression = compression.value
	for _, b := range [...]struct {
		name string
		param
		set *bool
	}{
		{"config", config, &q.Config},
		{"only_evaluate_survey_feature_flags", surveys, &q.SurveysOnly},
		{"only_use_override_person_properties", person, &q.RequestPersonOnly},
		{"detailed_analysis", detailed, &q.Detailed},
	} {
		if b.value == "" {
			continue
		}
		var ok bool
		if *b.set, ok = text.ParseBool(b.value); !ok {
			return &QueryError{b.name, b.value}
		}
	}
	return nil
}

// A param is the value of a query parameter.
type param struct {
	value string
	given bool
}

// unescape is url.QueryUnescape, which looks at every byte even where there is
// nothing to do.
func unescape(s string) (string, bool) {
	if strings.IndexByte(s, '%') < 0 && strings.IndexByte(s, '+') < 0 {
		return s, true
	}
	s, err := url.QueryUnescape(s)
	return s, err == nil
}

// versionOf returns s as a number, 1 if it is none. Beyond the versions that exist,
// exact values do not matter.
func versionOf(s string) int {
	if s == "" {
		return 1
	}
	n := 0
	for i := range len(s) {
		c := s[i] - '0'
		if c > 9 {
			return 1
		}
		n = min(n*10+int(c), 1_000_000)
	}
	return max(n, 1)
}
