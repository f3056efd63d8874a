package memberstest

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
)

// A Wrong is a document in which one name is misspelt.
type Wrong struct {
	Name, As, How string
	Document      string
}

func (w Wrong) String() string { return fmt.Sprintf("%s as %q (%s)", w.Name, w.As, w.How) }

// Misspelt iterates over a JSON document with each of its names misspelt in several
// ways, one at a time. It leaves out the names that the author of the document may
// choose.
func Misspelt(document string, chosen ...string) iter.Seq[Wrong] {
	return func(yield func(Wrong) bool) {
		decoder := json.NewDecoder(strings.NewReader(document))
		for {
			token, err := decoder.Token()
			if err != nil {
				return
			}
			name, ok := token.(string)
			at := int(decoder.InputOffset())
			if !ok || !strings.HasPrefix(strings.TrimLeft(document[at:], " \n\t"), ":") || slices.Contains(chosen, name) {
				continue // a value, or a name that may be any
			}
			all := misspellings(name)
			for _, how := range slices.Sorted(maps.Keys(all)) {
				if !yield(Wrong{name, all[how], how, document[:at-len(name)-1] + all[how] + document[at-1:]}) {
					return
				}
			}
		}
	}
}

// misspellings returns wrong spellings of a name.
func misspellings(name string) map[string]string {
	words := strings.Split(name, "_")
	for i, word := range words[1:] {
		words[1+i] = strings.ToUpper(word[:1]) + word[1:]
	}
	camel := strings.Join(words, "")
	all := map[string]string{"capitals": strings.ToUpper(name), "kebab": strings.ToUpper(name[:1]) + strings.ReplaceAll(name[1:], "_", "-")}
	if camel != name {
		all["camel"] = camel
	}
	if len(name) > 3 {
		all["one less"] = name[:2] + name[3:]
		all["one more"] = name + "x"
		all["another"] = name[:1] + "q" + name[2:]
		all["swapped"] = name[:1] + name[2:3] + name[1:2] + name[3:]
	}
	for how, wrong := range all {
		if wrong == name || len(strings.ReplaceAll(wrong, "_", "")) <= 3 && len(name) > 3 {
			delete(all, how)
		}
	}
	return all
}
