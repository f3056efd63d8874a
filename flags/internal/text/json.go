package text

import (
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

// Str is str(x) of evaluation.md §4.1: a string as it is, everything else as
// compact JSON. It is false if v is not valid JSON.
func Str(v []byte) (string, bool) {
	value := jsonscan.Value(v)
	if value.Kind() == jsonscan.String {
		b, ok := value.AppendString(nil)
		return string(b), ok
	}
	b, ok := AppendJSON(nil, v)
	return string(b), ok
}

// AppendJSON appends a JSON value in its compact form: numbers as AppendNumber
// writes them, members sorted by name with the last of duplicates, strings with
// no more escapes than JSON demands. It is false if v is not valid JSON or is
// nested more than jsonscan.MaxDepth deep; what was appended is then incomplete.
func AppendJSON(dst, v []byte) ([]byte, bool) {
	value, err := jsonscan.Parse(v, jsonscan.MaxDepth)
	if err != nil {
		return dst, false
	}
	return appendValue(dst, value), true
}

type member struct {
	name  string
	value jsonscan.Value
}

func appendValue(dst []byte, v jsonscan.Value) []byte {
	switch v.Kind() {
	case jsonscan.String:
		b, _ := v.AppendString(nil)
		return appendQuoted(dst, view(b))
	case jsonscan.Number:
		return AppendNumber(dst, v)
	case jsonscan.Array:
		dst = append(dst, '[')
		first := true
		for a := v.Array(); a.Next(); first = false {
			if !first {
				dst = append(dst, ',')
			}
			dst = appendValue(dst, a.Value())
		}
		return append(dst, ']')
	case jsonscan.Object:
		var members []member
		for o := v.Object(); o.Next(); {
			members = append(members, member{string(o.AppendKey(nil)), o.Value()})
		}
		slices.SortStableFunc(members, func(a, b member) int { return strings.Compare(a.name, b.name) })
		dst = append(dst, '{')
		first := true
		for i, m := range members {
			if i+1 < len(members) && members[i+1].name == m.name {
				continue
			}
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = append(appendQuoted(dst, m.name), ':')
			dst = appendValue(dst, m.value)
		}
		return append(dst, '}')
	default:
		return append(dst, v...) // a literal
	}
}

// appendQuoted appends valid UTF-8 as a JSON string.
func appendQuoted(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c >= ' ':
			dst = append(dst, c)
		case c == '\b':
			dst = append(dst, `\b`...)
		case c == '\t':
			dst = append(dst, `\t`...)
		case c == '\n':
			dst = append(dst, `\n`...)
		case c == '\f':
			dst = append(dst, `\f`...)
		case c == '\r':
			dst = append(dst, `\r`...)
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(dst, '"')
}
