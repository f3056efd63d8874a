package flags

import (
	"encoding/json"
	"net/url"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

// FormBody reads a form and returns the filters that it stands for; ok is false if the form
// has errors. verb and target are a button that is pressed before.
func FormBody(v url.Values, verb, target string) (body []byte, ok bool) {
	form := readFlagForm(v)
	form.edit(verb, target)
	page := &formView{flagForm: form}
	page.fields()
	patch, ok := form.patch(nil)
	if !ok {
		return nil, false
	}
	return forms.Must(json.Marshal(patch.Filters.Value)), true
}

// Back returns filters as a form of them says them.
func Back(f *flags.Filters) ([]byte, map[string]string) {
	form := newFlagForm()
	form.setFilters(f)
	form.check()
	return forms.Must(json.Marshal(form.filters())), form.Errors
}

// Differences returns the paths of the fields in which two forms differ.
func Differences(a, b url.Values) (paths []string) {
	x, y := readFlagForm(a), readFlagForm(b)
	fields := fieldsOf(x, y)
	for i := range fields {
		if fields[i].get(x) != fields[i].get(y) {
			paths = append(paths, fields[i].path)
		}
	}
	return paths
}

// StateWords is what the console says of the state of a flag.
var StateWords = stateWords
