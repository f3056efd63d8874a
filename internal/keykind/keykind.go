package keykind

import "strings"

// A Kind is a kind of key, in words. Keys begin with what stands in parentheses.
type Kind string

const (
	Project  Kind = "project API key (phc_…)"
	Secret   Kind = "project secret key (phs_…)"
	Personal Kind = "personal API key (phx_…)"
)

// Of returns the kind of a key, "" if that cannot be told: a project may have a key of any
// form.
func Of(key string) Kind {
	for prefix, kind := range map[string]Kind{"phc_": Project, "phs_": Secret, "phx_": Personal} {
		if strings.HasPrefix(key, prefix) {
			return kind
		}
	}
	return ""
}

// Mistaken says what a key is and what is wanted instead, "" if it may be of one of the
// wanted kinds. who wants it, as in "the management API".
func Mistaken(key, who string, wanted ...Kind) string {
	kind := Of(key)
	if kind == "" {
		return ""
	}
	var list []string
	for _, w := range wanted {
		if w == kind {
			return ""
		}
		list = append(list, "a "+string(w))
	}
	return "this is a " + string(kind) + "; " + who + " wants " + strings.Join(list, " or ")
}
