package console_test

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/faulttest"
	"github.com/flagstaff-go/flagstaff/management"
)

// fieldError finds the messages beside fields, with the IDs of the fields.
var fieldError = regexp.MustCompile(`id="([^"]*)-error">([^<]*)<`)

// TestFaultsOfFlags: what is wrong with a field of a flag stands beside the field, found by its
// path. Beside filters as JSON stands the path.
func TestFaultsOfFlags(t *testing.T) {
	s := newSite(t)
	var patch management.FlagPatch
	fatal(t, json.Unmarshal([]byte(faulttest.Flag), &patch))
	f, err := s.service.CreateFlag(t.Context(), s.owner, "1", patch)
	fatal(t, err)
	path := s.flagPath(f.Key)
	form := s.get(path).want(200).form("form")
	raw := s.post(path, with(form, "do", "to-json")).want(200).form("form")
	for _, fault := range faulttest.Flags {
		if fault.Field != "" {
			if !form.Has(fault.Field) {
				t.Errorf("the form has no field %s", fault.Field)
			}
			s.post(path, with(form, "do", "save", fault.Field, typed(&fault))).says(&fault, cmp.Or(fault.Beside, fault.Field), "")
		}
		if strings.HasPrefix(fault.Path, "filters/") {
			var whole struct{ Filters json.RawMessage }
			fatal(t, json.Unmarshal([]byte(fault.In(faulttest.Flag)), &whole))
			s.post(path, with(raw, "do", "save", "json", string(whole.Filters))).says(&fault, "json", fault.Inner()+": "+fault.Text)
		}
	}
}

// mended are faults that a form does not keep: it makes objects of what should be one, and has
// only the answers that a question has.
var mended = []string{"questions/0", "conditions", "appearance", "questions/2/branching/responseValues"}

// TestFaultsOfSurveys is the same for surveys. Of a member for which the form has no field, the
// page says the path, at its question if it is of one.
func TestFaultsOfSurveys(t *testing.T) {
	s := newSite(t)
	v := s.survey(faulttest.Survey)
	path := surveyPath(v)
	page := s.get(path).want(200)
	form := page.form("form")
	raw := s.post(path, with(form, "do", "to-json")).want(200).form("form")
	question := regexp.MustCompile(`^questions/(\d)(/|$)`)
	fields := 0
	for _, fault := range faulttest.Surveys {
		if fault.Path == "archived" || fault.Path == "remove_targeting_flag" {
			continue // the page has buttons for them
		}
		s.post(path, with(raw, "do", "save", "json", fault.In(raw.Get("json")))).says(&fault, "json", fault.Inner())
		if strings.HasPrefix(fault.Path, "targeting_flag_filters/") { // conditions, as those of a flag
			if form.Has(fault.Field) {
				s.post(path, with(form, "do", "save", fault.Field, typed(&fault))).says(&fault, cmp.Or(fault.Beside, fault.Field), "")
			}
			continue
		}
		if slices.Contains(mended, fault.Path) {
			continue
		}
		field := cmp.Or(fault.Field, strings.ReplaceAll(question.ReplaceAllString(fault.Path, "q$1$2"), "/", "."))
		// The form sends the whole survey, and the fields for what is typed. Without the field
		// the value of the survey stays, right or wrong.
		broken := with(form, "do", "save", "base", fault.In(form.Get("base")))
		broken.Del(field)
		broken["shown"] = slices.DeleteFunc(slices.Clone(broken["shown"]), func(name string) bool { return name == field })
		if fault.Path == "targeting_flag_id" {
			broken.Set("target", "flag")
		}
		answer := s.post(path, broken)
		switch of := question.FindStringSubmatch(fault.Place()); {
		case strings.Contains(answer.body, `id="`+field+`"`):
			fields++
			answer.says(&fault, cmp.Or(fault.Beside, field), "")
		case of != nil:
			answer.says(&fault, "q"+of[1], strings.TrimPrefix(fault.Place(), of[0])+": ")
		default:
			answer.says(&fault, "", fault.Inner())
		}
	}
	if fields < 80 {
		t.Errorf("the form has fields for %d faults, and should for more", fields)
	}
}

// typed returns what somebody types into the field of a fault.
func typed(f *faulttest.Fault) string { return cmp.Or(f.Typed, strings.Trim(f.Value, `"`)) }

// says checks that a page says something beside one field and no other, or for "" in its notice.
func (a *answer) says(fault *faulttest.Fault, field, text string) {
	a.t.Helper()
	found := fieldError.FindAllStringSubmatch(a.body, -1)
	switch {
	case a.status != 422:
		a.t.Errorf("%s: status %d, Location %q", fault.Path, a.status, a.header.Get("Location"))
	case field == "" && len(found) == 0 && strings.Contains(words(a.body), text):
	case field != "" && len(found) == 1 && found[0][1] == field && strings.Contains(words(found[0][2]), text):
	default:
		a.t.Errorf("%s: the messages are %q; want one beside %q with %q", fault.Path, found, field, text)
	}
}
