package console_test

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/faulttest"
	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
)

// mended are faults that a form does not keep: it makes objects of what should be one, and has
// only the answers that a question has.
var mended = []string{"questions/0", "conditions", "appearance", "questions/2/branching/responseValues"}

// TestFaultsOfSurveys is the same for surveys. Of a member for which the form has no field, the
// page says the path, at its question if it is of one.
func TestFaultsOfSurveys(t *testing.T) {
	s := newSite(t)
	v := s.Survey(faulttest.Survey)
	path := surveyPath(v)
	page := s.Get(path).Want(200)
	form := page.Form("form")
	raw := s.Post(path, consoletest.With(form, "do", "to-json")).Want(200).Form("form")
	question := regexp.MustCompile(`^questions/(\d)(/|$)`)
	fields := 0
	for _, fault := range faulttest.Surveys {
		if fault.Path == "archived" || fault.Path == "remove_targeting_flag" {
			continue // the page has buttons for them
		}
		s.Post(path, consoletest.With(raw, "do", "save", "json", fault.In(raw.Get("json")))).Says(fault.Path, "json", fault.Inner())
		if strings.HasPrefix(fault.Path, "targeting_flag_filters/") { // conditions, as those of a flag
			if form.Has(fault.Field) {
				s.Post(path, consoletest.With(form, "do", "save", fault.Field, typed(&fault))).Says(fault.Path,
					cmp.Or(fault.Beside, fault.Field), "")
			}
			continue
		}
		if slices.Contains(mended, fault.Path) {
			continue
		}
		field := cmp.Or(fault.Field, strings.ReplaceAll(question.ReplaceAllString(fault.Path, "q$1$2"), "/", "."))
		// The form sends the whole survey, and the fields for what is typed. Without the field
		// the value of the survey stays, right or wrong.
		broken := consoletest.With(form, "do", "save", "base", fault.In(form.Get("base")))
		broken.Del(field)
		broken["shown"] = slices.DeleteFunc(slices.Clone(broken["shown"]), func(name string) bool { return name == field })
		if fault.Path == "targeting_flag_id" {
			broken.Set("target", "flag")
		}
		answer := s.Post(path, broken)
		switch of := question.FindStringSubmatch(fault.Place()); {
		case strings.Contains(answer.Body, `id="`+field+`"`):
			fields++
			answer.Says(fault.Path, cmp.Or(fault.Beside, field), "")
		case of != nil:
			answer.Says(fault.Path, "q"+of[1], strings.TrimPrefix(fault.Place(), of[0])+": ")
		default:
			answer.Says(fault.Path, "", fault.Inner())
		}
	}
	if fields < 80 {
		t.Errorf("the form has fields for %d faults, and should for more", fields)
	}
}

// typed returns what somebody types into the field of a fault.
func typed(f *faulttest.Fault) string { return cmp.Or(f.Typed, strings.Trim(f.Value, `"`)) }
