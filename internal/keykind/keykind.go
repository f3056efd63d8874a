package keykind

import (
	"fmt"
	"strings"
)

// A Kind is a kind of key, in words. Keys begin with what stands in parentheses.
type Kind string

// Flagstaff makes keys of the first three kinds; PostHog has the fourth, too.
const (
	Project  Kind = "project API key (phc_…)"
	Secret   Kind = "project secret key (phs_…)"
	Personal Kind = "personal API key (phx_…)"
	Flags    Kind = "feature flag key (phf_…)"
)

var kinds = map[string]Kind{"phc_": Project, "phs_": Secret, "phx_": Personal, "phf_": Flags}

// shortest is how many characters a key has that a server has made: after the prefix 256
// random bits in base 62, which are fewer than 40 digits once in ten million keys.
const shortest = 44

// Of returns the kind of a key, "" if that cannot be told: a project may have a key of any
// form.
func Of(key string) Kind {
	if len(key) < 4 {
		return ""
	}
	return kinds[key[:4]]
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

// Refused says what may be wrong with a key that nobody has: it is one of another kind, or cut
// off. It returns "" if nothing of it can be seen.
func Refused(key, who string, wanted ...Kind) string {
	mistaken := Mistaken(key, who, wanted...)
	if kind := Of(key); mistaken == "" && kind != "" && len(key) < shortest {
		const text = "this %s has %d characters, and one that a server made has at least %d; a part may be missing"
		return fmt.Sprintf(text, kind, len(key), shortest)
	}
	return mistaken
}
