package names

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

// properties are the properties that may name a person, in the order in which they count.
var properties = []string{"email", "Email", "name", "Name", "username", "Username", "UserName"}

// Of returns the names of a person with some properties, a JSON object: those values that
// are texts and not empty. The first one is how the person is shown.
func Of(object json.RawMessage) []string {
	found := make([]string, len(properties))
	for m := jsonscan.Value(object).Object(); m.Next(); { // most properties name nobody, and are not decoded
		if i := slices.Index(properties, string(m.Name())); i >= 0 {
			found[i] = ""
			_ = json.Unmarshal(m.Value(), &found[i]) // what is not a text names nobody
		}
	}
	return slices.DeleteFunc(found, func(name string) bool { return name == "" })
}

// maxIndex is how many bytes the text of Index has at most, so that an index of a database
// takes it.
const maxIndex = 1000

// Index returns the names as one text for searches, "" if there are none: each of them in
// small letters and between line breaks. Of long ones the rest is left out.
func Index(object json.RawMessage) string {
	list := Of(object)
	if len(list) == 0 {
		return ""
	}
	text := "\n"
	for _, name := range list {
		if name = plain(name); !strings.Contains(text, "\n"+name+"\n") {
			text += name + "\n"
		}
	}
	if len(text) > maxIndex {
		text = strings.ToValidUTF8(text[:maxIndex], "")
	}
	return text
}

// Part returns what is in the text of Index if text is in one of the names, whatever the case.
func Part(text string) string { return plain(text) }

// Whole returns what is in the text of Index if text is one of the names, whatever the case.
func Whole(text string) string { return "\n" + plain(text) + "\n" }

// plain returns a text in small letters, and without what databases do not take.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return unicode.ToLower(r)
	}, strings.ToValidUTF8(text, "\uFFFD"))
}
