package console

import (
	"encoding/json"
	"net/url"

	"github.com/flagstaff-go/flagstaff/internal/words"
)

// FormBody reads a form and returns the filters that it stands for; ok is false if the form
// has errors. verb and target are a button that is pressed before.
func FormBody(v url.Values, verb, target string) (body []byte, ok bool) {
	form := readFlagForm(v)
	form.edit(verb, target)
	page := &flagView{flagForm: form, offered: offered{words: words.NewNames()}}
	page.fields()
	patch, ok := form.patch(nil)
	if !ok {
		return nil, false
	}
	return must(json.Marshal(patch.Filters.Value)), true
}

// OperatorNames returns the operators that a form offers for a kind of filter.
func OperatorNames(kind string) (names []string) {
	for _, list := range operatorsOf(kind) {
		for _, o := range list {
			names = append(names, o.Name)
		}
	}
	return names
}

// ImportSteps returns what the page of an import says when it counts something.
func ImportSteps(what string, done, total int) (words []string) {
	for _, s := range stepsOf(&importRun{what: what, done: done, total: total}) {
		words = append(words, s.Name+": "+s.Words)
	}
	return words
}

// Shares is shares of counts.
func Shares(whole int, parts []int) []float64 { return shares(whole, parts) }

// FloatShares is shares of 100.
func FloatShares(parts []float64) []float64 { return shares(100, parts) }

// StateWords is what the console says of the state of a flag.
var StateWords = stateWords
