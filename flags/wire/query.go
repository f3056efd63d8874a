package wire

import (
	"net/url"
	"strings"
)

// A Query is the query of POST /flags (evaluation.md §8.2). The first value of a
// repeated parameter counts; unknown parameters are ignored.
type Query struct {
	// Version is the response version that v, or else version, asks for: 1 for
	// what is not a number, 0 if neither is given.
	Version int

	// Config asks for the client configuration, if HasConfig is true.
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

// Parse reads a query without its question mark. It takes any text: parameters
// that cannot be decoded are ignored. It allocates only for what is
// percent-encoded.
func (q *Query) Parse(raw string) {
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
	q.Config, q.HasConfig = config.true(), config.given
	q.Compression = compression.value
	q.SurveysOnly = surveys.true()
	q.RequestPersonOnly = person.true()
	q.Detailed = detailed.true()
}

// A param is the value of a query parameter.
type param struct {
	value string
	given bool
}

// true reports whether the value means yes. SDKs send "true".
func (p param) true() bool { return p.value == "1" || strings.EqualFold(p.value, "true") }

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
